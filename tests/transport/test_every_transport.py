"""What scripts and files at a site give back, by whichever transport it is reached."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path

import pytest

from jupyter_diamond.errors import TransportError
from tests.transport.conftest import until

pytestmark = pytest.mark.asyncio


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_gives_back_output_errors_and_exit_code(anyhow):
    done = await anyhow().run("printf 'a\\0b\\377'; echo oops >&2; exit 7", timeout_s=20)
    assert (done.exit, done.stdout, done.stderr, done.truncated, done.noise) == (7, b"a\0b\xff", b"oops\n", False, b"")
    assert done.out == "a\0b\\xff"


async def test_every_script_is_read_to_its_end(anyhow):
    scripts = {
        "": (True, b""), "true": (True, b""), ":": (True, b""), "# a comment": (True, b""),
        "trap 'echo bye' EXIT": (True, b"bye\n"), "exec true": (True, b""), "exit 255": (False, b""),
    }  # fmt: skip
    shell = anyhow()
    answers = await asyncio.gather(*(shell.run(script, timeout_s=30) for script in scripts))
    assert [(done.exit == 0, done.stdout) for done in answers] == list(scripts.values())


async def test_the_sites_own_variables_reach_the_script_as_they_are(anyhow):
    value = 'it\'s "blue" $HOME `x`\\ %s'
    done = await anyhow({"COLOUR": value}).run('printf %s "$COLOUR"', timeout_s=20)
    assert done.out == value


async def test_the_servers_own_secrets_stay_here(anyhow, monkeypatch):
    monkeypatch.setenv("JUPYTER_TOKEN", "s3cret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("SLURM_JOB_ID", "s3cret")
    monkeypatch.setenv("BASH_ENV", "/nonexistent")
    assert "s3cret" not in (await anyhow().run("env", timeout_s=20)).out


async def test_the_payload_reaches_the_script_byte_for_byte(anyhow):
    data = bytes(range(256)) * 8_000
    done = await anyhow().run("cat | sha256sum; wc -c < /dev/null", stdin=data, timeout_s=30)
    assert done.out.split()[0] == hashlib.sha256(data).hexdigest()


async def test_a_script_may_ignore_its_payload(anyhow):
    done = await anyhow().run("echo fine", stdin=b"x" * 3_000_000, timeout_s=30)
    assert (done.exit, done.out) == (0, "fine\n")


async def test_a_script_longer_than_an_argument_may_be(anyhow):
    script = "\n".join(f"echo 'it''s {i} ü !x %'" for i in range(12_000))
    assert len(script) > 200_000
    done = await anyhow().run(script, timeout_s=60)
    assert done.out.splitlines()[-1] == "its 11999 ü !x %"
    assert len(done.out.splitlines()) == 12_000


async def test_output_is_bounded_and_says_so(anyhow):
    shell = anyhow()
    done = await shell.run("head -c 3000000 /dev/zero; echo e >&2; exit 4", timeout_s=30, max_bytes=1000)
    assert (done.exit, done.stdout, done.truncated, done.stderr) == (4, b"\0" * 1000, True, b"e\n")
    done = await shell.run("head -c 300000 /dev/zero >&2; echo ok", timeout_s=30, max_bytes=1000)
    assert (done.exit, done.out, len(done.stderr), done.truncated) == (0, "ok\n", 1000, True)
    done = await shell.run("printf 1234567890", timeout_s=30, max_bytes=10)
    assert (done.out, done.truncated) == ("1234567890", False)


async def test_a_script_that_overruns_is_ended_and_its_outcome_is_unknown(anyhow):
    shell = anyhow()
    with pytest.raises(TransportError, match=r"delta did not finish a command within 1 s") as caught:
        await shell.run("sleep 60", timeout_s=1)
    assert (caught.value.outcome, caught.value.transient) == ("unknown", True)
    assert (await shell.run("echo on", timeout_s=20)).out == "on\n"


async def test_a_killed_shell_leaves_an_unknown_outcome(anyhow):
    with pytest.raises(TransportError, match="what it did is unknown") as caught:
        await anyhow().run("echo first words; kill -9 $$", timeout_s=20)
    assert caught.value.outcome == "unknown"


async def test_a_daemon_that_keeps_the_pipes_does_not_hold_up_the_answer(anyhow, tmp_path):
    pid = tmp_path / "pid"
    begun = time.monotonic()
    done = await anyhow().run(f"setsid sleep 300 & echo $! > {pid}; echo said", timeout_s=60)
    assert (done.exit, done.out) == (0, "said\n")
    assert time.monotonic() - begun < 25
    daemon = int(pid.read_text())
    assert alive(daemon)
    os.kill(daemon, 9)


async def test_many_scripts_run_side_by_side(anyhow):
    shell = anyhow()
    answers = await asyncio.gather(*(shell.run(f"sleep 0.5; echo {i}", timeout_s=60) for i in range(12)))
    assert [a.out for a in answers] == [f"{i}\n" for i in range(12)]


async def test_files_are_written_whole_in_private_folders_and_read_in_parts(anyhow, tmp_path):
    shell, path = anyhow(), tmp_path / "it's a folder" / "b" / "file"
    data = bytes(range(256)) * 2000
    await shell.put(str(path), b"one")
    await shell.put(str(path), data, mode=0o640)
    assert path.read_bytes() == data
    assert oct(path.stat().st_mode & 0o777) == "0o640"
    assert oct(path.parent.stat().st_mode & 0o777) == "0o700"
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    assert await shell.size(str(path)) == len(data)
    assert await shell.get(str(path)) == data
    assert await shell.get(str(path), limit=10) == data[:10]
    assert await shell.get(str(path), offset=300, limit=400_000) == data[300:400_300]
    assert await shell.get(str(path), offset=511_990) == data[511_990:]
    assert await shell.get(str(path), offset=600_000) == b""
    assert await shell.get(str(path), limit=0) == b""


async def test_an_absent_file_is_told_from_an_unreadable_one(anyhow, tmp_path):
    shell = anyhow()
    with pytest.raises(FileNotFoundError):
        await shell.get(str(tmp_path / "nothing"))
    assert await shell.size(str(tmp_path / "nothing")) is None
    with pytest.raises(TransportError, match=r"delta could not read .*: Is a directory"):
        await shell.get(str(tmp_path))
    (tmp_path / "file").write_text("x")
    assert await shell.size(str(tmp_path / "file" / "below")) is None
    with pytest.raises(TransportError, match="could not write"):
        await shell.put(str(tmp_path / "file" / "below"), b"")


async def test_paths_expand_at_the_site(anyhow):
    shell = anyhow({"HOME": "/home/me"})
    assert [await shell.expand(path) for path in ("~", "~/diamond/x", "diamond", "/scratch//me/")] == [
        "/home/me", "/home/me/diamond/x", "/home/me/diamond", "/scratch/me",
    ]  # fmt: skip


async def test_a_cancelled_caller_disturbs_nobody(anyhow, tmp_path):
    shell = anyhow()
    leaving = asyncio.ensure_future(shell.run(f"touch {tmp_path}/begun; sleep 3", timeout_s=60))
    await until((tmp_path / "begun").exists)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert (await shell.run("echo on", timeout_s=30)).out == "on\n"
