"""The head and the tail that every batch script of ours has, whatever the scheduler.

The head makes an attempt run at most once: two jobs that carry the same token (a submission that was repeated after a
lost answer) race for ``claim``, and the loser ends before any of the user's code runs. The tail makes sure that there
is an end-file even when the runner was killed.
"""

from __future__ import annotations

import json
import shlex

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.environment import Container, ModuleStart
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.parsing.quoting import quote

from .containers import image_file, wrapped


def shebang(job: JobRequest) -> str:
    """The first line. A login shell only where the site needs one to start modules (B22)."""
    return "#!/bin/bash -l" if job.modules.kind == "login_shell" else "#!/bin/bash"


def body(job: JobRequest, *, native_id: str, at: str = "") -> str:
    """Everything after the directives. ``native_id`` is a shell expression for the job's id, e.g. ``$SLURM_JOB_ID``.

    ``at`` is one for a member's place in its array, where the job is one.
    """
    own = _MEMBER if job.array is not None else ""
    return "\n".join([
        *_folder(job, at), *_claim(job, native_id, own), *(_member() if own else ()), *modules_script(job.modules),
        *_environment(job), *_command(job, own), "",
    ])  # fmt: skip


_NO_ROOM = 'echo "diamond: nothing can be written in $PWD: is the disk full, or your quota used up?" >&2'
_MEMBER = '-"$diamond_at"'
"""What comes behind the words that a member has of its own."""


def _folder(job: JobRequest, at: str) -> list[str]:
    folder = quote(job.folder, "the attempt folder")
    if job.array is None:
        return ["diamond_umask=$(umask)", "umask 077", f"cd {folder} || exit 73"]
    log = files.member_log("$diamond_at")
    # a member's folder is made by its job: a thousand of them at once are much for a shared file system
    return [
        "diamond_umask=$(umask)", "umask 077", f'diamond_at="{at}"', f"cd {folder} || exit 73",
        f'mkdir -p "$diamond_at" && cd "$diamond_at" || {{ {_NO_ROOM}; exit {files.EXIT_NO_CLAIM}; }}',
        f'ln -s "../{log}" {files.LOG} 2>/dev/null',
    ]  # fmt: skip


def _member() -> list[str]:
    """Which member it is; and what all share is where a cell expects its own."""
    lost = "the list of the array's members does not name this one"
    return [
        f"ln -s ../{files.BUNDLE} ../{files.RUNNER} ../{files.KEY} . 2>/dev/null",  # they are there after a requeue
        f'diamond_member=$(sed -n "s/^$diamond_at //p" ../{files.MEMBERS})',
        f'[ -n "$diamond_member" ] || diamond_stop {files.EXIT_BAD_BUNDLE} {_sentence(lost)}',
    ]


def _claim(job: JobRequest, native_id: str, own: str) -> list[str]:
    return [
        f'diamond_job="{native_id}"',
        # a link is made in one step, name and content; a requeued job is the same job and may go on
        f'ln -sn "$diamond_job" {files.CLAIM} 2>/dev/null',
        f"if [ ! -L {files.CLAIM} ]; then",
        f"  {_NO_ROOM}",
        f"  exit {files.EXIT_NO_CLAIM}",
        "fi",
        f'if [ "$(readlink {files.CLAIM})" != "$diamond_job" ]; then',
        f'  echo "diamond: job $(readlink {files.CLAIM}) runs this attempt already; this one ends." >&2',
        f"  exit {files.EXIT_CLAIMED}",
        "fi",
        f"rm -f {files.END} {files.MANIFEST} {files.WARNED}",
        # not every date knows %N
        'diamond_now() { case "$(date +%s.%N)" in *[!0-9.]*) date +%s ;; *) date +%s.%N ;; esac; }',
        (
            f'printf \'{{"at": %s, "host": "%s", "pid": %s, "native": "%s"}}\\n\' "$(diamond_now)" "$(uname -n)" "$$" '
            f'"$diamond_job" > {files.STARTED}.tmp && mv {files.STARTED}.tmp {files.STARTED}'
        ),
        "diamond_end() {",
        f"  [ -e {files.END} ] && return",
        (
            f'  printf \'{{"format": 1, "token": "%s", "by": "shell", "outcome": "FAILED", "exit_code": %s, "at": %s, '
            f'"why": "%s"}}\\n\' {quote(job.token)}{own} "$1" "$(diamond_now)" "$2" > {files.END}.tmp '
            f"&& mv {files.END}.tmp {files.END}"
        ),
        "}",
        'diamond_stop() { echo "diamond: $2" >&2; diamond_end "$1" "$2"; exit "$1"; }',
        "trap 'diamond_stop 143 \"terminated by the scheduler before the cell began\"' TERM",
        *([f"trap 'diamond_signalled=1; : >{files.WARNED}' {job.warn_signal}"] if job.warn_before_end_s else []),
    ]


