"""B03, B07, B08 on real jobs: lost answers never double a job, failed commands never end one."""

import asyncio
from pathlib import Path

import pytest

from jupyter_diamond.model.states import State
from tests.engine import cells
from tests.engine.conftest import ended, readings, until
from tests.engine.faults import FaultyScheduler, FaultyTransport, timed_out
from tests.engine.looks import types

pytestmark = pytest.mark.asyncio


def counting(path: Path) -> str:
    return f"open({str(path)!r}, 'a').write('run ')\nanswer = 1"


def block(workdir: Path) -> None:
    workdir.mkdir(parents=True, exist_ok=True)
    (workdir / "attempts").write_text("in the way")


def runs(path: Path) -> int:
    return path.read_text().count("run") if path.exists() else 0


async def test_an_answer_lost_after_the_job_was_taken_finds_the_job(bench, tmp_path):
    """B03: the submit script ran to its end, the connection died before we heard of it."""
    service = await bench.start(lookup_for_s=2.0)
    link = service.links["here"]
    link.transport = FaultyTransport(link.transport, after={"submit.1.intent": timed_out()})
    task = await bench.submit(service, counting(tmp_path / "runs"), outputs=("answer",))
    done = await ended(service, task)
    assert done.state is State.COMPLETED
    assert runs(tmp_path / "runs") == 1
    story = await types(service, task)
    assert story.index("attempt.submit_unknown") < story.index("attempt.submitted")
    assert done.attempt.submissions == 1


async def test_a_shell_killed_right_after_the_scheduler_took_the_job_is_found_by_token(bench, tmp_path):
    """B03: there is a job, but no record of its id anywhere but in the scheduler."""
    service = await bench.start(lookup_for_s=5.0)
    link = service.links["here"]
    link.scheduler = FaultyScheduler(link.scheduler, submit="{}; kill -KILL 0")
    task = await bench.submit(service, counting(tmp_path / "runs"), outputs=("answer",))
    done = await ended(service, task)
    assert done.state is State.COMPLETED
    assert (runs(tmp_path / "runs"), done.attempt.submissions) == (1, 1)


async def test_a_shell_killed_before_the_scheduler_was_called_submits_again_once_absence_is_proved(bench, tmp_path):
    service = await bench.start(lookup_for_s=1.0)
    link = service.links["here"]
    link.scheduler = FaultyScheduler(link.scheduler, submit="kill -KILL 0; {}")
    task = await bench.submit(service, counting(tmp_path / "runs"), outputs=("answer",))
    done = await ended(service, task)
    assert done.state is State.COMPLETED
    assert (runs(tmp_path / "runs"), done.attempt.submissions) == (1, 2)
    assert "attempt.submit_unknown" in await types(service, task)


async def test_two_jobs_of_one_token_run_the_cell_once(bench, tmp_path):
    """The claim: even if a scheduler took the same submission twice, the user's code runs once."""
    service = await bench.start()
    link = service.links["here"]
    link.scheduler = FaultyScheduler(link.scheduler, submit="{0} >/dev/null; {0}")
    task = await bench.submit(service, counting(tmp_path / "runs"), outputs=("answer",))
    done = await ended(service, task)
    assert done.state is State.COMPLETED, (done.cause, done.attempt)
    assert runs(tmp_path / "runs") == 1


async def test_a_site_out_of_reach_keeps_the_task_waiting_and_then_takes_it(bench, tmp_path):
    service = await bench.start()
    link = service.links["here"]
    await readings(service)
    link.transport = FaultyTransport(link.transport, before={"submit.": timed_out("not_sent")}, times=1)
    task = await bench.submit(service, counting(tmp_path / "runs"), outputs=("answer",))

    async def troubled():
        attempt = (await service.task(task.id)).attempt
        return attempt if attempt.trouble else None

    attempt = await until(troubled)
    assert attempt.state is State.WAITING
    assert "did not answer" in attempt.trouble
    done = await ended(service, task)
    assert (done.state, runs(tmp_path / "runs"), done.attempt.trouble) == (State.COMPLETED, 1, "")


async def test_failed_status_commands_change_nothing_but_the_trouble_note(bench, tmp_path):
    """B08: queue and accounting are down for a while; the job is fine, and nothing is cancelled or sent again."""
    service = await bench.start()
    link = service.links["here"]
    await readings(service)
    task = await bench.submit(service, cells.held(tmp_path / "go", "answer = 1"), outputs=("answer",))

    async def running():
        return (await service.task(task.id)).state is State.RUNNING

    await until(running)
    faulty = FaultyTransport(link.transport, before={"": timed_out()}, times=3)
    link.transport = faulty

    async def troubled():
        return (await service.task(task.id)).attempt.trouble

    await until(troubled)
    during = await service.task(task.id)
    assert during.state is State.RUNNING
    (tmp_path / "go").touch()
    done = await ended(service, task, seconds=60)
    assert (done.state, len(done.attempts), done.attempt.submissions) == (State.COMPLETED, 1, 1)


async def test_a_full_disk_at_the_site_is_said_and_nothing_is_submitted(bench):
    service = await bench.start()
    link = service.links["here"]
    await readings(service)
    block(Path(link.site.workdir))
    task = await bench.submit(service, "pass")
    done = await ended(service, task)
    assert done.state is State.REJECTED
    assert "cannot be made at here" in done.cause
    assert done.attempt.native is None


async def test_a_cancel_is_heard_at_once_between_two_tries(bench):
    """After a while a minute lies between two tries to reach a site; a user's word does not wait for the next."""
    service = await bench.start()
    link = service.links["here"]
    await readings(service)
    link.transport = FaultyTransport(link.transport, before={"submit.": timed_out("not_sent")}, times=1000)
    task = await bench.submit(service, "pass")

    async def rests_for_long():
        events = (await service.task_events(task.id)).events
        return sum(event.type == "attempt.submitting" for event in events) >= 4  # rests of 1, 2, 4 and now 8 s

    await until(rests_for_long)
    await service.cancel(task.id, "you")
    done = await ended(service, task, seconds=6)
    assert done.state is State.CANCELLED


async def test_cancel_before_the_site_was_reached_never_submits(bench, tmp_path):
    service = await bench.start()
    link = service.links["here"]
    await readings(service)
    link.transport = FaultyTransport(link.transport, before={"submit.": timed_out("not_sent")}, times=1000)
    task = await bench.submit(service, counting(tmp_path / "runs"))
    await service.cancel(task.id, "you")
    done = await ended(service, task, seconds=30)
    assert done.state is State.CANCELLED
    await asyncio.sleep(0)
    assert runs(tmp_path / "runs") == 0
