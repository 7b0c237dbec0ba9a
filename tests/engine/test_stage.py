"""A submission happens once however often its script is delivered, and says what it left when it was cut."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_diamond.engine.stage import fence_script, peek_script, read_answer, sealed, submit_script
from jupyter_diamond.model.site import Site
from jupyter_diamond.schedulers.registry import scheduler_for
from jupyter_diamond.transport.base import Completed

PARTS = sealed({"bundle.tar": b"b", "job.sh": b"echo hi\n"})
COUNTING = "echo once >> ../count; echo 'Submitted batch job 812'"


def run(script: str, stdin: bytes = b"") -> Completed:
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script], input=stdin, capture_output=True, check=False
    )
    return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "attempts" / "dmd-0123456789abcdef")


def count(folder: str) -> int:
    done = subprocess.run(["cat", f"{folder}/../count"], capture_output=True, text=True, check=False)
    return done.stdout.count("once")


def test_submits_and_gives_the_schedulers_answer(folder):
    found = read_answer(run(submit_script(folder, COUNTING, k=1), PARTS))
    assert found.fate == "answered"
    assert found.answer.out == "Submitted batch job 812\n"
    assert found.answer.exit == 0


def test_ten_deliveries_at_once_call_the_scheduler_once(folder):
    script = submit_script(folder, f"sleep 0.2; {COUNTING}", k=1)
    with ThreadPoolExecutor(10) as pool:
        fates = [read_answer(done).fate for done in pool.map(lambda _: run(script, PARTS), range(10))]
    assert count(folder) == 1
    assert fates.count("answered") >= 1
    assert set(fates) <= {"answered", "intent"}


def test_a_second_delivery_gives_the_first_answer_again(folder):
    script = submit_script(folder, COUNTING, k=1)
    first, second = run(script, PARTS), run(script, PARTS)
    assert read_answer(first).answer.stdout == read_answer(second).answer.stdout
    assert count(folder) == 1


def test_the_schedulers_refusal_is_kept_with_its_status_and_stderr(folder):
    script = submit_script(folder, "echo 'Invalid account' >&2; (exit 1)", k=1)
    for _ in range(2):
        found = read_answer(run(script, PARTS))
        assert (found.fate, found.answer.exit, found.answer.err) == ("answered", 1, "Invalid account\n")


def test_a_new_number_submits_again_after_a_refusal(folder):
    run(submit_script(folder, "(exit 1)", k=1), PARTS)
    assert read_answer(run(submit_script(folder, COUNTING, k=2), PARTS)).answer.exit == 0
    assert count(folder) == 1


def test_peek_knows_nothing_before_and_the_answer_after(folder):
    assert read_answer(run(peek_script(folder, k=1))).fate == "nothing"
    run(submit_script(folder, COUNTING, k=1), PARTS)
    found = read_answer(run(peek_script(folder, k=1)))
    assert (found.fate, found.answer.out) == ("answered", "Submitted batch job 812\n")


def test_killed_between_intent_and_answer_is_unknown_not_absent(folder):
    """B03: the connection died while the scheduler was being called."""
    process = subprocess.Popen(
        ["bash", "-c", submit_script(folder, "echo once >> ../count; exec sleep 60", k=1)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    process.stdin.write(PARTS)
    process.stdin.close()
    deadline = time.monotonic() + 10
    while count(folder) == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    subprocess.run(["pkill", "-KILL", "-g", str(process.pid)], check=True)
    process.wait()
    process.stdout.close()
    process.stderr.close()
    assert read_answer(run(peek_script(folder, k=1))).fate == "intent"
    assert read_answer(run(submit_script(folder, COUNTING, k=1), PARTS)).fate == "intent"
    assert count(folder) == 1


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    found = read_answer(run(submit_script(str(tmp_path / "file" / "x"), COUNTING, k=1), PARTS))
    assert found.fate == "no_folder"
    assert "file" in found.answer.err


def test_inputs_that_do_not_arrive_whole_are_not_submitted(folder):
    found = read_answer(run(submit_script(folder, COUNTING, k=1), PARTS[:700]))
    assert found.fate == "no_space"
    assert count(folder) == 0
    assert read_answer(run(submit_script(folder, COUNTING, k=1), PARTS)).fate == "no_space", "it was told so"
    assert read_answer(run(peek_script(folder, k=1))).fate == "no_space"
    assert read_answer(run(submit_script(folder, COUNTING, k=2), PARTS)).fate == "answered"


def test_nothing_of_inputs_that_found_no_room_is_left(folder):
    run(submit_script(folder, COUNTING, k=1), PARTS[:700])
    assert [(path.name, path.stat().st_size) for path in Path(folder).iterdir()] == [("submit.1.void", 0)]


def test_a_submission_that_was_given_up_does_not_happen_when_it_comes_after_all(folder):
    assert read_answer(run(fence_script(folder, k=1, close=False))).fate == "nothing"
    assert read_answer(run(submit_script(folder, COUNTING, k=1), PARTS)).fate == "intent"
    assert count(folder) == 0
    assert read_answer(run(submit_script(folder, COUNTING, k=2), PARTS)).fate == "answered"


def test_a_closed_attempt_is_closed_to_submissions_and_to_jobs(folder):
    for _ in range(2):
        assert read_answer(run(fence_script(folder, k=1, close=True))).fate == "fenced"
    for k in (1, 2):
        assert read_answer(run(submit_script(folder, COUNTING, k=k), PARTS)).fate == "fenced"
    assert count(folder) == 0
    assert read_answer(run(peek_script(folder, k=1))).fate == "fenced"


def test_an_attempt_that_has_a_job_is_not_closed_but_names_it(folder):
    run(submit_script(folder, COUNTING, k=1), PARTS)
    for close in (False, True):
        found = read_answer(run(fence_script(folder, k=1, close=close)))
        assert (found.fate, found.answer.out) == ("answered", "Submitted batch job 812\n")
    assert read_answer(run(fence_script(folder, k=0, close=True))).fate == "fenced", "that job is known, and over"


def test_a_refused_submission_keeps_no_attempt_open(folder):
    run(submit_script(folder, "(exit 1)", k=1), PARTS)
    assert read_answer(run(fence_script(folder, k=1, close=True))).fate == "fenced"


def test_output_that_does_not_start_with_our_mark_means_look_for_the_job():
    assert read_answer(Completed(exit=1, stdout=b"Connection closed", stderr=b"")).fate == "intent"


def test_files_are_private(folder):
    run(submit_script(folder, COUNTING, k=1), PARTS)
    modes = subprocess.run(["stat", "-c", "%a", folder, f"{folder}/job.sh"], capture_output=True, text=True, check=True)
    assert modes.stdout.split() == ["700", "600"]


def test_a_job_that_has_started_is_the_answer_whatever_the_scheduler_remembers(folder):
    """Accounting may lag behind a job that was over at once: its own claim proves that it ran, and which one it is."""
    script = submit_script(folder, "echo once >> ../count; exec sleep 60", k=1)
    lost = subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lost.stdin.write(PARTS)
    lost.stdin.close()
    deadline = time.monotonic() + 10
    while not count(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    lost.kill()
    lost.wait()
    (Path(folder) / "claim").symlink_to("812")
    for script in (
        peek_script(folder, k=1),
        submit_script(folder, COUNTING, k=1),
        submit_script(folder, COUNTING, k=2),
    ):
        found = read_answer(run(script, PARTS))
        assert (found.fate, found.answer.exit, found.answer.out) == ("answered", 0, "812\n")
    assert count(folder) == 1, "and no second job is handed in"


@pytest.mark.parametrize(
    ("kind", "said", "job"), [("slurm", "812\n", "812"), ("process", "p12-0a1b2c\n", "p12-0a1b2c")]
)
def test_a_claim_reads_as_each_schedulers_own_answer(kind, said, job):
    scheduler = scheduler_for(Site(name="s", scheduler=kind))
    assert scheduler.parse_submit(Completed(exit=0, stdout=said.encode(), stderr=b"")).id == job
