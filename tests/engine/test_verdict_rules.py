"""Six questions about an attempt: yes, no and unknown, each with its evidence."""

from datetime import timedelta

import pytest

from jupyter_diamond.engine.verdict_rules import LogRead, NotKnown, Read, judge
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.jobs import Allocated, JobRow, NativeJob
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import ArrayPlace
from jupyter_diamond.parsing.log_signs import errors_in
from tests.engine.heal.samples import GIB, T0, attempt, size, task

GIVEN = Allocated(nodes=1, cpus=1, gpus=0, memory_bytes=4 * GIB)


def row(**fields):
    base = {
        "job": NativeJob(id="812"), "name": "dmd-0000000000000001", "state": State.COMPLETED, "raw_state": "COMPLETED",
        "allocated": GIVEN,
    }  # fmt: skip
    return JobRow.model_validate(base | fields)


def receipt(outcome="OK", values=(("x", 10),), missing=(), **fields):
    files = [
        {"name": name, "codec": "json", "file": f"result/{name}.json", "bytes": size, "sha256": "", "hmac": ""}
        for name, size in values
    ]
    gone = [{"name": name, "why": why} for name, why in missing]
    base = {
        "format": 1, "token": "dmd-1", "outcome": outcome, "values": files, "missing": gone, "started_at": 1.0,
        "ended_at": 2.0,
    }  # fmt: skip
    return Manifest.model_validate(base | fields)


def log(text="fine\n"):
    return LogRead(len(text), len(text), errors_in(text))


def read(**parts):
    return Read(**({"log": log(), "receipt": receipt(), "row": row(), "held": {"result/x.json": 10}} | parts))


def done(state=State.COMPLETED, outputs=("x",), **fields):
    base = {"state": state, "cell_started_at": T0, "exit_code": 0, "result_ready": True}
    return task(attempt(**(base | fields)), outputs=outputs)


def verdict(of=None, **parts):
    return judge(of or done(), read(**parts), at=T0)


def answer(question, of=None, **parts):
    return verdict(of, **parts).finding(question)


def test_all_six_are_yes_where_everything_was_seen_to_be_good():
    found = verdict()
    assert [each.answer for each in found.findings] == ["yes"] * 6
    assert found.correct == "yes"
    assert found.sentence == "`fit` did what was asked at delta: the 1 output came back, and it ended well."
    assert found.attempts_left == 0, "nothing follows what has ended"


@pytest.mark.parametrize("part", ["log", "receipt", "row"])
def test_what_cannot_be_read_is_unknown_with_the_reason_and_never_a_no(part):
    found = verdict(**{part: NotKnown("delta does not answer")})
    assert found.correct == "unknown"
    assert "delta does not answer" in found.sentence
    assert "no" not in {each.answer for each in found.findings}


def test_one_no_outweighs_what_is_unknown():
    found = verdict(log=log("Bus error\n"), row=NotKnown("x"))
    assert (found.correct, found.finding("clean_log").evidence) == ("no", ("crash: Bus error",))
    assert found.finding("clean_log").signs == ("crash",)
    assert found.sentence == "`fit` did not do what was asked. Its log shows a crash."


def test_of_a_long_log_it_is_said_that_only_its_end_was_read():
    found = answer("clean_log", log=LogRead(50 << 20, 256 << 10))
    assert (found.answer, found.sentence) == ("yes", "There is no sign of an error in the last 256K of its log.")
    assert answer("clean_log", log=LogRead(None, 0)).answer == "unknown"
    assert answer("clean_log", log=LogRead(0, 0)).sentence == "Its log is empty."


def test_a_refused_task_was_not_accepted_and_nobody_says_that_it_ran_small():
    of = done(State.REJECTED, native=None, started_at=None, cell_started_at=None, result_ready=False,
              cause="Invalid account.", evidence=("sbatch: error: Invalid account",))  # fmt: skip
    found = verdict(of, log=LogRead(None, 0), receipt=NotKnown("it left no receipt"), row=NotKnown("x"))
    said = {each.question: each.answer for each in found.findings}
    assert said == {
        "accepted": "no", "started": "no", "clean_log": "unknown", "outputs": "no", "size": "unknown",
        "ended_well": "no",
    }  # fmt: skip
    assert found.finding("accepted").evidence == ("sbatch: error: Invalid account",)


