"""The head and the tail that every batch script of ours has, whatever the scheduler.

The head makes an attempt run at most once: two jobs that carry the same token (a submission that was repeated after a
lost answer) race for ``claim``, and the loser ends before any of the user's code runs. The tail makes sure that there
is an end-file even when the runner was killed.
"""

from __future__ import annotations

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.parsing.quoting import quote


def shebang(job: JobRequest) -> str:
    """The first line. A login shell only where the site needs one to start modules (B22)."""
    return "#!/bin/bash -l" if job.modules.kind == "login_shell" else "#!/bin/bash"


def body(job: JobRequest, *, native_id: str) -> str:
    """Everything after the directives. ``native_id`` is a shell expression for the job's id, e.g. ``$SLURM_JOB_ID``."""
    return "\n".join([*_claim(job, native_id), *_modules(job), *_environment(job), *_command(job), ""])


def _claim(job: JobRequest, native_id: str) -> list[str]:
    return [
        "umask 077",
        f"cd {quote(job.folder, 'the attempt folder')} || exit 73",
        f'diamond_job="{native_id}"',
        f"if mkdir {files.CLAIM} 2>/dev/null; then",
        f'  printf "%s\\n" "$diamond_job" > {files.CLAIM}/job',
        # a requeued job is the same job: it may go on
        f'elif [ "$(cat {files.CLAIM}/job 2>/dev/null)" != "$diamond_job" ]; then',
        f'  echo "diamond: job $(cat {files.CLAIM}/job) runs this attempt already; this one ends." >&2',
        f"  exit {files.EXIT_CLAIMED}",
        "fi",
        f"rm -f {files.END} {files.MANIFEST}",
        (
            f'printf \'{{"at": %s, "host": "%s", "pid": %s, "native": "%s"}}\\n\' "$(date +%s.%N)" "$(uname -n)" "$$" '
            f'"$diamond_job" > {files.STARTED}.tmp && mv {files.STARTED}.tmp {files.STARTED}'
        ),
        "diamond_end() {",
        f"  [ -e {files.END} ] && return",
        (
            f'  printf \'{{"format": 1, "token": "%s", "by": "shell", "outcome": "FAILED", "exit_code": %s, "at": %s, '
            f'"why": "%s"}}\\n\' {quote(job.token)} "$1" "$(date +%s.%N)" "$2" > {files.END}.tmp '
            f"&& mv {files.END}.tmp {files.END}"
        ),
        "}",
        'diamond_stop() { echo "diamond: $2" >&2; diamond_end "$1" "$2"; exit "$1"; }',
    ]


def _modules(job: JobRequest) -> list[str]:
    start = job.modules
    lines = []
    if start.kind == "source":
        path = quote(start.path, "the modules file")
        lines.append(
            f"[ -r {path} ] || diamond_stop {files.EXIT_NO_MODULES} "
            f"'modules cannot start: the file that the site profile names for it is not readable'"
        )
        lines.append(f". {path}")
    if start.kind != "none" or start.load:
        lines.append(
            f"command -v module >/dev/null 2>&1 || diamond_stop {files.EXIT_NO_MODULES} "
            f"'environment modules do not start in batch jobs here: set modules.kind in the site catalogue'"
        )
    for name in start.load:
        word = quote(name, "the module name")
        lines.append(
            f"module load {word} || diamond_stop {files.EXIT_NO_MODULES} 'a module of the site profile does not load'"
        )
    return lines


def _environment(job: JobRequest) -> list[str]:
    return [f"export {name}={quote(value, name)}" for name, value in sorted(job.env.items())]


def _command(job: JobRequest) -> list[str]:
    program = quote(job.command[0], "the interpreter")
    words = " ".join(quote_argument(word) for word in job.command[1:])
    return [
        (
            f"command -v {program} >/dev/null 2>&1 || diamond_stop {files.EXIT_NO_PYTHON} "
            "'the interpreter for cells is not there: set python in the site catalogue'"
        ),
        f"{program} {words}",
        "diamond_rc=$?",
        'diamond_end "$diamond_rc" "the process that ran the cell ended without writing its result"',
        'exit "$diamond_rc"',
    ]


def quote_argument(word: str) -> str:
    """An option of our own runner (may start with ``-``), quoted."""
    return word if word.startswith("--") and word[2:].replace("-", "").isalnum() else quote(word, "an argument")
