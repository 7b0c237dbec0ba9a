"""When a task that waits moves, and when a second copy may wait beside it."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.placement import replacement

NOW = datetime(2026, 11, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("said", "looked"), [(0.0, 600.0), (100.0, 600.0), (1000.0, 1800.0), (2200.0, 3600.0), (40_000.0, 10_000.0)]
)
def test_a_task_is_looked_at_again_when_it_has_overrun_its_forecast_or_a_quarter_of_a_long_one(said, looked):
    assert replacement.look_again_after(said) == looked


def test_a_queue_that_was_misjudged_once_is_not_believed_again():
    assert replacement.remaining_here(60.0, 4000.0) == 2000.0
    assert replacement.remaining_here(9000.0, 4000.0) == 9000.0


@pytest.mark.parametrize(
    ("here", "others", "moves", "to"),
    [
        (10_000, [9_000, 8_000], 0, 1),
        (10_000, [8_600], 0, None),  # less than 15 % better
        (1_000, [710], 0, None),  # less than five minutes
        (10_000, [None, 100], 2, 1),
        (10_000, [100], 3, None),
        (10_000, [None], 0, None),
        (10_000, [], 0, None),
    ],
)
def test_a_move_must_be_clearly_better_and_happens_three_times_at_most(here, others, moves, to):
    assert replacement.better_place(here, others, moves=moves) == to


def candidate(site, wait, total, *, allowed=True) -> Candidate:
    estimate = Estimate(forecast=Forecast(wait_s=wait, method="replay"), total_s=total)
    size = Size(walltime_s=60)
    return Candidate(site=site, partition="p", size=size, feasible=True, estimate=estimate, copy_allowed=allowed)


def second(*candidates) -> str | None:
    decision = Decision(
        made_at=NOW, snapshot_id=1, mode="rules", envelope=Envelope(), candidates=candidates, chosen=0, sentence="",
        alternatives=tuple(range(1, len(candidates))),
    )  # fmt: skip
    found = replacement.second_copy(decision)
    return None if found is None else found.site


FIRST = candidate("a", 600, 4_000)


def test_a_second_copy_waits_where_both_sites_allow_it_and_the_first_is_likely_to_wait():
    assert second(FIRST, candidate("b", 900, 4_400)) == "b"
    assert second(candidate("a", 599, 4_000), candidate("b", 900, 4_400)) is None
    assert second(FIRST, candidate("b", 900, 4_400, allowed=False)) is None
    assert second(candidate("a", 600, 4_000, allowed=False), candidate("b", 900, 4_400)) is None


def test_no_second_copy_at_the_same_site_nor_where_nothing_is_known_of_the_wait():
    assert second(FIRST, candidate("a", 700, 4_100)) is None
    assert second(FIRST, candidate("a", 700, 4_100), candidate("b", 900, 4_400)) == "b"
    assert second(FIRST, candidate("b", None, None)) is None
    assert second(FIRST) is None


def test_a_second_copy_may_be_the_later_the_longer_the_first_is_to_wait():
    assert second(FIRST, candidate("b", 4_200, 7_600)) == "b"
    assert second(FIRST, candidate("b", 4_300, 7_700)) is None
    assert second(candidate("a", 36_000, 40_000), candidate("b", 200_000, 204_000)) == "b"


def test_a_copy_that_could_start_first_and_be_done_much_later_is_left_out_for_the_next():
    slow, next_ = candidate("b", 0, 5_000), candidate("c", 2_000, 5_500)
    assert second(FIRST, slow) is None
    assert second(FIRST, slow, next_) == "c"
    assert second(FIRST, candidate("b", 600, 4_150)) == "b"
