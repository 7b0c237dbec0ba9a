"""Why an attempt ended as it did, as one class with its evidence. Pure tables; no model is asked.

The scheduler's word comes first, then what our job script and the runner said, then the signal, and the log last: a
log is the program's own text and may hold anything, so it is asked only where nothing better is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.healing import FailureClass
from jupyter_diamond.model.jobs import YOU
from jupyter_diamond.model.manifest import CellError, EndFile, Manifest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt

LOG_BYTES = 16_384
"""So much of a log's end is looked at."""
MEMORY_MARGIN = 0.95
_SIGTERM, _SIGKILL, _CANNOT_WRITE = 15, 9, 53
_KILLED = 128 + _SIGKILL
_LONGEST_LINE = 300

_BY_STATE: dict[State, FailureClass] = {
    State.OUT_OF_MEMORY: "oom",
    State.TIMEOUT: "timeout",
    State.NODE_FAIL: "node",
    State.PREEMPTED: "preempt",
    State.DEADLINE: "policy",
    State.LOST: "lost",
}
_BY_EXIT: dict[int, FailureClass] = {
    files.EXIT_NO_MODULES: "launch",
    files.EXIT_NO_PYTHON: "launch",
    files.EXIT_CLAIMED: "lost",
    files.EXIT_BAD_BUNDLE: "launch",
    files.EXIT_MISSING_IMPORT: "launch",
}
"""Exit codes of our own job script and runner: the cell did not begin."""


class _Sign(NamedTuple):
    """Words that tell a class. ``of_gpu``: it is the GPU's memory that ran out, of which no option asks for more."""

    words: re.Pattern[str]
    failure: FailureClass
    of_gpu: bool = False


def _signs(*rows: tuple[str, FailureClass]) -> tuple[_Sign, ...]:
    return tuple(
        _Sign(re.compile(words, re.IGNORECASE), failure, of_gpu="CUDA" in words and failure == "oom")
        for words, failure in rows
    )


_IN_ERRORS = _signs(
    (r"CUDA out of memory|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED", "oom"),
    (r"\AMemoryError\b|Unable to allocate .{1,40} for an array|std::bad_alloc|Cannot allocate memory", "oom"),
    (r"uncorrectable (NVLink|ECC) error|no CUDA-capable device|GPU has fallen off the bus", "node"),
    (r"Stale file handle|Input/output error|Transport endpoint is not connected", "node"),
    (r"NCCL (error|WARN)|ncclSystemError|ncclRemoteError|NCCL_TIMEOUT|Gloo connectFullMesh failed", "network_fabric"),
    (r"No space left on device|Disk quota exceeded", "data"),
    (r"\A(FileNotFoundError|PermissionError)\b", "data"),
)  # fmt: skip
"""In an exception's own words. All others are the program's own end."""

_IN_LOGS = _signs(
    (r"oom[-_ ]kill|Out of memory: Killed process|Exceeded (job|step) memory limit|memory limit .{0,40}being killed",
     "oom"),
    (r"slurmstepd: error: .*DUE TO TIME LIMIT", "timeout"),
    (r"slurmstepd: error: .*DUE TO PREEMPTION", "preempt"),
    (r"slurmstepd: error: .*DUE TO NODE FAILURE|srun: error: Node failure on", "node"),
    (r"CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY", "oom"),
    (r"uncorrectable (NVLink|ECC) error|no CUDA-capable device|GPU has fallen off the bus", "node"),
    (r"NCCL error|ncclSystemError|ncclRemoteError|Watchdog caught collective operation timeout", "network_fabric"),
    (r"Failed to pull|Unable to (pull|open) .{0,80}(image|\.sif)|could not open image", "image"),
    (r"No space left on device|Disk quota exceeded", "data"),
    (r"Permission denied|No such file or directory", "data"),
    (r"slurmstepd: error: (execve|couldn't chdir)|error: Unable to create TMPDIR|task launch .{0,40}failed", "launch"),
)  # fmt: skip
"""In the last lines of a log, of a job that died without a word of its own."""

