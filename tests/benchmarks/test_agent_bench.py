"""The benchmark of agents itself: what counts as right and rigorous, and that its controls are caught."""

from __future__ import annotations

import pytest

from tests.benchmarks.agent.agents import Used
from tests.benchmarks.agent.report import Row, printed
from tests.benchmarks.agent.scenarios import SCENARIOS
from tests.benchmarks.agent.stage import desk_over, play


def row(**fields):
    base = {"name": "x", "control": False, "right": True, "looked": True, "submits": True, "tools": 9, "model_calls": 9,
            "while_running": 0, "prompt_tokens": 1, "answer_tokens": 1, "seconds": 1.0}  # fmt: skip
    return Row(**(base | fields))


def test_right_without_a_look_is_not_rigorous_and_a_call_while_a_job_runs_is_not_as_it_must_be():
    assert row().good
    assert not row(looked=False).good
    assert row(looked=False, submits=False).good, "where nothing was submitted there is no log to look at"
    assert not row(while_running=1).good
    assert not row(control=True).good, "a control that passes shows that nothing is measured"
    assert row(control=True, while_running=3).good
    assert "right 1 of 2, rigorous 0 of 2" in printed([row(looked=False, why="no log"), row(right=False)])


def test_looked_needs_one_of_each():
    used = Used()
    used.calls.update(["submit_task", "get_task", "plan_placement"])
    assert not used.looked
    used.calls.update(["tail_log"])
    assert used.looked
    used.idle_at += [1.0, 5.0]
    assert used.during([(4.0, 6.0)]) == 1


@pytest.mark.asyncio
async def test_a_sensible_agent_passes_on_this_machine(tmp_path):
    async with desk_over(tmp_path, tmp_path / "sites.yaml", this_machine=True) as desk:
        played = await play(desk, ("here",), SCENARIOS[0], 1)
        assert played.good, played
        assert (played.while_running, played.rigorous) == (0, True)
