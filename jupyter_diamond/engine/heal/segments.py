"""Parts of a work that is longer than a time limit: what each is told, and what it left for the next. Pure."""

from __future__ import annotations

from typing import Any

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.healing import Checkpoint
from jupyter_diamond.model.task import Task
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.transport.base import Completed

_LONGEST_NAME = 100
_MARK = "@@diamond:checkpoint"


def checkpoints(task: Task, folder: str) -> str:
    """Where the task's checkpoints are, at the site of the attempt that has this folder."""
    return files.checkpoints(folder, task.attempts[0].token)


def runner_options(task: Task, folder: str) -> list[str]:
    """What the runner of the newest attempt is told about the work that it does a part of."""
    attempt, healing = task.attempts[-1], task.healing
    options = ["--checkpoints", checkpoints(task, folder), "--segment", f"{attempt.segment}/{healing.segments}"]
    warning_s = healing.warns_before(attempt.size.walltime_s)
    if warning_s:
        after = str(attempt.size.walltime_s - warning_s)
        options += ["--warn-after", after, "--warn-signal", healing.warn_signal]
    return options


def warning(task: Task) -> dict[str, Any]:
    """What the scheduler is asked about it, as fields of a JobRequest."""
    healing, walltime_s = task.healing, task.attempts[-1].size.walltime_s
    if not healing.asks_scheduler:
        return {}
    return {"warn_before_end_s": healing.warns_before(walltime_s), "warn_signal": healing.warn_signal}


def newest_script(folder: str) -> str:
    """Ask for the newest finished checkpoint, and for what tells it from another one of its name."""
    where = quote(folder, "the folder of checkpoints")
    return f"""cd {where} 2>/dev/null || {{ echo {_MARK}; exit 0; }}
newest=$(ls -1t | head -n 1)
echo {_MARK}
[ -n "$newest" ] || exit 0
printf '%s\\n' "$newest"
{{ ls -lnd --full-time "./$newest" 2>/dev/null || ls -lnd "./$newest"; }} | cksum
"""


def read_newest(answer: Completed) -> Checkpoint | None:
    """The newest checkpoint; None where there is none. Raises ValueError when the answer is none."""
    lines = answer.out.splitlines()
    if answer.exit != 0 or _MARK not in lines:
        raise ValueError(answer.err.strip() or "no answer")
    said = lines[lines.index(_MARK) + 1 :]
    return Checkpoint(name=said[0][:_LONGEST_NAME], mark=said[-1]) if said else None


def progressed(task: Task) -> bool:
    """Whether the newest attempt left something that was not there when it began."""
    *before, newest = task.attempts
    known = [each.checkpoint for each in before if each.checkpoint is not None and each.site == newest.site]
    return newest.checkpoint is not None and newest.checkpoint not in known[-1:]


def bound(task: Task) -> bool:
    """Whether the task has files at the site of its newest attempt, without which its work would begin anew."""
    newest = task.attempts[-1]
    return newest.segment > 1 or any(each.checkpoint is not None and each.site == newest.site for each in task.attempts)