def _sentence(text: str) -> str:
    """A sentence as one shell word that may stand between the quotes of a JSON string."""
    return shlex.quote(json.dumps(text)[1:-1])


def modules_script(start: ModuleStart) -> list[str]:
    """Lines that start and load modules, and call ``diamond_stop CODE SENTENCE`` where that fails (B22)."""
    lines = []
    if start.kind == "source":
        path = quote(start.path, "the modules file")
        why = f"modules cannot start: the site profile says to source {start.path}, which is not readable here"
        lines.append(f"[ -r {path} ] || diamond_stop {files.EXIT_NO_MODULES} {_sentence(why)}")
        lines.append(f". {path}")
    if start.kind != "none" or start.load:
        why = "environment modules do not start in batch jobs here: set modules.kind in the site catalogue"
        lines.append(
            f"command -v module >/dev/null 2>&1 || diamond_stop {files.EXIT_NO_MODULES} {_sentence(why)}",
        )
    for name in start.load:
        why = f"the module {name} of the site profile does not load here; the log says why"
        lines += [
            'diamond_before="$LOADEDMODULES"',
            f"module load {quote(name, 'the module name')} || diamond_stop {files.EXIT_NO_MODULES} {_sentence(why)}",
            # B22: old modules print an error and still say 0
            (
                f'case ":$LOADEDMODULES:" in *:{quote(name)}:* | *:{quote(name)}/*) ;; '
                '*) [ "$LOADEDMODULES" != "$diamond_before" ] || '
                f"diamond_stop {files.EXIT_NO_MODULES} {_sentence(why)} ;; esac"
            ),
        ]
    return lines


def _environment(job: JobRequest) -> list[str]:
    return [
        *(f"export {name}={quote(value, name)}" for name, value in sorted(job.env.items())),
        *activation(job.activate_d),
    ]


def activation(prefix: str | None) -> list[str]:
    """What a conda environment's packages want to be set, where that was asked for; never ``conda activate`` (B23)."""
    if prefix is None:
        return []
    where = quote(prefix, "the environment")
    return [
        f"export CONDA_PREFIX={where}",
        'for diamond_each in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do',
        '  [ ! -r "$diamond_each" ] || . "$diamond_each"',
        "done",
    ]


