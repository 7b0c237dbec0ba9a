"""What ``fit.on("milestone", …)`` means: words of a notebook as conditions."""

from __future__ import annotations

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.continuation import (
    LONGEST_S,
    PATTERN_LENGTH,
    AttemptFailed,
    Condition,
    InState,
    Milestone,
    Overrun,
    Terminal,
    Trouble,
)
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.durations import parse_friendly

WORDS = "ended, running, failed, trouble, milestone (with a pattern) or overrun (with running= or waiting=)"
_PLAIN: dict[str, Condition] = {
    "ended": Terminal(), "running": InState(states=(State.RUNNING,)), "failed": AttemptFailed(), "trouble": Trouble(),
}  # fmt: skip


def condition(
    what: str, pattern: str | None = None, *, running: str | float | None = None, waiting: str | float | None = None
) -> Condition:
    """The condition that is meant. Raises InvalidRequest with the words that there are."""
    if (pattern is not None) != (what == "milestone") or ((running or waiting) is not None) != (what == "overrun"):
        raise InvalidRequest(f"{what!r} cannot be waited for like this; there are: {WORDS}.")
    if what == "overrun":
        return Overrun(running_s=_seconds(running), waiting_s=_seconds(waiting))
    if what == "milestone":
        if not pattern or len(pattern) > PATTERN_LENGTH:
            raise InvalidRequest(f"A milestone's pattern has 1 to {PATTERN_LENGTH} characters.")
        return Milestone(pattern=pattern)
    found = _PLAIN.get(what)
    if found is None:
        raise InvalidRequest(f"{what!r} cannot be waited for; there are: {WORDS}.")
    return found


def _seconds(length: str | float | None) -> float | None:
    """``2h``, or a number of seconds."""
    seconds = float(parse_friendly(length)) if isinstance(length, str) else length
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise InvalidRequest(f"An overrun is after some seconds, and at most after a year, not after {length}.")
    return seconds
