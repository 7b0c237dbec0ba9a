"""What may follow a failed attempt: one step within the task's budget, or a sentence why nothing does. Pure.

Only causes that another try can mend are tried again: a node that failed, a job that had to make room, a place where
jobs do not start (elsewhere), memory or time that ran out (with more of it, inside the envelope). What the program
itself did, what the user ended, and what a policy or an account refuses is never tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import FailureClass, Step
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement import words
from jupyter_diamond.placement.words import duration, memory

from .causes import Cause
from .segments import bound, progressed

DOUBLE, AT_LEAST = 2.0, 1.5
"""Of memory or time that was not enough, so much more is asked for; less than half more is not worth a try."""

Where = Literal["here", "here_first", "anywhere", "elsewhere"]


class Follow(NamedTuple):
    """A step that the budget allows; where it goes is for the planner to say, among the places of ``where``."""

    step: Step
    envelope: Envelope
    where: Where
    because: str
    """What happened, as a clause: ``attempt 1 ran out of memory at 4G``."""
    more: Literal["", "memory", "time"] = ""
    """What is asked for more of."""
    segment: int = 1
    saved: str = ""
    """From where the next segment goes on, as it stands behind its number."""


class Stop(NamedTuple):
    """Nothing follows. ``change`` is what the user could do, empty where the cause says it already."""

    why: str
    change: str = ""


_NEVER: dict[FailureClass, Stop] = {
    "app_args": Stop("The program itself ended it, so another run would end the same way."),
    "spec_invalid": Stop("What was asked for cannot be had there, so asking again would be refused again."),
    "auth": Stop("You may not submit that there; asking again changes nothing."),
    "policy": Stop("A rule of the site ended or refused it; asking again changes nothing."),
    "credit": Stop(
        "The account there has nothing left; asking again changes nothing.", "Pay from another one with --account."
    ),
    "capacity": Stop("The site has no such nodes to give.", "Choose another site with --site."),
    "image": Stop("The container image could not be opened; another run would meet the same image."),
    "data": Stop(
        "A file or a disk was the cause; another run would meet the same files.", "Make room or mend the path."
    ),
    "network_fabric": Stop(
        "The network between the nodes failed under the program; whether it is mended nobody can tell.",
        "Run the cell again with --again, or elsewhere with --site.",
    ),
    "lost": Stop(
        "Nobody can prove that the old job is gone, and two must never run.",
        "Look into the attempt's folder and log, then run the cell again.",
    ),
    "user_cancel": Stop("It was ended from outside, on purpose."),
}


def next_step(task: Task, cause: Cause, *, pin: Envelope | None = None) -> Follow | Stop:
    """What follows the task's newest attempt, which has ended for this cause (its ``failure``) and is surely over.

    ``pin`` is the envelope of its newest decision, which tells whether the user's pin still stands.
    """
    stop = _refused(task, cause, pin or task.envelope)
    if stop is not None:
        return stop
    attempt, failure = task.attempts[-1], cause.failure
    envelope, because = in_force(task, pin), _because(attempt, failure)
    if _next_segment(task, failure) and not _elsewhere(task, failure):
        return _segment(task, envelope, because)
    near: Where = "here_first" if moves_left(task) and attempt.segment == 1 else "here"
    if failure in ("oom", "timeout") and not _elsewhere(task, failure):
        more: Literal["memory", "time"] = "memory" if failure == "oom" else "time"
        return Follow("resize", envelope, near, because, more, segment=attempt.segment)
    if failure == "launch" or _elsewhere(task, failure) or unstaged(attempt, failure):
        return Follow("migrate", envelope, "elsewhere", because, segment=attempt.segment)
    far: Where = "anywhere" if near == "here_first" and not bound(task) else near
    return Follow("retry", envelope, far, because, segment=attempt.segment)


def never(task: Task, cause: Cause) -> Stop | None:
    """Why nothing follows, where neither its budget nor any plan has a say in that."""
    if task.cancel_requested_by is not None:
        return Stop("You cancelled it.")
    if _elsewhere(task, cause.failure) or unstaged(task.attempts[-1], cause.failure):
        return None
    if cause.of_gpu:
        return _more_of_a_gpu(task.attempts[-1])
    return _NEVER.get(cause.failure)


def continued(task: Task, *, pin: Envelope | None = None) -> Follow | Stop:
    """What follows the newest attempt, which has left off by itself to be continued: that is no failure."""
    attempt, allowed = task.attempts[-1], task.healing.segments
    if task.cancel_requested_by is not None:
        return Stop("You cancelled it.")
    if attempt.segment >= allowed:
        return Stop(
            f"It left off to be continued, and {words.count(allowed, 'segment')} is all that --segments allows.",
            f"Allow more with --segments {max(5, 2 * allowed)}: it begins anew then.",
        )
    if not progressed(task):
        return _no_progress(task)
    return _segment(task, in_force(task, pin), f"attempt {attempt.n} left off to be continued")


def _segment(task: Task, envelope: Envelope, because: str) -> Follow:
    """The next part of the work, at the site that has its files."""
    attempt = task.attempts[-1]
    saved = "" if attempt.checkpoint is None else f", from checkpoint {attempt.checkpoint.name}"
    return Follow("segment", envelope, "here", because, segment=attempt.segment + 1, saved=saved)


def _refused(task: Task, cause: Cause, pin: Envelope) -> Stop | None:
    """Why nothing may follow, if so."""
    attempt, failure = task.attempts[-1], cause.failure
    if (stop := never(task, cause)) is not None:
        return stop
    elsewhere = _elsewhere(task, failure)
    if _next_segment(task, failure) and not elsewhere:
        return None if progressed(task) else _no_progress(task)
    if retries_used(task) >= task.healing.retries:
        return _no_retries(task)
    if failure in ("oom", "timeout") and not elsewhere and not _grown(attempt, task.envelope):
        return _no_memory(attempt) if failure == "oom" else _no_time(attempt, task.healing.segments)
    moves = elsewhere or failure == "launch" or unstaged(attempt, failure)
    return _no_other_place(task, pin) if moves else None


_OVER: frozenset[FailureClass] = frozenset({"user_cancel", "lost", "credit"})
"""After these a task does not go on elsewhere either, whatever was reported of the site."""


def _elsewhere(task: Task, failure: FailureClass) -> bool:
    """Its site was reported to be wrong for it: then what failed there is tried at another one, whatever failed."""
    return task.attempts[-1].mismatch is not None and failure not in _OVER and not bound(task)


def unstaged(attempt: Attempt, failure: FailureClass | None) -> bool:
    """Its data did not get to its site, and nothing was sent there: another site may have it, or be reached."""
    return failure == "data" and attempt.native is None and attempt.submissions == 0


def _next_segment(task: Task, failure: FailureClass) -> bool:
    return failure == "timeout" and task.attempts[-1].segment < task.healing.segments


def in_force(task: Task, pin: Envelope | None = None) -> Envelope:
    """What the task asks for now: as the user wrote it, with the pin as it stands, and more of what was too little."""
    envelope = task.envelope
    if pin is not None:
        envelope = envelope.model_copy(update={"site": pin.site, "partition": pin.partition, "account": pin.account})
    envelope = _instead(task, envelope)
    changes: dict[str, Span] = {}
    for attempt in task.attempts:
        if attempt.failure != "timeout" or attempt.segment >= task.healing.segments:
            changes |= _grown(attempt, task.envelope)
    return envelope.model_copy(update=changes)


def _instead(task: Task, envelope: Envelope) -> Envelope:
    """An agent's task is bound to the place that was approved: after a report, to the one that its word named."""
    told = [each.mismatch for each in task.attempts if each.mismatch is not None]
    if not told or told[-1].instead is None or envelope.site not in mismatched(task):
        return envelope
    return envelope.model_copy(update=dict(zip(("site", "partition", "account"), told[-1].instead, strict=True)))


