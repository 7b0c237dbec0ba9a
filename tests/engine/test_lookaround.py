"""Looking around on this machine as a site: facts, bounded commands, small files, a real try, the smoke job."""

import asyncio
import platform
import stat
import time
from pathlib import Path

import pytest

from jupyter_diamond.engine.allowed import EXEC_BYTES
from jupyter_diamond.errors import Conflict, InvalidRequest, NotFound
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.looks import PUT_BYTES
from jupyter_diamond.model.states import State
from tests.engine.conftest import ended, readings

pytestmark = pytest.mark.asyncio


def content(path):
    return Path(path).read_bytes()


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


async def test_the_login_nodes_facts_are_true(bench):
    service = await bench.start()
    env = await service.site_env("here")
    assert env.fact("host") == platform.node()
    assert env.fact("architecture") == platform.machine()
    assert env.fact("python_version") == platform.python_version()
    workdir = Path(env.fact("workdir"))
    assert (workdir.is_absolute(), env.fact("workdir_state")) == (True, "not there yet; it can be made")
    assert int(env.fact("workdir_free_bytes")) > 0
    assert env.accounts is None, "this machine has no accounts, which is not the same as none"


async def test_a_look_around_runs_and_says_how_it_ended(bench, tmp_path):
    (tmp_path / "notes.txt").write_text("line 1\nline 2\n")
    service = await bench.start()
    done = await service.execute("here", f"cat {tmp_path / 'notes.txt'}")
    assert (done.exit, done.stdout, done.cut, done.timed_out) == (0, "line 1\nline 2\n", False, False)
    missing = await service.execute("here", f"cat {tmp_path / 'gone'}")
    assert missing.exit == 1
    assert "No such file" in missing.stderr
    with pytest.raises(NotFound):
        await service.execute("nowhere", "ls")


async def test_long_output_is_cut_and_said_so(bench, tmp_path):
    (tmp_path / "large").write_bytes(b"x" * (EXEC_BYTES + 1))
    (tmp_path / "fits").write_bytes(b"x" * EXEC_BYTES)
    service = await bench.start()
    large = await service.execute("here", f"cat {tmp_path / 'large'}")
    assert (len(large.stdout), large.cut) == (EXEC_BYTES, True)
    fits = await service.execute("here", f"cat {tmp_path / 'fits'}")
    assert (len(fits.stdout), fits.cut) == (EXEC_BYTES, False)


async def test_a_command_that_does_not_end_is_ended(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("jupyter_diamond.engine.allowed.EXEC_SECONDS", 2)
    (tmp_path / "log").write_text("first\n")
    service = await bench.start()
    started = time.monotonic()
    done = await service.execute("here", f"tail -f {tmp_path / 'log'}")
    assert time.monotonic() - started < 10
    assert (done.timed_out, done.stdout) == (True, "first\n")


async def test_a_file_goes_into_the_work_folder_and_nowhere_else(bench):
    service = await bench.start()
    put = await service.put_file("here", "train.py", b"print(1)\n")
    assert (content(put.path), mode(put.path)) == (b"print(1)\n", 0o600)
    assert Path(put.path).parent == Path((await service.site_env("here")).fact("workdir"))
    with pytest.raises(Conflict, match="--replace"):
        await service.put_file("here", "train.py", b"other")
    assert content(put.path) == b"print(1)\n"
    assert (await service.put_file("here", "train.py", b"other", replace=True)).replaced
    assert content(put.path) == b"other"


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/etc/passwd", ".bashrc", "", "..", "attempts", "queue", "a\nb", "a b", "-x"]
)
async def test_no_other_place_can_be_written(bench, name):
    service = await bench.start()
    with pytest.raises(InvalidRequest):
        await service.put_file("here", name, b"x")


async def test_a_link_in_the_work_folder_is_replaced_not_followed(bench, tmp_path):
    service = await bench.start()
    folder = Path((await service.put_file("here", "first", b"1")).path).parent
    (tmp_path / "elsewhere").write_text("mine")
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    await service.put_file("here", "link", b"new", replace=True)
    assert (tmp_path / "elsewhere").read_text() == "mine"


async def test_a_file_that_is_too_large_is_refused(bench):
    service = await bench.start()
    await service.put_file("here", "fits", b"x" * PUT_BYTES)
    with pytest.raises(InvalidRequest, match="2,000,001 bytes"):
        await service.put_file("here", "large", b"x" * (PUT_BYTES + 1))


async def test_a_preflight_tries_the_site_for_real(bench):
    service = await bench.start()
    done = await service.preflight("here")
    assert {check.name: check.answer for check in done.checks} == {
        "reachable": "ok", "work folder": "ok", "interpreter": "ok",
    }, done  # fmt: skip
    assert 0 < done.probe_s < 30


async def test_a_preflight_names_what_is_missing(bench, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    bench.sites_path.write_text(
        f"sites:\n  - {{name: broken, scheduler: process, workdir: {tmp_path / 'file'}, python: /nowhere/python,"
        f" env: {{DIAMOND_PROCESS_QUEUE: {tmp_path / 'queue'}}}}}\n"
        "  - {name: empty, scheduler: slurm, env: {PATH: /nowhere}}\n"
    )
    service = await bench.start()
    broken = {check.name: check for check in (await service.preflight("broken")).checks}
    assert (broken["work folder"].answer, broken["interpreter"].answer) == ("fail", "fail")
    assert "workdir in the site catalogue" in broken["work folder"].sentence
    assert "python in the site catalogue" in broken["interpreter"].sentence
    (reachable,) = (await service.preflight("empty")).checks
    assert (reachable.name, reachable.answer) == ("reachable", "fail")


async def test_the_smoke_job_goes_the_whole_way_once(bench):
    service = await bench.start()
    first = await service.smoke("here", "smoke-token-0000001")
    again = await service.smoke("here", "smoke-token-0000001")
    assert (first.created, again.created, again.task.id) == (True, False, first.task.id)
    assert (first.task.name, first.task.attempt.size.cpus, first.task.attempt.size.walltime_s) == ("smoke_here", 1, 300)
    done = await ended(service, first.task)
    assert done.state is State.COMPLETED, done.cause
    found = await service.accounted(done.id)
    assert [(row.job.id, row.state) for row in found.rows] == [(done.attempt.native.id, State.COMPLETED)]


async def test_idle_says_how_many_such_jobs_fit(bench):
    service = await bench.start()
    total = (await readings(service))["here"].cpus_total
    found = await service.idle(Envelope(cpus=Span.exactly(1)))
    (place,) = found.places
    assert (place.site, place.jobs_now, place.cpus_free) == ("here", total, total)
    huge = await service.idle(Envelope(cpus=Span.exactly(total + 1)))
    assert (huge.places, [other.site for other in huge.refused]) == ((), ["here"])


async def test_a_snapshot_can_be_waited_for(bench):
    service = await bench.start(probe_tick_s=3600.0)
    first = await service.sites()
    waiting = asyncio.create_task(service.sites(first.id, wait=20))
    await asyncio.sleep(0)
    await service.refresh("here")
    assert (await asyncio.wait_for(waiting, 5)).id > first.id
    started = time.monotonic()
    newest = await service.sites()
    assert (await service.sites(newest.id, wait=0.2)).id == newest.id
    assert 0.15 < time.monotonic() - started < 10
