"""What a script at this machine gives back, and what becomes of one that does not end."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
import pytest_asyncio

from jupyter_diamond.errors import TransportError
from jupyter_diamond.transport.local import LocalTransport

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def shell():
    transport = LocalTransport({"COLOUR": "blue"})
    yield transport
    await transport.close()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def until(condition, within: float = 5.0):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "not within the deadline"
        await asyncio.sleep(0)


async def test_the_environment_is_the_logins_and_the_sites_and_nothing_else(shell, monkeypatch):
    monkeypatch.setenv("JUPYTER_TOKEN", "s3cret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("BASH_ENV", "/nonexistent")
    monkeypatch.setenv("TMPDIR", "/tmp")
    transport = LocalTransport({"COLOUR": "blue"})
    done = await transport.run("env -0", timeout_s=10)
    await transport.close()
    names = {row.split("=", 1)[0] for row in done.out.split("\0") if row}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {
        "HOME", "USER", "LOGNAME", "PATH", "LANG", "TMPDIR", "SHELL", "COLOUR",
    }  # fmt: skip
    assert "s3cret" not in done.out
    assert "COLOUR=blue" in done.out


async def test_the_deadline_ends_the_whole_group(shell, tmp_path):
    pids = tmp_path / "pids"
    script = f"sleep 300 & echo $! > {pids}; echo $$ >> {pids}; sleep 300"
    with pytest.raises(TransportError) as caught:
        await shell.run(script, timeout_s=0.5)
    assert caught.value.outcome == "unknown"
    assert "0.5 s" in caught.value.message
    for pid in map(int, pids.read_text().split()):
        await until(lambda pid=pid: not alive(pid))


async def test_a_cancelled_caller_leaves_no_process(shell, tmp_path):
    pids = tmp_path / "pids"
    task = asyncio.ensure_future(shell.run(f"echo $$ > {pids}.tmp; mv {pids}.tmp {pids}; sleep 300", timeout_s=60))
    await until(pids.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not alive(int(pids.read_text())))


@pytest.mark.parametrize("turns", range(1, 9))
async def test_a_caller_that_is_cancelled_while_its_process_starts_leaves_none(tmp_path, turns):
    """The script may be far ahead of the loop, which has yet to take its pipes."""
    mark = str(tmp_path / "mark").encode()
    shell = LocalTransport({"MARK": mark.decode()})
    task = asyncio.ensure_future(shell.run("sleep 300; echo on", timeout_s=60))
    for _ in range(turns):
        await asyncio.sleep(0)
        time.sleep(0.05)  # noqa: ASYNC251 - lets the script get ahead
    task.cancel()
    await asyncio.wait({task}, timeout=20)
    assert task.cancelled()
    await until(lambda: not any(_has(process, mark) for process in Path("/proc").glob("[0-9]*")))


@pytest.mark.parametrize("turns", [1, 2, 3, 5, 8, 1000])
async def test_a_caller_that_is_cancelled_again_while_it_cleans_up_leaves_none(tmp_path, turns):
    """At the end of a server each task may be cancelled by its owner and by the loop."""
    mark = str(tmp_path / "mark").encode()
    shell = LocalTransport({"MARK": mark.decode()})
    task = asyncio.ensure_future(shell.run("sleep 300; echo on", timeout_s=60))
    for _ in range(turns):
        await asyncio.sleep(0)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    await until(lambda: not any(_has(process, mark) for process in Path("/proc").glob("[0-9]*")))


def _has(process: Path, mark: bytes) -> bool:
    try:
        return mark in (process / "environ").read_bytes()
    except OSError:
        return False


async def test_without_bash_nothing_was_sent(tmp_path):
    (tmp_path / "bash").write_text("not a program")
    (tmp_path / "bash").chmod(0o755)
    transport = LocalTransport({"PATH": str(tmp_path)}, where="anvil")
    with pytest.raises(TransportError, match="anvil cannot start bash") as caught:
        await transport.run("echo", timeout_s=5)
    assert caught.value.outcome == "not_sent"
    await transport.close()


async def test_a_killed_shell_leaves_an_unknown_outcome(shell):
    with pytest.raises(TransportError, match="in the middle of a script") as caught:
        await shell.run("echo first words; kill -9 $$", timeout_s=10)
    assert caught.value.outcome == "unknown"
    assert "first words" in caught.value.message


async def test_many_scripts_run_side_by_side(shell):
    answers = await asyncio.gather(*(shell.run(f"echo {i}", timeout_s=30) for i in range(40)))
    assert [a.out for a in answers] == [f"{i}\n" for i in range(40)]


async def test_a_full_disk_leaves_the_old_file(shell, tmp_path):
    """RLIMIT_FSIZE stands in for a quota: the write fails half way."""
    import resource
    import signal

    path = tmp_path / "file"
    await shell.put(str(path), b"old")
    previous = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, previous[1]))
    try:
        with pytest.raises(TransportError, match=r"could not write .*: File too large"):
            await shell.put(str(path), b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, previous)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


async def test_paths_expand_as_in_a_shell():
    transport = LocalTransport({"HOME": "/home/me"})
    assert await transport.expand("~") == "/home/me"
    assert await transport.expand("~/diamond/x") == "/home/me/diamond/x"
    assert await transport.expand("diamond") == "/home/me/diamond"
    assert await transport.expand("/scratch//me/") == "/scratch/me"
    await transport.close()


async def test_the_loop_runs_on_while_a_script_and_a_file_are_slow(shell, tmp_path):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            if ticks == 20:
                (tmp_path / "go").touch()
            await asyncio.sleep(0.005)

    os.mkfifo(tmp_path / "pipe")
    ticker = asyncio.ensure_future(tick())
    reading = asyncio.ensure_future(shell.get(str(tmp_path / "pipe")))
    slow = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo late > {tmp_path}/pipe"
    await shell.run(slow, timeout_s=20)
    assert await reading == b"late\n"
    ticker.cancel()
