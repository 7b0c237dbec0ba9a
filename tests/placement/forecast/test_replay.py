"""The queue simulated forward: small boards whose answer can be worked out by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_diamond.placement.forecast.pool import Pool
from jupyter_diamond.placement.forecast.replay import HORIZON_S, Board, Holding, Start, Waiting, replay, replay_all
from tests.placement.forecast import plain

H = 3600.0


def board(free, *, whole=None, running=(), waiting=()) -> Board:
    return Board(tuple(whole or [8] * len(free)), tuple(free), tuple(running), tuple(waiting))


def ask(nodes=1, units=1, limit=H) -> Waiting:
    return Waiting(nodes, units, 0.0, limit)


def held(end, limit_end, units, *nodes, id_="") -> Holding:
    return Holding(end, limit_end, units, nodes, id_)


def test_what_fits_and_has_nobody_before_it_starts_now():
    assert replay(board([4, 0]), ask(units=4)) == Start(0.0)


def test_a_job_waits_for_the_predicted_end_not_for_the_limit():
    start = replay(board([0], running=[held(600, 10 * H, 8, 0, id_="790")]), ask(units=8))
    assert (start.wait_s, start.freed_by) == (600.0, "790")


def test_free_units_on_many_nodes_are_not_room_on_one():
    there = board([4, 4], running=[held(900, H, 4, 0), held(1800, H, 4, 1)])
    assert replay(there, ask(units=8)).wait_s == 900.0
    assert replay(there, ask(nodes=2, units=8)).wait_s == 1800.0


def test_jobs_before_it_are_served_first():
    there = board([0], running=[held(600, H, 8, 0)], waiting=[Waiting(1, 8, 1200.0, H, "812")])
    start = replay(there, ask(units=8))
    assert (start.wait_s, start.behind, start.freed_by) == (1800.0, 1, "812")


def test_a_short_job_goes_first_where_it_delays_nobody():
    there = board([4], running=[held(2 * H, 2 * H, 4, 0)], waiting=[Waiting(1, 8, H, H, "big")])
    assert replay(there, ask(units=4, limit=H)).wait_s == 0.0


def test_a_job_too_long_for_the_gap_waits_for_the_reservation():
    there = board([4], running=[held(2 * H, 2 * H, 4, 0)], waiting=[Waiting(1, 8, H, H, "big")])
    assert replay(there, ask(units=4, limit=3 * H)).wait_s == 3 * H


def test_beside_a_reservation_there_may_be_room_for_long_jobs():
    there = board([4, 2], running=[held(2 * H, 2 * H, 4, 0), held(9 * H, 9 * H, 6, 1)], waiting=[Waiting(1, 8, H, H)])
    assert replay(there, ask(units=2, limit=100 * H)).wait_s == 0.0


def test_the_place_in_the_queue_counts():
    waiting = [Waiting(1, 8, 1200.0, H, "a"), Waiting(1, 8, 1200.0, H, "b")]
    there = board([0], running=[held(600, H, 8, 0)], waiting=waiting)
    assert [replay(there, ask(units=8), rank=at).wait_s for at in (0, 1, 2, None)] == [600.0, 1800.0, 3000.0, 3000.0]


def test_what_never_fits_and_what_is_too_far_off_is_beyond():
    assert replay(board([8]), ask(units=9)) == Start(HORIZON_S, beyond=True)
    assert replay(board([8, 8]), ask(nodes=3)).beyond
    assert replay(board([0], running=[held(3 * 86400, 3 * 86400, 8, 0)]), ask()).beyond


def test_a_pass_happens_every_cycle_and_not_for_every_end():
    ends = [held(100 + 10 * k, H, 1, 0) for k in range(8)]
    assert replay(board([0], running=ends), ask(units=8)).wait_s == 220.0  # 100, 160, 220


@pytest.mark.parametrize("seed", range(20))
def test_time_limits_alone_are_never_better_than_what_is_predicted_for_a_single_pool(seed):
    """Without backfill candidates, jobs that end sooner cannot make ours start later."""
    draw = random.Random(seed)
    running = [held(draw.uniform(60, H), 10 * H, 2, 0) for _ in range(4)]
    waiting = [Waiting(1, 8, draw.uniform(60, H), H, str(k)) for k in range(draw.randint(0, 4))]
    pessimist = board(
        [0], running=[job._replace(end_s=job.limit_end_s) for job in running],
        waiting=[job._replace(run_s=job.limit_s) for job in waiting],
    )  # fmt: skip
    soon = replay(board([0], running=running, waiting=waiting), ask(units=8, limit=H))
    assert soon.wait_s <= replay(pessimist, ask(units=8, limit=H)).wait_s


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_nothing_is_ever_given_twice(seed):
    """Whatever is taken and given back, every node keeps to what it has, and the counts agree with the nodes."""
    draw = random.Random(seed)
    whole = [draw.choice([1, 4, 8, 40]) for _ in range(draw.randint(1, 6))]
    pool, taken = Pool(whole, whole), []
    for _ in range(80):
        if taken and draw.random() < 0.5:
            nodes, units = taken.pop(draw.randrange(len(taken)))
            pool.take(nodes, -units)
        else:
            number, units = draw.randint(1, 2), draw.randint(1, draw.choice([8, 40]))
            nodes = pool.best(number, units)
            assert (nodes is None) == (sum(each >= units for each in pool.free) < number)
            if nodes is not None:
                assert len(set(nodes)) == number
                pool.take(nodes, units)
                taken.append((nodes, units))
        assert all(0 <= free <= all_ for free, all_ in zip(pool.free, whole, strict=True))
        assert pool.total == sum(pool.free)
        rooms = [sum(each >= k for each in pool.free) for k in range(1, 41)]
        assert [pool.fitting(k) for k in range(1, 41)] == rooms
        assert pool.rooms(range(1, 41)) == [each for each in rooms if each]
        assert sorted(pool.having(3)) == [node for node, free in enumerate(pool.free) if free >= 3]
        shadow = [draw.randint(0, 40) for _ in whole]
        assert pool.beside(shadow) == sorted(
            min(free, other) for free, other in zip(pool.free, shadow, strict=True) if free
        )


GPUS = ((4, 4, 8), (1, 2, 4))
CORES = ((24, 48, 64), (1, 3, 7, 16, 48))
"""What nodes have, and what jobs take of one."""


def drawn_board(draw: random.Random, sizes: tuple[int, ...] = GPUS[0], asked: tuple[int, ...] = GPUS[1]) -> Board:
    """A few nodes, partly taken, and a queue of a few shapes and limits, as on a real machine."""
    whole = [draw.choice(sizes) for _ in range(draw.randint(1, 8))]
    running, free = [], list(whole)
    for number in range(draw.randint(0, 12)):
        node = draw.randrange(len(whole))
        units = draw.randint(1, asked[-1])
        if free[node] >= units:
            free[node] -= units
            limit = draw.choice([600.0, H, 4 * H, 24 * H])
            running.append(Holding(draw.uniform(1, limit), limit, units, (node,), f"r{number}"))
    waiting = [
        Waiting(draw.choice([1, 1, 1, 2, 3]), draw.choice(asked), draw.uniform(60, 8 * H), draw.choice([H, 4 * H, 12 * H]), f"w{at}")
        for at in range(draw.randint(0, 40))
    ]  # fmt: skip
    return Board(tuple(whole), tuple(free), tuple(running), tuple(waiting))


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from([GPUS, CORES]))
@example(2477, GPUS)
def test_all_sizes_at_once_say_what_each_says_alone(seed, units):
    """The fast way is the plain way, wherever ours enters the queue."""
    draw = random.Random(seed)
    there = drawn_board(draw, *units)
    asks = [
        Waiting(draw.choice([1, 2, 4]), draw.randint(1, max(units[0])), 0.0, draw.choice([600.0, H, 8 * H]))
        for _ in range(4)
    ]
    rank = draw.choice([None, draw.randint(0, len(there.waiting))])
    assert replay_all(there, asks, rank=rank) == [plain.replay(there, each, rank=rank) for each in asks]
