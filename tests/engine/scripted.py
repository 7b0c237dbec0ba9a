"""Sites whose transport does what a test says, followed by a real collector over a real store."""

import asyncio
import contextlib
import logging
import time
from pathlib import Path

from jupyter_diamond.engine.collector import Collector
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import TransportError
from jupyter_diamond.model.site import Site
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.settings import DiamondEngine
from jupyter_diamond.transport.base import Completed

PROBE = (Path(__file__).parents[1] / "captures" / "slurm" / "22.05" / "probe.out").read_bytes()
LOGIN = TransportError("delta needs your login: log in once in a terminal.", outcome="not_sent", needs_login=True)
DEAD = TransportError("delta cannot be reached.", outcome="not_sent")


class Scripted:
    """A transport that waits ``delay_s`` and then gives its probe's answer, or raises ``problem``.

    ``hangs``: it does not come back, and does not let itself be cancelled.
    """

    shares_files = False
    longest_wait_s = 0.0

    def __init__(self, answer=PROBE, *, delay_s=0.0):
        self.answer, self.delay_s = answer, delay_s
        self.problem, self.hangs = None, False
        self.free = asyncio.Event()
        self.asked = []

    async def run(self, script, *, timeout_s, **_):
        self.asked.append((time.monotonic(), script))
        while self.hangs:
            with contextlib.suppress(asyncio.CancelledError):
                await self.free.wait()
                return Completed(exit=0, stdout=self.answer, stderr=b"")
        await asyncio.sleep(self.delay_s)
        if self.problem is not None:
            raise self.problem
        return Completed(exit=0, stdout=self.answer, stderr=b"", seconds=self.delay_s)


class Links(dict):
    """As SiteLinks."""

    def __init__(self, transports, **site):
        super().__init__({
            name: SiteLink(
                site=Site(name=name, scheduler="slurm", machine="none", **site), transport=transport,
                scheduler=SlurmScheduler(),
            )
            for name, transport in transports.items()
        })  # fmt: skip


@contextlib.asynccontextmanager
async def following(folder, transports, *, background=True, writes=True, links=None, **settings):
    """A collector of these sites, running; its store is at ``folder``."""
    ledger = Ledger(folder / "diamond" / "store.sqlite")
    await ledger.open()
    collector = Collector(links or Links(transports), ledger, DiamondEngine(**settings), logging.getLogger("scripted"))
    collector.writes = writes
    collector.ledger = ledger
    running = asyncio.create_task(collector.run()) if background else None
    try:
        yield collector
    finally:
        for transport in transports.values():
            transport.hangs = False
            transport.free.set()
        if running is not None:
            running.cancel()
            await asyncio.wait({running})
        await collector.stop()
        await ledger.close()


def seen(collector, name="delta"):
    return next(reading for reading in collector.snapshot().sites if reading.site == name)


async def until(check, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"still {found!r} after {seconds} s"
        await asyncio.sleep(0.01)
    return found
