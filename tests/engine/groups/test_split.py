"""How members are shared out: by hand, and by properties of every outcome."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.engine.groups.split import Vessel, chunks, last_over_s, poured, stacked

times = st.one_of(st.none(), st.integers(0, 10_000).map(float))
slots = st.one_of(st.none(), st.integers(0, 40))
vessels = st.builds(
    Vessel, before_s=times, run_s=st.integers(1, 5000).map(float), now=slots, whole=slots,
    most=st.one_of(st.none(), st.integers(0, 30)),
)  # fmt: skip


def test_a_place_that_is_free_takes_what_fits_and_the_next_wave_goes_where_it_is_over_first():
    here, there = Vessel(0.0, 100.0, now=4, whole=4), Vessel(150.0, 100.0, now=0, whole=100)
    assert poured([here, there], 4) == [4, 0]
    assert poured([here, there], 8) == [8, 0]  # over at 200 s here, at 250 s there
    assert poured([here, there], 20) == [8, 12]


def test_a_second_wave_has_the_whole_place():
    vessel = Vessel(0.0, 10.0, now=2, whole=8)
    assert [vessel.over_at(position) for position in (2, 3, 10, 11)] == [10.0, 20.0, 20.0, 30.0]


def test_at_once_holds_at_each_place():
    wide, narrow = Vessel(0.0, 100.0, now=50, whole=50), Vessel(10.0, 100.0, now=50, whole=50)
    assert poured([wide, narrow], 8, at_once=2) == [4, 4]
    assert last_over_s([wide, narrow], [4, 4], at_once=2) == 210.0


def test_what_nobody_pays_for_goes_elsewhere_or_nowhere():
    rich, poor = Vessel(500.0, 10.0, now=9, whole=9), Vessel(0.0, 10.0, now=9, whole=9, most=3)
    assert poured([poor, rich], 10) == [3, 7]
    assert poured([poor], 10) == [3]
    assert stacked([poor, rich], 10) == [3, 7]


def test_a_place_that_tells_nothing_gets_some_and_one_of_unknown_wait_only_what_others_do_not_take():
    silent, known = Vessel(0.0, 100.0), Vessel(0.0, 100.0, now=9, whole=9)
    assert poured([silent, known], 10) == [1, 9]
    assert poured([Vessel(None, 100.0, now=50), known], 50) == [0, 50]


def test_starts_may_matter_more_than_ends():
    slow, fast = Vessel(0.0, 1000.0, now=5, whole=5), Vessel(60.0, 10.0, now=5, whole=5)
    assert poured([slow, fast], 5, starts=True) == [5, 0]
    assert poured([slow, fast], 5) == [0, 5]


@given(st.lists(vessels, min_size=1, max_size=6), st.integers(1, 120), st.one_of(st.none(), st.integers(1, 9)))
def test_all_are_placed_as_far_as_there_is_room_and_none_twice(given_, count, at_once):
    room = sum(count if vessel.most is None else vessel.most for vessel in given_)
    for shares in (poured(given_, count, at_once=at_once), stacked(given_, count)):
        assert sum(shares) == min(count, room)
        assert all(share <= (count if vessel.most is None else vessel.most)
                   for vessel, share in zip(given_, shares, strict=True))  # fmt: skip


@given(vessels, st.integers(1, 80), st.integers(0, 3000), st.integers(0, 3000))
def test_a_better_place_never_gets_fewer_than_a_worse_one_that_is_else_its_equal(vessel, count, later, slower):
    if vessel.before_s is None:
        vessel = vessel._replace(before_s=0.0)
    worse = vessel._replace(before_s=vessel.before_s + later, run_s=vessel.run_s + slower)
    better_first, worse_second = poured([vessel, worse], count)
    assert better_first >= worse_second
    if later + slower:
        worse_first, better_second = poured([worse, vessel], count)
        assert better_second >= worse_first


@given(st.lists(vessels, min_size=2, max_size=5), st.integers(1, 60), st.randoms(use_true_random=False))
def test_the_order_of_places_decides_between_equals_only(given_, count, chance):
    """No permutation makes the last job end at another time."""
    order = list(range(len(given_)))
    random.Random(chance.random()).shuffle(order)
    shuffled = [given_[at] for at in order]
    ends = last_over_s(given_, poured(given_, count)), last_over_s(shuffled, poured(shuffled, count))
    assert ends[0] == ends[1]


@given(st.lists(vessels, min_size=1, max_size=4), st.integers(2, 60))
def test_one_member_more_takes_nothing_from_any_place(given_, count):
    for fewer, more in pairwise([poured(given_, count - 1), poured(given_, count)]):
        assert all(one <= other for one, other in zip(fewer, more, strict=True))


@pytest.mark.parametrize(
    ("count", "longest", "first", "lengths"),
    [(10, None, None, [10]), (10, 4, None, [4, 4, 2]), (10, 4, 3, [3, 4, 3]), (10, 100, 0, [10]), (3, 10, 5, [3]),
     (10, 1, None, [1] * 10)],
)  # fmt: skip
def test_arrays_are_no_longer_than_a_site_takes(count, longest, first, lengths):
    assert chunks(count, longest=longest, first=first) == lengths
