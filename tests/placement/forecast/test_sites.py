"""What our own work tells of sites: little from little, and nothing that was not seen."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.model.queue import OwnRun
from jupyter_diamond.placement.forecast.sites import preparations, speeds


def run(site: str, *, work: str = "fit", ready: float | None = None, ran: float | None = None, units=1) -> OwnRun:
    return OwnRun(site, (work, "a.ipynb", "0123", units), ready, ran)


def pairs(number: int, times: dict[str, float]) -> list[OwnRun]:
    """So many works that ran at each of these sites, the longer the later."""
    return [
        run(site, work=f"w{at}", ran=(1 + at) * 60.0 * each) for at in range(number) for site, each in times.items()
    ]


# -- getting ready ----------------------------------------------------------------------------------------------------


def test_a_preparation_is_the_median_of_what_jobs_took_there():
    runs = [run("delta", ready=each) for each in (41.0, 300.0, 39.0)] + [run("vista", ready=2.0)] * 3
    assert preparations(runs) == {"delta": 40.0, "vista": 0.0}


def test_two_jobs_say_nothing():
    assert preparations([run("delta", ready=40.0)] * 2) == {}
    assert preparations([run("delta", ready=40.0)] * 2 + [run("delta")] * 5) == {}


def test_what_the_environment_takes_now_counts():
    assert preparations([run("delta", ready=300.0)] * 50 + [run("delta", ready=20.0)] * 15) == {"delta": 20.0}


def test_a_cell_that_began_before_its_job_tells_of_the_clocks_alone():
    assert preparations([run("delta", ready=-30.0)] * 9) == {}
    assert preparations([run("delta", ready=-0.6)] * 3) == {"delta": 0.0}  # an accounting that counts whole seconds


# -- speed ------------------------------------------------------------------------------------------------------------


def test_the_same_work_at_two_sites_tells_which_is_faster():
    found = speeds(pairs(60, {"delta": 1.0, "vista": 2.0}))
    assert found["vista"] / found["delta"] == pytest.approx(2.0, rel=0.1)
    assert found["vista"] * found["delta"] == pytest.approx(1.0, rel=0.05), "the user names the time at a mean site"


def test_few_works_are_taken_for_less_than_they_say():
    few, many = speeds(pairs(3, {"a": 1.0, "b": 2.0})), speeds(pairs(30, {"a": 1.0, "b": 2.0}))
    assert 1.0 < few["b"] < many["b"]
    assert speeds(pairs(2, {"a": 1.0, "b": 2.0})) == {}


def test_other_work_and_other_sizes_are_never_compared():
    runs = [run("a", work=f"w{at}", ran=60.0) for at in range(9)]
    assert speeds(runs + [run("b", work=f"x{at}", ran=60.0) for at in range(9)]) == {}
    assert speeds(runs + [run("b", work=f"w{at}", ran=60.0, units=4) for at in range(9)]) == {}


def test_what_ran_for_a_moment_tells_nothing():
    assert speeds([run(site, work=f"w{at}", ran=1.0 + (site == "b")) for at in range(9) for site in "ab"]) == {}
    assert speeds([run(site, work=f"w{at}") for at in range(9) for site in "ab"]) == {}


def test_no_site_is_taken_for_a_hundred_times_slower():
    found = speeds(pairs(200, {"a": 1.0, "b": 10_000.0}))
    assert (found["a"], found["b"]) == (0.25, 4.0)


def test_a_difference_of_nothing_much_is_none():
    assert set(speeds(pairs(5, {"a": 1.0, "b": 1.02})).values()) == {1.0}


def test_a_site_is_held_against_all_and_not_against_those_alone_that_its_work_ran_at():
    """b is as fast as a; it has most of its work in common with c, which is slow."""
    elsewhere = [each._replace(work=(each.work[0], "b.ipynb", "4567", 1)) for each in pairs(20, {"b": 1.0, "c": 4.0})]
    found = speeds(pairs(20, {"a": 1.0, "b": 1.0}) + elsewhere)
    assert found["a"] == pytest.approx(found["b"], abs=0.1)
    assert found["c"] > 1.5 * found["b"]
    assert found["b"] <= 1.0


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1_000_000))
def test_whatever_ran_where_a_factor_is_within_bounds_and_the_order_of_sites_changes_nothing(seed):
    draw = random.Random(seed)
    runs = [
        run(draw.choice("abcd"), work=draw.choice("uvwxyz"), ran=draw.choice([None, -3.0, 0.0, 5.0, 60.0, 7200.0, 1e7]),
            ready=draw.choice([None, -9.0, 0.0, 12.0, 1e6]))
        for _ in range(draw.randint(0, 40))
    ]  # fmt: skip
    found = speeds(runs)
    assert all(0.25 <= each <= 4.0 for each in found.values())
    assert all(each >= 0 for each in preparations(runs).values())
    by_site = sorted(runs, key=lambda each: each.site)
    assert (speeds(by_site), preparations(by_site)) == (found, preparations(runs))
