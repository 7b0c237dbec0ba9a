"""How an attempt ended: the scheduler's word and our own end-file, weighed against each other (B11, B28).

Success needs all of it: COMPLETED, exit code 0, no signal, no step that went wrong, **and** an end-file that says OK.
The cause comes from the scheduler's word first, from the signal second, from the clock last.
"""

from __future__ import annotations

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.jobs import YOU, JobRow
from jupyter_diamond.model.manifest import EndFile
from jupyter_diamond.model.states import State

from . import durations, memory

NEAR_LIMIT_S = 30
"""A SIGTERM this close to the time limit was sent because of it."""

MEMORY_MARGIN = 0.95
"""A process killed with this share of its memory in use was most likely killed for it."""

_SIGTERM, _SIGKILL, _CANNOT_WRITE = 15, 9, 53
_SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL",
    10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
}  # fmt: skip

READ_TRACEBACK = "Read its traceback."
READ_LOG = "Look at the job's log."

_OUR_EXITS = {
    files.EXIT_NO_MODULES: (
        "Environment modules did not start in the job.",
        "Set modules.kind for this site in the catalogue.",
    ),
    files.EXIT_NO_PYTHON: (
        "The interpreter for cells is not there, or too old.",
        "Set python for this site in the catalogue.",
    ),
    files.EXIT_CLAIMED: (
        "Another job of the same attempt had started already, so this one ended at once.",
        "Nothing is lost: the other job runs the cell.",
    ),
    files.EXIT_NO_CLAIM: (
        "The job could not write into its folder at the site, so it did not begin.",
        "Free some quota there, or set another workdir in the site catalogue; then run the cell again.",
    ),
    files.EXIT_BAD_BUNDLE: ("The inputs at the site are not the ones that were sent.", "Run the cell again."),
    files.EXIT_MISSING_IMPORT: (
        "A module that the cell imports is not installed at the site.",
        "Install it there, or choose another interpreter for the site.",
    ),
    files.EXIT_CONTINUED: ("It left off, to be continued from its checkpoint.", ""),
}


class Ending(Value):
    """What became of an attempt. ``state`` is not terminal when the rows do not settle it.

    ``cause`` is one plain sentence, ``next`` what the user can do, ``evidence`` the words behind both.
    """

    state: State
    cause: str = ""
    next: str = ""
    evidence: tuple[str, ...] = ()


def outcome_of(
    row: JobRow,
    end: EndFile | None,
    *,
    cancel_requested: bool = False,
    memory_bytes: int | None = None,
) -> Ending:
    """The end of the attempt that ``row`` is about.

    ``cancel_requested`` is whether the user asked us to cancel, ``memory_bytes`` what was asked for per node. A row
    that has not ended gives its own state back.
    """
    evidence = _evidence(row, end)
    if row.exit_unreadable:
        return Ending(
            state=State.UNKNOWN,
            cause=f"The exit code that the scheduler gives for job {row.job.id} cannot be read.",
            next="Look at the job's log; the scheduler will be asked again.",
            evidence=evidence,
        )
    if row.requeued or not row.state.terminal:
        return Ending(state=State.PENDING if row.requeued else row.state, evidence=evidence)
    if row.state is State.COMPLETED:
        state, cause, advice = _completed(row, end)
    elif row.state is State.FAILED:
        state, cause, advice = _failed(row, end, memory_bytes)
    elif row.state is State.CANCELLED:
        state, cause, advice = _cancelled(row, requested=cancel_requested)
    else:
        state, cause, advice = _by_word(row, memory_bytes)
    if end is not None and end.outcome == "OK" and state not in (State.COMPLETED, State.UNKNOWN):
        cause = f"{cause} The cell itself had finished and its result is there."
    return Ending(state=state, cause=cause.strip(), next=advice, evidence=evidence)


_Told = tuple[State, str, str]


def _completed(row: JobRow, end: EndFile | None) -> _Told:
    if row.step_trouble:
        state = State.OUT_OF_MEMORY if "OUT_OF_ME" in row.step_trouble else State.FAILED
        return state, f"The scheduler calls the job completed, but {row.step_trouble}.", READ_LOG
    if row.exit_code or row.signal:
        return State.FAILED, f"The scheduler calls the job completed, but {_exit_words(row)}.", READ_LOG
    if end is None:
        return (
            State.FAILED,
            "The scheduler calls the job completed, but the job left no end-file, so its result is not to be trusted.",
            "Look at the job's log; then run the cell again.",
        )
    if end.outcome != "OK":
        return _by_end_file(end)
    return State.COMPLETED, "", ""


