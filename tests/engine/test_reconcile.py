"""What each answer changes in an attempt, as tables."""

from datetime import datetime, timezone

import pytest

from jupyter_diamond.engine.attempt_folder import Seen, Started
from jupyter_diamond.engine.reconcile import final, from_folder, from_queue, lost
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.manifest import CellError, EndFile, Manifest, MissingValue
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt

NOW = datetime(2026, 3, 1, 10, 22, 7, tzinfo=timezone.utc)


def attempt(state=State.RUNNING, **fields):
    base = {
        "n": 1, "token": "dmd-0123456789abcdef", "site": "delta", "size": Size(walltime_s=600), "state": state,
        "created_at": NOW, "state_since": NOW, "native": NativeJob(id="812"),
    }  # fmt: skip
    return Attempt.model_validate(base | fields)


def row(state=State.RUNNING, raw="RUNNING", **fields):
    return JobRow(job=NativeJob(id="812"), state=state, raw_state=raw, **fields)


def end(outcome="OK", **fields):
    return EndFile(format=1, token="dmd-0123456789abcdef", by="runner", outcome=outcome, exit_code=0, at=1.0, **fields)


def manifest(**fields):
    return Manifest(
        format=1, token="dmd-0123456789abcdef", started_at=0.0, ended_at=1.0, **({"outcome": "FAILED"} | fields)
    )


def test_the_receipt_says_when_the_cell_began():
    began = datetime.fromtimestamp(5.0, timezone.utc)
    receipt = manifest(outcome="OK").model_copy(update={"started_at": 5.0})
    assert from_folder(attempt(), Seen(end=end(), manifest=receipt))["cell_started_at"] == began
    ended = row(State.COMPLETED, "COMPLETED", exit_code=0)
    assert final(ended, end(), receipt, attempt=attempt(), cancelled_by=None)["cell_started_at"] == began
    assert "cell_started_at" not in final(ended, end(), None, attempt=attempt(), cancelled_by=None)


@pytest.mark.parametrize("moment", [float("nan"), float("inf"), 1e300, -1e18])
def test_a_receipt_of_no_moment_that_there_is_leaves_it_unknown(moment):
    receipt = manifest(outcome="OK").model_copy(update={"started_at": moment})
    changes = from_folder(attempt(), Seen(end=end(), manifest=receipt))
    assert changes["result_ready"] is True
    assert "cell_started_at" not in changes


def test_a_queue_row_never_ends_an_attempt():
    changes = from_queue(attempt(), row(State.COMPLETED, "COMPLETED"), now=NOW)
    assert changes["state"] is State.COMPLETING


def test_the_same_row_again_changes_nothing():
    known = attempt(State.RUNNING, raw_state="RUNNING")
    assert from_queue(known, row(), now=NOW) == {}


def test_a_late_running_row_does_not_undo_a_result():
    known = attempt(State.COMPLETING, raw_state="RUNNING", result_ready=True)
    assert "state" not in from_queue(known, row(), now=NOW)


def test_a_requeued_job_goes_back_and_forgets_its_start():
    known = attempt(State.RUNNING, started_at=NOW)
    changes = from_queue(known, row(State.PENDING, "REQUEUED", requeued=True), now=NOW)
    assert (changes["state"], changes["started_at"]) == (State.PENDING, None)


def test_an_answer_takes_the_trouble_note_away():
    assert from_queue(attempt(raw_state="RUNNING", trouble="silent"), row(), now=NOW)["trouble"] == ""


def test_the_job_that_made_the_claim_is_the_one_that_is_followed():
    """B03: the scheduler had taken the submission twice; the second job lost the race for the claim."""
    changes = from_folder(attempt(State.PENDING), Seen(started=Started(at=5.0, host="n1", native="811")))
    assert changes["native"] == NativeJob(id="811")
    assert changes["state"] is State.RUNNING


@pytest.mark.parametrize("claimed", ["812", "812_3"])
def test_the_same_job_or_its_array_task_is_no_other_job(claimed):
    assert "native" not in from_folder(attempt(State.PENDING), Seen(started=Started(at=5.0, native=claimed)))


def test_a_start_before_the_scheduler_sent_the_job_back_says_nothing_of_the_next_run():
    heard = datetime(2026, 1, 1, tzinfo=timezone.utc)
    back = from_queue(
        attempt(started_at=heard), row(State.PENDING, "PENDING", requeued=True), now=heard
    )  # fmt: skip
    assert (back["started_at"], back["requeued_at"]) == (None, heard)
    waits = attempt(State.PENDING, requeued_at=heard)
    before, after = (Started(at=heard.timestamp() + seconds) for seconds in (-5.0, 5.0))
    assert from_folder(waits, Seen(started=before)) == {}
    assert from_folder(waits, Seen(started=after))["state"] is State.RUNNING
    again = from_queue(waits, row(State.PENDING, "PENDING", requeued=True), now=datetime.now(timezone.utc))
    assert "requeued_at" not in again


def test_a_result_is_ready_only_with_its_receipt():
    assert from_folder(attempt(), Seen(end=end()))["result_ready"] is False
    assert from_folder(attempt(), Seen(end=end(), manifest=manifest(outcome="OK")))["result_ready"] is True


ENDINGS = [
    ("all agree", row(State.COMPLETED, "COMPLETED", exit_code=0), end(), manifest(outcome="OK"), State.COMPLETED, ""),
    ("no end-file", row(State.COMPLETED, "COMPLETED", exit_code=0), None, None, State.FAILED, "no end-file"),
    (
        "the cell's own words", row(State.FAILED, "FAILED", exit_code=1), end("FAILED"),
        manifest(error=CellError(ename="KeyError", evalue="'x'", traceback=("line 1",))), State.FAILED, "KeyError: 'x'",
    ),
    (
        "a value that did not come back", row(State.FAILED, "FAILED", exit_code=1), end("FAILED"),
        manifest(missing=(MissingValue(name="model", why="never set"),)), State.FAILED, "`model` did not come back: never set",
    ),
    ("the scheduler's word first", row(State.TIMEOUT, "TIMEOUT"), None, None, State.TIMEOUT, "time limit"),
    ("not over after all", row(State.RUNNING), None, None, State.RUNNING, ""),
]  # fmt: skip


@pytest.mark.parametrize(("case", "seen", "ended", "receipt", "state", "words"), ENDINGS, ids=[e[0] for e in ENDINGS])
def test_scheduler_and_end_file_are_weighed(case, seen, ended, receipt, state, words):
    changes = final(seen, ended, receipt, attempt=attempt(), cancelled_by=None)
    assert changes["state"] is state
    assert words in changes["cause"]


def test_who_cancelled_is_said():
    changes = final(row(State.CANCELLED, "CANCELLED by 0"), None, None, attempt=attempt(), cancelled_by="you")
    assert (changes["state"], changes["cause"]) == (State.CANCELLED, "Cancelled by you.")


def test_silence_ends_as_lost_only_without_an_end_file():
    """B07: a job that nobody knows any more, with and without its own last word."""
    assert lost(None, now=NOW, silent_s=900)["state"] is State.LOST
    assert "15 min" in lost(None, now=NOW, silent_s=900)["cause"]
    assert lost(end(), now=NOW, silent_s=900)["state"] is State.COMPLETED
    assert lost(end("FAILED", why="the disk was full"), now=NOW, silent_s=900)["cause"] == "the disk was full"
