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
    Quorum,
    Terminal,
    Trouble,
)
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.durations import parse_friendly

WORDS = "ended, running, failed, trouble, milestone (with a pattern) or overrun (with running= or waiting=)"
GROUP_WORDS = "ended, failed (a member, first) or quorum (with ended= or well=, a number or a share below 1)"
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


def group_condition(what: str, *, ended: float | None = None, well: float | None = None) -> Condition:
    """The condition of a group that is meant: ``quorum`` of 10 that ended ``well``, or of 0.9 of all that ``ended``."""
    if ((ended is None) == (well is None)) == (what == "quorum") or what not in ("quorum", "ended", "failed"):
        raise InvalidRequest(f"{what!r} of a group cannot be waited for like this; there are: {GROUP_WORDS}.")
    if what != "quorum":
        return _PLAIN[what]
    wanted = well if well is not None else ended
    if isinstance(wanted, bool) or wanted is None or wanted <= 0 or (wanted > 1 and wanted != int(wanted)):
        raise InvalidRequest(f"A quorum is a number of members, or a share of them such as 0.9, not {wanted}.")
    is_share = isinstance(wanted, float) and wanted <= 1
    how = {"share": float(wanted)} if is_share else {"count": int(wanted)}
    return Quorum.model_validate({**how, "well": well is not None})


def _seconds(length: str | float | None) -> float | None:
    """``2h``, or a number of seconds."""
    seconds = float(parse_friendly(length)) if isinstance(length, str) else length
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise InvalidRequest(f"An overrun is after some seconds, and at most after a year, not after {length}.")
    return seconds
