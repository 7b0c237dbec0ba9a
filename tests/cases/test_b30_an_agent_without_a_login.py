"""B30, the agent's part: a login that has run out ends nothing, is told as what it is, and nothing is sent meanwhile."""

from __future__ import annotations

import logging

import pytest

from jupyter_diamond.agent.desk import AgentDesk
from jupyter_diamond.model.proposal import Allowance, BudgetScope, Speaker
from jupyter_diamond.model.states import State
from tests.engine import cells
from tests.engine.conftest import bench as bench  # noqa: PLC0414 - a fixture
from tests.engine.conftest import ended, readings
from tests.engine.looks import in_state

AGENT, ADA = Speaker(user="ada", agent="Diamond", channel="chat:b30"), Speaker(user="ada", channel="lab")
SAID = "403 ConsentRequired: Missing required data_access consent"


@pytest.mark.asyncio
async def test_an_agent_hears_that_a_login_is_needed_and_what_runs_is_not_called_failed(bench, tmp_path):
    service = await bench.start()
    desk = AgentDesk(service, log=logging.getLogger("diamond.test"))
    await desk.start()
    await desk.guard.set_budget(BudgetScope(), Allowance(jobs=10), ADA)
    gate = tmp_path / "gate"
    task = await bench.submit(service, cells.held(gate, ""), name="fit")
    await in_state(service, task, State.RUNNING)
    (reading,) = (await readings(service)).values()
    snapshot = service.engine.collector.snapshot()
    lost = reading.model_copy(update={"health": "needs_login", "problem": SAID})
    service.engine.collector.snapshot = lambda: snapshot.model_copy(update={"sites": (lost,)})

    pool = (await desk.tools.call("list_resources", {}, AGENT)).content["sites"][0]
    assert pool["health"] == "needs_login"
    assert SAID in pool["problem"]
    assert pool["problem"].startswith("<<<foreign text"), "what a service answers is no order"
    for tool in ("plan_placement", "submit_task"):
        given = {"name": "more", "source": "print(1)"} if tool == "submit_task" else {}
        answer = (await desk.tools.call(tool, {"cpus": "1", **given}, AGENT)).content
        assert "needs your login" in answer.get("sentence", answer.get("message", "")), answer
    assert [each.name for each in await service.tasks()] == ["fit"]
    now = (await desk.tools.call("get_task", {"task": "fit"}, AGENT)).content
    assert (now["phase"], now.get("outcome")) == ("RUNNING", None)

    del service.engine.collector.snapshot
    gate.touch()
    assert (await ended(service, task)).state is State.COMPLETED
    assert (await service.verdict(task.id)).correct == "yes"
    await desk.stop()