_IN_REFUSALS = _signs(
    (r"billing|out of (balance|credit)|insufficient (balance|funds|credit)|GrpTRESMins|allocation .{0,40}exhausted",
     "credit"),
    (r"Invalid account|account/partition combination|not (allowed|permitted|authorized)|access/permission denied",
     "auth"),
    (r"invalid qos", "auth"),
    (r"accounting/QOS policy|QOSMax|QOSGrp|AssocMax|AssocGrp|MaxSubmit", "policy"),
    (r"node configuration is not available|more processors requested|nodes required for job are down", "capacity"),
    (r"No space left|quota|cannot be made|do not fit", "data"),
)  # fmt: skip
"""In what a scheduler, or a site's disk, says when it takes no job."""

_WAITING = _signs(
    (r"Billing|GrpTRESMins|GrpCPUMins|UsageThreshold", "credit"),
    (r"InvalidAccount|InvalidQOS|AccountNotAllowed|QOSNotAllowed", "auth"),
    (r"QOS|Assoc|PartitionTimeLimit|PartitionNodeLimit|JobHeldAdmin|MaxMemPerLimit", "policy"),
    (r"BadConstraints|DependencyNeverSatisfied", "spec_invalid"),
    (r"launch failed|JobLaunchFailure|JobHoldMaxRequeue", "launch"),
    (r"ReqNodeNotAvail|NodeDown|PartitionDown|PartitionInactive|Resources|Priority|DOWN, DRAINED", "capacity"),
)  # fmt: skip
"""In the reason for which a job waited that then ended without having started."""


class Cause(Value):
    """What went wrong. ``of_gpu``: the memory that ran out is the GPU's."""

    failure: FailureClass
    evidence: tuple[str, ...] = ()
    of_gpu: bool = False


class Ended(NamedTuple):
    """What is known of an attempt's end. ``cancelled_by`` is who did it as far as the site says; ``log`` is its end."""

    state: State
    exit_code: int | None = None
    signal: int | None = None
    max_rss_bytes: int | None = None
    cancelled_by: str | None = None
    end: EndFile | None = None
    manifest: Manifest | None = None
    log: str = ""


def cause_of(attempt: Attempt, ended: Ended) -> Cause | None:
    """Why an attempt ended as it did; None where it ended well, or has not ended."""
    state = ended.state
    if state is State.COMPLETED or not state.terminal:
        return None
    if state in _BY_STATE:
        return Cause(failure=_BY_STATE[state], evidence=(f"state: {attempt.raw_state or state.value}",))
    if state is State.CANCELLED:
        return _cancelled(attempt, ended.cancelled_by)
    if state is State.REJECTED and attempt.failure == "data":  # what it needs did not get there: no site's words
        return Cause(failure="data", evidence=(_cut(attempt.cause),))
    if state is State.REJECTED:
        return refusal((attempt.cause, *attempt.evidence))
    return _failed(attempt, ended)


def left_off(ended: Ended) -> bool:
    """Whether the cell ended its attempt by itself, to be continued: no failure."""
    return ended.state is State.FAILED and _exits(ended) == files.EXIT_CONTINUED


def had_finished(ended: Ended) -> bool:
    """Whether the cell itself was through, whatever then became of its job: to run it again would be to do it twice."""
    return ended.end is not None and ended.end.outcome == "OK"


def says_nothing(ended: Ended) -> bool:
    """Whether the log is worth a look: the program died without a word of its own, and the scheduler says no more."""
    told = ended.manifest is not None and (ended.manifest.error is None or not _stopped(ended.manifest.error))
    return ended.state is State.FAILED and not told and not left_off(ended) and _exits(ended) not in _BY_EXIT


