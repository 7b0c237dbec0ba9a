"""Groups in the store: one transaction a round, members that are tasks, and sums over them."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import Conflict, NotFound, OverBudget
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.group import GroupRequest, Member, Relaxed
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import Outcome, Phase, State
from jupyter_diamond.model.task import ArrayPlace
from jupyter_diamond.store.follows import Following
from jupyter_diamond.store.groups import Round, Share
from tests.store.charged import decided
from tests.store.store_samples import a_decision, a_request, an_attempt, at, put_task

G = "g0123456789"


def asked(number=4, rounds=1, name="fit", token="group-0000000001", **more):
    each = -(-number // rounds)
    members = [Member(index=at, params={"lr": at / 10}, round=at // each + 1) for at in range(number)]
    return GroupRequest(request=a_request(token, name), members=members, **more)


def share(indices, *, token="dmd-aaaaaaaaaaaaaaaa", decision=None, array=True):
    attempts = tuple(
        (
            at,
            an_attempt(f"{token}-{at}").model_copy(update={"array": ArrayPlace(token=token, at=at) if array else None}),
        )
        for at in indices
    )
    return Share(token, "cd" * 32, decision or a_decision(), attempts)


def put_group(store, number=4, rounds=1, decision=None, caps=(), **more):
    each = -(-number // rounds)
    first = Round((share(range(each), decision=decision),), "alpha:short can start it now.")
    return store.groups.create(asked(number, rounds, **more), group_id=G, first=first, at=at(0), caps=caps)


def end(store, index, state=State.COMPLETED, seconds=10.0, **changes):
    told = {"ended_at": at(seconds), "state": state, **changes}
    return store.update_attempt(f"{G}-{index}", 1, at=at(seconds), type="attempt.terminal", data={}, changes=told)


def kinds(store, subject):
    return [event.type for event in store.events(0, 1000, subject)]


def test_a_member_is_an_ordinary_task_that_shares_what_its_group_was_asked_for(store):
    group, made = put_group(store)
    assert [share.why for share in group.shares] == [a_decision().sentence]
    assert [task.name for task in made] == ["fit[0]", "fit[1]", "fit[2]", "fit[3]"]
    task = store.task("fit[2]")
    assert (task.id, task.member.index, task.member.params, task.member.group) == (f"{G}-2", 2, {"lr": 0.2}, G)
    assert (task.source, task.outputs) == (a_request().source, ("model",))
    assert store.request(task.id).name == "fit"
    assert (store.key(task.id, 1), store.decision(task.id)) == ("cd" * 32, a_decision())
    assert task.attempts[0].array == ArrayPlace(token="dmd-aaaaaaaaaaaaaaaa", at=2)
    assert kinds(store, f"task:{task.id}") == ["task.created", "decision.made"]
    assert task.version == store.events(0, 100, f"task:{task.id}")[-1].seq
    assert {task.id for task in store.active()} == {f"{G}-{index}" for index in range(4)}


def test_events_of_many_members_are_numbered_without_a_gap_or_a_double(store):
    put_task(store)
    put_group(store)
    put_task(store, 2, "other")
    numbers = [event.seq for event in store.events(0, 1000)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert kinds(store, f"group:{G}") == ["group.created", "group.round_started"]


def test_the_same_client_token_is_the_same_group(store):
    group, made = put_group(store)
    again, none = store.groups.create(asked(), group_id="gffffffffff", first=Round(()), at=at(5))
    assert (again.id, none, len(made)) == (group.id, (), 4)
    assert store.groups.find_token("group-0000000001").id == G


def test_members_are_left_out_of_the_list_of_tasks_but_counted_as_active(store):
    put_group(store)
    put_task(store, 1, "other")
    assert [line.name for line in store.tasks()] == ["other"]
    assert len(store.tasks(members=True)) == store.count_active() == 5
    assert [(line.group, line.index) for line in store.groups.tasks("fit", after=1)] == [(G, 2), (G, 3)]
    end(store, 3, State.FAILED)
    assert [line.index for line in store.groups.tasks("fit", [State.FAILED])] == [3]


def test_a_name_is_the_newest_that_has_it_be_it_a_group_or_a_task(store):
    put_task(store, 1)
    put_group(store, token="group-0000000002")
    assert store.task("fit").id == "t0000001"  # made after the group by the samples' clock
    store2_group = store.groups.create(asked(token="group-0000000003"), group_id="g2", first=Round((
        share([0], token="dmd-bbbbbbbbbbbbbbbb"),)), at=at(60))[0]  # fmt: skip
    with pytest.raises(NotFound, match=r"`fit` is a group of 4 tasks.*fit\[0\]"):
        store.task("fit")
    assert store.groups.get("fit").id == store2_group.id
    with pytest.raises(NotFound, match="no group 'nope'"):
        store.groups.get("nope")


def test_a_group_counts_its_members_by_state_and_place(store):
    put_group(store)
    store.update_attempt(
        f"{G}-0", 1, at=at(1), type="attempt.submitted", data={},
        changes={"state": State.RUNNING, "native": NativeJob(id="7_0"), "started_at": at(1)},
    )  # fmt: skip
    end(store, 1)
    group = store.groups.get("fit")
    assert group.states == {State.RUNNING: 1, State.COMPLETED: 1, State.WAITING: 2}
    (place,) = group.shares
    assert (place.site, place.waiting, place.running, place.ended) == ("alpha", 2, 1, 1)
    assert (group.phase, group.params, group.members) == (Phase.RUNNING, ("lr",), 4)
    assert group.version == store.newest_event()


def test_a_round_begins_once_whatever_is_asked_again(store):
    put_group(store, 4, rounds=2)
    second = Round((share([2, 3], token="dmd-bbbbbbbbbbbbbbbb"),))
    assert [task.name for task in store.groups.start_round(G, 2, second, at=at(1))] == ["fit[2]", "fit[3]"]
    assert store.groups.start_round(G, 2, second, at=at(2)) == ()
    assert store.groups.start_round(G, 4, second, at=at(2)) == ()
    assert (store.groups.get(G).round, store.groups.get(G).rounds) == (2, 2)


def test_a_round_that_does_not_fit_under_a_cap_writes_nothing(store):
    cap = SpendingCap(scope="day", amount=1.0, unit="core-hour")
    dear = decided(2.0)  # a third of a core-hour each, and 4 of them
    with pytest.raises(OverBudget, match=r"these 4 jobs may cost up to 1.33 core-hours"):
        put_group(store, decision=dear, caps=(cap,))
    assert (store.groups.list(), store.active(), store.newest_event()) == ((), (), 0)
    put_group(store, 3, decision=dear, caps=(cap,))
    (charge,) = store.groups.get(G).charges
    assert (round(charge.at_most, 3), charge.actual, charge.settled_at) == (1.0, None, None)


def test_two_shares_of_one_round_do_not_pass_a_cap_together(store):
    cap, dear = SpendingCap(scope="day", amount=1.0, unit="core-hour"), decided(2.0)
    shares = share(range(2), decision=dear), share([2, 3], token="dmd-bbbbbbbbbbbbbbbb", decision=dear)
    with pytest.raises(OverBudget):
        store.groups.create(asked(), group_id=G, first=Round(shares), at=at(0), caps=(cap,))
    one = SpendingCap(scope="task", amount=0.34, unit="core-hour")
    store.groups.create(asked(), group_id=G, first=Round(shares), at=at(0), caps=(one,))


def test_charges_of_members_are_summed_and_one_unknown_makes_the_sum_unknown(store):
    put_group(store, 2, decision=decided(2.0))
    for index, ran_s in enumerate((600.0, 300.0)):
        end(store, index, ran_s=ran_s, started_at=at(1))
    (charge,) = store.groups.get(G).charges
    assert (charge.unit, round(charge.actual, 3), charge.settled_at) == ("core-hour", 0.5, at(10))


def test_cancelling_asks_every_member_once_and_lets_no_round_begin(store):
    put_group(store, 4, rounds=2)
    end(store, 0)
    store.groups.cancel(G, "you", at(20))
    assert store.groups.cancel(G, "somebody", at(21)).cancel_requested_by == "you"
    assert [store.task(f"fit[{index}]").cancel_requested_by for index in (0, 1)] == [None, "you"]
    assert kinds(store, f"task:{G}-1").count("task.cancel_requested") == 1
    assert store.groups.start_round(G, 2, Round((share([2, 3], token="dmd-bbbbbbbbbbbbbbbb"),)), at=at(22)) == ()


def test_a_held_group_holds_what_waits_and_is_released_whole(store):
    put_group(store)
    end(store, 0)
    assert store.groups.hold(G, "you", at(20)).held_by == "you"
    assert [task.held_by for task in store.groups.members(G)] == [None, "you", "you", "you"]
    store.groups.release(G, "you", at(21))
    assert [task.held_by for task in store.groups.members(G)] == [None] * 4
    for index in range(1, 4):
        end(store, index)
    with pytest.raises(Conflict, match="have started"):
        store.groups.hold(G, "you", at(22))


def test_members_are_withdrawn_together_but_for_those_that_have_started(store):
    put_group(store, 2)
    store.update_attempt(
        f"{G}-0", 1, at=at(1), type="attempt.submitted", data={}, changes={"state": State.RUNNING, "started_at": at(1)}
    )
    wanted = Withdrawal(by="you", then="replan")
    assert store.groups.withdraw([f"{G}-0", f"{G}-1"], wanted, at(2)) == 1
    assert store.task("fit[1]").attempts[0].withdrawal == wanted


def test_a_group_ends_once_when_no_member_is_left_and_says_how(store):
    put_group(store)
    end(store, 0)
    assert store.groups.finish(G, at(11)).phase is not Phase.ENDED
    end(store, 1, State.OUT_OF_MEMORY, seconds=30, cause="Out of memory.")
    end(store, 2, State.FAILED, seconds=20, cause="ValueError: x.")
    end(store, 3, State.OUT_OF_MEMORY, seconds=31, cause="Out of memory.")
    group = store.groups.finish(G, at(40))
    assert (group.phase, group.outcome, group.ended_at) == (Phase.ENDED, Outcome.FAILED, at(40))
    assert group.cause == "3 of them did not end well, 2 of these as fit[1]: Out of memory."
    store.groups.finish(G, at(41))
    ended = [event for event in store.events(0, 1000, f"group:{G}") if event.type == "group.ended"]
    assert [event.data for event in ended] == [
        {"outcome": "FAILED", "states": {"completed": 1, "failed": 1, "out_of_memory": 2}}
    ]
    assert store.groups.active() == ()


def test_what_was_stopped_and_given_up_is_kept_with_the_group(store):
    relaxed = Relaxed(round=1, condition="sites", why="It would have waited 3 h.")
    first = Round((share(range(2)),), "alpha", (relaxed,))
    store.groups.create(asked(4, 2), group_id=G, first=first, at=at(0))
    store.groups.stop(G, "A member that the next round waits for has failed.", at(5))
    group = store.groups.stop(G, "Again.", at(6))
    assert (group.relaxed, group.cause) == ((relaxed,), "A member that the next round waits for has failed.")
    assert store.groups.start_round(G, 2, Round((share([2, 3], token="dmd-bbbbbbbbbbbbbbbb"),)), at=at(7)) == ()
    assert kinds(store, f"group:{G}").count("group.stopped") == 1


def test_forecasts_and_runs_of_members_are_learnt_from(store):
    put_group(store, 2)
    for index in range(2):
        end(store, index, started_at=at(1), cell_started_at=at(2), submitted_at=at(0))
    assert set(store.outcomes()) == {(f"{G}-0", 1), (f"{G}-1", 1)}
    runs = store.own_runs()
    assert {run.work[0] for run in runs.values()} == {"fit"}
    assert [run.run_s for run in runs.values()] == [8.0, 8.0]


def test_a_thousand_members_are_written_and_summed_up_in_a_moment(store):
    put_group(store, 1000, decision=decided(2.0))
    assert sum(store.groups.get(G).states.values()) == 1000
    progress = store.groups.progress(G)
    assert (len(progress.begun), progress.ended) == (1000, {})


def test_a_line_of_a_member_says_what_it_is_given_is_charged_and_came_through(store):
    put_group(store, decision=decided())
    attempt = an_attempt("dmd-again", 2).model_copy(update={"step": "resize", "why": "It asks for more."})
    again = Following(attempt, "ef" * 32, decided(), "task.resize")
    store.end_attempt(f"{G}-1", 1, at=at(5), changes={"state": State.OUT_OF_MEMORY, "ended_at": at(5)}, following=again)
    lines = store.groups.tasks("fit")
    assert [(each.index, each.params, each.before) for each in lines] == [
        (0, {"lr": 0.0}, ()), (1, {"lr": 0.1}, (State.OUT_OF_MEMORY,)), (2, {"lr": 0.2}, ()), (3, {"lr": 0.3}, ()),
    ]  # fmt: skip
    assert [len(each.charges) for each in lines] == [1, 1, 1, 1]
    assert [each.index for each in store.groups.tasks("fit", states=[State.OUT_OF_MEMORY])] == []
    assert [each.index for each in store.groups.tasks("fit", after=1, limit=1)] == [2]
