"""Forecasts beside what became of them, and the jobs that are learnt from."""

from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.queue import PastJob
from jupyter_diamond.model.states import State
from jupyter_diamond.store import outcomes
from tests.store.store_samples import SIZE, a_decision, a_request, an_attempt, at, put_task


def forecast_task(store, number, *, wait=30.0, rivals=(), **times):
    plain = a_decision()
    estimate = Estimate(forecast=Forecast(wait_s=wait, method="replay"), total_s=wait + 600)
    chosen = plain.candidates[0].model_copy(update={"estimate": estimate, "queue_ahead": 2, "starts_now": False})
    others = tuple(
        chosen.model_copy(update={"site": "beta", "estimate": estimate.model_copy(update={"total_s": total})})
        for total in rivals
    )
    decision = plain.model_copy(
        update={"candidates": (*others, chosen), "chosen": len(others), "alternatives": tuple(range(len(others)))}
    )
    store.create_task(
        a_request(f"token-{number:010d}"), task_id=f"t{number:07d}", key="ab" * 32, decision=decision,
        attempt=an_attempt(f"dmd-{number:08d}"), why_here="x", at=at(0),
    )  # fmt: skip
    store.update_attempt(
        f"t{number:07d}", 1, at=at(9), type="attempt.state_changed", data={}, changes={"state": State.RUNNING, **times}
    )


def test_a_forecast_is_read_with_its_real_start(store):
    forecast_task(store, 1, rivals=(None, 640.0, 700.0), submitted_at=at(1), started_at=at(81))
    forecast_task(store, 2, submitted_at=at(1))
    put_task(store, 3)  # decided before there were forecasts
    store.update_attempt(
        "t0000003", 1, at=at(9), type="attempt.state_changed", data={},
        changes={"state": State.RUNNING, "started_at": at(3)},
    )  # fmt: skip
    found = store.outcomes()
    assert list(found) == [("t0000003", 1), ("t0000001", 1)], "oldest start first; what has not started is not there"
    assert found["t0000003", 1] is None
    record = found["t0000001", 1]
    assert (record.site, record.partition, record.size, record.queue_ahead) == ("alpha", "short", SIZE, 2)
    assert (record.forecast.wait_s, record.waited_s, record.error_s) == (30.0, 80.0, 50.0)
    assert (record.total_s, record.best_rival_s, record.regret_s) == (630.0, 640.0, 40.0)
    assert store.outcomes(frozenset(found)) == {}


def ended_task(store, number, *, name="fit", notebook="work/a.ipynb", state=State.COMPLETED, **times):
    put_task(store, number, name, notebook)
    store.update_attempt(
        f"t{number:07d}", 1, at=at(99), type="attempt.terminal", data={}, changes={"state": state, **times}
    )


def test_what_ended_well_is_read_with_what_it_took_and_as_the_same_work_wherever_it_ran(store):
    ended_task(store, 1, started_at=at(10), cell_started_at=at(12.5), ended_at=at(80))
    ended_task(store, 2, started_at=at(5), ended_at=at(80), notebook=None)
    ended_task(store, 3, state=State.FAILED, started_at=at(10), cell_started_at=at(12.5), ended_at=at(80))
    ended_task(store, 4, started_at=at(20), cell_started_at=at(21), ended_at=at(23))
    put_task(store, 5)
    found = store.own_runs()
    assert list(found) == [("t0000002", 1), ("t0000001", 1), ("t0000004", 1)], "oldest start first"
    first, other, again = found["t0000001", 1], found["t0000002", 1], found["t0000004", 1]
    assert (first.site, first.prepare_s, first.run_s) == ("alpha", 2.5, 67.5)
    assert (other.prepare_s, other.run_s) == (None, None), "without the receipt nobody knows when the cell began"
    assert first.work == again.work != other.work
    assert (first.work[0], first.work[1], first.work[3]) == ("fit", "work/a.ipynb", 2)
    assert store.own_runs(frozenset(found)) == {}


def test_the_newest_past_jobs_of_each_site_are_kept_in_order(store, monkeypatch):
    monkeypatch.setattr(outcomes, "MOST_PAST", 5)
    jobs = [PastJob(str(number), 60.0, 1, 1.5, 100.0 + number) for number in range(9)]
    store.put_past_jobs("alpha", jobs[:4])
    store.put_past_jobs("beta", jobs[:1])
    store.put_past_jobs("alpha", jobs[4:])
    assert store.past_jobs("alpha") == tuple(jobs[4:])
    assert store.past_jobs("beta") == tuple(jobs[:1])
    assert store.past_jobs("gamma") == ()
