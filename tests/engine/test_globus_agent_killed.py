"""A real agent that is killed: with one of its own, as what it leaves behind delays whoever comes after it."""

import asyncio
import contextlib
import time

import pytest

from jupyter_diamond.errors import TransportError
from tests.engine.conftest import until
from tests.engine.test_globus_agent import agent, agent_at_delta, pool  # noqa: F401 - fixtures
from tests.engine.test_globus_site import online

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm, pytest.mark.globus]


async def test_an_agent_that_is_killed_is_noticed_and_its_successor_is_used(pool, agent):  # noqa: F811 - the fixtures
    """SIGKILL says goodbye to nobody: commands are unknown until the services miss its heartbeat."""
    service = await pool.start()
    link = service.links["delta"]
    await online(service)  # the agent's first process has its own time
    link.transport.answer_s = 20.0
    await asyncio.to_thread(agent.kill)

    async def gone():
        return not await asyncio.to_thread(lambda: agent.user_endpoints)  # they notice, and end by themselves

    await until(gone, 60)
    begun = time.monotonic()
    with pytest.raises(TransportError) as caught:
        await link.run("echo on", timeout_s=5)
    assert time.monotonic() - begun < 40
    assert caught.value.outcome in ("unknown", "not_sent")
    await asyncio.to_thread(agent.start)

    async def back():
        with contextlib.suppress(TransportError):
            return (await link.run("echo on", timeout_s=10)).out
        return ""

    assert await until(back, 90) == "on\n"
