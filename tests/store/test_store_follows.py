"""The end of an attempt and the beginning of the next are one fact: nobody ever sees the task ended in between."""

from __future__ import annotations

import sqlite3

import pytest

from jupyter_diamond.errors import Conflict
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.store import Store, attempt_rows
from jupyter_diamond.store.follows import Following
from tests.store.charged import cap, decided, put, start
from tests.store.store_samples import a_decision, an_attempt, at, put_task

FAILED = {"state": State.FAILED, "cause": "The node failed.", "failure": "node", "ended_at": at(5)}


def follower(n=2, **fields):
    said = {"step": "retry", "why": "Run again: the node failed.", **fields}
    attempt = an_attempt(f"dmd-{n:08d}", n).model_copy(update=said)
    decision = a_decision().model_copy(update={"sentence": "alpha:short once more."})
    return Following(attempt, "cd" * 32, decision, "task.retry")


def types(store, after=0):
    return [event.type for event in store.events(after, 100)]


def test_an_end_is_followed_in_one(store):
    before = put_task(store)
    newest = store.newest_event()
    task = store.end_attempt(before.id, 1, at=at(6), changes=FAILED, following=follower())
    assert (task.state, task.ended_at, task.cause) == (State.WAITING, None, "")
    assert [(each.n, each.state, each.failure) for each in task.attempts] == [
        (1, State.FAILED, "node"), (2, State.WAITING, None),
    ]  # fmt: skip
    assert (task.attempt.step, task.attempt.why) == ("retry", "Run again: the node failed.")
    assert task.why_here == "alpha:short once more."
    assert store.active() == (task,)
    assert store.key(task.id, 2) == "cd" * 32
    assert store.key(task.id, 1) == "ab" * 32, "each attempt signs with a key of its own"
    assert types(store, newest) == ["attempt.terminal", "task.retry", "decision.made"]
    assert [line.state for line in store.tasks(phase="active")] == [State.WAITING]


@pytest.mark.parametrize("dies_at", ["eventlog.append", "attempt_rows.put"])
def test_a_crash_in_between_leaves_the_attempt_as_it_was(store, path, monkeypatch, dies_at):
    before = put_task(store)
    newest = store.newest_event()

    def dies(*_args, **_how):
        raise KeyboardInterrupt

    if dies_at == "attempt_rows.put":
        monkeypatch.setattr(attempt_rows, "put", dies)
    else:
        monkeypatch.setattr("jupyter_diamond.store.follows.eventlog.append", dies)
    with pytest.raises(KeyboardInterrupt):
        store.end_attempt(before.id, 1, at=at(6), changes=FAILED, following=follower())
    monkeypatch.undo()
    for seen in (store, Store(path)):
        assert seen.task(before.id) == before
        assert seen.newest_event() == newest


def test_another_process_never_sees_it_ended(store, path):
    """What a second reader finds at every statement that the writer runs."""
    before = put_task(store)
    other = sqlite3.connect(path)
    seen = set()

    def look(_statement):
        seen.add(other.execute("SELECT state, ended, attempts FROM tasks").fetchone())

    store._database._raw.set_trace_callback(look)
    store.end_attempt(before.id, 1, at=at(6), changes=FAILED, following=follower())
    store._database._raw.set_trace_callback(None)
    look(None)
    other.close()
    assert seen == {("waiting", 0, 1), ("waiting", 0, 2)}


def test_nothing_follows_once_the_user_has_cancelled(store):
    put_task(store)
    store.request_cancel("t0000001", "you", at(4))
    newest = store.newest_event()
    task = store.end_attempt("t0000001", 1, at=at(6), changes=FAILED, following=follower())
    assert (task.state, len(task.attempts)) == (State.FAILED, 1)
    assert types(store, newest) == ["attempt.terminal"]


def test_a_job_that_was_taken_back_while_its_user_cancelled_says_who_did(store):
    put_task(store)
    store.request_cancel("t0000001", "you", at(4))
    gone = {"state": State.CANCELLED, "cause": "Taken back from alpha: you asked for it."}
    task = store.end_attempt("t0000001", 1, at=at(6), changes=gone, following=follower())
    assert (task.state, task.cause, len(task.attempts)) == (State.CANCELLED, "Cancelled by you.", 1)


