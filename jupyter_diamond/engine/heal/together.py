"""Members of a group that were taken back from their queues go on as a group: one plan, new shares, new arrays."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from jupyter_diamond.engine.groups.names import Names
from jupyter_diamond.engine.groups.shares import renewed, round_of, split
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.errors import DiamondError, OverBudget, StoreError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.task import Task
from jupyter_diamond.placement import words
from jupyter_diamond.store.round_rows import Share

from .segments import bound
from .steps import in_force

End = tuple[Task, dict[str, Any]]
"""A task whose newest attempt is over, and what is changed of that."""


class Unit(NamedTuple):
    """What members that go on together have in common. ``array``: where they go back to, as they were held."""

    group: str
    wanted: Withdrawal
    array: str = ""
    envelope: str = ""


def unit_of(task: Task) -> Unit | None:
    """With whom a member goes on; None where it goes on alone: it moves for a reason of its own, or has files there."""
    attempt = task.attempts[-1]
    wanted, place = attempt.withdrawal, attempt.array
    if task.member is None or wanted is None or wanted.then == "migrate" or bound(task):
        return None
    if wanted.then == "hold":
        return None if place is None else Unit(task.member.group, wanted, array=place.token)
    return Unit(task.member.group, wanted, envelope=in_force(task).model_dump_json())


class Together:
    """Plans and stores what follows members that were taken back together."""

    def __init__(self, ledger: Ledger, planner: Planner) -> None:
        self._ledger, self._planner = ledger, planner

    async def follow(self, unit: Unit, ends: Sequence[End], envelope: Envelope, before: Decision) -> bool:
        """Store the ends and what follows them; False, and nothing is written, where each has to go on for itself."""
        held = unit.wanted.then == "hold"
        try:
            shares = self._back(ends, before) if held else await self._shared(ends, envelope)
        except StoreError:
            raise
        except DiamondError:  # each finds out for itself, and says so
            return False
        if not shares:
            return False
        why = "You held it before it had started" if held else unit.wanted.why or "you asked for a new plan"
        newest = {task.member.index: task.attempts[-1] for task, _ in ends if task.member is not None}
        followers = []
        for share in shares:
            first = share.first
            said = (
                why if held else f"To {words.place(first.site, first.partition or '')}, planned with its group: {why}"
            )
            mine = (
                (index, attempt.but(n=newest[index].n + 1, step="replan", why=f"{said}."))
                for index, attempt in share.attempts
            )
            followers.append(share._replace(attempts=tuple(mine)))
        ended = {task.id: (task.attempts[-1].n, changes) for task, changes in ends}
        store, now = self._ledger.store.groups.follow, from_epoch(time.time())
        try:
            await self._ledger.write(store, unit.group, ended, followers, at=now, caps=self._planner.caps)
        except OverBudget:
            return False
        return True

    @staticmethod
    def _back(ends: Sequence[End], before: Decision) -> tuple[Share, ...]:
        return renewed(before, [task for task, _ in ends], Names(), from_epoch(time.time()))

    async def _shared(self, ends: Sequence[End], envelope: Envelope) -> tuple[Share, ...]:
        """The shares of a new plan for all of them; none where not all of them find a place."""
        lead, _ = ends[0]
        assert lead.member is not None, "only members go on together"
        planned = await self._planner.planned(envelope, follows=lead, by=lead.by)
        asked = await self._ledger.do(self._ledger.store.groups.request, lead.member.group)
        wanted = {task.member.index for task, _ in ends if task.member is not None}
        members = [member for member in asked.members if member.index in wanted]
        found = split(planned, len(members), at_once=asked.at_once)
        if found.left or any(place.candidate.simulated for place, _ in found.shares):
            return ()
        return round_of(found, planned.decision, members, names=Names(), now=from_epoch(time.time())).shares
