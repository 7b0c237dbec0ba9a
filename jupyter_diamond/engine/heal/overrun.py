"""Tasks that wait much longer than was forecast are planned again, and move where that is clearly better.

A move loses the age of the job in its queue, so it must pay; a pinned task stays, and so does one whose user asked for
something else than to be done soon.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.errors import Conflict, DiamondError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.states import ReasonClass, State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement import words
from jupyter_diamond.placement.replacement import better_place, look_again_after, next_look_after, remaining_here

from .places import ranking
from .segments import bound
from .steps import in_force, moves_left

_EVERY_S = 30.0
_FOREVER_S = 1e12
_TIMELY = frozenset({"earliest_completion", "earliest_start"})


class _Forecast(NamedTuple):
    """Of the decision that sent a job where it waits."""

    wait_s: float | None
    may_move: bool


class Overruns:
    """Looks at what waits, twice a minute; it asks no site but for the plan of a task that has overrun."""

    def __init__(
        self,
        ledger: Ledger,
        planner: Planner,
        log: logging.Logger,
        *,
        tasks: Callable[[], Iterable[Task]],
        hand_on: Callable[[Task], None],
    ) -> None:
        """``tasks`` are those that are being watched, as they are known here: looking costs the store nothing."""
        self._ledger, self._planner, self._log, self._tasks, self._hand_on = ledger, planner, log, tasks, hand_on
        self._forecasts: dict[tuple[str, int], _Forecast] = {}
        self._looks: dict[tuple[str, int], float] = {}

    async def keep(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self.look()
            except DiamondError as problem:
                self._log.warning("what waits could not be looked at: %s", problem.message)

    async def look(self) -> None:
        """Plan again what has overrun its forecast, and have it taken back where another place is clearly better."""
        waiting = {(task.id, task.attempts[-1].n): task for task in self._tasks() if _waits(task)}
        for kept in (self._forecasts, self._looks):
            for key in kept.keys() - waiting.keys():
                del kept[key]
        for key, task in waiting.items():
            await self._look_at(key, task)

    async def _look_at(self, key: tuple[str, int], task: Task) -> None:
        attempt, now = task.attempts[-1], time.time()
        forecast = await self._forecast(key)
        waited = now - (attempt.submitted_at or attempt.created_at).timestamp()
        never = attempt.reason_class is ReasonClass.NEVER
        if not forecast.may_move or now < self._looks.get(key, 0.0):
            return
        if not never and waited < look_again_after(forecast.wait_s or 0.0):
            return
        self._looks[key] = now + next_look_after(waited)
        before = await self._ledger.do(self._ledger.store.decision, task.id)
        decision = await self._planner.plan(in_force(task, before.envelope), follows=task, by=task.by)
        left = await self._planner.remaining(attempt)
        better = _better(decision, attempt, waited, never=never, left_s=None if left is None else left.wait_s)
        if better is None:
            return
        wanted = Withdrawal(by="diamond", then="migrate", why=_why(attempt, waited, forecast, better, never=never))
        try:
            moved = await self._ledger.write(self._ledger.store.withdraw, task.id, wanted, from_epoch(now))
        except Conflict:
            return  # it has started meanwhile
        self._hand_on(moved)

    async def _forecast(self, key: tuple[str, int]) -> _Forecast:
        """What its decision forecast; read once, for decisions may be large."""
        if key not in self._forecasts:
            decision = await self._ledger.do(self._ledger.store.decision, *key)
            choice = decision.choice
            wait = choice.estimate.forecast.wait_s if choice is not None and choice.estimate is not None else None
            free = decision.envelope.site is None and decision.objective in _TIMELY
            self._forecasts[key] = _Forecast(wait, free)
        return self._forecasts[key]


def _waits(task: Task) -> bool:
    """It is in a site's queue, nobody has asked for anything else, and it may move."""
    attempt = task.attempts[-1]
    wanted = task.cancel_requested_by or task.held_by or attempt.withdrawal
    free = not wanted and moves_left(task) > 0 and not bound(task)
    return attempt.state is State.PENDING and attempt.native is not None and free


def _better(
    decision: Decision, attempt: Attempt, waited: float, *, never: bool, left_s: float | None = None
) -> Candidate | None:
    """The place to move to; None: stay. ``left_s``: how long our job will still wait, by its own place in the queue."""
    at_home = (attempt.site, attempt.partition or "")
    here = next((each for each in decision.candidates if (each.site, each.partition) == at_home), None)
    others = [decision.candidates[at] for at in ranking(decision)]
    others = [each for each in others if (each.site, each.partition) != at_home]
    here_s = _FOREVER_S if never else _left_here(here, waited, left_s)
    if here_s is None:
        return None
    at = better_place(
        here_s, [each.estimate.total_s if each.estimate is not None else None for each in others], moves=0
    )
    return None if at is None else others[at]


def _left_here(here: Candidate | None, waited: float, left_s: float | None) -> float | None:
    """How long until it would be done where it waits; None where nobody can say.

    The plan's own wait there is that of one more job, behind ours. Where ours is not seen, what was waited tells.
    """
    estimate = here.estimate if here is not None else None
    if estimate is None or estimate.total_s is None:
        return None
    return remaining_here(left_s or 0.0, waited) + estimate.total_s - (estimate.forecast.wait_s or 0.0)


def _why(attempt: Attempt, waited: float, forecast: _Forecast, better: Candidate, *, never: bool) -> str:
    place = words.place(attempt.site, attempt.partition or "")
    if never:
        return f"it would never have started at {place} ({attempt.reason})"
    said = "" if forecast.wait_s is None else f", {words.duration(forecast.wait_s)} had been forecast"
    wait = better.estimate.forecast.wait_s if better.estimate is not None else None
    there = "soon" if wait is None else "now" if wait < 1 else f"in {words.duration(wait)}"
    other = words.place(better.site, better.partition)
    return f"it had waited {words.duration(waited)} at {place}{said}, and {other} would start it {there}"