def _by_end_file(end: EndFile) -> _Told:
    known_cause, advice = _OUR_EXITS.get(end.exit_code, ("", ""))
    if end.exit_code == files.EXIT_CONTINUED:
        return State.FAILED, known_cause, advice
    why = f"{end.why[0].upper()}{end.why[1:]}".rstrip(".") + "." if end.why else ""
    if end.by == "shell":
        silent = f"The process that ran the cell ended without a result (exit {end.exit_code})."
        return State.FAILED, why or known_cause or silent, advice or READ_LOG
    return State.FAILED, why or known_cause or "The cell raised an error.", advice or READ_TRACEBACK


def _failed(row: JobRow, end: EndFile | None, memory_bytes: int | None) -> _Told:
    """FAILED covers many deaths. What killed it comes before what our shell could still write about it."""
    if row.signal == _SIGTERM and _near_limit(row):
        return _by_word(row.model_copy(update={"state": State.TIMEOUT}), memory_bytes)
    if row.signal == _CANNOT_WRITE:
        cause = "The job could not open its log file at the site, so it never ran."
        advice = "Check that the site's workdir exists on the compute nodes, is yours, and has room."
    elif row.signal == _SIGKILL and memory_bytes and (row.max_rss_bytes or 0) >= memory_bytes * MEMORY_MARGIN:
        cause = f"The job was killed while it used {_of_memory(row, memory_bytes)}: most likely for want of memory."
        advice = "Ask for more with --memory."
    elif end is not None and end.outcome == "FAILED":
        return _by_end_file(end)
    elif row.exit_code in _OUR_EXITS and not row.signal and end is None:
        cause, advice = _OUR_EXITS[row.exit_code]
    else:
        cause, advice = f"The job failed: {_exit_words(row)}.", READ_LOG
    return State.FAILED, cause, advice


def _cancelled(row: JobRow, *, requested: bool) -> _Told:
    when = "" if row.started_at else " before it started"
    by = row.cancelled_by
    if requested and by in (None, YOU):
        return State.CANCELLED, f"You cancelled it{when}.", ""
    if by is None:
        return State.CANCELLED, f"It was cancelled{when}; the scheduler does not say by whom.", "Run the cell again."
    if by == YOU:
        return State.CANCELLED, f"It was cancelled{when} by you, from outside this notebook.", "Run the cell again."
    who = "an administrator (root)" if by in ("0", "root") else f"user {by}"
    return (
        State.CANCELLED,
        f"It was cancelled{when} by {who}, not by you.",
        "Ask the site's support for the reason, or run the cell again.",
    )


def _by_word(row: JobRow, memory_bytes: int | None) -> _Told:
    limit = f" of {durations.to_words(row.walltime_s)}" if row.walltime_s else ""
    where = f" {row.nodes}" if row.nodes else ""
    told: dict[State, tuple[str, str]] = {
        State.TIMEOUT: (f"The job was stopped at its time limit{limit}.", "Ask for more time with --time."),
        State.OUT_OF_MEMORY: (
            f"The job ran out of memory{_used(memory_bytes)}.",
            "Ask for more with --memory, or work on smaller pieces.",
        ),
        State.NODE_FAIL: (f"The node{where} failed under the job; your code is not to blame.", "Run the cell again."),
        State.PREEMPTED: ("The job was stopped to make room for a more important one.", "Run the cell again."),
        State.DEADLINE: ("The job could not finish before its deadline.", "Run the cell again."),
    }
    cause, advice = told.get(row.state, (f"The scheduler says {row.raw_state}.", READ_LOG))
    return row.state, cause, advice


def _near_limit(row: JobRow) -> bool:
    if row.started_at is None or row.ended_at is None or row.walltime_s is None:
        return False
    return (row.ended_at - row.started_at).total_seconds() >= row.walltime_s - NEAR_LIMIT_S


def _used(memory_bytes: int | None) -> str:
    if memory_bytes is None:
        return ""
    return f": it had asked for {memory.to_words(memory_bytes)}"


def _of_memory(row: JobRow, memory_bytes: int) -> str:
    return f"{memory.to_words(row.max_rss_bytes or 0)} of its {memory.to_words(memory_bytes)} of memory"


def _exit_words(row: JobRow) -> str:
    if row.signal:
        return f"it was killed by {_SIGNALS.get(row.signal, f'signal {row.signal}')}"
    if row.exit_code is None:
        return "it gives no exit code"
    return f"it ended with exit code {row.exit_code}"


def _evidence(row: JobRow, end: EndFile | None) -> tuple[str, ...]:
    code = "unreadable" if row.exit_unreadable else f"exit {row.exit_code}, signal {row.signal}"
    lines = [f"scheduler: job {row.job}, {row.raw_state}, {code}"]
    if row.step_trouble:
        lines.append(f"scheduler: {row.step_trouble}")
    if end is None:
        lines.append("end-file: none")
    else:
        lines.append(f"end-file: {end.outcome} by {end.by}, exit {end.exit_code}{f', {end.why}' if end.why else ''}")
    return tuple(lines)