def begins_with(envelope: Envelope, retries: int, before: Sequence[Attempt] = ()) -> Envelope:
    """The envelope to size by: memory begins at the least of its range, and grows when that was too little.

    More memory than is needed makes nothing faster, waits longer and may cost more. Where nothing may follow, or memory
    ran out before, the most that is asked is taken.
    """
    memory = envelope.memory_bytes
    if memory is None or not retries or any(attempt.failure == "oom" for attempt in before):
        return envelope
    return envelope.model_copy(update={"memory_bytes": Span.exactly(memory.min)})


def _grown(attempt: Attempt, envelope: Envelope) -> dict[str, Span]:
    """The range that is asked for after this attempt, where it had too little of something and there may be more."""
    size, most = attempt.size, envelope.memory_bytes
    if attempt.failure == "oom" and size.memory_bytes is not None and most is not None:
        return _more("memory_bytes", size.memory_bytes, most.max)
    if attempt.failure == "timeout":
        return _more("walltime_s", size.walltime_s, envelope.walltime_s.max)
    return {}


def _more(name: str, had: int, most: int) -> dict[str, Span]:
    least = -int(-had * AT_LEAST // 1)
    return {name: Span(min=least, max=min(int(had * DOUBLE), most))} if least <= most else {}


def _no_other_place(task: Task, pin: Envelope) -> Stop | None:
    """A place where jobs do not start is not tried twice."""
    attempt = task.attempts[-1]
    if attempt.mismatch is not None and attempt.mismatch.instead is not None:
        return None
    if attempt.segment > 1:
        return Stop(
            f"Segment {attempt.segment} could not begin at {attempt.site}, where the work's checkpoints are.",
            "Mend that, or run the cell again: it begins anew.",
        )
    if pin.site is not None:
        failed = "could not begin" if attempt.mismatch is None else "failed"
        return Stop(
            f"It {failed} at {attempt.site}, where you pinned it.",
            f"Mend that, or run the cell again without --site {pin.site}.",
        )
    if not moves_left(task):
        allowed = words.count(task.healing.moves, "time")
        return Stop(
            f"It may change its site {allowed} (--moves), and nowhere else is left.", "Allow more with --moves."
        )
    return None


def retries_used(task: Task) -> int:
    """How many attempts have followed failed ones; the next segment of a work is no retry."""
    pairs = zip(task.attempts, task.attempts[1:], strict=False)
    return sum(before.failure is not None and after.step in ("retry", "resize", "migrate") for before, after in pairs)


def moves_left(task: Task) -> int:
    """How many times it may still change its site by itself."""
    pairs = zip(task.attempts, task.attempts[1:], strict=False)
    return task.healing.moves - sum(
        after.step == "migrate" or (after.site != before.site and after.step != "replan") for before, after in pairs
    )


def attempts_left(task: Task) -> int:
    """How many further attempts healing may make; none once the task has ended, or shall end."""
    if task.state.terminal or task.cancel_requested_by is not None:
        return 0
    return max(0, task.healing.retries - retries_used(task))


def avoided(task: Task) -> frozenset[str]:
    """Sites at which a job of it did not start, to which its data did not get, or that were reported to be wrong."""
    return frozenset(
        each.site
        for each in task.attempts
        if each.failure == "launch" or each.mismatch is not None or unstaged(each, each.failure)
    )


def mismatched(task: Task) -> dict[str, str]:
    """Sites that are wrong for the task, with what was reported; its work does not leave the files that it has."""
    told = {each.site: each.mismatch.reason for each in task.attempts if each.mismatch is not None}
    if bound(task):
        told.pop(task.attempts[-1].site, None)
    return told


def _because(attempt: Attempt, failure: FailureClass) -> str:
    who = f"attempt {attempt.n}"
    if attempt.mismatch is not None and failure not in _OVER:
        return f"{who} failed at {attempt.site}, which {attempt.mismatch.by} had reported to be wrong for it"
    if failure == "oom":
        at = "" if attempt.size.memory_bytes is None else f" at {memory(attempt.size.memory_bytes)}"
        return f"{who} ran out of memory{at}"
    said: dict[FailureClass, str] = {
        "timeout": f"{who} reached its time limit of {duration(attempt.size.walltime_s)}",
        "node": f"the node{f' {attempt.nodes}' if attempt.nodes else ''} failed under {who}",
        "preempt": f"{who} had to make room for another job at {attempt.site}",
        "launch": f"{who} could not begin at {attempt.site}",
        "data": f"the data of {who} did not get to {attempt.site}",
    }
    return said.get(failure, f"{attempt.site} could not be reached for {who}")


def why(follow: Follow, before: Attempt, after: Attempt, *, segments: int = 1) -> str:
    """The step in one sentence, as the user reads it."""
    amount = ""
    if follow.more == "memory" and after.size.memory_bytes is not None:
        amount = f" with {memory(after.size.memory_bytes)}"
    elif follow.more == "time":
        amount = f" with {duration(after.size.walltime_s)}"
    place = words.place(after.site, after.partition or "")
    if follow.step == "segment":
        head = f"Segment {follow.segment} of {segments}{follow.saved}"
    else:
        head = f"Run again{amount}" if after.site == before.site else f"Moved to {place}{amount}"
    anew = before.checkpoint is not None and after.site != before.site
    return f"{head}: {follow.because}." + (
        f" Its checkpoints stay at {before.site}, so it begins anew there." if anew else ""
    )


def _no_retries(task: Task) -> Stop:
    allowed = task.healing.retries
    if allowed == 0:
        return Stop("It may not be tried again (--retries 0).", "Allow it with --retries 3.")
    return Stop(
        f"It was tried again {words.count(allowed, 'time')}, as many as --retries allows.",
        f"Allow more with --retries {allowed + 3}, or ask for something else.",
    )


def _more_of_a_gpu(attempt: Attempt) -> Stop:
    return Stop(
        f"The GPU's own memory ran out in attempt {attempt.n}; more memory of the node would not help.",
        "Ask for a larger GPU with --gpu-memory 80G, or work on smaller pieces.",
    )


def _no_memory(attempt: Attempt) -> Stop:
    had = attempt.size.memory_bytes
    if had is None:
        return Stop(
            f"Attempt {attempt.n} ran out of the memory that the site gives unasked.", "Ask for more: --memory 16G-64G."
        )
    return Stop(
        f"Attempt {attempt.n} ran out of memory at {memory(had)}, and your --memory allows no more.",
        f"Give it a range: --memory {memory(had)}-{memory(4 * had)}.",
    )


def _no_progress(task: Task) -> Stop:
    attempt = task.attempts[-1]
    if attempt.checkpoint is None:
        return Stop(
            f"Segment {attempt.segment} left no checkpoint, so the next one would begin anew.",
            "Save with `with checkpoint.saving() as folder`, before the limit (--warn) or from time to time.",
        )
    return Stop(
        f"Segment {attempt.segment} got no further than checkpoint {attempt.checkpoint.name}, with which it began; "
        "neither would another.",
        "Save more often, or give each segment more time with --time.",
    )


def _no_time(attempt: Attempt, segments: int) -> Stop:
    had = attempt.size.walltime_s
    if segments > 1:
        return Stop(
            f"Attempt {attempt.n} reached its time limit of {duration(had)} as the last of {segments} segments.",
            f"Allow more with --segments {2 * segments}, or give each more time with --time: it begins anew then.",
        )
    span = f"{words.time_option(had)}-{words.time_option(4 * had)}"
    return Stop(
        f"Attempt {attempt.n} reached its time limit of {duration(had)}, and your --time allows no more.",
        f"Give it a range: --time {span}; or, where the cell goes on from a checkpoint, --segments 4.",
    )
