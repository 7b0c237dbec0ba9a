"""A site that waits for a login is asked as soon as somebody has logged in, and everybody hears of it."""

import asyncio
import time

import pytest

from jupyter_diamond.errors import GlobusProblem, TransportError
from jupyter_diamond.globus import bucket
from jupyter_diamond.settings import DiamondGlobus
from tests.engine.conftest import until
from tests.globus.conftest import log_in

pytestmark = pytest.mark.asyncio

SITES = """\
sites:
  - {name: delta, scheduler: slurm, transport: globus-compute, endpoint: 11111111-2222-4333-8444-555555555555}
"""


class BehindGlobus:
    """A transport that does nothing but ask Globus, and then fails: what is counted is when it is asked."""

    shares_files, longest_wait_s = False, 0.0

    def __init__(self, globus):
        self.globus, self.asked, self.through = globus, [], 0

    async def run(self, script, **how):
        self.asked.append(time.monotonic())
        try:
            await self.globus.call(lambda clients: clients.compute2.get_endpoints().data)
        except GlobusProblem as problem:
            raise TransportError(problem.message, outcome="not_sent", needs_login=True) from problem
        self.through += 1
        raise TransportError("It is only a test.", outcome="not_sent")

    async def close(self):
        """Nothing is open."""


async def test_a_login_is_told_and_the_site_asked_at_once(bench, globus_services, monkeypatch, tmp_path):
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket(100_000))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(DiamondGlobus.client_id, "default_value", "")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    bench.sites_path.write_text(SITES)
    heard = []
    service = await bench.start(probe_tick_s=3600.0)
    service.on_change(heard.append)
    site = service.links["delta"]
    site.transport = BehindGlobus(service.globus)
    await service.refresh("delta")
    (reading,) = (one for one in service.engine.collector.snapshot().sites if one.site == "delta")
    assert "Nobody is logged in" in reading.problem
    assert site.transport.through == 0

    await log_in(service.globus, globus_services)
    await until(lambda: asyncio.sleep(0, site.transport.through > 0), 10.0)

    async def told():
        return [event for event in (await service.events(0)).events if event.type == "login.changed"]

    stored = await until(lambda: _two(told), 10.0)
    assert [(event.subject, event.data["health"]) for event in stored] == [
        ("login", "needs_login"), ("login", "signed_in"),
    ]  # fmt: skip
    assert [event.data["health"] for event in heard if event.type == "login.changed"] == ["needs_login", "signed_in"]
    assert "alice" not in str(stored)


async def _two(told):
    found = await told()
    return found if len(found) == 2 else None
