"""When a task that waits should move, and when a second copy of it may wait beside it. Pure rules; others act on them.

A move loses the age of the job in its queue, so it must be clearly better. A second copy is off unless the site allows
it: never more than one, and the loser is cancelled at the first start.
"""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.forecast import Estimate

MOST_MOVES = 3
FIRST_LOOK_S = 600.0
"""A task that has waited less than this is left alone, whatever was forecast."""
LONG_LOOK_S = 3600.0
BETTER_BY_S, BETTER_BY = 300.0, 0.15
COPY_FROM_S = 600.0
"""A second copy is worth its queue place only where the first is likely to wait this long."""
COPY_LATER = 6.0
"""And only at a place that would be done later by at most so many times that wait: forecasts of long waits are wrong by
factors, those of short ones by minutes, so what is worth a queue place grows with the wait."""
COPY_SLOWER = 0.25
"""And where what follows the wait takes longer by at most this part of it: the first start wins, so that a slower place
that happens to start first would lose more than the wait that it saves."""


def look_again_after(forecast_wait_s: float) -> float:
    """How long after submission a task that has not started is looked at again: when it has overrun its forecast.

    A long forecast is not waited for: after an hour, or a quarter of it, more is known of every queue.
    """
    return max(FIRST_LOOK_S, min(1.5 * forecast_wait_s + 300.0, max(LONG_LOOK_S, 0.25 * forecast_wait_s)))


def next_look_after(waited_s: float) -> float:
    """How long until the look after that one."""
    return max(FIRST_LOOK_S, 0.25 * waited_s)


def remaining_here(replayed_s: float, waited_s: float) -> float:
    """Of a queue that has been misjudged once: at least half of what was waited already."""
    return max(replayed_s, 0.5 * waited_s)


def better_place(here_s: float, others_s: Sequence[float | None], *, moves: int) -> int | None:
    """Which of the other places to move to, by what each would take in all; None: stay."""
    if moves >= MOST_MOVES:
        return None
    known = [(total, at) for at, total in enumerate(others_s) if total is not None]
    if not known:
        return None
    best, at = min(known)
    return at if here_s - best > max(BETTER_BY_S, BETTER_BY * here_s) else None


def second_copy(decision: Decision) -> Candidate | None:
    """Where a second copy may wait beside the chosen place; None where there shall be none."""
    choice = decision.choice
    if choice is None or choice.estimate is None or not choice.copy_allowed:
        return None
    wait = choice.estimate.forecast.wait_s
    if wait is None or wait < COPY_FROM_S:
        return None
    others = (decision.candidates[at] for at in decision.alternatives)
    elsewhere = (other for other in others if other.site != choice.site and other.copy_allowed)
    return next((other for other in elsewhere if _worth_a_copy(choice.estimate, other.estimate)), None)


def _worth_a_copy(first: Estimate, second: Estimate | None) -> bool:
    """Whether a copy there may well start first, and be done first if it does."""
    if second is None or first.total_s is None or second.total_s is None:
        return False
    wait, there = first.forecast.wait_s, second.forecast.wait_s
    if wait is None or there is None:
        return False
    later = second.total_s - first.total_s
    slower = later - (there - wait)
    return later <= COPY_LATER * wait and slower <= COPY_SLOWER * wait
