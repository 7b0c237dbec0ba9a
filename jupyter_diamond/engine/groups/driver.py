"""Advances groups: rounds begin, stop and end by what the store says. Run by the holder of the lease alone.

Nothing of a group is kept here that matters: what is due is worked out anew from the store whenever one of its members
ends or its user asks for something, and each step is one transaction that is written once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from jupyter_diamond.engine.heal.places import out_of_reach
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.pace import rest
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.errors import DiamondError, OverBudget, StoreError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.store.groups import Progress

from .names import Names
from .rounds import Begin, Finish, Stop, next_step
from .shares import round_of, split, too_few
from .turns import admitted

_AGAIN_S = 60.0
"""After a round found no place because sites were out of reach."""
_SOON_S = 5.0
_LINGER_S = 0.1
"""Members of an array end in bursts: one look does for all of a burst."""
_BEGUN = ("group.created", "group.round_started")
_OWN_FIRST_S = 0.05
"""What this very server has made is handed over with its making; another server's is read from the store."""
_ASKED = ("group.cancel_requested", "group.held", "group.released")
_OWN = ("group.round_finished", "group.stopped", "group.ended")
"""What only this tells: it goes on by itself."""


class Groups:
    """All groups that have not ended. ``run`` works until cancelled."""

    def __init__(
        self,
        ledger: Ledger,
        planner: Planner,
        spool: Spool,
        log: logging.Logger,
        *,
        holds: Callable[[], Awaitable[bool]],
        adopt: Callable[[Sequence[Task]], None],
    ) -> None:
        self._ledger, self._planner, self._spool, self._log = ledger, planner, spool, log
        self._holds, self._adopt = holds, adopt
        self._due: dict[str, float] = {}
        """When to look at a group, in seconds of the monotonic clock."""
        self._handed: dict[str, set[str]] = {}
        """By group, the members that were handed to their sites; the others wait for their turn."""
        self._changed: set[str] = set()
        """Groups whose members' watchers have not heard yet of what their user asked for."""
        self.waits: dict[str, str] = {}
        """Why a round could not begin yet, by group."""
        self._runs = False
        self._wake = asyncio.Event()
        ledger.listen(self._hear)

    async def run(self) -> None:
        """Go on with every group, as the store has it."""
        self._due, self._handed, self._runs = {}, {}, True
        try:
            for group_id in await self._ledger.do(self._ledger.store.groups.active):
                self._due[group_id] = 0.0
            await self._tidy()
            while True:
                self._wake.clear()
                now = time.monotonic()
                for group_id in [each for each, at in self._due.items() if at <= now]:
                    del self._due[group_id]
                    await self._look_safely(group_id)
                await rest(self._wake, min(self._due.values()) - time.monotonic() if self._due else None)
        finally:
            self._runs = False

    async def _tidy(self) -> None:
        """Drop the bundles of groups whose end was written by a server that died right after."""
        kept = await asyncio.to_thread(self._spool.kept)
        over = await self._ledger.do(self._ledger.store.groups.over, kept)
        for group_id in over:
            await asyncio.to_thread(self._spool.drop, group_id)

    def _hear(self, event: Event) -> None:
        if not self._runs:
            return
        kind, _, name = event.subject.partition(":")
        group_id, of_group, _ = name.partition("-")
        if kind == "group" and event.type not in _OWN:
            if event.type in _ASKED:
                self._changed.add(name)
            self._look_at(name, _OWN_FIRST_S if event.type in _BEGUN else 0.0)
        elif kind == "task" and of_group and event.type == "attempt.terminal":
            self._look_at(group_id, _LINGER_S)

    def handed(self, group_id: str, tasks: Sequence[Task], *, of: int) -> None:
        """Members of a new group, of so many, go to the watchers of their sites with its making."""
        if self._runs:
            self._handed.setdefault(group_id, set()).update(task.id for task in tasks)
            if len(tasks) < of:
                self._look_at(group_id, 0.0)

    def again(self, task: Task) -> None:
        """A member goes on in another array: whose turn that is is said anew."""
        if self._runs and task.member is not None:
            self._handed.get(task.member.group, set()).discard(task.id)
            self._look_at(task.member.group, 0.0)

    def _look_at(self, group_id: str, in_s: float) -> None:
        at = time.monotonic() + in_s
        if at < self._due.get(group_id, float("inf")):
            self._due[group_id] = at
            self._wake.set()

    async def _look_safely(self, group_id: str) -> None:
        try:
            await self._look(group_id)
        except StoreError as problem:  # nothing was written: it is as it was
            self._log.warning("group %s: %s", group_id, problem.message)
            self._look_at(group_id, _SOON_S)
        except DiamondError as problem:
            self._log.warning("group %s goes on later: %s", group_id, problem.message)
            self._look_at(group_id, _AGAIN_S)
        except Exception:  # noqa: BLE001 - a defect of ours must not keep the other groups from going on
            self._log.exception("group %s failed; it is tried again", group_id)
            self._look_at(group_id, _AGAIN_S)

    async def _look(self, group_id: str) -> None:
        """Do what is due, then what is due after it."""
        groups = self._ledger.store.groups
        while True:
            group = await self._ledger.do(groups.progress, group_id)
            step = next_step(group)
            if step is None or not await self._holds():
                break
            now = from_epoch(time.time())
            if isinstance(step, Stop):
                await self._ledger.write(groups.stop, group_id, step.why, now)
            elif isinstance(step, Finish):
                await self._ledger.write(groups.finish, group_id, now)
                self._handed.pop(group_id, None)
                await asyncio.to_thread(self._spool.drop, group_id)
                return
            elif not await self._begin(group, step):
                break
        if not group.over:
            await self._hand_over(group)

    async def _begin(self, group: Progress, step: Begin) -> bool:
        """Plan the round on fresh numbers and write it; False where it waits for a site to answer."""
        groups, asked = self._ledger.store.groups, group.asked
        if step.number > 1:
            await self._ledger.write(groups.finish_round, group.id, step.number - 1, from_epoch(time.time()))
        request = asked.request
        planned = await self._planner.planned(request.envelope, by=request.by, healing=request.healing)
        found = split(planned, len(step.members), number=step.number, at_once=asked.at_once)
        now = from_epoch(time.time())
        why_not = too_few(found, planned.decision)
        if why_not and out_of_reach(planned.decision):
            self.waits[group.id] = f"Round {step.number} begins when a site answers again. {why_not}"
            self._look_at(group.id, _AGAIN_S)
            return False
        self.waits.pop(group.id, None)
        if not why_not:
            begun = round_of(found, planned.decision, step.members, names=Names(), now=now)
            try:
                start = groups.start_round
                await self._ledger.write(start, group.id, step.number, begun, at=now, caps=self._planner.caps)
            except OverBudget as refused:
                why_not = refused.message
        if why_not:
            await self._ledger.write(groups.stop, group.id, f"Round {step.number} was not submitted: {why_not}", now)
        return True

    async def _hand_over(self, group: Progress) -> None:
        """Give members to the watchers of their sites, as many as may be there at once; tell of what was asked."""
        new_here, changed = group.id not in self._handed, group.id in self._changed
        handed = self._handed.setdefault(group.id, set())
        self._changed.discard(group.id)
        ids = {f"{group.id}-{index}" for index in group.begun.difference(group.ended)}
        if ids <= handed and not changed:
            return
        open_ = await self._ledger.do(self._ledger.store.groups.members, group.id, ended=False)
        if new_here:  # this server did not hand them over, but somebody did
            handed.update(task.id for task in open_ if _with_its_site(task))
        if group.cancelled:
            handed.update(task.id for task in open_)
        known = [task for task in open_ if task.id in handed]
        turn = admitted([task for task in open_ if task.id not in handed], known, group.asked.at_once)
        self._adopt([*(known if new_here or changed else ()), *turn])
        handed.update(task.id for task in turn)


def _with_its_site(task: Task) -> bool:
    """Something of it has been sent, or may have been: whose turn it is matters no more."""
    attempt = task.attempts[-1]
    return attempt.n > 1 or attempt.submissions > 0 or attempt.state is not State.WAITING
