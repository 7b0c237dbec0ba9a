"""A test of the tests: a server with a hole in it makes the suite red, and a seed is the whole story of its run.

More holes are in ``test_found.py``, each with the plan that it cannot stand.
"""

from __future__ import annotations

import pytest

from jupyter_diamond.engine import submit
from jupyter_diamond.model.states import State

from . import run as chaos
from .cluster import Cluster
from .plan import BOUNDARIES, draw
from .seeds import first_red, fresh

WITHIN = range(1, 61)


def test_a_server_that_submits_again_without_a_look_turns_it_red(monkeypatch):
    async def no_look(self, batch):
        return await self._note(batch, "attempt.state_changed", {}, state=State.WAITING)

    monkeypatch.setattr(submit.Submitter, "_find", no_look)
    assert first_red(WITHIN) is not None


def test_a_job_that_forgets_the_claim_turns_it_red(monkeypatch):
    def forgets(self, job):
        job.folder.mkdir(exist_ok=True)  # a member makes its own before it would make its claim
        return True

    monkeypatch.setattr(Cluster, "_claims", forgets)
    assert first_red(WITHIN) is not None


@pytest.mark.parametrize("seed", [next(seed for seed in range(1, 100) if len(draw(seed).kills) == 3), 30])
def test_the_same_seed_tells_the_same_story(seed, tmp_path):
    first, second = (chaos.run(seed, fresh(tmp_path / name)).trace for name in ("a", "b"))
    assert [line.replace("/a", "/b") for line in first] == second
    assert len(first) > 10


def test_every_boundary_is_drawn_for_a_kill_within_the_seeds_of_a_test_run():
    drawn = {kill.boundary for seed in range(1, 501) for kill in draw(seed).kills}
    assert set(BOUNDARIES) - drawn == set()
