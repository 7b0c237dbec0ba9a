"""A real service over a real store, with this machine as its site."""

import asyncio
import logging
import time
from functools import partial

import pytest_asyncio

from jupyter_diamond.model.states import Phase
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from tests.engine import cells


class Bench:
    """Starts services of one user over the same store, and submits cells to them."""

    def __init__(self, folder):
        self.folder = folder
        self.services = []
        self.sites_path = folder / "sites.yaml"

    async def start(self, **settings):
        lease_s, budget = settings.pop("lease_s", 15.0), settings.pop("budget", None)
        service = DiamondService(
            store=DiamondStore(path=str(self.folder / "diamond" / "store.sqlite"), lease_s=lease_s),
            sites=DiamondSites(path=str(self.sites_path)),
            engine=DiamondEngine(**settings),
            limits=DiamondLimits(),
            log=logging.getLogger("diamond.test"),
            budget=budget,
        )
        await service.start()
        self.services.append(service)
        return service

    async def submit(self, service, source, **fields):
        language = fields.get("language", "python")
        data = cells.bundle(source, outputs=fields.get("outputs", ()), language=language)
        submitted = await service.submit(cells.request(source, data, **fields), data)
        return submitted.task


async def until(check, seconds=30.0):
    """Poll until ``check`` gives something true, and return it."""
    begun = time.monotonic()
    while True:
        found = await check()
        if found:
            return found
        waited = time.monotonic() - begun
        assert waited < seconds, f"still {found!r} after {seconds} s"
        await asyncio.sleep(min(max(0.02, waited / 20), 0.2))  # a look costs a millisecond; most ends come soon


async def readings(service, seconds=30.0):
    """Every site's reading, once each has been asked."""

    async def check():
        found = {reading.site: reading for reading in (await service.sites()).sites}
        return found if all(each.read_at or each.problem for each in found.values()) else None

    return await until(check, seconds)


async def ended(service, task, seconds=30.0):
    """Wait for a task's end."""

    async def check():
        now = await service.task(task.id)
        return now if now.state.terminal else None

    try:
        return await until(check, seconds)
    except AssertionError:
        story = [(event.type, event.data) for event in (await service.task_events(task.id)).events]
        raise AssertionError(
            f"not ended after {seconds} s: {(await service.task(task.id)).attempt!r}\n{story}"
        ) from None


async def _over(service, group_id):
    return (await service.groups.group(group_id)).phase is Phase.ENDED


@pytest_asyncio.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    for service in bench.services:
        for group in await service.groups.groups(phase="active") if service._engine else ():
            await service.groups.cancel(group.id, "the test's end")
            await until(partial(_over, service, group.id))
        for row in await service.tasks(phase="active") if service._engine else ():
            await service.cancel(row.id, "the test's end")
            await ended(service, row)
        await service.stop()
    await left_behind()


async def left_behind(seconds=30.0):
    """A service waits a second for what it stops: on a busy machine some of it ends only now, and has pipes to close."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=seconds)