def _failed(attempt: Attempt, ended: Ended) -> Cause:
    """FAILED covers many deaths: what never began, an exception, a value that is missing, and death without a word."""
    exits, error = _exits(ended), ended.manifest.error if ended.manifest is not None else None
    if exits in _BY_EXIT and (error is None or not error.traceback):
        return Cause(failure=_BY_EXIT[exits], evidence=(f"exit code {exits} of the job script or runner",))
    if ended.signal == _CANNOT_WRITE:
        return Cause(failure="launch", evidence=(f"signal {ended.signal}: the job could not open its log file",))
    if error is not None and not _stopped(error):
        return of_error(error)
    if ended.manifest is not None and ended.manifest.missing:
        return Cause(failure="app_args", evidence=tuple(_cut(each.why) for each in ended.manifest.missing[:3]))
    return _without_a_word(attempt, ended)


def _exits(ended: Ended) -> int | None:
    return ended.end.exit_code if ended.end is not None else ended.exit_code


def of_error(error: CellError) -> Cause:
    """What an exception that ended the cell tells. Most are the program's own end."""
    said = f"{error.ename}: {error.evalue}"
    sign, line = _first(_IN_ERRORS, (said,))
    failure: FailureClass = sign.failure if sign is not None else "app_args"
    return Cause(failure=failure, evidence=(f"exception: {line or _cut(said)}",), of_gpu=bool(sign and sign.of_gpu))


def refusal(said: Iterable[str]) -> Cause:
    """Why a site took no job, by its own words."""
    lines = [line for line in said if line]
    sign, line = _first(_IN_REFUSALS, lines)
    failure: FailureClass = sign.failure if sign is not None else "spec_invalid"
    return Cause(failure=failure, evidence=(f"refused: {line or _cut(lines[0])}",) if lines else ())


def _cancelled(attempt: Attempt, by: str | None) -> Cause:
    """By the user, by an administrator, or by a scheduler that would never have started it."""
    if attempt.started_at is None and by != YOU and attempt.reason:
        sign, line = _first(_WAITING, (attempt.reason,))
        if sign is not None:
            return Cause(failure=sign.failure, evidence=(f"waited for: {line}",))
    return Cause(failure="user_cancel", evidence=(f"cancelled by {by or 'somebody whom the scheduler does not name'}",))


def _stopped(error: CellError) -> bool:
    """The runner was ended from outside: that is no exception of the cell's."""
    return error.ename == "Terminated" and not error.traceback


def _without_a_word(attempt: Attempt, ended: Ended) -> Cause:
    """The process died before it could say why."""
    exits, signal, rss = _exits(ended), ended.signal, ended.max_rss_bytes
    asked = attempt.size.memory_bytes
    killed = signal == _SIGKILL or exits == _KILLED
    if killed and asked and rss is not None and rss >= asked * MEMORY_MARGIN:
        return Cause(failure="oom", evidence=(f"killed (signal 9) with {rss:,} of {asked:,} bytes in use",))
    sign, line = _first(_IN_LOGS, reversed(ended.log[-LOG_BYTES:].splitlines()))
    if sign is not None:
        return Cause(failure=sign.failure, evidence=(f"log: {line}",), of_gpu=sign.of_gpu)
    if signal == _SIGTERM or exits == 128 + _SIGTERM:
        return Cause(failure="user_cancel", evidence=("ended from outside by SIGTERM; the scheduler does not say why",))
    if ended.end is None and not exits and not signal:
        return Cause(failure="lost", evidence=("the job left no end-file",))
    return Cause(failure="app_args", evidence=(f"signal {signal}" if signal else f"exit code {exits}",))


def _first(signs: Iterable[_Sign], lines: Iterable[str]) -> tuple[_Sign | None, str]:
    """The first sign, in the table's order, that any line shows; with that line."""
    kept = list(lines)
    for sign in signs:
        for line in kept:
            if sign.words.search(line):
                return sign, _cut(line)
    return None, ""


def _cut(text: str) -> str:
    line = text.strip().replace("\n", " ")
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"
