"""Many attempts are changed in one transaction, by the rules that hold for each."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.store import Store
from jupyter_diamond.store.attempt_book import Change
from tests.store.charged import decided
from tests.store.store_samples import at
from tests.store.test_store_groups import G, put_group

TOKEN = "dmd-aaaaaaaaaaaaaaaa"


@contextmanager
def reopened(path):
    """Another server's view of the same file."""
    store = Store(path)
    try:
        yield store
    finally:
        store.close()


def changes(indices, kind="attempt.submitted", data=None, **fields):
    return [Change(f"{G}-{index}", 1, kind, data or {}, fields) for index in indices]


def kinds(store, index):
    return [event.type for event in store.events(0, 1000, f"task:{G}-{index}")][2:]


def test_each_is_changed_with_its_own_event_and_comes_back_in_the_order_asked(store):
    put_group(store)
    asked = [
        Change(f"{G}-{index}", 1, "attempt.submitted", {"job": f"7_{index}"},
               {"state": State.PENDING, "native": NativeJob(id=f"7_{index}"), "submitted_at": at(5)})
        for index in (2, 0, 3)
    ]  # fmt: skip
    tasks = store.attempts.update(asked, at=at(5))
    assert [task.attempt.native.id for task in tasks] == ["7_2", "7_0", "7_3"]
    assert tasks == store.attempts.tasks([f"{G}-2", f"{G}-0", f"{G}-3"])
    assert {task.attempt.state_since for task in tasks} == {at(5)}
    assert [task.version for task in tasks] == sorted(task.version for task in tasks)
    assert tasks[2].version == store.newest_event() == store.task(f"{G}-3").version
    assert (kinds(store, 0), kinds(store, 1)) == (["attempt.submitted"], [])


def test_what_would_lie_is_left_out_and_the_others_are_written(store):
    put_group(store)
    store.attempts.end([(f"{G}-1", 1, {"state": State.CANCELLED, "ended_at": at(3)}, "")], at=at(3))
    tasks = store.attempts.update(changes(range(3), state=State.PENDING), at=at(5))
    assert [task.state for task in tasks] == [State.PENDING, State.CANCELLED, State.PENDING]
    assert kinds(store, 1) == ["attempt.terminal"]


def test_an_end_is_told_once_and_settles_what_was_reserved(store):
    put_group(store, decision=decided())
    before = store.task(f"{G}-0").attempt.charge
    assert before is not None
    assert before.settled_at is None
    ends = [(f"{G}-{index}", 1, {"state": State.COMPLETED, "ended_at": at(9), "ran_s": 4.0}, "") for index in range(4)]
    for _ in range(2):
        tasks = store.attempts.end(ends, at=at(9))
        assert {task.state for task in tasks} == {State.COMPLETED}
        assert {task.attempt.charge.settled_at for task in tasks} == {at(9)}
    told = kinds(store, 2)
    assert told.count("attempt.terminal") == 1
    assert told.count("charge.settled") == (1 if before.unit else 0)
    assert {charge.settled_at for charge in store.groups.get(G).charges} == {at(9)}


def test_nothing_is_written_where_one_of_them_is_not_there(store):
    put_group(store)
    wanted = [*changes([0], state=State.PENDING), Change(f"{G}-77", 1, "attempt.submitted", {}, {})]
    newest = store.newest_event()
    with pytest.raises(NotFound, match="77"):
        store.attempts.update(wanted, at=at(5))
    assert (store.newest_event(), store.task(f"{G}-0").state) == (newest, State.WAITING)


def test_what_never_changes_cannot_be_changed_of_many_either(store):
    put_group(store)
    with pytest.raises(ValueError, match="token cannot be changed"):
        store.attempts.update(changes([0], token="dmd-bbbbbbbb"), at=at(5))


def test_a_member_that_left_its_array_is_still_found_by_it_and_keeps_its_key(store):
    put_group(store)
    store.attempts.update(changes([1], "attempt.state_changed", array=None, folder=None), at=at(5))
    found = store.attempts.of_array(TOKEN)
    assert [task.member.index for task in found] == [0, 1, 2, 3]
    assert [task.attempt.array is None for task in found] == [False, True, False, False]
    assert store.key(f"{G}-1", 1) == store.key(f"{G}-0", 1) == "cd" * 32
    assert store.attempts.of_array("dmd-aaaaaaaaaaaaaaa") == ()


def test_what_is_told_of_many_is_what_is_read_of_them(store):
    _, made = put_group(store, decision=decided())
    assert made == store.attempts.tasks([task.id for task in made])
    assert [task.state for task in made] == [State.WAITING] * 4
    changed = store.attempts.update(changes(range(4), data={"n": 1, "é": "\ud83d", "list": (1, 2)}), at=at(5))
    with reopened(store.path) as other:  # which has not seen any of it
        assert other.attempts.tasks([task.id for task in changed]) == changed
        assert other.told(0) == ()
    read = store.events(0, 1000)
    assert store.told(0) == read
    assert store.told(0) == (), "what was told is not told again"
    store.attempts.update(changes([2], data={"n": 2}), at=at(6))
    assert store.told(read[-1].seq) == store.events(read[-1].seq, 10)


def test_where_another_process_has_told_something_between_the_log_is_read(store):
    put_group(store)
    seen = store.newest_event()
    with reopened(store.path) as other:
        other.attempts.update(changes([0], data={"by": "another"}), at=at(5))
    store.attempts.update(changes([1], data={"by": "this"}), at=at(6))
    assert store.told(seen) == ()
    assert [event.data["by"] for event in store.events(seen, 10)] == ["another", "this"]


def test_values_that_were_looked_at_once_are_as_good_as_those_looked_at_each_time(store):
    put_group(store)
    local = datetime(2026, 1, 2, 13, tzinfo=timezone(timedelta(hours=1)))
    wanted = [
        Change(f"{G}-{index}", 1, "attempt.submitted", {},
               {"state": State.PENDING.value, "submitted_at": local, "native": NativeJob(id=str(index)), "nodes": f"n{index}"})
        for index in range(3)
    ]  # fmt: skip
    for index, task in enumerate(store.attempts.update(wanted, at=at(5))):
        assert task.attempt.state is State.PENDING
        assert task.attempt.submitted_at.utcoffset() == timedelta(0)
        assert (task.attempt.native.id, task.attempt.nodes) == (str(index), f"n{index}")
    with pytest.raises(ValueError, match="may_come"):
        store.attempts.update([*changes([0], may_come=True), *changes([1], may_come="perhaps")], at=at(6))
    assert not store.task(f"{G}-0").attempt.may_come


def test_many_ends_for_good_say_why_nothing_follows_each(store):
    put_group(store, decision=decided())
    ending = {"state": State.FAILED, "ended_at": at(9), "failure": "app_args", "next": "Look at the traceback."}
    ends = [(f"{G}-{index}", 1, ending, "Another run would end the same way." if index else "") for index in range(2)]
    store.attempts.end(ends, at=at(9))
    store.end_attempt(f"{G}-2", 1, at=at(9), changes=ending, why_not="Another run would end the same way.")
    assert "task.not_again" not in kinds(store, 0)
    assert kinds(store, 1) == kinds(store, 2), "as one that ends alone"
    last, alone = (store.events(0, 1000, f"task:{G}-{index}")[-1] for index in (1, 2))
    assert (last.type, last.data, last.dedup_key) == (alone.type, alone.data, alone.dedup_key)
    assert store.task(f"{G}-1").version == last.seq
