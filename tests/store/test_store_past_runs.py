"""Earlier tasks of the same code: found by what would run, or by the cell's text."""

from jupyter_diamond.model.states import State
from tests.store.store_samples import a_decision, a_request, an_attempt, at


def ran(store, number, *, digest="d", source="x = 1", state=State.COMPLETED, **changes):
    request = a_request(f"token-{number:010d}").model_copy(update={"digest": digest, "source": source})
    store.create_task(
        request, task_id=f"t{number:010d}", key="ab" * 32, decision=a_decision(),
        attempt=an_attempt(f"dmd-{number:08d}"), why_here="x", at=at(number),
    )  # fmt: skip
    told = {"state": state, "started_at": at(10), "ended_at": at(70), **changes}
    store.update_attempt(f"t{number:010d}", 1, at=at(99), type="attempt.state_changed", data={}, changes=told)


def test_the_very_same_code_goes_before_the_same_cell_and_the_newest_before_older(store):
    ran(store, 1, digest="same", max_rss_bytes=1 << 30)
    ran(store, 2, digest="other", source="x = 1\n")
    ran(store, 3, digest="same", state=State.OUT_OF_MEMORY)
    ran(store, 4, digest="other", source="y = 2")
    found = store.past_runs("same", " x = 1")
    assert [(int(run.task[1:]), run.same, run.state.value) for run in found] == [
        (3, "digest", "out_of_memory"), (1, "digest", "completed"), (2, "source", "completed"),
    ]  # fmt: skip
    assert (found[1].run_s, found[1].max_rss_bytes, found[0].max_rss_bytes) == (60.0, 1 << 30, None)


def test_what_has_not_ended_and_what_is_empty_is_no_past(store):
    ran(store, 1, state=State.RUNNING, ended_at=None)
    ran(store, 2, source="")
    assert store.past_runs(None, "x = 1") == ()
    assert store.past_runs(None, "  ") == ()
    assert [run.name for run in store.past_runs("d", "")] == ["fit"]
