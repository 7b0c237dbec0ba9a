"""The driver dies at every instant at which it writes, before and after: each step is written once all the same."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import asynccontextmanager, suppress

import pytest

from jupyter_diamond.engine.groups.driver import Groups
from jupyter_diamond.engine.groups.names import Names
from jupyter_diamond.engine.groups.shares import round_of, split
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.states import State
from tests.engine.conftest import until
from tests.engine.groups.test_shares import place, planned
from tests.store.store_samples import T0, a_request

pytestmark = pytest.mark.asyncio

PLAN = planned(place("near", 1, free=2, nodes=2), place("far", 2, wait_s=300.0, nodes=50), arrays=100)


class Planner:
    caps = ()

    async def planned(self, envelope, **how):
        return PLAN


class World:
    """A store with one group; its members end when they are handed to their sites, the ``bad`` ones badly."""

    def __init__(self, folder, bad=()):
        self.ledger, self.spool, self.bad = Ledger(folder / "d" / "store.sqlite"), Spool(folder / "spool"), bad
        self.handed = Counter()
        self.ending = set()

    async def begin(self, members, **more):
        asked = GroupRequest(request=a_request(), members=members, **more)
        found = split(PLAN, len(asked.rounds[0]))
        first = round_of(found, PLAN.decision, asked.rounds[0], names=Names(), now=T0)
        self.spool.save("g1", b"the bundle")
        await self.ledger.write(self.ledger.store.groups.create, asked, group_id="g1", first=first, at=T0)

    def adopt(self, tasks):
        for task in tasks:
            self.handed[task.name] += 1
            ending = asyncio.ensure_future(self.end(task))
            self.ending.add(ending)
            ending.add_done_callback(self.ending.discard)

    async def end(self, task):
        state = State.FAILED if task.member.index in self.bad else State.COMPLETED
        store = self.ledger.store
        await self.ledger.write(
            store.update_attempt, task.id, 1, at=from_epoch(T0.timestamp() + 5), type="attempt.terminal", data={},
            changes={"state": state}, dedup_key="terminal:1",
        )  # fmt: skip

    @asynccontextmanager
    async def driving(self, ledger):
        async def holds():
            return True

        groups = Groups(ledger, Planner(), self.spool, logging.getLogger("t"), holds=holds, adopt=self.adopt)
        run = asyncio.ensure_future(groups.run())
        try:
            yield run
        finally:
            run.cancel()
            with suppress(asyncio.CancelledError):
                await run

    async def over(self):
        return (await self.ledger.do(self.ledger.store.groups.progress, "g1")).over

    async def told(self):
        events = await self.ledger.do(self.ledger.store.events, 0, 1000, "group:g1")
        return Counter(event.type for event in events)


class Dying:
    """A ledger for a driver that dies at its n-th write, before or after it."""

    def __init__(self, ledger, at, side):
        self._ledger, self._left, self._side = ledger, at, side

    def __getattr__(self, name):
        return getattr(self._ledger, name)

    async def write(self, method, *args, **how):
        self._left -= 1
        if self._left == 0 and self._side == "before":
            raise asyncio.CancelledError
        found = await self._ledger.write(method, *args, **how)
        if self._left == 0:
            raise asyncio.CancelledError
        return found


MEMBERS = [Member(index=index, round=1 + index // 4) for index in range(8)]
ALL = {"group.created": 1, "group.round_started": 2, "group.round_finished": 1, "group.ended": 1}
STOPPED = {"group.created": 1, "group.round_started": 1, "group.stopped": 1, "group.ended": 1}


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize(("bad", "writes", "expected"), [((), 3, ALL), ((1,), 2, STOPPED)], ids=["well", "badly"])
async def test_every_step_is_written_once_whenever_its_driver_dies(tmp_path, side, bad, writes, expected):
    for at in range(1, writes + 1):
        folder = tmp_path / f"{at}"
        folder.mkdir()
        world = World(folder, bad)
        await world.ledger.open()
        await world.begin(MEMBERS)
        async with world.driving(Dying(world.ledger, at, side)) as run:
            await until(lambda run=run: _done(run))
        async with world.driving(world.ledger):
            await until(world.over)
            await until(lambda world=world: _no_bundle(world))
        assert await world.told() == expected, f"died {side} write {at}"
        members = await world.ledger.do(world.ledger.store.groups.members, "g1")
        assert {len(task.attempts) for task in members} == {1}
        assert len(members) == (4 if bad else 8)
        await asyncio.gather(*world.ending)
        await world.ledger.close()


async def _done(run):
    return run.done()


async def _no_bundle(world):
    return not list(world.spool.folder.iterdir())
