"""A model that answers with nonsense, over the real tools: the caller hears it, nothing is spent, the talk goes on."""

from __future__ import annotations

import logging

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from jupyter_diamond.agent.desk import AgentDesk
from jupyter_diamond.agent.tools.toolset import DiamondTools
from jupyter_diamond.errors import ModelProblem
from jupyter_diamond.model.proposal import Allowance, BudgetScope, Speaker
from jupyter_diamond.settings import DiamondAgent
from tests.engine.conftest import bench as bench  # noqa: PLC0414 - a fixture
from tests.live.model_stub import EMPTY, HUGE, ModelStub, call, drop, fail, refuse, say

ADA, BOT = Speaker(user="ada", channel="lab"), Speaker(user="ada", agent="Diamond", channel="chat:bad")
GOOD = {"name": "fit", "source": "print(1)", "cpus": "1"}
FAULTS = {
    "empty": [EMPTY] * 3,
    "malformed": [call("submit_task", '{"name": "fit", "source": "x')] * 3,
    "huge": [HUGE],
    "huge call": [call("submit_task", {**GOOD, "source": "x" * (1 << 20)})],
    "unknown tool": [call("scancel", {"user": "ada"})] * 3,
    "refusal": [refuse()],
    "throttled": [fail(429, retry_after=0)] * 3,
    "cut": [drop()] * 3,
}
HEARD = {
    "wrong type": call("submit_task", {**GOOD, "cpus": {"min": 1}, "outputs": 7}),
    "no argument": call("submit_task", {"name": "fit"}),
    "a bad name": call("submit_task", {**GOOD, "name": "x; rm -rf /"}),
    "more than there is": call("submit_task", {**GOOD, "cpus": "90000"}),
    "another one's": call("get_proposal", {"proposal": "p0123456789"}),
}
"""These are no faults of the model's form: the tool says what is wrong, and the model may mend it."""


def whole(history) -> bool:
    """Every call of a tool has its answer, so that the conversation can go on with any provider."""
    asked = {part.tool_call_id for each in history if isinstance(each, ModelResponse) for part in each.parts
             if isinstance(part, ToolCallPart)}  # fmt: skip
    told = {part.tool_call_id for each in history if isinstance(each, ModelRequest) for part in each.parts
            if isinstance(part, ToolReturnPart) or getattr(part, "part_kind", "") == "retry-prompt"}  # fmt: skip
    return asked <= told


@pytest.mark.asyncio
async def test_whatever_a_model_answers_nothing_is_spent_and_the_talk_goes_on(bench):
    with ModelStub() as stub:
        service = await bench.start()
        settings = DiamondAgent(model="local:stub", base_url=stub.url, timeout_s=5.0, turn_requests=4)
        desk = AgentDesk(service, log=logging.getLogger("diamond.test"), settings=settings)
        await desk.start()
        await desk.guard.set_budget(BudgetScope(), Allowance(jobs=100), ADA)
        agent = Agent(toolsets=[DiamondTools(desk.tools, BOT)])
        history = []
        for name, script in FAULTS.items():
            stub.play(script)
            with pytest.raises(ModelProblem) as told:
                await desk.models.run(agent, "Fit it.", purpose="chat", speaker=BOT, history=history)
            assert told.value.message.endswith("."), name
            history = list(told.value.history)
            assert whole(history), name
        for turn in HEARD.values():
            stub.play([turn, say("I see.")])
            history = (await desk.models.run(agent, "Fit it.", purpose="chat", speaker=BOT, history=history)).history
            assert whole(history)
        assert await service.tasks() == ()
        assert [each.what for each in await desk.guard.audit() if each.what.startswith("act.")] == []

        stub.play(lambda _messages: call("submit_task", GOOD))  # for ever
        with pytest.raises(ModelProblem, match="4 times"):
            await desk.models.run(agent, "Fit it.", purpose="chat", speaker=BOT, history=history)
        assert len(await service.tasks()) == 1, "the same call is the same task"
        await desk.stop()
