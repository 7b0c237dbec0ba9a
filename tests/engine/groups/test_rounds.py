"""What a group does next, from what is stored alone."""

from __future__ import annotations

from jupyter_diamond.engine.groups.rounds import Begin, Finish, Stop, next_step
from jupyter_diamond.engine.groups.turns import admitted
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import ArrayPlace
from jupyter_diamond.store.groups import Progress
from tests.engine.heal.samples import T0, attempt, task
from tests.store.store_samples import a_request

OK, BAD, STOPPED = State.COMPLETED, State.OUT_OF_MEMORY, State.CANCELLED


def group(*members, round_=1, ended=None, next_round="ok", **more):
    asked = GroupRequest(request=a_request(), members=members, next_round=next_round)
    begun = frozenset(each.index for some in asked.rounds[:round_] for each in some)
    state = {"stopped": False, "cancelled": False, "held": False, "over": False, **more}
    return Progress(id="g1", asked=asked, created_at=T0, round=round_, begun=begun, ended=ended or {}, **state)


TWO = Member(index=0), Member(index=1, required=False), Member(index=2, round=5), Member(index=3, round=5)


def test_the_next_round_waits_for_the_required_members_of_the_one_before():
    assert next_step(group(*TWO)) is None
    assert next_step(group(*TWO, ended={1: OK})) is None
    assert next_step(group(*TWO, ended={0: OK})) == Begin(2, TWO[2:])
    assert next_step(group(*TWO, ended={0: OK}, held=True)) is None
    assert next_step(group(*TWO, ended={0: OK, 1: BAD})) == Begin(2, TWO[2:])


def test_where_ok_cannot_come_true_any_more_the_rest_is_stopped_at_once_and_what_runs_is_waited_for():
    stop = next_step(group(*TWO, ended={0: BAD}))
    assert stop == Stop(
        "Round 2 waits for fit[0] to end well, and fit[0] ran out of memory: 2 members are not submitted."
    )
    assert next_step(group(*TWO, ended={0: BAD}, stopped=True)) is None
    assert next_step(group(*TWO, ended={0: BAD, 1: OK}, stopped=True)) == Finish()
    assert isinstance(next_step(group(*TWO, ended={0: STOPPED})), Stop)
    assert next_step(group(*TWO, ended={0: BAD}, next_round="ended")) == Begin(2, TWO[2:])


def test_the_last_round_ends_the_group_and_so_does_a_cancel():
    ended = dict.fromkeys(range(4), OK)
    assert next_step(group(*TWO, round_=2, ended={0: OK, 1: OK, 2: OK})) is None
    assert next_step(group(*TWO, round_=2, ended=ended)) == Finish()
    assert next_step(group(*TWO, round_=2, ended=ended, over=True)) is None
    assert next_step(group(*TWO, ended={0: STOPPED}, cancelled=True)) is None
    assert next_step(group(*TWO, ended={0: STOPPED, 1: STOPPED}, cancelled=True)) == Finish()


def test_a_group_whose_first_round_was_never_written_begins_it():
    assert next_step(group(*TWO, round_=0)) == Begin(1, TWO[:2])


def waiting(name, site="a", array=None):
    place = ArrayPlace(token=array, at=0) if array else None
    return task(attempt(state=State.WAITING, site=site, array=place), id=name)


def test_jobs_take_turns_where_only_so_many_may_be_there_at_once():
    jobs = [waiting(name) for name in "abcde"]
    assert admitted(jobs, [], None) == jobs
    assert admitted(jobs, [], 2) == jobs[:2]
    assert admitted(jobs[2:], jobs[:2], 2) == []
    assert admitted(jobs[2:], jobs[1:2], 2) == jobs[2:3]
    elsewhere = [waiting(name, "b") for name in "xyz"]
    assert admitted([*jobs, *elsewhere], [], 2) == [*jobs[:2], *elsewhere[:2]]


def test_an_array_keeps_to_the_limit_by_itself_and_the_next_one_waits_for_it():
    first, second = ([waiting(f"{name}{n}", array=f"dmd-{name}") for n in range(5)] for name in "ab")
    assert admitted([*first, *second], [], 3) == first
    assert admitted(second, first[:1], 3) == []
    assert admitted(second, first[:1], 6) == second
    assert admitted(second, [], 3) == second
