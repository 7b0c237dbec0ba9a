"""The testbed: three independent real Slurm clusters with accounting, on this machine's loopback interface."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.live.sshd import Sshd

from . import leftovers
from .accounting import Accounting
from .clusters import CLUSTERS, Cluster
from .conf import NVIDIA_MAJOR, Place, cgroup_conf, gpu_devices, gres_conf, slurm_conf
from .daemons import Daemons, wait_until
from .host import PortRange, TestbedError, look, program

PREFIX = "diamond-slurm-"
DAEMON_PROGRAMS = ("slurmctld", "slurmd", "slurmdbd")


class Testbed:
    """Three clusters: ``delta``, ``anvil`` and ``vista``.

    ``cgroup`` tells whether the kernel holds jobs to their memory; ``oom_state`` is what accounting calls a job that
    used too much. ``seconds`` is how long each step of the start took. Every method raises TestbedError when the
    clusters do not do what was asked in time.
    """

    __test__ = False

    def __init__(self, root: Path | None = None) -> None:
        """A testbed in ``root``: the one that is there already, or a new one. Without root: a new one, in a new folder."""
        host = look()
        self.root = root or Path(tempfile.mkdtemp(prefix=PREFIX))
        self.root.mkdir(parents=True, exist_ok=True)
        state = self.root / "state.json"
        known = json.loads(state.read_text()) if state.exists() else {}
        self._ports = PortRange(host.address, known.get("first_port"))
        self.place = Place(root=self.root, host=host, first_port=self._ports.first)
        if not known:
            state.write_text(json.dumps({"first_port": self._ports.first, **leftovers.owner()}))
        self.daemons = Daemons(self.root)
        self.accounting = Accounting(self.place, self.daemons)
        self.seconds: dict[str, float] = {}

    @property
    def cgroup(self) -> bool:
        """Whether jobs are held to their memory by the kernel."""
        return self.place.host.cgroup

    @property
    def oom_state(self) -> str:
        """What accounting says of a job that used more memory than it asked for."""
        return "OUT_OF_MEMORY" if self.cgroup else "FAILED"

    @property
    def slurm_version(self) -> tuple[int, ...]:
        """Slurm's version, e.g. ``(22, 5, 8)``."""
        return self.place.host.slurm_version

    # -- up and down ---------------------------------------------------------------------------------------------

    def up(self) -> None:
        """Bring up whatever is not up, and wait until every node can take jobs."""
        started = time.monotonic()

        def step(name: str) -> None:
            self.seconds[name] = round(time.monotonic() - started - sum(self.seconds.values()), 2)

        self.seconds = {}
        for folder in ("log", "pids", "bin"):
            (self.root / folder).mkdir(exist_ok=True)
        self._link_programs()
        for cluster in CLUSTERS.values():
            self._write(cluster)
        step("files")
        self.accounting.start()
        step("database")
        self.accounting.add_clusters(CLUSTERS.values())
        step("accounts")
        for cluster in CLUSTERS.values():
            self.start_controller(cluster.name, wait=False)
            for node in cluster.node_names:
                self.start_node(cluster.name, node, wait=False)
        for site in CLUSTERS:
            self.wait_ready(site)
        step("nodes")
        self.accounting.set_limits(CLUSTERS.values())
        step("limits")

    def down(self, *, purge: bool = True) -> None:
        """Empty the queues, stop every daemon, end what jobs left behind; with ``purge`` remove the folder too."""
        alive = [site for site in CLUSTERS if self.daemons.pid(f"slurmctld-{site}")]
        for site in alive:  # stopping slurmd does not stop jobs
            self._cancel(site)
        with contextlib.suppress(TestbedError):  # a node that was taken down keeps its jobs; leftovers.end ends them
            wait_until(lambda: not any(map(self._running, alive)), 5, "Jobs did not end")
        for prefix in ("slurmd-", "slurmctld-", "slurmdbd", "mariadbd"):
            self.daemons.stop([name for name in self.daemons.names() if name.startswith(prefix)])
        leftovers.end(self.root, self.place.job_ids)
        self._ports.release()
        if purge:
            leftovers.remove(self.root)

    def processes(self) -> list[str]:
        """Every living process of this testbed, as ``pid command``: daemons, steps and jobs."""
        return leftovers.processes(self.root)

    def _link_programs(self) -> None:
        # Debian 13's slurmctld-wlm refuses its own plugins unless it runs under the name slurmctld.
        for name in DAEMON_PROGRAMS:
            link = self.root / "bin" / name
            link.unlink(missing_ok=True)
            link.symlink_to(str(program(name)))

    def _write(self, cluster: Cluster) -> None:
        folder = self.place.folder(cluster)
        for name in ("state", "log", "dev", *(f"spool/{node}" for node in cluster.node_names)):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(gpu_devices(cluster)):
            device = folder / "dev" / f"nvidia{i}"
            if not device.exists():
                os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(NVIDIA_MAJOR, i))
        (folder / "slurm.conf").write_text(slurm_conf(cluster, self.place))
        (folder / "gres.conf").write_text(gres_conf(cluster, self.place))
        (folder / "cgroup.conf").write_text(cgroup_conf(self.place))
        if cluster.submit_lua:
            (folder / "job_submit.lua").write_text(cluster.submit_lua)

    # -- asking --------------------------------------------------------------------------------------------------

    def conf(self, site: str) -> Path:
        """The slurm.conf of a cluster: the value of SLURM_CONF."""
        return self.place.conf(CLUSTERS[site])

    def env(self, site: str) -> dict[str, str]:
        """What must be in the environment to speak to a cluster."""
        return {"SLURM_CONF": str(self.conf(site))}

    def run(
        self, site: str, *argv: str, stdin: str = "", timeout: float = 30, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with SLURM_CONF set to a cluster."""
        done = subprocess.run(
            argv,
            input=stdin,
            env={**os.environ, **self.env(site)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check and done.returncode:
            raise TestbedError(f"{' '.join(argv)} on {site}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def sbatch(self, site: str, script: str, *options: str) -> str:
        """Submit a shell script with the cluster's usual account, and give back the job's id."""
        usual = ("--parsable", "-A", CLUSTERS[site].accounts[0], "-N", "1", "-t", "5", "-o", "/dev/null")
        return self.run(site, "sbatch", *usual, *options, stdin=f"#!/bin/sh\n{script}\n").stdout.strip().split(";")[0]

    def queue_state(self, site: str, job: str) -> str:
        """What squeue says about a job, ended ones included; empty when it no longer knows it."""
        return self.run(site, "squeue", "-h", "-a", "-t", "all", "-j", job, "-o", "%T", check=False).stdout.strip()

    def accounting_state(self, site: str, job: str) -> str:
        """What sacct says about a job, e.g. ``CANCELLED by 0``; empty while it knows nothing."""
        argv = ("sacct", "-X", "-n", "-P", "-M", site, "-j", job, "-o", "State")
        return self.run(site, *argv, check=False).stdout.strip()

    def wait_state(self, site: str, job: str, state: str, *, seconds: float = 30) -> None:
        """Wait until accounting gives a job this state."""
        wait_until(
            lambda: self.accounting_state(site, job).split(" ")[0] == state,
            seconds,
            f"Job {job} on {site} did not become {state} in accounting",
            every=0.1,
        )

    def wait_running(self, site: str, job: str, *, seconds: float = 30) -> None:
        """Wait until a job runs."""
        what = f"Job {job} on {site} did not start"
        wait_until(lambda: self.queue_state(site, job) == "RUNNING", seconds, what)

    def wait_ready(self, site: str, *, seconds: float = 60) -> None:
        """Wait until the controller answers and every node has reported."""
        wait_until(
            lambda: self._is_ready(site), seconds, f"Cluster {site} was not ready (see {self.root}/sites/{site}/log)"
        )

    def _is_ready(self, site: str) -> bool:
        for name in self.daemons.names():
            if name.startswith((f"slurmctld-{site}", f"slurmd-{site}-")) and self.daemons.pid(name) is None:
                raise TestbedError(f"{name} died: {self.daemons.last_words(name)}")
        try:
            answer = self.run(site, "sinfo", "-h", "-a", "-N", "-o", "%T", check=False, timeout=20)
        except subprocess.TimeoutExpired:
            return False
        states = answer.stdout.split()
        # a star: does not respond (yet). Drained or reserved nodes are settled too.
        return (
            bool(states) and not answer.returncode and not any(s.endswith("*") or s.startswith("unk") for s in states)
        )

    # -- faults --------------------------------------------------------------------------------------------------

    def end_soon(self, site: str, job: str, seconds: float = 1.0) -> None:
        """Have a running job reach its time limit in so many seconds instead of after a minute at the least.

        Its limit stays what it is. Slurm looks every 30 s whose time is up, kills that job, and calls it TIMEOUT.
        """
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds))
        self.run(site, "scontrol", "update", f"jobid={job}", f"endtime={at}")

    def start_controller(self, site: str, *, wait: bool = True) -> None:
        """Start a cluster's slurmctld."""
        argv = [*self.place.host.launch, str(self.root / "bin" / "slurmctld"), "-D"]
        self.daemons.start(f"slurmctld-{site}", argv, self.env(site))
        if wait:
            self.wait_ready(site)

    def stop_controller(self, site: str) -> None:
        """Stop a cluster's slurmctld as an operator would. Clients then wait for about 9 s and fail."""
        self.daemons.stop([f"slurmctld-{site}"])

    def kill_controller(self, site: str, *, forgetting: bool = False) -> None:
        """Kill a cluster's slurmctld as a crash would.

        With ``forgetting`` at once: what it has not saved is lost. A job that had just started is then started again
        after the restart; if its node still runs it ("Duplicate jobid") the job is held and the node drained. Without
        it, the controller has saved what it knows.
        """
        if not forgetting:
            self._wait_saved(site)
        self.daemons.stop([f"slurmctld-{site}"], sig=signal.SIGKILL)

    def _wait_saved(self, site: str) -> None:
        """Make the controller write its jobs down: Slurm 22.05 does not when backfill has started one."""
        jobs = self.run(site, "squeue", "-a", "-h", "-o", "%A").stdout.split()
        if not jobs:
            return
        self.run(site, "scontrol", "update", f"jobid={jobs[0]}", "admincomment=saved")
        state, now = self.place.folder(CLUSTERS[site]) / "state" / "job_state", time.time()
        wait_until(lambda: state.exists() and state.stat().st_mtime > now, 15, f"{site} did not save its jobs")

    def start_accounting(self) -> None:
        """Start slurmdbd, which serves all clusters."""
        self.accounting.start_slurmdbd()

    def stop_accounting(self) -> None:
        """Stop slurmdbd: sbatch and squeue go on, sacct fails at once."""
        self.accounting.stop_slurmdbd()

    def kill_accounting(self) -> None:
        """Kill slurmdbd."""
        self.accounting.stop_slurmdbd(sig=signal.SIGKILL)

    def start_node(self, site: str, node: str, *, wait: bool = True) -> None:
        """Start the slurmd of one node."""
        argv = [*self.place.host.launch, str(self.root / "bin" / "slurmd"), "-D", "-N", node]
        self.daemons.start(f"slurmd-{site}-{node}", argv, self.env(site))
        if wait:
            self.wait_ready(site)

    def kill_node(self, site: str, node: str) -> None:
        """Kill the slurmd of one node. Its jobs run on until the controller notices, after 30 s or by ``down_node``."""
        self.daemons.stop([f"slurmd-{site}-{node}"], sig=signal.SIGKILL)

    def down_node(self, site: str, node: str) -> None:
        """Kill a node's slurmd and tell the controller at once: its jobs end as NODE_FAIL, or are requeued."""
        self.kill_node(site, node)
        self.run(site, "scontrol", "update", f"nodename={node}", "state=down", "reason=drill")

    def heal(self) -> None:
        """Start what tests have stopped, bring nodes and partitions back, cancel all jobs and wait until none runs."""
        if self.daemons.pid("slurmdbd") is None:
            self.start_accounting()
        for site, cluster in CLUSTERS.items():
            was_down = [node for node in cluster.node_names if self.daemons.pid(f"slurmd-{site}-{node}") is None]
            self.start_controller(site, wait=False)
            for node in was_down:
                self.start_node(site, node, wait=False)
            self.wait_ready(site)
            self._cancel(site)
            self._resume(site, cluster)
        wait_until(lambda: all(map(self._is_idle, CLUSTERS)), 30, "Clusters did not become idle")

    def _cancel(self, site: str) -> None:
        # scancel -u takes one user and says nothing about the others, so cancel by id
        jobs = self.run(site, "squeue", "-a", "-h", "-o", "%A", check=False).stdout.split()
        if jobs:
            self.run(site, "scancel", "-Q", *sorted(set(jobs)), check=False)

    def _running(self, site: str) -> bool:
        return bool(self.run(site, "squeue", "-a", "-h", check=False).stdout.strip())

    def _is_idle(self, site: str) -> bool:
        states = self.run(site, "sinfo", "-h", "-a", "-N", "-o", "%T").stdout.split()
        return set(states) == {"idle"} and not self._running(site)

    def _resume(self, site: str, cluster: Cluster) -> None:
        for line in self.run(site, "sinfo", "-h", "-a", "-N", "-o", "%N|%T").stdout.split():
            node, _, state = line.partition("|")
            if state.startswith(("down", "drain", "drng", "fail", "maint")):
                self.run(site, "scontrol", "update", f"nodename={node}", "state=resume", check=False)
        for line in self.run(site, "sinfo", "-h", "-a", "-o", "%R|%a").stdout.split():
            partition, _, state = line.partition("|")
            if state != "up" and partition in cluster.partition_names:
                self.run(site, "scontrol", "update", f"partitionname={partition}", "state=up")

    # -- for jupyter_diamond -------------------------------------------------------------------------------------

    def site(self, name: str, workdir: Path) -> dict[str, object]:
        """One cluster as an entry of jupyter_diamond's site catalogue."""
        cluster = CLUSTERS[name]
        return {
            "name": name,
            "transport": "local",
            "scheduler": "slurm",
            "env": self.env(name),
            "workdir": str(workdir / name),
            "account": cluster.accounts[0],
            "partition": cluster.default_partition,
            "poll_floor_s": 1,
        }

    def sites_yaml(
        self, path: Path, workdir: Path, *, names: Iterable[str] = CLUSTERS, nodes: Iterable[Sshd] = ()
    ) -> Path:
        """Write a site catalogue with the clusters; those with a login node are reached through it."""
        lines = ["sites:"]
        behind = {node.alias: node for node in nodes}
        for name in names:
            site = self.site(name, workdir)
            if name in behind:
                del site["env"]  # the node's sessions have it
                site |= {"transport": "ssh", "host": name, "ssh_config": str(behind[name].config)}
                site |= {"python": sys.executable}
            fields = [f"{key}: {json.dumps(value)}" for key, value in site.items()]
            lines += [f"  - {fields[0]}", *(f"    {field}" for field in fields[1:])]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return path


def sweep() -> list[Path]:
    """Take down testbeds of earlier runs that were killed before they could do so themselves."""
    folder = Path(tempfile.gettempdir())
    with (folder / "diamond-sweep.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes may begin at once
        roots = leftovers.abandoned(folder, PREFIX)
        for root in roots:
            Testbed(root).down()
    return roots
