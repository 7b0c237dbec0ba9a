"""The real tools over a real service with this machine as its site, and the real guard."""

from __future__ import annotations

import logging

import pytest_asyncio

from jupyter_diamond.agent.desk import AgentDesk
from jupyter_diamond.model.proposal import Speaker
from tests.engine.conftest import Bench

AGENT = Speaker(user="ada", agent="tester", channel="mcp:abc")
ADA = Speaker(user="ada", channel="lab")


class Desk:
    """Calls tools as an agent would, and says yes as the user would."""

    def __init__(self, desk: AgentDesk) -> None:
        self.desk = desk

    async def ask(self, tool: str, **arguments):
        return await self.desk.tools.call(tool, arguments, AGENT)

    async def __call__(self, tool: str, **arguments):
        answer = await self.ask(tool, **arguments)
        assert not answer.error, answer.content
        return answer.content

    async def allowed(self, tool: str, **arguments):
        """Proposed, approved, and done by the same call again."""
        asked = (await self(tool, **arguments))["needs_approval"]
        await self.desk.guard.approve(asked["proposal"], asked["hash"], ADA)
        return await self(tool, **arguments)


@pytest_asyncio.fixture
async def agent(tmp_path):
    bench = Bench(tmp_path)
    service = await bench.start()
    desk = AgentDesk(service, log=logging.getLogger("diamond.test"))
    await desk.start()
    yield Desk(desk)
    await desk.stop()
    await service.stop()
