"""When a task that waits moves: only where it is clearly better, and only when it has overrun."""

import math

import pytest

from jupyter_diamond.engine.heal.overrun import _better, _Forecast, _left_here, _waits, _why
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.states import ReasonClass, State
from tests.engine.heal.samples import HOUR, attempt, candidate, decision, task


def place(site, rank, wait_s, run_s=600.0, partition="cpu"):
    forecast = Forecast(wait_s=wait_s, method="replay")
    total = None if wait_s is None else wait_s + run_s
    return candidate(site, rank, partition, estimate=Estimate(forecast=forecast, run_s=run_s, total_s=total))


def waiting(**fields):
    return attempt(state=State.PENDING, started_at=None, **fields)


@pytest.mark.parametrize(("waited_h", "here_s", "there_s", "moves"), [
    (1, 4 * HOUR, 0, True),
    (0.1, 1200, 1000, False),
    (1, 0, 0, True),  # misjudged once: half of what was waited is still to come
    (0.1, 0, 0, False),
    (1, 4 * HOUR, 5 * HOUR, False),
    (1, 4 * HOUR, None, False),
    (1, None, 0, False),
])  # fmt: skip
def test_it_moves_only_where_it_is_clearly_better(waited_h, here_s, there_s, moves):
    plan = decision(place("delta", 1, here_s), place("anvil", 2, there_s, partition="shared"))
    if here_s is None:
        assert _left_here(plan.candidates[0], 0.0, 0.0) is None
    found = _better(plan, waiting(), waited_h * HOUR, never=False, left_s=here_s)
    assert (found is not None and found.site == "anvil") is moves


def test_what_its_own_job_still_waits_counts_and_not_what_one_more_would_behind_it():
    plan = decision(place("anvil", 1, HOUR, partition="shared"), place("delta", 2, 4 * HOUR))
    assert _better(plan, waiting(), HOUR, never=False, left_s=600.0) is None
    assert _better(plan, waiting(), HOUR, never=False, left_s=3 * HOUR).site == "anvil"
    assert _left_here(plan.candidates[1], 2 * HOUR, None) == HOUR + 600.0, (
        "not seen: as long as half of what was waited"
    )


def test_what_will_never_start_moves_wherever_it_can():
    plan = decision(place("delta", 1, None), place("anvil", 2, 50 * HOUR))
    never = waiting(reason="PartitionTimeLimit", reason_class=ReasonClass.NEVER)
    better = _better(plan, never, 60.0, never=True)
    assert better.site == "anvil"
    assert _why(never, 60.0, _Forecast(0.0, may_move=True), better, never=True) == (
        "it would never have started at delta:cpu (PartitionTimeLimit)"
    )


def test_the_reason_tells_forecast_and_truth():
    better = place("anvil", 1, 0.0, partition="shared")
    assert _why(waiting(), 2 * HOUR, _Forecast(600.0, may_move=True), better, never=False) == (
        "it had waited 2 h at delta:cpu, 10 min had been forecast, and anvil:shared would start it now"
    )
    assert "forecast" not in _why(waiting(), HOUR, _Forecast(None, may_move=True), better, never=False)


@pytest.mark.parametrize(("fields", "looked_at"), [
    ({}, True), ({"held_by": "you"}, False), ({"cancel_requested_by": "you"}, False),
])  # fmt: skip
def test_what_the_user_wants_otherwise_is_left_alone(fields, looked_at):
    assert _waits(task(waiting(), **fields)) is looked_at


def test_what_runs_or_has_no_moves_left_is_left_alone():
    assert not _waits(task(attempt(state=State.RUNNING)))
    moved = [waiting(), *(waiting(n=n, step="migrate") for n in (2, 3))]
    assert _waits(task(*moved[:2]))
    assert not _waits(task(*moved))
    assert math.isfinite(_left_here(place("delta", 1, 60.0), 600.0, None))