def test_an_end_that_was_told_already_is_followed_once(store):
    """Two readers of accounting may bring the same row; the second finds the attempt ended."""
    put_task(store)
    once = store.end_attempt("t0000001", 1, at=at(6), changes=FAILED, following=follower())
    newest = store.newest_event()
    twice = store.end_attempt("t0000001", 1, at=at(7), changes=FAILED, following=follower())
    late = store.end_attempt("t0000001", 1, at=at(7), changes=FAILED, why_not="No.")
    assert once == twice == late
    assert store.newest_event() == newest


def test_an_end_for_good_says_why_nothing_follows(store):
    put_task(store)
    changes = FAILED | {"failure": "oom", "next": "Give it a range: --memory 4G-16G."}
    task = store.end_attempt("t0000001", 1, at=at(6), changes=changes, why_not="Your --memory allows no more.")
    assert (task.state, task.next) == (State.FAILED, "Give it a range: --memory 4G-16G.")
    told = store.events(0, 100)[-1]
    assert (told.type, told.data["class"], told.data["why"]) == (
        "task.not_again", "oom", "Your --memory allows no more.",
    )  # fmt: skip


REPLAN = Withdrawal(by="you", then="replan", unpin=True)


def test_what_waits_can_be_taken_back(store):
    put_task(store)
    change(store, State.PENDING, native=NativeJob(id="42"))
    task = store.withdraw("t0000001", REPLAN, at(3))
    assert (task.state, task.attempt.withdrawal) == (State.PENDING, REPLAN)
    waits = store.stay("t0000001", "It waits at the best place.", at(4))
    assert waits.attempt.withdrawal == REPLAN, "its job may be gone already"
    change(store, State.RUNNING)
    kept = store.stay("t0000001", "It had started.", at(5))
    assert kept.attempt.withdrawal is None
    assert types(store)[-3:] == ["task.withdrawal", "attempt.state_changed", "task.stays"]


@pytest.mark.parametrize("state", [State.RUNNING, State.COMPLETED, State.COMPLETING])
def test_what_has_started_is_not_taken_back(store, state):
    put_task(store)
    change(store, state)
    for act in (lambda: store.withdraw("t0000001", REPLAN, at(3)), lambda: store.hold("t0000001", "you", at(3))):
        with pytest.raises(Conflict, match="only what has not started can be taken back"):
            act()
    assert store.task("t0000001").held_by is None


def test_a_hold_takes_back_what_waits_at_a_site_only(store):
    put_task(store)
    here = store.hold("t0000001", "you", at(3))
    assert (here.held_by, here.attempt.withdrawal) == ("you", None)
    assert store.hold("t0000001", "you", at(4)) == here, "a second time changes nothing"
    assert store.release("t0000001", "you", at(5)).held_by is None
    change(store, State.PENDING, native=NativeJob(id="42"))
    away = store.hold("t0000001", "you", at(6))
    assert away.attempt.withdrawal == Withdrawal(by="you", then="hold")
    assert types(store)[-2:] == ["task.held", "task.withdrawal"]


def change(store, state, **fields):
    given = {"changes": {"state": state, **fields}, "data": {}, "type": "attempt.state_changed"}
    return store.update_attempt("t0000001", 1, at=at(2), **given)


def test_where_the_caps_leave_nothing_for_another_attempt_the_task_ends_and_says_so(store):
    """They are asked in the transaction that settles the end: what the first attempt cost counts, not its reservation."""
    put(store)
    start(store)
    ends = {**FAILED, "ran_s": 60.0}
    attempt = store.task("t0000001").attempt.model_copy(
        update={
            "n": 2,
            "token": "dmd-99999999",
            "state": State.WAITING,
            "started_at": None,
            "native": None,
            "charge": None,
        }
    )
    following = Following(attempt, "cd" * 32, decided(), "task.retry", (cap(0.36, "task"),))
    task = store.end_attempt("t0000001", 1, at=at(6), changes=ends, following=following)
    assert (task.state, len(task.attempts)) == (State.FAILED, 1)
    assert task.next.startswith("It would have gone on, but alpha: Your cap of 0.36 core-hours for one task")
    assert [kind for kind in types(store) if "again" in kind or kind.startswith("charge.")] == [
        "charge.reserved", "charge.settled", "task.not_again",
    ]  # fmt: skip
    assert task.attempt.charge.actual == pytest.approx(2.0 * 60 / 3600)
