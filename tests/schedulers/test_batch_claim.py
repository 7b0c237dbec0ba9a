"""The head of every batch script: one job of a token runs, and one that cannot say so does not."""

import subprocess

import pytest

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.schedulers.batch_script import body


@pytest.fixture
def start(tmp_path):
    """Start a job by hand: its exit code and what it wrote into its log."""
    folder = tmp_path / "attempt"
    folder.mkdir()
    command = ("/bin/sh", "ran.sh")
    (folder / "ran.sh").write_text("echo ran >> ran\n")
    job = JobRequest(token="dmd-01234567", name="fit", folder=str(folder), size=Size(walltime_s=60), command=command)
    text = body(job, native_id="$JOB")

    def start(native, path="/usr/bin:/bin"):
        env = {"JOB": native, "PATH": path}
        done = subprocess.run(["bash", "-c", text], env=env, capture_output=True, text=True, check=False)
        ran = folder / "ran"
        return done.returncode, done.stderr, ran.read_text().count("ran") if ran.exists() else 0

    start.folder = folder
    return start


def test_the_second_job_of_a_token_ends_at_once(start):
    assert start("7")[2] == 1
    code, said, ran = start("8")
    assert (code, ran) == (files.EXIT_CLAIMED, 1)
    assert "job 7 runs this attempt already" in said


def test_a_job_that_was_sent_back_to_the_queue_may_go_on(start):
    start("7")
    assert start("7")[2] == 2


def test_a_job_of_a_closed_attempt_ends_at_once(start):
    (start.folder / files.CLAIM).symlink_to(files.FENCED)
    assert start("7")[::2] == (files.EXIT_CLAIMED, 0)


def test_a_job_that_cannot_write_says_so_and_blames_no_other_job(start, tmp_path):
    """A full disk let it say that another job runs the cell, and none did."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ln").write_text("#!/bin/sh\necho 'ln: No space left on device' >&2\nexit 1\n")
    (tmp_path / "bin" / "ln").chmod(0o755)
    code, said, ran = start("7", f"{tmp_path}/bin:/usr/bin:/bin")
    assert (code, ran) == (files.EXIT_NO_CLAIM, 0)
    assert "nothing can be written" in said
