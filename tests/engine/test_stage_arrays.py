"""A job array is submitted once, and each of its members can be closed on its own."""

import subprocess
from pathlib import Path

import pytest

from jupyter_diamond.engine.stage import (
    claims_script,
    close_array_script,
    fence_script,
    links,
    peek_script,
    read_answer,
    sealed,
    submit_script,
)
from tests.engine.test_stage import COUNTING, count, run

MEMBERS = b"0 0\n1 10\n2 20\n7 70\n"
ATS = (0, 1, 2, 7)
COMMANDS = ("cat", "cut", "grep", "head", "ln", "ls", "mkdir", "mv", "readlink", "rm", "rmdir", "sed", "tar", "xargs")
PARTS = sealed({"bundle.tar": b"b", "job.sh": b"echo hi\n", "members": MEMBERS})


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "attempts" / "dmd-0123456789abcdef")


def submit(folder, command=COUNTING, *, k=1, parts=PARTS):
    return read_answer(run(submit_script(folder, command, k=k, array=True), parts))


def close(folder, ats=ATS, *, k=1, whole=True):
    return read_answer(run(close_array_script(folder, ats, k=k), links(ats, whole=whole)))


def peek(folder, k=1):
    return read_answer(run(peek_script(folder, k=k, array=True)))


def claim(folder, at, job):
    (Path(folder) / str(at)).mkdir(parents=True, exist_ok=True)
    (Path(folder) / str(at) / "claim").symlink_to(f"{job}_{at}")


def fenced(folder):
    claims = [path / "claim" for path in Path(folder).iterdir() if path.is_dir()]
    return sorted(int(path.parent.name) for path in claims if path.is_symlink() and str(path.readlink()) == "fenced")


def killed(folder):
    """A submission ends between its intent and its answer."""
    script = submit_script(folder, "kill -KILL 0", k=1, array=True)
    subprocess.run(["bash", "-c", script], input=PARTS, capture_output=True, check=False, start_new_session=True)


def test_what_members_share_is_staged_and_the_scheduler_is_called_once(folder):
    for _ in range(2):
        found = submit(folder)
        assert (found.fate, found.answer.out) == ("answered", "Submitted batch job 812\n")
    assert count(folder) == 1
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    assert not [path.name for path in Path(folder).iterdir() if path.is_dir()], "each is made by its job"
    assert (Path(folder) / "members").read_bytes() == MEMBERS


def test_nothing_is_left_where_there_was_no_room(folder):
    assert submit(folder, parts=PARTS[:700]).fate == "no_space"
    assert [path.name for path in Path(folder).iterdir()] == ["submit.1.void"]
    assert submit(folder, k=2).fate == "answered"


def test_the_claim_of_any_member_is_the_answer_for_all(folder):
    killed(folder)
    assert peek(folder).fate == "intent"
    claim(folder, 7, 812)
    for found in (peek(folder), submit(folder), submit(folder, k=2), close(folder)):
        assert (found.fate, found.answer.exit, found.answer.out) == ("answered", 0, "812\n")
    fence = read_answer(run(fence_script(folder, k=1, close=False, array=True)))
    assert (fence.fate, fence.answer.out) == ("answered", "812\n")
    assert count(folder) == 0


def test_an_array_that_was_given_up_is_not_submitted_when_it_comes_after_all(folder):
    assert read_answer(run(fence_script(folder, k=1, close=False, array=True))).fate == "nothing"
    assert submit(folder).fate == "intent"
    assert count(folder) == 0
    assert submit(folder, k=2).fate == "answered"


def test_a_closed_array_is_closed_to_submissions_and_to_jobs(folder):
    killed(folder)
    for _ in range(2):
        assert close(folder).fate == "fenced"
    assert fenced(folder) == [0, 1, 2, 7]
    for k in (1, 2):
        assert submit(folder, k=k).fate == "fenced"
    assert (count(folder), peek(folder).fate) == (0, "fenced")


def test_some_members_are_closed_and_the_others_go_on(folder):
    assert close(folder, (1, 2), whole=False).fate == "fenced"
    assert fenced(folder) == [1, 2]
    assert peek(folder).fate == "nothing"
    assert submit(folder).fate == "answered"
    assert count(folder) == 1


def test_an_array_that_has_a_job_is_not_closed_but_names_it(folder):
    submit(folder)
    found = close(folder)
    assert (found.fate, found.answer.out) == ("answered", "Submitted batch job 812\n")
    assert fenced(folder) == []


def test_after_a_refusal_members_are_closed(folder):
    assert submit(folder, "(exit 1)").answer.exit == 1
    assert close(folder, (0,), whole=False).fate == "fenced"


def test_whose_claims_there_are_is_told_and_the_others_are_closed(folder):
    submit(folder)
    claim(folder, 2, 815)
    told = read_answer(run(claims_script(folder, (1, 2)), links((1, 2), whole=False)))
    assert told.fate == "answered"
    assert [line.split()[-3:] for line in told.answer.out.splitlines()] == [
        ["1/claim", "->", "fenced"],
        ["2/claim", "->", "815_2"],
    ]
    assert fenced(folder) == [1]


def test_no_script_starts_a_process_for_every_member(folder, tmp_path):
    """What they start is counted by stand-ins for every command that they use."""
    log, commands = tmp_path / "log", tmp_path / "bin"
    commands.mkdir()
    for name in COMMANDS:
        program = commands / name
        program.write_text(f'#!/bin/sh\necho {name} >>{log}\nPATH=/usr/bin:/bin\nexec {name} "$@"\n')
        program.chmod(0o755)
    most = range(1000)
    parts = sealed({"bundle.tar": b"b", "job.sh": b":\n", "members": b"".join(b"%d %d\n" % (at, at) for at in most)})
    scripts = [
        (submit_script(folder, "(exit 1)", k=1, array=True), parts),
        (peek_script(folder, k=1, array=True), b""),
        (close_array_script(folder, most, k=1), links(most, whole=True)),
        (claims_script(folder, most), links(most, whole=False)),
    ]
    for script, stdin in scripts:
        assert len(script) < 4096
        log.write_text("")
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script], input=stdin, env={"PATH": f"{commands}:/usr/bin:/bin"},
            capture_output=True, check=False,
        )  # fmt: skip
        assert 0 < len(log.read_text().split()) < 15
    assert fenced(folder) == list(most)
