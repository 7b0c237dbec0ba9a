"""Tasks and attempts: written once, never out of a terminal state."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import Outcome, Phase, ReasonClass, State
from jupyter_diamond.model.task import Task, TaskSummary
from jupyter_diamond.store import Store
from tests.store.store_samples import T0, a_decision, a_request, an_attempt, at, put_task


def move(store, state, seconds=1.0, data=None, kind="attempt.state_changed", **changes):
    given = {"changes": {"state": state, **changes}, "data": data or {}, "type": kind}
    return store.update_attempt("t0000001", 1, at=at(seconds), **given)


def test_a_task_comes_back_as_it_was_written(store, path):
    written = put_task(store)
    store.close()
    again = Store(path)
    read = again.task(written.id)
    assert read == written
    assert Task.model_validate_json(read.model_dump_json()) == read
    assert read.source == "model = train(x)\n# größe\n"
    assert read.created_at == at(1)
    assert read.attempt == an_attempt("dmd-00000001").model_copy(update={"charge": Charge()})  # nothing was foreseen
    assert (read.state, read.phase, read.outcome) == (State.WAITING, Phase.PENDING, None)
    assert again.request(read.id) == a_request("token-0000000001")
    assert again.decision(read.id) == again.decision(read.id, 1) == a_decision()
    assert again.key(read.id, 1) == "ab" * 32
    again.close()


def test_a_client_token_makes_one_task_only(store):
    first = put_task(store)
    newest = store.newest_event()
    same, created = store.create_task(
        a_request("token-0000000001", name="other"),
        task_id="t2",
        key="cd",
        decision=a_decision(),
        attempt=an_attempt("dmd-99999999"),
        why_here="elsewhere",
        at=at(9),
    )
    assert not created
    assert same == first == store.find_token("token-0000000001")
    assert store.newest_event() == newest
    assert store.find_token("token-0000000002") is None


def test_a_name_means_its_newest_task(store):
    put_task(store, 1)
    put_task(store, 2)
    put_task(store, 3, name="other")
    assert store.task("fit").id == "t0000002"
    assert store.task("t0000001").id == "t0000001"


@pytest.mark.parametrize("ask", ["task", "request", "decision"])
def test_an_unknown_task_is_named_in_the_error(store, ask):
    with pytest.raises(NotFound, match=r"There is no task 'nosuch'; %diamond tasks lists"):
        getattr(store, ask)("nosuch")


def test_an_unknown_attempt_is_named_in_the_error(store):
    put_task(store)
    with pytest.raises(NotFound, match="t0000001 attempt 2"):
        store.key("t0000001", 2)
    with pytest.raises(NotFound, match="t0000001 attempt 2"):
        store.update_attempt("t0000001", 2, at=T0, type="attempt.submitted", data={}, changes={})
    with pytest.raises(NotFound, match="nosuch"):
        store.request_cancel("nosuch", "user", T0)


def test_an_update_changes_the_attempt_its_task_and_the_log_together(store):
    put_task(store)
    task = move(
        store,
        State.PENDING,
        5,
        {"job": "42"},
        "attempt.submitted",
        native=NativeJob(id="42", cluster="c1"),
        submitted_at=at(4),
        reason="Priority",
        reason_class=ReasonClass.WILL_RUN,
    )
    assert task == store.task("t0000001")
    assert task.state is task.attempt.state is State.PENDING
    assert task.attempt.native == NativeJob(id="42", cluster="c1")
    assert task.attempt.submitted_at == at(4)
    assert task.attempt.state_since == at(5)
    newest = store.events(0, 100, "task:t0000001")[-1]
    assert (newest.type, newest.data, newest.at) == ("attempt.submitted", {"job": "42"}, at(5))
    assert task.version == newest.seq == store.newest_event()


def test_state_since_moves_only_with_the_state(store):
    put_task(store)
    move(store, State.PENDING, 5)
    assert move(store, State.PENDING, 9, reason="Resources").attempt.state_since == at(5)


def test_what_names_an_attempt_cannot_be_changed(store):
    put_task(store)
    with pytest.raises(ValueError, match="token cannot be changed"):
        move(store, State.PENDING, token="dmd-other000")
    assert store.task("t0000001").attempt.token == "dmd-00000001"


ENDS = [state for state in State if state.terminal]


@pytest.mark.parametrize("end", ENDS)
def test_an_end_is_never_left(store, end):
    put_task(store)
    ended = move(store, end, 5, kind="attempt.terminal", cause="because", ended_at=at(4))
    assert (ended.phase, ended.outcome, ended.ended_at, ended.cause) == (Phase.ENDED, end.outcome, at(4), "because")
    for state in State:
        if state is not end:
            assert move(store, state, 6, {"requeued": True}, cause="late") == ended
    assert store.task("t0000001") == ended
    assert store.active() == ()


def test_an_end_still_takes_late_facts(store):
    put_task(store)
    move(store, State.COMPLETED, 5, kind="attempt.terminal", ended_at=at(5))
    task = store.update_attempt(
        "t0000001", 1, at=at(6), type="attempt.result_ready", data={}, changes={"result_ready": True}
    )
    assert task.attempt.result_ready
    assert task.outcome is Outcome.OK


def test_an_end_without_a_time_takes_that_of_its_event(store):
    put_task(store)
    assert move(store, State.REJECTED, 7, kind="attempt.terminal").ended_at == at(7)


RUNNING = [State.RUNNING, State.SUSPENDED, State.COMPLETING]
PENDING = [State.WAITING, State.STAGING_IN, State.SUBMITTING, State.PENDING, State.CONFIGURING]


@pytest.mark.parametrize("to", PENDING)
@pytest.mark.parametrize("now", RUNNING)
def test_a_started_job_waits_again_only_when_it_was_requeued(store, now, to):
    put_task(store)
    before = move(store, now, 5, started_at=at(5))
    assert move(store, to, 6) == before
    after = move(store, to, 7, {"requeued": True}, started_at=None)
    assert (after.state, after.attempt.started_at, after.attempt.state_since) == (to, None, at(7))


def test_unknown_does_not_forget_that_the_job_had_started(store):
    put_task(store)
    move(store, State.RUNNING, 5, started_at=at(5))
    unknown = move(store, State.UNKNOWN, 6)
    assert unknown.phase is Phase.UNKNOWN
    assert move(store, State.PENDING, 7) == unknown
    assert move(store, State.RUNNING, 8).state is State.RUNNING


def test_a_late_queue_answer_does_not_undo_the_end_file(store):
    put_task(store)
    ready = move(store, State.COMPLETING, 5, kind="attempt.result_ready", result_ready=True)
    assert move(store, State.RUNNING, 6) == ready
    assert move(store, State.UNKNOWN, 7).state is State.UNKNOWN
    assert move(store, State.RUNNING, 8).state is State.UNKNOWN
    assert move(store, State.COMPLETED, 9).outcome is Outcome.OK


@pytest.mark.parametrize("to", [s for s in State if s is not State.WAITING])
def test_states_in_between_may_be_missed(store, to):
    put_task(store)
    assert move(store, to).state is to


def test_a_job_that_was_not_found_is_submitted_again(store):
    put_task(store)
    for state in (State.SUBMITTING, State.SUBMIT_UNKNOWN, State.SUBMITTING, State.PENDING):
        assert move(store, state).state is state


def test_the_same_fact_told_twice_changes_nothing(store):
    put_task(store)
    once = store.update_attempt(
        "t0000001", 1, at=at(1), type="attempt.trouble", data={}, changes={"trouble": "a"}, dedup_key="k"
    )
    twice = store.update_attempt(
        "t0000001", 1, at=at(2), type="attempt.trouble", data={}, changes={"trouble": "b"}, dedup_key="k"
    )
    assert once == twice
    assert once.attempt.trouble == "a"


def test_the_first_who_cancels_is_kept(store):
    put_task(store)
    first = store.request_cancel("t0000001", "kernel", at(2))
    assert first.cancel_requested_by == "kernel"
    assert store.request_cancel("t0000001", "sidebar", at(3)) == first
    assert [e.type for e in store.events(0, 100)].count("task.cancel_requested") == 1


def test_a_task_that_ended_cannot_be_cancelled(store):
    put_task(store)
    ended = move(store, State.FAILED)
    assert store.request_cancel("t0000001", "kernel", at(3)) == ended


def test_seen_is_an_age_and_no_event(store):
    put_task(store, 1)
    put_task(store, 2)
    newest = store.newest_event()
    store.mark_seen([("t0000001", 1), ("t0000002", 1)], at(33))
    assert store.newest_event() == newest
    assert {task.attempt.last_seen_at for task in store.active()} == {at(33)}
    assert move(store, State.PENDING).attempt.last_seen_at == at(33)
    store.mark_seen([], at(34))


def test_lists_are_newest_first_and_filtered(store):
    for number, name in enumerate(["a", "b", "a", "c"], 1):
        put_task(store, number, name, notebook=None if number == 4 else f"{number % 2}.ipynb")
    move(store, State.COMPLETED, 5, kind="attempt.terminal")

    def ids(**filters):
        return [int(line.id[1:]) for line in store.tasks(**filters)]

    assert ids() == [4, 3, 2, 1]
    assert ids(limit=2) == [4, 3]
    assert ids(name="a") == [3, 1]
    assert ids(phase="ended") == [1]
    assert ids(phase="active") == [4, 3, 2]
    assert ids(notebook="1.ipynb") == [3, 1]
    assert ids(name="a", phase="active", notebook="1.ipynb") == [3]
    assert [task.id for task in store.active()] == ["t0000002", "t0000003", "t0000004"]
    assert [task.id for task in store.active_same_name("a", "1.ipynb")] == ["t0000003"]
    assert [task.id for task in store.active_same_name("c", None)] == ["t0000004"]
    assert store.active_same_name("a", None) == ()
    with pytest.raises(InvalidRequest, match="There is no phase 'done'; tasks are active or ended"):
        store.tasks(phase="done")


def test_a_long_list_is_read_page_by_page_and_then_only_what_is_new(store):
    for number in range(1, 8):
        put_task(store, number, f"fit{number}")
    first = store.tasks(limit=3)
    second = store.tasks(limit=3, before=first[-1].id)
    third = store.tasks(limit=3, before=second[-1].id)
    assert [int(line.id[1:]) for line in (*first, *second, *third)] == [7, 6, 5, 4, 3, 2, 1]
    assert store.tasks(before=third[-1].id) == store.tasks(before="t9999999") == ()
    seen = max(line.version for line in first)
    assert store.tasks(newer=seen) == ()
    for task in ("t0000005", "t0000002"):
        store.request_cancel(task, "you", at(20))
    assert [line.id for line in store.tasks(newer=seen)] == ["t0000005", "t0000002"]
    (oldest,) = store.tasks(newer=seen, limit=1)
    assert [line.id for line in store.tasks(newer=oldest.version)] == ["t0000002"]


def test_a_task_line_says_what_its_task_says(store):
    put_task(store)
    native = NativeJob(id="42")
    task = move(store, State.PENDING, 3, native=native, reason_class=ReasonClass.NEVER, cause="c", trouble="t")
    (line,) = store.tasks()
    assert TaskSummary.model_validate(line.model_dump()) == line
    assert line == TaskSummary(
        id=task.id,
        name="fit",
        state=State.PENDING,
        phase=Phase.PENDING,
        site="alpha",
        partition="short",
        native_id="42",
        created_at=task.created_at,
        walltime_s=600,
        reason_class=ReasonClass.NEVER,
        cause="c",
        trouble="t",
        attempts=1,
        version=task.version,
        notebook="work/a.ipynb",
    )
    move(store, State.RUNNING, 4, started_at=at(4))
    move(store, State.COMPLETED, 9, ended_at=at(9))
    (line,) = store.tasks()
    assert (line.started_at, line.ended_at, line.outcome) == (at(4), at(9), Outcome.OK)