def test_a_lost_job_is_unknown_and_not_failed():
    of = done(State.LOST, native=None, started_at=None, cell_started_at=None, result_ready=False)
    found = verdict(of, log=LogRead(None, 0), receipt=NotKnown("x"), row=NotKnown("y"))
    assert {each.answer for each in found.findings} == {"unknown"}


def test_a_job_whose_cell_could_not_begin_has_not_started():
    assert answer("started", done(State.FAILED, failure="launch", cause="No Python.")).answer == "no"


@pytest.mark.parametrize(
    ("receipt_", "held", "evidence"),
    [
        (receipt(values=()), {}, "x: it is not in the receipt"),
        (receipt(values=(), missing=(("x", "x cannot be pickled"),)), {}, "x: x cannot be pickled"),
        (receipt(values=(("x", 0),)), {}, "x: its file is empty"),
        (receipt(), {"result/x.json": None}, "x: result/x.json is no longer there"),
        (receipt(), {"result/x.json": 3}, "x: result/x.json has 3 bytes, its receipt says 10"),
    ],
)
def test_an_output_that_is_not_there_is_named(receipt_, held, evidence):
    found = answer("outputs", receipt=receipt_, held=held)
    assert (found.answer, found.evidence) == ("no", (evidence,))


def test_without_outputs_none_is_missing():
    assert answer("outputs", done(outputs=())).sentence == "No outputs were asked for."


@pytest.mark.parametrize(
    ("given", "asked", "expected"),
    [
        (GIVEN, size(), "yes"),
        (Allocated(nodes=1, cpus=64, gpus=4, memory_bytes=256 * GIB), size(), "yes"),  # whole nodes give more
        (Allocated(nodes=1, cpus=1, memory_bytes=int(3.99 * GIB)), size(), "yes"),  # rounded in the site's own units
        (Allocated(nodes=1, cpus=1, gpus=0, memory_bytes=3 * GIB), size(), "no"),
        (Allocated(nodes=1, cpus=64, gpus=0, memory_bytes=9 * GIB), size(nodes=2), "no"),
        (Allocated(nodes=2, cpus=7, gpus=0, memory_bytes=8 * GIB), size(nodes=2, cpus=4), "no"),
        (Allocated(nodes=1, cpus=1, gpus=1, memory_bytes=4 * GIB), size(gpus=2), "no"),
        (Allocated(nodes=1, cpus=1, memory_bytes=4 * GIB), size(gpus=2), "unknown"),
        (Allocated(nodes=1, cpus=1), size(memory_bytes=None), "yes"),
        (None, size(), "unknown"),
    ],
)
def test_the_size_is_what_accounting_gave_against_what_was_asked(given, asked, expected):
    assert answer("size", done(size=asked), row=row(allocated=given)).answer == expected


def test_a_test_jobs_id_is_not_the_tasks():
    found = answer("size", row=row(name="interactive"))
    assert (found.answer, found.evidence[0]) == ("no", "name: interactive")
    assert answer("size", row=row(job=NativeJob(id="813"))).answer == "no"
    member = done(array=ArrayPlace(token="dmd-array", at=3))
    assert answer("size", member, row=row(name="dmd-array")).answer == "yes"


def test_the_record_of_the_exception_decides_not_that_the_runner_returned():
    failed = receipt(outcome="FAILED", error={"ename": "ValueError", "evalue": "bad"})
    assert answer("ended_well", receipt=failed).evidence == ("exit code 0", "ValueError: bad")
    assert answer("ended_well", row=row(step_trouble="step 812.0 ended FAILED 1:0")).answer == "no"


def test_what_has_not_ended_is_unknown_and_says_so():
    of = task(attempt(state=State.RUNNING), outputs=("x",))
    found = verdict(of, receipt=NotKnown("it left no receipt"))
    assert (found.correct, found.finding("ended_well").answer) == ("unknown", "unknown")
    assert found.sentence == "`fit` is running: whether it does what was asked is known when it has ended."
    assert (found.attempts_left, found.moves_left) == (3, 2)


def test_attempts_left_counts_what_healing_has_used():
    tried = task(
        attempt(1, failure="node"), attempt(2, State.RUNNING, step="retry", site="vista"), healing=Healing(retries=2, moves=1)
    )  # fmt: skip
    found = judge(tried, read(), at=T0 + timedelta(hours=1))
    assert (found.attempts_left, found.moves_left) == (1, 0)