def _command(job: JobRequest, own: str) -> list[str]:
    program = quote(job.command[0], "the interpreter")
    words = " ".join(quote_argument(word) for word in job.command[1:])
    if job.array is not None:
        words += "".join(f" {quote_argument(option)} {quote(value)}{own}" for option, value in job.array.own)
        words += ' --member "$diamond_member"'
    ready, starts = _inside(job, program) if job.container is not None else (_outside(job, program), program)
    where = "inside its image" if job.container is not None else "there"
    absent = f"the interpreter for cells, {job.command[0]}, is not {where}: set python in the site catalogue"
    old = f"the interpreter for cells, {job.command[0]}, is older than Python 3.6: set python in the site catalogue"
    return [
        *ready,
        'umask "$diamond_umask"',
        *(_run_heard(f"{starts} {words}") if job.warn_before_end_s else _run(f"{starts} {words}")),
        "umask 077",
        f'if [ "$diamond_rc" != 0 ] && [ ! -e {files.END} ]; then',
        f"  {starts} -c 'import sys; sys.exit(99 * (sys.version_info < (3, 6)))' >/dev/null 2>&1",
        "  case $? in",
        f"    99) diamond_stop {files.EXIT_NO_PYTHON} {_sentence(old)} ;;",
        f"    126 | 127) diamond_stop {files.EXIT_NO_PYTHON} {_sentence(absent)} ;;",
        "  esac",
        "fi",
        'case "$diamond_rc" in',
        "  137) diamond_why='the cell was killed (signal 9): by the scheduler, or because memory ran out' ;;",
        "  139) diamond_why='the cell crashed (segmentation fault); the log shows where' ;;",
        "  143) diamond_why='terminated by the scheduler' ;;",
        "  *) diamond_why='the process that ran the cell ended without writing its result' ;;",
        "esac",
        'diamond_end "$diamond_rc" "$diamond_why"',
        'exit "$diamond_rc"',
    ]


def _outside(job: JobRequest, program: str) -> list[str]:
    absent = f"the interpreter for cells, {job.command[0]}, is not there: set python in the site catalogue"
    return [
        f"command -v {program} >/dev/null 2>&1 || diamond_stop {files.EXIT_NO_PYTHON} {_sentence(absent)}",
        f"diamond_bin=$(dirname -- {program})",
        # B23: never `conda activate`; an environment's programs are found beside its interpreter
        '{ [ -e "$diamond_bin/../pyvenv.cfg" ] || [ -d "$diamond_bin/../conda-meta" ]; } && PATH="$diamond_bin:$PATH"',
    ]


def _inside(job: JobRequest, program: str) -> tuple[list[str], str]:
    """What must hold before a container starts, and the words that start the interpreter in it."""
    container = job.container
    assert container is not None, "only a job with a container comes here"
    starts = wrapped(container, folders=(job.folder, *job.seen_inside), names=sorted(job.env), gpus=job.size.gpus > 0)
    return container_script(container), f"{starts} {program}"


def container_script(container: Container) -> list[str]:
    """Lines that call ``diamond_stop CODE SENTENCE`` where the runtime or the image is not there."""
    runtime, image = container.runtime, image_file(container)
    absent = f"the container runtime {runtime} is not there: load its module, or name another in the site catalogue"
    lines = [f"command -v {runtime} >/dev/null 2>&1 || diamond_stop {files.EXIT_NO_PYTHON} {_sentence(absent)}"]
    if image is not None:
        gone = f"the image {image} is not there, or not readable: name another in the site catalogue"
        lines.append(f"[ -r {quote(image)} ] || diamond_stop {files.EXIT_NO_PYTHON} {_sentence(gone)}")
    return lines


def _run(command: str) -> list[str]:
    # the cell has SIGTERM too, and this shell must be there after it
    return ["trap : TERM", command, "diamond_rc=$?"]


def _run_heard(command: str) -> list[str]:
    """As ``_run``, in the background: a shell minds no signal while a program runs in its foreground.

    A signal ends ``wait`` with a status of its own, so it is asked again; bash tells it as often as it is asked, but in
    its posix mode.
    """
    return [
        "set +o posix",
        "trap diamond_signalled=1 TERM",
        f"{command} &",
        "diamond_pid=$!",
        "while :; do",
        "  diamond_signalled=",
        '  wait "$diamond_pid"',
        "  diamond_rc=$?",
        '  [ -n "$diamond_signalled" ] && [ "$diamond_rc" -gt 128 ] || break',
        "done",
    ]


def quote_argument(word: str) -> str:
    """An option of our own runner (may start with ``-``), quoted."""
    return word if word.startswith("--") and word[2:].replace("-", "").isalnum() else quote(word, "an argument")
