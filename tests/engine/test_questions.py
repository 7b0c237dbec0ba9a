"""How often a site is asked, on virtual time: soon after a change, seldom in the long run, whatever goes on there."""

import itertools
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.engine.questions import Allowance, QueueClock, accounting_allowance
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt

T0 = datetime(2026, 3, 1, tzinfo=timezone.utc)
HOUR = 3600.0


def attempt(state, *, started=None, walltime_s=360_000):
    size = Size(cpus=1, memory_bytes=1 << 30, walltime_s=walltime_s)
    began = None if started is None else T0 + timedelta(seconds=started)
    return Attempt(
        n=1, token="dmd-00000001", site="a", size=size, created_at=T0, state_since=T0, state=state, started_at=began
    )


WAITS, RUNS = attempt(State.PENDING), attempt(State.RUNNING, started=0.0)


def asked(attempts, *, until, stirs=(), floor_s=2.0, tells=True):
    """When the queue is asked, in seconds; every time of ``stirs`` something changes."""
    clock, now, times, stirs = QueueClock(floor_s), 0.0, [], sorted(stirs)
    clock.stirred(0.0)
    while True:
        due = max(now, clock.due_at(now))
        if stirs and stirs[0] <= due:
            now = stirs.pop(0)
            clock.stirred(now)
        elif due > until:
            return times
        else:
            now = due
            clock.asked(now, attempts, at=T0.timestamp() + now, tells=tells)
            times.append(now)


def gaps(times):
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def test_a_job_that_waits_is_asked_for_in_2_4_8_seconds_and_then_once_a_minute():
    assert gaps([0.0, *asked([WAITS, RUNS], until=400)])[:6] == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert set(gaps(asked([WAITS, RUNS], until=HOUR))[5:]) == {60.0}


@pytest.mark.parametrize("jobs", [1, 100])
def test_jobs_that_run_cost_a_question_every_three_minutes_however_many_they_are(jobs):
    times = [at for at in asked([RUNS] * jobs, until=2 * HOUR) if at > HOUR]
    assert len(times) == 20


@pytest.mark.parametrize("state", [State.SUSPENDED, State.UNKNOWN, State.COMPLETING])
def test_one_job_that_files_say_too_little_of_is_asked_for_once_a_minute(state):
    assert len([at for at in asked([RUNS, attempt(state, started=0.0)], until=2 * HOUR) if at > HOUR]) == 60


def test_where_no_log_can_be_looked_at_an_end_by_others_is_asked_for_once_a_minute():
    assert len([at for at in asked([RUNS], until=2 * HOUR, tells=False) if at > HOUR]) == 60


def test_changes_that_never_cease_make_no_storm_and_starve_no_question():
    stirs = [0.5 * i for i in range(7200)]
    times = asked([WAITS], until=HOUR, stirs=stirs)
    assert len(times) <= 6 + HOUR / 15
    assert max(gaps(times)) <= 15.1
    assert min(gaps(times)) >= 2.0


def test_a_change_after_a_calm_is_asked_for_at_once():
    times = asked([RUNS], until=2 * HOUR, stirs=[HOUR])
    assert [at - HOUR for at in times if at > HOUR][:4] == [2.0, 6.0, 14.0, 30.0]


@pytest.mark.parametrize("floor_s", [5.0, 60.0, 300.0])
def test_a_sites_floor_is_never_undercut(floor_s):
    times = asked([WAITS, RUNS], until=HOUR, stirs=[7.0 * i for i in range(500)], floor_s=floor_s)
    assert times
    assert min(gaps(times)) >= floor_s


def test_around_a_time_limit_the_queue_is_asked_in_a_few_steps():
    limited = attempt(State.RUNNING, started=0.0, walltime_s=3600)
    around = [at - HOUR for at in asked([limited], until=HOUR + 400) if at > HOUR]
    assert around[0] == 2.0
    assert 5 <= len([at for at in around if at <= 130]) <= 8
    assert min(gaps(around)) >= 8.0


def test_hundreds_of_limits_in_an_hour_are_asked_for_together():
    limited = [attempt(State.RUNNING, started=12.0 * i, walltime_s=3600) for i in range(300)]
    times = [at for at in asked(limited, until=2 * HOUR) if at > HOUR]
    assert len(times) <= 6 + HOUR / 15


def test_a_job_after_a_pause_is_not_asked_for_before_its_scheduler_has_looked_at_it():
    clock = QueueClock(2.0)
    clock.asked(0.0, [WAITS], at=T0.timestamp(), tells=True)
    clock.idle()
    clock.stirred(1000.0)
    assert clock.due_at(1000.0) == 1002.0


def test_a_hint_is_followed_as_soon_as_the_floor_lets():
    clock = QueueClock(2.0)
    clock.asked(100.0, [RUNS], at=T0.timestamp(), tells=True)
    clock.wanted(100.5)
    assert clock.due_at(100.5) == 102.0


def test_a_question_that_failed_is_put_ever_more_seldom():
    clock, now, waits = QueueClock(1.0), 0.0, []
    for _ in range(8):
        clock.asked(now, [WAITS], at=T0.timestamp(), tells=True)
        clock.failed(now)
        waits.append(clock.due_at(now) - now)
        now = clock.due_at(now)
    assert waits == sorted(waits)
    assert waits[-1] <= 180.0


def storm(allowance, ends, *, until):
    """How many questions are asked when each end asks for one, and one question serves all."""
    now, open_since, times = 0.0, None, []
    ends = sorted(ends)
    while True:
        ready = max(now, allowance.ready_at(now)) if open_since is not None else float("inf")
        if ends and ends[0] <= ready:
            now = max(now, ends.pop(0))
            open_since = now if open_since is None else open_since
        elif ready > until:
            return times
        else:
            now, open_since = ready, None
            allowance.take(now)
            times.append(now)


def test_two_hundred_ends_in_twenty_seconds_are_asked_for_a_few_times():
    times = storm(accounting_allowance(2.0), [0.1 * i for i in range(200)], until=60)
    assert len(times) <= 8 + 20 / 3 + 1
    assert max(gaps(times)) <= 3.1


def test_single_ends_are_asked_for_at_once():
    ends = [20.0 * i for i in range(50)]
    assert storm(accounting_allowance(2.0), list(ends), until=2000) == ends


def test_a_slow_sites_accounting_is_asked_at_its_floor():
    times = storm(accounting_allowance(60.0), [1.0 * i for i in range(3600)], until=HOUR)
    assert len(times) <= 8 + HOUR / 60 + 1


def test_an_allowance_fills_up_again_but_not_beyond_its_burst():
    allowance = Allowance(2, 10.0)
    for now, ready in ((0.0, 0.0), (0.0, 0.0), (0.0, 10.0), (10.0, 10.0)):
        assert allowance.ready_at(now) == pytest.approx(ready)
        if ready <= now:
            allowance.take(now)
    assert allowance.ready_at(1000.0) == 1000.0
    allowance.take(1000.0)
    allowance.take(1000.0)
    assert allowance.ready_at(1000.0) == 1010.0
