"""Whatever ends an attempt, its folder says so: end.json last, complete, with a sentence."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import resource
import shutil
import subprocess
import tarfile
import time

import pytest

from jupyter_diamond.cell.runner.diamond_runner import TERMINATE_GRACE_S
from jupyter_diamond.cell.spec import Statement

from .attempts import make_attempt


def until(condition, seconds: float = 20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def test_inputs_with_another_digest_are_not_run(tmp_path):
    attempt = make_attempt(tmp_path, "print('never')")
    with (attempt.folder / "bundle.tar").open("ab") as bundle:
        bundle.write(b"\0")
    attempt.run()
    assert attempt.exit_code == attempt.end.exit_code == 84
    assert attempt.error() == ("BadBundle", "the inputs at the site are not the ones that were submitted")
    assert attempt.stdout == ""


def test_absent_inputs_are_told(tmp_path):
    attempt = make_attempt(tmp_path, "1")
    (attempt.folder / "bundle.tar").unlink()
    assert attempt.run().exit_code == 84
    assert "No such file" in attempt.error()[1]


def _member(name, **settings):
    member = tarfile.TarInfo(name)
    for key, value in settings.items():
        setattr(member, key, value)
    return member, b"x" * member.size


@pytest.mark.parametrize(
    "member",
    [
        _member("modules/../../escape.py", size=1),
        _member("../escape.py", size=1),
        _member("/tmp/escape.py", size=1),
        _member("modules/link.py", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        _member("modules/link.py", type=tarfile.LNKTYPE, linkname="spec.json"),
        _member("modules/pipe", type=tarfile.FIFOTYPE),
        _member("values/dev", type=tarfile.CHRTYPE),
    ],
)
def test_inputs_that_would_leave_the_folder_are_refused(tmp_path, member):
    attempt = make_attempt(tmp_path, "print('never')", extra=(member,)).run()
    assert attempt.exit_code == 84
    assert "not a plain file" in attempt.error()[1]
    assert attempt.stdout == ""
    assert not list(tmp_path.rglob("escape.py"))


def test_a_module_never_writes_through_a_link(tmp_path):
    attempt = make_attempt(tmp_path, "1", modules={"m.py": "x"})
    (attempt.folder / "modules").mkdir()
    target = tmp_path / "target"
    target.write_text("kept")
    (attempt.folder / "modules/m.py").symlink_to(target)
    attempt.run()
    assert target.read_text() == "kept"
    assert attempt.exit_code == 84


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o770])
def test_a_folder_that_others_can_enter_is_not_used(tmp_path, mode):
    attempt = make_attempt(tmp_path, "print('never')")
    attempt.folder.chmod(mode)
    attempt.run()
    assert attempt.exit_code == 77
    assert "0700" in attempt.log
    assert not (attempt.folder / "outputs.jsonl").exists()


def test_a_missing_key_is_told_before_the_cell_runs(tmp_path):
    attempt = make_attempt(tmp_path, "print('never')")
    (attempt.folder / "key").unlink()
    assert attempt.run().exit_code == 84
    assert "key" in attempt.error()[1]


SLOW = {
    "sleeping": "import time\nprint('on', flush=True)\ntime.sleep(600)",
    "in python": "print('on', flush=True)\nwhile True: pass",
    "awaiting": "import asyncio\nprint('on', flush=True)\nawait asyncio.sleep(600)",
    "in a program": "import subprocess\nprint('on', flush=True)\nsubprocess.run(['sleep', '600'])",
    "in a function of the notebook": "print('on', flush=True)\nspin()",
}


@pytest.mark.parametrize("what", SLOW)
def test_sigterm_ends_the_cell_and_the_folder_says_so(tmp_path, what):
    spin = Statement(name="spin", source="import time\ndef spin():\n    time.sleep(600)", filename="<c>")
    attempt = make_attempt(tmp_path, SLOW[what], statements=(spin,), outputs=("x",))
    process = attempt.start()
    until(lambda: "on\n" in (attempt.folder / "job.out").read_text())
    process.terminate()
    began = time.monotonic()
    assert process.wait(20) == 143
    assert time.monotonic() - began < TERMINATE_GRACE_S
    assert attempt.error() == ("Terminated", "terminated by the scheduler")
    assert "terminated by the scheduler" in attempt.end.why
    assert attempt.end.exit_code == 143
    assert attempt.stdout == "on\n"
    assert attempt.outputs[-1]["output_type"] == "error"


@pytest.mark.parametrize(
    "cell",
    [
        # many seconds in C, which lets other threads run but no signal handler
        "import hashlib\nprint('on', flush=True)\nhashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)",
        "import time\nprint('on', flush=True)\nwhile True:\n    try:\n        time.sleep(600)\n    except BaseException:\n        pass",
    ],
    ids=["one long call", "a cell that swallows everything"],
)
def test_sigterm_is_recorded_even_when_the_cell_does_not_react(tmp_path, cell):
    attempt = make_attempt(tmp_path, cell)
    process = attempt.start()
    until(lambda: "on\n" in (attempt.folder / "job.out").read_text())
    process.terminate()
    assert process.wait(20) == 143
    assert "terminated by the scheduler" in attempt.end.why
    assert attempt.manifest.outcome == "FAILED"


def test_a_cell_may_clean_up_on_sigterm(tmp_path):
    cell = "import time\ntry:\n    print('on', flush=True)\n    time.sleep(600)\nfinally:\n    print('saved')"
    attempt = make_attempt(tmp_path, cell)
    process = attempt.start()
    until(lambda: "on\n" in (attempt.folder / "job.out").read_text())
    process.terminate()
    assert process.wait(20) == 143
    assert attempt.stdout == "on\nsaved\n"


def test_a_runner_that_is_killed_leaves_no_end_file(tmp_path):
    attempt = make_attempt(tmp_path, "import os\nprint('x', flush=True)\nos.kill(os.getpid(), 9)").run()
    assert attempt.exit_code == -9
    assert not (attempt.folder / "end.json").exists()
    assert not (attempt.folder / "manifest.json").exists()
    assert attempt.log == "x\n"


def test_a_crash_in_c_leaves_the_users_stack_in_the_log(tmp_path):
    attempt = make_attempt(tmp_path, "import ctypes\ndef f():\n    ctypes.string_at(0)\nf()").run()
    assert attempt.exit_code == -11
    assert "Segmentation fault" in attempt.log
    assert "in f" in attempt.log


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of 2 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_costs_the_big_value_and_nothing_else(tmp_path, small_disk):
    cell = "import os\nbig = os.urandom(4_000_000)\nsmall = 1"
    attempt = make_attempt(small_disk, cell, outputs=("big", "small")).run()
    assert attempt.exit_code == 1
    assert "is full or over quota (No space left on device)" in attempt.error()[1]
    assert attempt.manifest.missing[0].name == "big"
    assert attempt.value("small") == 1
    assert sorted(p.name for p in (attempt.folder / "result").iterdir()) == ["small.json"]
    assert "full" in attempt.end.why


def test_a_disk_filled_to_the_last_byte_still_gets_its_end_file(tmp_path, small_disk):
    cell = (
        f"f = open({str(small_disk / 'fill')!r}, 'wb', buffering=0)\n"
        "try:\n    while True: f.write(b'x' * 512)\nexcept OSError: pass\nsmall = list(range(9999))\nprint('y' * 100_000)"
    )
    attempt = make_attempt(small_disk, cell, outputs=("small",)).run()
    assert shutil.disk_usage(small_disk).free < 70_000
    assert attempt.exit_code == 1
    assert attempt.end.outcome == "FAILED"
    assert "is full or over quota" in attempt.end.why
    assert attempt.manifest.missing[0].name == "small"
    assert not list(attempt.folder.rglob("*.tmp"))


def test_a_file_size_limit_is_told(tmp_path):
    attempt = make_attempt(tmp_path, "big = b'x' * 4_000_000\nsmall = 1", outputs=("big", "small"))
    attempt.run(prefix=("bash", "-c", 'ulimit -f 1000; exec "$@"', "bash"))
    assert "grew larger than the site lets a file be" in attempt.error()[1]
    assert attempt.value("small") == 1


def test_nothing_is_left_over(tmp_path):
    attempt = make_attempt(tmp_path, "print(1)\nx = 1", outputs=("x",)).run()
    assert sorted(p.name for p in attempt.folder.iterdir()) == [
        "bundle.tar", "end.json", "job.out", "key", "manifest.json", "outputs.jsonl", "result", "runner.py", "work",
    ]  # fmt: skip


def test_an_attempt_that_is_requeued_starts_over(tmp_path):
    attempt = make_attempt(tmp_path, "x = 1\nprint('once')", outputs=("x",)).run().run()
    assert attempt.stdout == "once\n"
    assert attempt.value("x") == 1


def test_a_thread_that_goes_on_does_not_keep_the_result_back(tmp_path):
    cell = "import threading, time\nt = threading.Thread(target=time.sleep, args=(600,))\nt.start()\nx = 1"
    attempt = make_attempt(tmp_path, cell, outputs=("x",))
    process = attempt.start()
    try:
        until((attempt.folder / "end.json").exists)
        assert attempt.value("x") == 1
    finally:
        process.kill()
        process.wait()


def test_exit_handlers_of_the_user_still_run(tmp_path):
    attempt = make_attempt(tmp_path, "import atexit\natexit.register(print, 'bye')").run()
    assert attempt.exit_code == 0
    assert attempt.log == "bye\n"


# --- bash --------------------------------------------------------------------------------------------------------


def test_a_bash_cell_runs_with_its_outputs_in_order(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    cell = "echo out\nsleep 0.3\necho err >&2\nsleep 0.3\npwd\ncat\n"
    attempt = make_attempt(tmp_path, cell, language="bash", cwd=home).run()
    assert attempt.exit_code == 0
    assert attempt.streams == [("stdout", "out\n"), ("stderr", "err\n"), ("stdout", f"{home}\n")]
    assert attempt.manifest.outcome == "OK"


@pytest.mark.parametrize(
    ("cell", "code", "how"),
    [
        ("exit 3", 3, "exit code 3"),
        ("kill -9 $$", 137, "signal 9"),
        ("nope", 127, "exit code 127"),
        ("if", 2, "exit code 2"),
    ],
)
def test_a_bash_cell_fails_with_its_exit_code(tmp_path, cell, code, how):
    attempt = make_attempt(tmp_path, cell, language="bash").run()
    assert attempt.exit_code == attempt.end.exit_code == code
    assert attempt.error() == (
        "BashError",
        f"the bash cell ended by {how}" if "signal" in how else f"the bash cell ended with {how}",
    )


def test_a_bash_cell_is_terminated_with_its_job(tmp_path):
    attempt = make_attempt(tmp_path, "trap 'echo cleanup; exit' TERM\necho on\nsleep 600 & wait", language="bash")
    process = attempt.start()
    until(lambda: "on\n" in (attempt.folder / "job.out").read_text())
    process.terminate()
    assert process.wait(20) == 143
    assert attempt.stdout == "on\ncleanup\n"
    assert "terminated by the scheduler" in attempt.end.why


# --- time --------------------------------------------------------------------------------------------------------


def best(measure, times: int = 7) -> float:
    return min(measure() for _ in range(times))


def test_the_runner_adds_little_to_the_start_of_python(tmp_path):
    attempt = make_attempt(tmp_path, "import time\nt = time.time()", outputs=("t",))

    def spent() -> float:  # of processors, by processes that have ended: other work on the machine adds nothing
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def plain() -> float:
        before = spent()
        subprocess.run([attempt.argv()[0], "-c", "import time; print(time.time())"], capture_output=True, check=True)
        return spent() - before

    def ours() -> float:
        before = spent()
        attempt.run()
        return spent() - before

    assert best(ours) - best(plain) < 0.15


def test_the_end_file_follows_the_cell_quickly(tmp_path):
    attempt = make_attempt(tmp_path, "print(1)\nx = list(range(100))", outputs=("x",))

    def gap() -> float:
        attempt.run()
        return attempt.end.at - attempt.manifest.ended_at

    assert best(gap) < 0.25


def test_the_bundle_digest_is_of_the_whole_file(tmp_path):
    attempt = make_attempt(tmp_path, "1")
    data = (attempt.folder / "bundle.tar").read_bytes()
    assert attempt.digest == hashlib.sha256(data).hexdigest()
    with contextlib.closing(tarfile.open(fileobj=io.BytesIO(data))) as tar:
        assert tar.getnames() == ["spec.json"]
    assert os.access(attempt.folder / "runner.py", os.R_OK)
