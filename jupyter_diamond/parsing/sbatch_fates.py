"""What becomes of the options of sbatch that say nothing of a job's size: one sentence for each."""

from __future__ import annotations

from jupyter_diamond.model.imported import Fate

_LOG = "the log is kept with the task: %diamond logs NAME"
_ORDER = "a task of ours does not say how it stands in a site's queue"
_LAYOUT = "how processes are laid out within a node is not said; give it to srun or mpirun in the cell"
_BINDING = "bindings are not said; give them to srun in the cell"
_NODES = "named nodes cannot be asked for: the placement looks at kinds of node"
_MAIL = "no mail is sent; the card, the status bar and NAME.wait() tell when it has ended"
_ANSWER = "it is about what sbatch prints"
_SITE_OPTION = "put it under options of the site in sites.yaml, if the site wants it with every job"
_ROOT = "only an administrator may use it"
_PLUGIN = "it needs a plugin of the site's"

FATES: dict[str, tuple[Fate, str]] = {
    "array": ("unsupported", "an array is many jobs: send the cell once an index, with SLURM_ARRAY_TASK_ID set in it"),
    "dependency": ("unsupported", "job numbers mean nothing elsewhere: wait for the other task with OTHER.wait()"),
    "kill-on-invalid-dep": ("dropped", "there is no --dependency"),
    "begin": ("unsupported", "a task is sent at once: run the cell when it shall be sent"),
    "hold": ("unsupported", "a task is sent at once: run the cell when it shall be sent"),
    "output": ("dropped", _LOG), "error": ("dropped", f"{_LOG}, both streams in one"), "open-mode": ("dropped", _LOG),
    "input": ("unsupported", "nothing is fed to standard input: read the file in the cell"),
    "mail-type": ("dropped", _MAIL), "mail-user": ("dropped", _MAIL),
    "no-requeue": ("kept", "tasks are always sent so: nothing runs twice"),
    "requeue": ("unsupported", "nothing runs twice: after a node failure the card says so, and you send it again"),
    "signal": ("dropped", "the task is told some time before its limit by a signal of our own"),
    "exclusive": ("unsupported", "a whole node has no word here: ask for all its CPUs, or pin one of whole nodes"),
    "oversubscribe": ("dropped", "the partition decides whether jobs share CPUs"),
    "overcommit": ("dropped", "a task of ours is one process a node"),
    "contiguous": ("dropped", "neighbouring nodes are not asked for"),
    "switches": ("dropped", "the number of switches is not asked for"),
    "spread-job": ("dropped", _LAYOUT), "use-min-nodes": ("dropped", "the size with the best end is chosen"),
    "wait-all-nodes": ("dropped", "the script begins when the site begins it"),
    "nodelist": ("unsupported", _NODES), "nodefile": ("unsupported", _NODES),
    "exclude": ("unsupported", f"{_NODES}; drained ones are never counted"),
    "reservation": ("unsupported", f"a reservation belongs to one site; {_SITE_OPTION}"),
    "licenses": ("unsupported", f"licenses are a site's own; {_SITE_OPTION}"),
    "tmp": ("unsupported", "disk of a node cannot be asked for"),
    "bb": ("unsupported", _PLUGIN), "bbf": ("unsupported", _PLUGIN), "network": ("unsupported", _PLUGIN),
    "power": ("dropped", _PLUGIN), "mcs-label": ("dropped", _PLUGIN), "context": ("dropped", _PLUGIN),
    "clusters": ("dropped", "the site says which cluster: --site SITE"),
    "cluster-constraint": ("unsupported", "name the sites that will do: --sites a,b"),
    "batch": ("dropped", "the first node of the job runs the cell"),
    "prefer": ("unsupported", "features are a site's own: --soft makes a wish of --gpu-model, --fabric or --arch"),
    "container": ("unsupported", "start the image in the cell, apptainer exec IMAGE …, and add --container apptainer"),
    "container-id": ("unsupported", "start the image in the cell"),
    "tres-per-task": ("unsupported", "write it as --cpus-per-task and --gpus-per-task, and import again"),
    "ntasks-per-tres": ("unsupported", "write it as --ntasks-per-gpu, and import again"),
    "wrap": ("unsupported", "sbatch refuses it within a script: write the command into the cell"),
    "nice": ("dropped", _ORDER), "priority": ("dropped", _ORDER),
    "comment": ("dropped", "the comment carries the task's token, by which a lost answer is looked for"),
    "wckey": ("unsupported", f"a wckey is a site's own; {_SITE_OPTION}"), "extra": ("dropped", _SITE_OPTION),
    "distribution": ("dropped", _LAYOUT), "extra-node-info": ("dropped", _LAYOUT), "hint": ("dropped", _LAYOUT),
    "cores-per-socket": ("dropped", _LAYOUT), "sockets-per-node": ("dropped", _LAYOUT), "segment": ("dropped", _LAYOUT),
    "threads-per-core": ("dropped", _LAYOUT), "ntasks-per-core": ("dropped", _LAYOUT),
    "ntasks-per-socket": ("dropped", _LAYOUT), "core-spec": ("dropped", _LAYOUT), "thread-spec": ("dropped", _LAYOUT),
    "gpu-bind": ("dropped", _BINDING), "mem-bind": ("dropped", _BINDING), "tres-bind": ("dropped", _BINDING),
    "gres-flags": ("dropped", _BINDING), "cpu-freq": ("dropped", "clock rates are not asked for"),
    "gpu-freq": ("dropped", "clock rates are not asked for"),
    "profile": ("dropped", "no profile is taken"), "acctg-freq": ("dropped", "no profile is taken"),
    "propagate": ("dropped", "limits are those of the site"),
    "get-user-env": ("dropped", "the environment is that of the site; modules start as sites.yaml says"),
    "export-file": ("unsupported", "set the variables in the cell"),
    "no-kill": ("dropped", "a job that loses a node is ended, and the card says so"),
    "oom-kill-step": ("dropped", "the site decides"), "delay-boot": ("dropped", "the site decides"),
    "reboot": ("unsupported", "nodes are not rebooted for a task"), "stepmgr": ("dropped", "the site decides"),
    "uid": ("unsupported", _ROOT), "gid": ("unsupported", _ROOT), "ignore-pbs": ("kept", "#PBS lines are never read"),
    "parsable": ("dropped", _ANSWER), "quiet": ("dropped", _ANSWER), "verbose": ("dropped", _ANSWER),
    "version": ("dropped", _ANSWER), "help": ("dropped", _ANSWER), "usage": ("dropped", _ANSWER),
    "wait": ("kept", "--wait: the cell returns when the job has ended"),
    "test-only": ("mapped", "--dry-run: shows where it would go, and sends nothing"),
}  # fmt: skip
"""By the long option's name. What is not here is read (``sbatch_import``, ``sbatch_sizes``)."""
