"""What two looks at a queue tell, and whether what was forecast is to be trusted."""

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.forecast import Forecast, ForecastRecord
from jupyter_diamond.model.queue import QueuedJob, SiteQueue
from jupyter_diamond.placement.forecast.calibration import judged, trusts_replay
from jupyter_diamond.placement.forecast.observed import ended_between

NOW = 1_796_000_000.0


def job(id_="1", **fields):
    return QueuedJob(**{
        "id": id_, "user": "7", "partitions": ("gpu",), "nodes": 2, "cpus": 8, "gpus": 4, "limit_s": 3600.0,
        "started_at": NOW - 600, **fields,
    })  # fmt: skip


def look(at, *running, pending=(), **fields):
    return SiteQueue("delta", NOW + at, (), tuple(pending), running, **fields)


def past(before, after):
    return [each for _, each in ended_between(before, after)]


def test_a_job_that_is_gone_ran_half_the_gap_longer_than_it_was_seen():
    (found,) = past(look(0, job("1"), job("2")), look(60, job("2")))
    assert (found.user, found.limit_s, found.units, found.used_s, found.ended_at) == ("7", 3600.0, 8, 630.0, NOW + 30)


def test_no_job_is_said_to_have_run_longer_than_it_may():
    (found,) = past(look(0, job(limit_s=605.0)), look(60))
    assert found.used_s == 605.0


def test_a_job_that_waits_again_or_ran_never_is_not_over():
    assert past(look(0, job("1")), look(60, pending=[job("1", started_at=None)])) == []
    assert past(look(0, pending=[job("1", started_at=None)]), look(60)) == []


@pytest.mark.parametrize("fields", [{"cut": True}])
def test_what_is_missing_in_a_queue_that_is_cut_is_not_over(fields):
    assert past(look(0, job()), look(60, **fields)) == []
    assert past(look(0, job(), **fields), look(60)) == []


def test_looks_that_are_too_far_apart_for_a_limit_say_nothing_however_long_a_job_ran():
    for ran in (1, 1000, 3599):
        assert past(look(0, job(started_at=NOW - ran)), look(800)) == []
    assert len(past(look(0, job(limit_s=86400.0)), look(800))) == 1
    assert past(look(60, job()), look(0)) == []


def record(said, waited, *, site="delta", method="replay", ahead=0, age_days=0.0, band=(None, None), **fields):
    made = datetime.fromtimestamp(NOW, timezone.utc) - timedelta(days=age_days)
    return ForecastRecord(
        task_id="t", attempt=1, site=site, partition="gpu", size=Size(walltime_s=60), made_at=made, queue_ahead=ahead,
        forecast=Forecast(wait_s=said, method=method, low_s=band[0], high_s=band[1]), submitted_at=made,
        started_at=made + timedelta(seconds=waited), starts_now=False, **fields,
    )  # fmt: skip


def test_a_replay_that_is_worse_than_the_simple_rule_is_not_trusted_until_that_is_long_ago():
    wrong = [record(86_400, 3600) for _ in range(8)]
    right = [record(600, 700, site="anvil") for _ in range(8)]
    assert trusts_replay([*wrong, *right], now=NOW) == {"delta": False, "anvil": True}
    assert trusts_replay(wrong[:7], now=NOW) == {}, "too few say nothing"
    assert trusts_replay([record(86_400, 3600, age_days=31) for _ in range(8)], now=NOW) == {}
    assert trusts_replay([record(86_400, 3600, method="test_only") for _ in range(8)], now=NOW) == {}


def test_a_site_is_judged_by_error_band_and_regret():
    found = judged("delta", [
        record(100, 160, band=(50, 200), total_s=1000, best_rival_s=1030),
        record(100, 90, band=(95, 200), total_s=1000, best_rival_s=1030),
        record(0, 30, method="fits_now", total_s=500), record(None, 70, method="unknown"),
    ])  # fmt: skip
    assert (found.n, found.bias_s, found.error_s, found.methods) == (3, 30, 30, {"replay": 2, "fits_now": 1})
    assert (found.banded, found.coverage) == (2, 0.5)
    assert found.regret_s == pytest.approx((30 + 0 + 0) / 3)
    empty = judged("x", [])
    assert (empty.n, empty.error_s, empty.coverage, empty.regret_s) == (0, None, None, None)
