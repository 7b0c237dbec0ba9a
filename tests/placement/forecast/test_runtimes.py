"""How much of their limit jobs use: what is learnt, and what a running job has proved already."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.model.queue import PastJob
from jupyter_diamond.placement.forecast.runtimes import Runtimes

LIMIT = 36000.0


def past(used: float, *, user="ada", units=4, limit=LIMIT) -> PastJob:
    return PastJob(user=user, limit_s=limit, units=units, used_s=used, ended_at=0.0)


def test_a_habit_is_learnt():
    habit = Runtimes([past(3600.0)] * 40)
    assert habit.whole(("ada", LIMIT, 4)) == pytest.approx(3600, rel=0.35)


def test_a_group_says_more_than_its_user_and_a_user_more_than_the_site():
    known = Runtimes([past(35000.0, user="bob")] * 200 + [past(600.0, units=1)] * 30 + [past(18000.0, units=8)] * 30)
    nobody = known.whole(("eve", LIMIT, 2))
    assert known.whole(("ada", LIMIT, 1)) < 3000 < known.whole(("ada", LIMIT, 8)) < nobody
    assert known.whole(("ada", LIMIT, 2)) < nobody


def test_without_any_job_a_part_of_the_limit_is_expected():
    assert 0 < Runtimes().whole(("ada", LIMIT, 1)) < LIMIT


def test_newer_jobs_count_more():
    changed = Runtimes([past(600.0)] * 50 + [past(30000.0)] * 50)
    back = Runtimes([past(30000.0)] * 50 + [past(600.0)] * 50)
    assert changed.whole(("ada", LIMIT, 4)) > 2 * back.whole(("ada", LIMIT, 4))


def test_a_burst_of_long_jobs_is_told_by_those_that_run_before_one_has_ended():
    known = Runtimes([past(600.0, units=1)] * 50)
    burst, other = ("ada", LIMIT, 4), ("ada", LIMIT, 1)
    beside = known.beside([burst] * 10, [18000.0] * 10)
    assert beside.whole(burst) > 18000 > 5 * known.whole(burst)
    assert beside.whole(other) == known.whole(other)
    assert known.whole(burst) == Runtimes([past(600.0, units=1)] * 50).whole(burst)
    assert known.beside([burst], [0.0]).whole(burst) == pytest.approx(known.whole(burst))


@given(st.lists(st.floats(0, LIMIT), max_size=30), st.floats(0, LIMIT))
def test_a_running_job_takes_at_least_what_it_has_run_and_at_most_its_limit(used, elapsed):
    runtimes = Runtimes([past(each) for each in used])
    (total,) = runtimes.totals([("ada", LIMIT, 4)], [elapsed]).tolist()
    assert elapsed - 1e-6 <= total <= LIMIT + 1e-6


def test_a_job_that_outlived_its_habit_is_expected_to_go_on():
    runtimes = Runtimes([past(600.0)] * 40)
    early, late = runtimes.totals([("ada", LIMIT, 4)] * 2, [60.0, 7200.0])
    assert early < 1500
    assert late > 7200


def test_odd_records_do_no_harm():
    runtimes = Runtimes([past(-5.0), past(1e9), past(5.0, limit=0.0)])
    assert np.isfinite(runtimes.whole(("ada", LIMIT, 4)))
    assert runtimes.totals([], []).tolist() == []
