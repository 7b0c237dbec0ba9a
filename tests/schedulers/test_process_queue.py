"""This machine as a site, with real processes: order, limits, cancellation, and every way to die."""

# ruff: noqa: ASYNC240 - a test may look at a file between two awaits
from __future__ import annotations

import asyncio
import itertools
import json
import os
import shlex
import signal
import time
from datetime import datetime, timezone
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from jupyter_diamond.errors import SchedulerError, SubmitOutputUnreadable, SubmitRefused
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.environment import ModuleStart
from jupyter_diamond.model.jobs import YOU, JobRequest, JobRow, NativeJob
from jupyter_diamond.model.states import ReasonClass, State
from jupyter_diamond.schedulers.process import machine, processes
from jupyter_diamond.schedulers.process.scheduler import ProcessScheduler
from jupyter_diamond.transport.local import LocalTransport

pytestmark = pytest.mark.asyncio
LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
CPUS = machine.cpus()


class Site:
    """A queue in a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root, self.queue = root, root / "queue"
        self.scheduler = ProcessScheduler()
        self.transport = LocalTransport({"DIAMOND_PROCESS_QUEUE": str(self.queue)})
        self.count = 0

    async def ask(self, script: str):
        return await self.transport.run(script, timeout_s=30)

    def request(self, cell: str, **size) -> JobRequest:
        self.count += 1
        token = f"dmd-{self.count:08x}"
        folder = self.root / "attempts" / token
        folder.mkdir(parents=True)
        (folder / "cell.sh").write_text(cell)
        return JobRequest(
            token=token, name="fit", folder=str(folder), size=Size(**{"walltime_s": 120, **size}),
            command=("bash", "cell.sh"),
        )  # fmt: skip

    async def submit_answer(self, request: JobRequest):
        Path(request.folder, "job.sh").write_text(self.scheduler.job_script(request))
        return await self.ask(f"cd {request.folder} && {self.scheduler.submit_command(request)}")

    async def submit(self, cell: str, **size) -> tuple[NativeJob, Path]:
        request = self.request(cell, **size)
        return self.scheduler.parse_submit(await self.submit_answer(request)), Path(request.folder)

    async def queued(self, *jobs: NativeJob) -> dict[str, JobRow]:
        reading = self.scheduler.parse_queue(await self.ask(self.scheduler.queue_script(jobs)))
        assert reading.complete
        return {row.job.id: row for row in reading.rows}

    async def known(self, job: NativeJob) -> JobRow:
        reading = self.scheduler.parse_accounting(
            await self.ask(self.scheduler.accounting_script([job], since=LONG_AGO))
        )
        assert reading.complete
        (row,) = reading.rows
        return row

    async def ended(self, job: NativeJob, within: float = 20) -> JobRow:
        record = self.queue / "ended" / job.id
        await until(record.exists, within)
        row = await self.known(job)
        assert row.state.terminal
        return row

    async def cancel(self, *jobs: NativeJob) -> tuple[str, ...]:
        return self.scheduler.parse_cancel(await self.ask(self.scheduler.cancel_script(jobs)))

    def run(self, job: NativeJob) -> dict:
        return json.loads((self.queue / "active" / job.id / "run.json").read_text())

    def supervisor(self, job: NativeJob) -> int:
        return self.run(job)["pid"]


async def until(condition, within: float = 20):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "not within the deadline"
        await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest_asyncio.fixture
async def site(tmp_path):
    site = Site(tmp_path)
    yield site
    active = site.queue / "active"
    left = [NativeJob(id=path.name) for path in active.iterdir()] if active.exists() else []
    if left:
        await site.cancel(*left)
        await until(lambda: not list(active.iterdir()))
    await site.transport.close()


async def test_a_job_runs_in_its_folder_and_is_accounted_for(site):
    job, folder = await site.submit(
        "echo out; echo err >&2; pwd; head -c 40000000 /dev/zero | tail -c1 >/dev/null", cpus=1
    )
    row = await site.ended(job)
    assert (row.state, row.raw_state, row.exit_code, row.signal) == (State.COMPLETED, "COMPLETED", 0, None)
    assert row.name == "dmd-00000001"
    assert row.submitted_at <= row.started_at <= row.ended_at
    assert row.max_rss_bytes > 1_000_000
    assert row.walltime_s == 120
    assert (folder / "job.out").read_text() == f"out\nerr\n{folder}\n"
    assert json.loads((folder / "started.json").read_text())["native"] == job.id
    assert await site.queued(job) == {}


async def test_nothing_is_left_running_when_no_job_is(site):
    job, _ = await site.submit("true")
    await site.ended(job)
    await until(lambda: not [p for p in psutil.process_iter() if str(site.queue) in " ".join(environ(p))])


def environ(process: psutil.Process) -> list[str]:
    try:
        return list(process.environ().values())
    except psutil.Error:
        return []


async def test_the_exit_code_is_kept(site):
    job, _ = await site.submit("exit 7")
    row = await site.ended(job)
    assert (row.state, row.exit_code) == (State.FAILED, 7)


async def test_a_job_knows_its_share(site, monkeypatch):
    monkeypatch.setenv("SECRET", "of the server")
    job, folder = await site.submit("env", cpus=CPUS)
    await site.ended(job)
    env = dict(line.split("=", 1) for line in (folder / "job.out").read_text().splitlines())
    assert env["DIAMOND_JOB_ID"] == job.id
    assert env["OMP_NUM_THREADS"] == str(CPUS)
    assert env["CUDA_VISIBLE_DEVICES"] == ""
    assert not {"SECRET", "DIAMOND_PROCESS_QUEUE"} & set(env)


async def test_a_login_shell_only_where_modules_need_one(site):
    for kind in ("none", "login_shell"):
        request = site.request("true").model_copy(update={"modules": ModuleStart(kind=kind)})
        Path(request.folder, "job.sh").write_text("shopt -q login_shell && echo login || echo plain\n")
        line = f"cd {request.folder} && {site.scheduler.submit_command(request)}"
        await site.ended(site.scheduler.parse_submit(await site.ask(line)))
        assert Path(request.folder, "job.out").read_text() == ("login\n" if kind == "login_shell" else "plain\n")


async def test_jobs_start_in_order_and_no_more_than_fit(site):
    gate = f"while [ ! -e {site.root}/gate ]; do sleep 0.02; done"
    jobs = [await site.submit(f"echo {i} >> {site.root}/order; {gate}", cpus=CPUS) for i in range(4)]
    rows = await site.queued(*(job for job, _ in jobs))
    states = [rows[job.id].state for job, _ in jobs if job.id in rows]
    assert states.count(State.RUNNING) == 1
    last = rows[jobs[3][0].id]
    assert (last.state, last.raw_state, last.reason_class) == (State.PENDING, "QUEUED", ReasonClass.WILL_RUN)
    assert last.reason == "2 ahead in the line"
    (site.root / "gate").touch()
    done = [await site.ended(job) for job, _ in jobs]
    assert (site.root / "order").read_text().split() == ["0", "1", "2", "3"]
    for before, after in itertools.pairwise(done):
        assert before.ended_at <= after.started_at


async def test_as_many_run_together_as_there_are_cores(site):
    jobs = [(await site.submit("sleep 60", cpus=1))[0] for _ in range(CPUS + 1)]
    rows = await site.queued(*jobs)
    assert [rows[job.id].state for job in jobs] == [State.RUNNING] * CPUS + [State.PENDING]


async def test_memory_that_others_set_aside_is_waited_for(site):
    half = machine.memory_bytes() * 2 // 3
    first, _ = await site.submit("sleep 60", cpus=1, memory_bytes=half)
    second, _ = await site.submit("true", cpus=1, memory_bytes=half)
    rows = await site.queued(first, second)
    assert [rows[first.id].state, rows[second.id].state] == [State.RUNNING, State.PENDING]
    await site.cancel(first)
    assert (await site.ended(second)).state is State.COMPLETED


async def test_what_can_never_fit_is_refused_at_once(site):
    for size, word in (
        ({"cpus": CPUS + 1}, "cores"),
        ({"memory_bytes": 1 << 60}, "memory"),
        ({"nodes": 2}, "one node"),
    ):
        answer = await site.submit_answer(site.request("true", **size))
        with pytest.raises(SubmitRefused, match=word) as caught:
            site.scheduler.parse_submit(answer)
        assert caught.value.permanent
    assert not list((site.queue / "active").iterdir())


async def test_one_token_is_one_job_however_often_it_is_submitted(site):
    request = site.request("sleep 0.2; echo ran >> ran")
    answers = await asyncio.gather(*(site.submit_answer(request) for _ in range(6)))
    jobs = {site.scheduler.parse_submit(answer).id for answer in answers}
    assert len(jobs) == 1
    await site.ended(NativeJob(id=jobs.pop()))
    again = site.scheduler.parse_submit(await site.submit_answer(request))
    assert (await site.known(again)).state is State.COMPLETED
    assert Path(request.folder, "ran").read_text() == "ran\n"


async def test_a_token_is_found_and_an_unknown_one_is_surely_absent(site):
    job, _ = await site.submit("true")
    await site.ended(job)
    script = site.scheduler.lookup_script(["dmd-00000001", "dmd-99999999"], since=LONG_AGO)
    reading = site.scheduler.parse_lookup(await site.ask(script))
    assert [(row.name, row.job) for row in reading.rows] == [("dmd-00000001", job)]
    assert reading.complete


async def test_the_limit_ends_the_whole_group(site):
    job, folder = await site.submit(
        "trap 'echo asked' TERM; sleep 300 & echo $! > child; wait; sleep 300", walltime_s=1
    )
    row = await site.ended(job)
    assert (row.state, row.reason) == (State.TIMEOUT, "it ran into its limit of 1 s")
    assert 0.9 < (row.ended_at - row.started_at).total_seconds() < 9
    assert not alive(int((folder / "child").read_text()))
    assert "asked" in (folder / "job.out").read_text()


EATER = "import time\nx = bytearray(%d)\nfor i in range(0, len(x), 4096): x[i] = 1\nopen('ate', 'w').close()\ntime.sleep(300)\n"


async def test_too_much_memory_ends_the_program_and_the_script_may_say_so(site):
    job, folder = await site.submit("exec python3 eater.py", memory_bytes=64 << 20)
    (folder / "eater.py").write_text(EATER % (200 << 20))
    row = await site.ended(job)
    assert row.state is State.OUT_OF_MEMORY
    assert "64 MiB" in row.reason
    assert row.max_rss_bytes > 64 << 20
    assert json.loads((folder / "end.json").read_text())["by"] == "shell"


async def test_pages_that_workers_share_count_once(site):
    forked = (
        "import os, time\nx = bytearray(60 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
        "kids = []\nfor _ in range(5):\n    pid = os.fork()\n    if pid == 0:\n        time.sleep(1.6); os._exit(0)\n"
        "    kids.append(pid)\nfor pid in kids: os.waitpid(pid, 0)\n"
    )
    job, folder = await site.submit("exec python3 eater.py", memory_bytes=150 << 20)
    (folder / "eater.py").write_text(forked)
    row = await site.ended(job)
    assert row.state is State.COMPLETED, row


async def test_cancelling_a_waiting_job_and_a_running_one(site):
    running, folder = await site.submit("sleep 300 & echo $! > child; wait", cpus=CPUS)
    waiting, _ = await site.submit("true", cpus=CPUS)
    await until((folder / "child").exists)
    assert await site.cancel(waiting, running, NativeJob(id="p999-abcdef")) == ()
    for job in (waiting, running):
        row = await site.ended(job)
        assert row.state is State.CANCELLED
        assert row.cancelled_by == YOU
    assert (await site.known(waiting)).started_at is None
    assert not alive(int((folder / "child").read_text()))
    assert await site.cancel(running) == ()
    assert (await site.known(running)).state is State.CANCELLED


async def test_cancel_ends_what_does_not_listen_and_what_left_the_group(site):
    cell = "trap '' TERM; setsid bash -c \"trap '' TERM; echo \\$\\$ > away; while :; do sleep 1; done\" & sleep 300; sleep 300"
    job, folder = await site.submit(cell)
    await until(lambda: (folder / "away").exists() and (folder / "away").read_text())
    away = int((folder / "away").read_text())
    begun = time.monotonic()
    await site.cancel(job)
    row = await site.queued(job)
    assert job.id not in row or row[job.id].state is State.COMPLETING
    assert (await site.ended(job)).state is State.CANCELLED
    assert 4 < time.monotonic() - begun < 30
    assert not alive(away)


async def test_a_job_leaves_no_stray_behind(site):
    job, folder = await site.submit("setsid sleep 300 & echo $! > away; nohup sleep 300 & echo $! >> away; exit 3")
    row = await site.ended(job)
    assert (row.state, row.exit_code) == (State.FAILED, 3)
    assert not any(alive(int(pid)) for pid in (folder / "away").read_text().split())


async def test_a_job_survives_the_shell_and_the_group_that_submitted_it(site):
    request = site.request("sleep 0.5; echo done")
    Path(request.folder, "job.sh").write_text(site.scheduler.job_script(request))
    line = f"cd {request.folder} && {site.scheduler.submit_command(request)} > id; sleep 300"
    task = asyncio.ensure_future(site.ask(line))
    await until(lambda: Path(request.folder, "started.json").exists())
    task.cancel()  # kills the whole group
    with pytest.raises(asyncio.CancelledError):
        await task
    job = NativeJob(id=Path(request.folder, "id").read_text().strip())
    assert (await site.ended(job)).state is State.COMPLETED


async def test_a_killed_supervisor_is_said_and_its_job_is_stopped(site):
    job, folder = await site.submit("setsid sleep 300 & echo $! > away; sleep 300 & echo $! >> away; wait")
    await until(lambda: (folder / "away").exists() and len((folder / "away").read_text().split()) == 2)
    os.kill(site.supervisor(job), signal.SIGKILL)
    row = await site.known(job)
    assert (row.state, row.exit_code) == (State.NODE_FAIL, None)
    assert "was killed" in row.reason
    assert "stopped" in row.reason
    for pid in (folder / "away").read_text().split():
        await until(lambda pid=pid: not alive(int(pid)))


async def test_nobody_waits_behind_a_dead_job(site):
    dead, _ = await site.submit("sleep 300", cpus=CPUS)
    waiting, _ = await site.submit("true", cpus=CPUS)
    await until((site.queue / "active" / dead.id / "run.json").exists)
    os.kill(site.supervisor(dead), signal.SIGKILL)
    later, _ = await site.submit("true", cpus=CPUS)  # any touch of the queue finds it
    assert (await site.ended(waiting)).state is State.COMPLETED
    assert (await site.ended(later)).state is State.COMPLETED
    assert (await site.known(dead)).state is State.NODE_FAIL


async def test_a_number_that_is_used_again_is_not_taken_for_the_job(site):
    """The recorded group now belongs to a stranger: it must not be killed."""
    job, _ = await site.submit("sleep 300")
    run_file = site.queue / "active" / job.id / "run.json"
    await until(run_file.exists)
    run = site.run(job)
    stranger = await asyncio.create_subprocess_exec("sleep", "300", start_new_session=True)
    while processes.birth(stranger.pid) == run["group_birth"]:  # a start is known to a hundredth of a second only
        stranger.kill()
        await stranger.wait()
        stranger = await asyncio.create_subprocess_exec("sleep", "300", start_new_session=True)
    os.kill(run["pid"], signal.SIGKILL)
    run_file.write_text(json.dumps({**run, "group": stranger.pid}))
    assert (await site.known(job)).state is State.NODE_FAIL
    assert alive(stranger.pid)
    await until(lambda: not alive(run["group"]))
    stranger.kill()
    await stranger.wait()


async def test_a_reboot_is_said(site):
    job, _ = await site.submit("sleep 300")
    run_file = site.queue / "active" / job.id / "run.json"
    await until(run_file.exists)
    run = site.run(job)
    os.kill(run["pid"], signal.SIGKILL)
    os.killpg(run["group"], signal.SIGKILL)
    run_file.write_text(json.dumps({**run, "boot": "an earlier one"}))
    row = await site.known(job)
    assert (row.state, row.reason) == (State.NODE_FAIL, "the machine restarted while the job ran")
    assert row.started_at is not None


async def test_jobs_that_waited_through_a_restart_run_afterwards(site):
    first, _ = await site.submit("sleep 300", cpus=CPUS)
    waiting, _ = await site.submit("true", cpus=CPUS)
    await until((site.queue / "active" / first.id / "run.json").exists)
    run = site.run(first)
    os.kill(run["pid"], signal.SIGKILL)
    os.killpg(run["group"], signal.SIGKILL)
    await site.queued(waiting)  # the first thing that a new server asks
    assert (await site.ended(waiting)).state is State.COMPLETED


async def test_a_job_of_another_machine_is_unknown_not_ended(site):
    job, _ = await site.submit("sleep 300")
    ticket_file = site.queue / "active" / job.id / "ticket.json"
    await until((ticket_file.parent / "run.json").exists)
    run = site.run(job)
    os.kill(run["pid"], signal.SIGKILL)
    os.killpg(run["group"], signal.SIGKILL)
    ticket = json.loads(ticket_file.read_text())
    ticket_file.write_text(json.dumps({**ticket, "host": "elsewhere"}))
    row = await site.known(job)
    assert (row.state, row.raw_state) == (State.UNKNOWN, "ELSEWHERE")
    assert "elsewhere" in row.reason
    (sentence,) = await site.cancel(job)
    assert "elsewhere" in sentence
    # long after its limit nobody can still run it
    (ticket_file.parent / "run.json").write_text(json.dumps({**run, "started_at": time.time() - 9999}))
    assert (await site.known(job)).state is State.NODE_FAIL


async def test_a_machine_that_became_too_small_says_so_and_serves_the_others(site):
    blocker, _ = await site.submit("sleep 300", cpus=CPUS)
    large, _ = await site.submit("true", cpus=CPUS)
    small, _ = await site.submit("true", cpus=1)
    ticket_file = site.queue / "active" / large.id / "ticket.json"
    ticket_file.write_text(json.dumps({**json.loads(ticket_file.read_text()), "cpus": CPUS + 1}))
    await site.cancel(blocker)
    assert (await site.ended(small)).state is State.COMPLETED
    row = (await site.queued(large))[large.id]
    assert (row.state, row.raw_state, row.reason_class) == (State.PENDING, "TOO_LARGE", ReasonClass.NEVER)


async def test_a_folder_that_is_gone_fails_the_job_not_the_queue(site):
    blocker, _ = await site.submit("sleep 300", cpus=CPUS)
    job, folder = await site.submit("true", cpus=CPUS)
    folder.rename(folder.with_name("moved"))
    await site.cancel(blocker)
    row = await site.ended(job)
    assert (row.state, row.exit_code) == (State.FAILED, 126)
    after, _ = await site.submit("true")
    assert (await site.ended(after)).state is State.COMPLETED


async def test_an_emptied_record_does_not_stop_the_queue(site):
    """A power cut may leave empty files."""
    job, _ = await site.submit("sleep 300", cpus=1)
    broken = site.queue / "active" / "p900-000000"
    broken.mkdir()
    (broken / "ticket.json").write_text("")
    row = await site.known(NativeJob(id=broken.name))
    assert (row.state, row.reason) == (State.NODE_FAIL, "its ticket cannot be read any more")
    assert (await site.known(job)).state is State.RUNNING


async def test_the_queue_is_private(site):
    await site.submit("sleep 300")
    await until(lambda: list(site.queue.glob("active/*/run.json")))
    for path in [site.queue, *site.queue.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("value", ["", "relative/folder", "/proc/nowhere"])
async def test_a_queue_that_cannot_be_is_an_error_of_the_command_not_of_a_job(tmp_path, value):
    transport = LocalTransport({"DIAMOND_PROCESS_QUEUE": value})
    scheduler = ProcessScheduler()
    done = await transport.run(scheduler.queue_script([NativeJob(id="p1-abcdef")]), timeout_s=30)
    with pytest.raises(SchedulerError, match="The queue of this machine cannot be used") as caught:
        scheduler.parse_queue(done)
    assert caught.value.transient
    await transport.close()


async def test_a_queue_that_cannot_be_written_did_not_take_the_job(site):
    (site.queue / "active").mkdir(parents=True)
    (site.queue / "lock").mkdir()
    answer = await site.submit_answer(site.request("true"))
    with pytest.raises(SubmitRefused, match="Is a directory") as caught:
        site.scheduler.parse_submit(answer)
    assert not caught.value.permanent
    assert not list((site.queue / "active").iterdir())


async def test_an_answer_without_an_id_means_that_the_job_must_be_looked_for(site):
    for said in ("", "p1-abcdef\np2-abcdef\n", "hello\n"):
        answer = await site.ask(f"printf {shlex.quote(said)}")
        with pytest.raises(SubmitOutputUnreadable):
            site.scheduler.parse_submit(answer)
    with pytest.raises(SchedulerError) as caught:
        site.scheduler.parse_submit(await site.ask("echo 'no python' >&2; exit 127"))
    assert caught.value.transient


async def test_a_cut_answer_proves_no_absence(site):
    job, _ = await site.submit("true")
    await site.ended(job)
    answer = await site.ask(site.scheduler.accounting_script([job], since=LONG_AGO))
    cut = answer.model_copy(update={"stdout": answer.stdout[: len(answer.stdout) // 2]})
    assert not site.scheduler.parse_accounting(cut).complete


async def test_the_probe_tells_what_is_free_and_that_nobody_overtakes(site):
    def read(answer):
        return site.scheduler.parse_probe("here", answer, read_at=LONG_AGO)

    idle = read(await site.ask(site.scheduler.probe_script()))
    (record,) = idle.records
    assert (idle.health, record.cpus_total, record.cpus_free, record.pending, record.running) == (
        "online", CPUS, CPUS, 0, 0,
    )  # fmt: skip
    assert record.free_nodes[0].cpus == CPUS
    assert record.shapes[0].memory_bytes == machine.memory_bytes()
    first, _ = await site.submit("sleep 300", cpus=1, memory_bytes=1 << 30)
    await site.queued(first)
    (record,) = read(await site.ask(site.scheduler.probe_script())).records
    assert (record.cpus_free, record.running) == (CPUS - 1, 1)
    assert record.memory_free_bytes <= machine.memory_bytes() - (1 << 30)
    await site.submit("true", cpus=CPUS)
    (record,) = read(await site.ask(site.scheduler.probe_script())).records
    assert (record.pending, record.free_nodes) == (1, ())


async def test_modules_of_the_attempts_folder_do_not_shadow_the_command(site):
    request = site.request("true")
    for name in ("json", "os", "signal", "jupyter_diamond"):
        Path(request.folder, f"{name}.py").write_text("raise SystemExit('shadowed')")
    job = site.scheduler.parse_submit(await site.submit_answer(request))
    assert (await site.ended(job)).state is State.COMPLETED


async def test_a_hostile_environment_does_not_reach_the_command(site):
    hostile = f"export PYTHONPATH={shlex.quote(str(site.root))} PYTHONSTARTUP=/nonexistent PYTHONHOME=/nonexistent; "
    done = await site.ask(hostile + site.scheduler.probe_script())
    assert site.scheduler.parse_probe("here", done, read_at=LONG_AGO).health == "online"


async def test_two_jobs_never_get_the_same_gpu(site, monkeypatch):
    """The driver is a stand-in that says what a machine with three GPUs says."""
    tools = site.root / "bin"
    tools.mkdir()
    (tools / "nvidia-smi").write_text('#!/bin/sh\nfor i in 0 1 2; do echo "$i, NVIDIA A40"; done\n')
    (tools / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    site.transport = LocalTransport({"DIAMOND_PROCESS_QUEUE": str(site.queue), "PATH": os.environ["PATH"]})
    cell = "echo $CUDA_VISIBLE_DEVICES > gpus; sleep 300"
    one, first = await site.submit(cell, cpus=1, gpus=2)
    two, second = await site.submit(cell, cpus=1, gpus=1)
    await until((second / "gpus").exists)
    await until((first / "gpus").exists)
    assert (first / "gpus").read_text() == "0,1\n"
    assert (second / "gpus").read_text() == "2\n"
    answer = site.scheduler.parse_probe("here", await site.ask(site.scheduler.probe_script()), read_at=LONG_AGO)
    assert (answer.gpus_total, answer.gpus_free, answer.records[0].shapes[0].gpu_model) == (3, 0, "NVIDIA A40")
    refused = await site.submit_answer(site.request(cell, gpus=4))
    with pytest.raises(SubmitRefused, match="4 GPUs, of which there are 3"):
        site.scheduler.parse_submit(refused)
    await site.cancel(one, two)


async def test_a_long_line_stays_quick(site):
    """A thousand waiting jobs: one more, and one question about all of them, cost tens of milliseconds."""
    blocker, _ = await site.submit("sleep 300", cpus=CPUS)
    ticket = json.loads((site.queue / "active" / blocker.id / "ticket.json").read_text())
    jobs = []
    for number in range(2, 1002):
        job = NativeJob(id=f"p{number}-000000")
        folder = site.queue / "active" / job.id
        folder.mkdir(mode=0o700)
        content = {**ticket, "number": number, "id": job.id, "token": f"dmd-0000{number:04d}x"}
        (folder / "ticket.json").write_text(json.dumps(content))
        jobs.append(job)
    (site.queue / "next").write_text("1002")
    begun = time.monotonic()
    last, _ = await site.submit("true")
    took = time.monotonic() - begun
    begun = time.monotonic()
    rows = await site.queued(last, *jobs)
    print(f"submit behind 1000: {took * 1000:.0f} ms; query of 1000: {(time.monotonic() - begun) * 1000:.0f} ms")
    assert rows[last.id].reason == "1000 ahead in the line"
    assert len(rows) == 1001
    await site.cancel(*jobs, last)


# --- the warning before the end --------------------------------------------------------------------------------------

HEARS = "until [ -e warned ]; do sleep 0.05; done; date +%s.%N > heard; exit 7"


@pytest.mark.parametrize("name", ["USR2", "USR1", "HUP"])
async def test_a_job_is_warned_before_its_end_and_keeps_its_own_end(site, name):
    request = site.request(HEARS, walltime_s=60).model_copy(update={"warn_before_end_s": 58, "warn_signal": name})
    job = site.scheduler.parse_submit(await site.submit_answer(request))
    row = await site.ended(job)
    assert (row.state, row.exit_code) == (State.FAILED, 7)
    heard = float(Path(request.folder, "heard").read_text())
    assert 1.5 <= heard - row.started_at.timestamp() < 15


async def test_a_warning_reaches_the_script_alone(site):
    """The cell's process has no handler, and would die of the signal."""
    request = site.request("sleep 3; echo alive").model_copy(update={"warn_before_end_s": 119})
    job = site.scheduler.parse_submit(await site.submit_answer(request))
    row = await site.ended(job)
    assert row.exit_code == 0
    assert Path(request.folder, "warned").exists()
    assert Path(request.folder, "job.out").read_text() == "alive\n"


@pytest.mark.parametrize("code", [0, 1, 127, 137, 143])
async def test_the_status_of_a_cell_that_ends_with_the_warning_is_its_own(site, code):
    request = site.request(f"until [ -e warned ]; do :; done; exit {code}").model_copy(
        update={"warn_before_end_s": 119}
    )
    row = await site.ended(site.scheduler.parse_submit(await site.submit_answer(request)))
    assert row.exit_code == code


async def test_a_job_that_is_warned_can_still_be_cancelled(site):
    request = site.request("trap 'echo bye; exit 3' TERM; sleep 600 & wait").model_copy(
        update={"warn_before_end_s": 119}
    )
    job = site.scheduler.parse_submit(await site.submit_answer(request))
    await until(Path(request.folder, "warned").exists)
    await site.cancel(job)
    assert (await site.ended(job)).state is State.CANCELLED
    assert Path(request.folder, "job.out").read_text() == "bye\n"
