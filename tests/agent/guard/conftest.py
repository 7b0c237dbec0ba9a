"""A guard over a real service, with this machine as its site; and what may go wrong between two of its steps."""

from __future__ import annotations

import logging
from functools import partial

import pytest
import pytest_asyncio

from jupyter_diamond.agent.guard.guard import Guard
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.settings import DiamondApprovals
from tests.engine import cells
from tests.engine.conftest import bench as bench  # noqa: PLC0414 - a fixture
from tests.engine.conftest import until

ADA = Speaker(user="ada", channel="lab")
BOT = Speaker(user="ada", agent="Diamond", channel="chat:one")
LOG = logging.getLogger("diamond.test")


async def sent(service):
    active = [await service.task(row.id) for row in await service.tasks(phase="active")]
    return all(task.attempt.native is not None for task in active)


class Room:
    """Guards of one user over the same store."""

    def __init__(self, bench):
        self.bench = bench

    async def open(self, *, guard=None, **settings):
        """A guard of another server; of the first one where none is given."""
        if guard is not None:
            service = guard._service
            await until(partial(sent, service))  # else the next one looks for its jobs for seconds
            self.bench.services.remove(service)
            await service.stop()
        service = await self.bench.start(**settings)
        opened = Guard(service, DiamondApprovals(), LOG)
        await opened.start()
        return opened

    async def ask(self, guard, source="answer = 42", *, by=BOT, intent="", **fields):
        """What an agent proposes."""
        data = cells.bundle(source)
        return await guard.propose(
            "submit", by, request=cells.request(source, data, **fields), bundle=data, intent=intent
        )


async def given(guard, found, by=ADA):
    """The word of a person, and the act."""
    await guard.approve(found.id, found.hash, by)
    return await guard.perform(found.id, by)


async def tasks(guard):
    return await guard._service.tasks()


async def told(guard):
    return [line.what for line in await guard.audit()]


@pytest.fixture
def room(bench):
    return Room(bench)


@pytest_asyncio.fixture
async def guard(room):
    return await room.open()
