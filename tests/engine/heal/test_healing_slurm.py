"""Real jobs on real clusters that fail, and what follows: more memory, more time, another site; or a word why not."""

import asyncio
import time

import pytest

from jupyter_diamond.engine.heal.steps import retries_used
from jupyter_diamond.errors import ApprovalVoid, Conflict
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import State
from tests.engine.cells import held
from tests.engine.conftest import ended, readings, until
from tests.engine.looks import MIB, in_state, types, value

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]

HUNGRY = "hold = bytearray({mib} << 20)\nfor i in range(0, len(hold), 4096): hold[i] = 1\nanswer = {mib}"


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


def asks(site=None, memory=(500, 500), walltime=(600, 600), **fields):
    span = Span(min=memory[0] * MIB, max=memory[1] * MIB) if memory else None
    return Envelope(site=site, memory_bytes=span, walltime_s=Span(min=walltime[0], max=walltime[1]), **fields)


def live_jobs(testbed, *sites):
    """How many jobs each cluster has that wait or run."""
    argv = ("squeue", "-h", "-a", "-t", "pending,running,configuring,completing", "-o", "%i %T")
    found = {site: testbed.run(site, *argv).stdout.split("\n") for site in sites}
    return {site: [line for line in lines if line] for site, lines in found.items()}


async def filled(testbed, site, nodes, *, leaves_mib, account):
    """Take the memory of whole nodes, all but a little, so that a first attempt gets no more."""
    jobs = []
    for node, total in nodes:
        size = ("-w", node, f"--mem={total - leaves_mib}M", "-c", "1", "-A", account, "-p", "cpu")
        jobs.append(testbed.sbatch(site, "sleep 600", *size))
    for job in jobs:
        await asyncio.to_thread(testbed.wait_running, site, job)
    return jobs


async def refreshed(service):
    await readings(service)
    await service.refresh(None)


async def test_a_cell_that_runs_out_of_memory_runs_again_with_more(pool, testbed, tmp_path):
    """Memory begins at the least of its range, however much is free, and twice as much is asked for at the same site."""
    service = await pool.start()
    await refreshed(service)
    envelope = asks("delta", memory=(200, 2000), partition="cpu")
    task = await pool.submit(service, HUNGRY.format(mib=300), outputs=("answer",), envelope=envelope)
    done = await ended(service, task, seconds=90)
    assert done.state is State.COMPLETED, (done.cause, done.attempts)
    assert [each.failure for each in done.attempts] == ["oom", None]
    first, second = done.attempts
    assert (second.site, second.step, second.n) == ("delta", "resize", 2)
    assert (first.size.memory_bytes, second.size.memory_bytes) == (200 * MIB, 400 * MIB)
    assert second.why.startswith("Run again with ")
    assert "attempt 1 ran out of memory at" in second.why
    assert await value(service, done) == 300
    story = await types(service, done)
    assert story.index("attempt.terminal") + 1 == story.index("task.resize")


async def test_a_time_limit_is_followed_by_more_time(pool, testbed, tmp_path):
    """The partition gives one minute at first, and is opened while the first attempt runs."""
    testbed.run("anvil", "scontrol", "update", "partitionname=debug", "maxtime=1", "defaulttime=1")
    try:
        service = await pool.start()
        await refreshed(service)
        source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\n" + held(tmp_path / "go", "answer = 1")
        envelope = asks("anvil", memory=None, walltime=(60, 240), partition="debug")
        task = await pool.submit(service, source, outputs=("answer",), envelope=envelope)
        first = (await in_state(service, task, State.RUNNING)).attempt
        assert first.size.walltime_s == 60
        testbed.end_soon("anvil", first.native.id)
    finally:
        testbed.run("anvil", "scontrol", "update", "partitionname=debug", "maxtime=2:00:00", "defaulttime=30")

    async def second_runs():
        now = await service.task(task.id)
        return now if len(now.attempts) == 2 and now.state is State.RUNNING else None

    second = (await until(second_runs, 180)).attempt
    (tmp_path / "go").touch()
    done = await ended(service, task)
    assert (done.state, done.attempts[0].state) == (State.COMPLETED, State.TIMEOUT), done.cause
    assert second.size.walltime_s == 120
    assert second.why == "Run again with 2 min: attempt 1 reached its time limit of 1 min."
    assert (tmp_path / "runs").read_text() == "run run "


async def test_a_node_that_goes_down_moves_the_task_to_another_site(pool, testbed, tmp_path):
    service = await pool.start()
    await refreshed(service)
    source = held(tmp_path / "go", "import os\nanswer = os.environ['SLURM_CLUSTER_NAME']")
    envelope = asks(None, memory=(500, 500), sites=("delta", "anvil"), objective="prefer_site")
    task = await pool.submit(service, source, outputs=("answer",), envelope=envelope)
    first = (await in_state(service, task, State.RUNNING)).attempt
    assert first.site == "delta"
    for node in ("cn01", "cn02", "gpua01", "gpua02", "gpub01", "gpub02", "gpuc01"):
        testbed.down_node("delta", node)

    async def moved():
        return len((await service.task(task.id)).attempts) == 2

    await until(moved, 90)  # had the cell come through there, it would not be run again
    (tmp_path / "go").touch()
    done = await ended(service, task, seconds=120)
    assert done.state is State.COMPLETED, (done.cause, done.attempts)
    assert [(each.site, each.step, each.failure) for each in done.attempts] == [
        ("delta", "first", "node"), ("anvil", "migrate", None),
    ]  # fmt: skip
    assert await value(service, done) == "anvil"
    assert done.attempt.why.startswith("Moved to anvil:")
    assert "failed under attempt 1" in done.attempt.why
    assert "anvil" in done.why_here


async def test_what_cannot_begin_at_one_site_goes_to_another(pool):
    """The interpreter for cells is not there: exit code 82 of the job script, and never the same site again."""
    delta = pool.sites_path.read_text().partition('- name: "delta"\n')
    assert delta[1], "the catalogue is written otherwise"
    pool.sites_path.write_text(f"{delta[0]}{delta[1]}    python: /no/such/python3\n{delta[2]}")
    service = await pool.start()
    await refreshed(service)
    envelope = asks(sites=("delta", "anvil"), objective="prefer_site")
    done = await ended(service, await pool.submit(service, "answer = 1", outputs=("answer",), envelope=envelope), 60)
    assert done.state is State.COMPLETED, (done.cause, done.attempts)
    assert [(each.site, each.step, each.failure) for each in done.attempts] == [
        ("delta", "first", "launch"), ("anvil", "migrate", None),
    ]  # fmt: skip
    assert done.attempt.why.endswith(": attempt 1 could not begin at delta.")


async def test_a_task_that_waits_too_long_moves_where_it_starts_at_once(pool, testbed, monkeypatch):
    """Anvil was closed when it was sent, and is open now; at delta an hour of waiting is left."""
    partitions = ("debug", "shared", "wholenode", "wide", "highmem", "gpu", "gpu-debug", "ai")
    for partition in partitions:
        testbed.run("anvil", "scontrol", "update", f"partitionname={partition}", "state=down")
    whole = ("-p", "cpu", "-N", "2", "-n", "2", "-c", "128", "-A", "bbka-delta-cpu", "-t", "120")
    blocker = testbed.sbatch("delta", "sleep 600", *whole)
    await asyncio.to_thread(testbed.wait_running, "delta", blocker)
    service = await pool.start()
    await refreshed(service)
    envelope = asks(sites=("delta", "anvil"), cpus=Span.exactly(100))
    task = await pool.submit(service, "answer = 1", outputs=("answer",), envelope=envelope)
    waits = await in_state(service, task, State.PENDING)
    assert waits.attempt.site == "delta"
    overruns = service.engine._overruns
    await overruns.look()
    assert (await service.task(task.id)).attempt.withdrawal is None, "it has not overrun yet"
    for partition in partitions:
        testbed.run("anvil", "scontrol", "update", f"partitionname={partition}", "state=up")
    await refreshed(service)
    left = await service.engine.planner.remaining(waits.attempt)
    assert left is not None, "its job is seen in the queue"
    assert left.wait_s > 60
    monkeypatch.setattr("jupyter_diamond.engine.heal.overrun.look_again_after", lambda _forecast_s: 0.0)
    await overruns.look()
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempt.site, done.attempt.step) == (State.COMPLETED, "anvil", "migrate"), done.attempts
    assert "it had waited" in done.attempt.why
    assert "would start it now" in done.attempt.why
    assert live_jobs(testbed, "delta")["delta"] == [f"{blocker} RUNNING"]


async def test_the_programs_own_error_is_never_run_again(pool, tmp_path):
    service = await pool.start()
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\n1 / 0"
    done = await ended(service, await pool.submit(service, source, envelope=asks("delta")))
    assert (done.state, done.attempt.failure, len(done.attempts)) == (State.FAILED, "app_args", 1)
    assert (tmp_path / "runs").read_text() == "run "
    assert "task.not_again" in await types(service, done)
    assert done.next == "Read its traceback."


async def test_nothing_follows_what_was_cancelled(pool, testbed):
    """By the user here, and by scancel from outside."""
    service = await pool.start()
    mine = await pool.submit(service, "import time; time.sleep(600)", envelope=asks("delta"), name="mine")
    other = await pool.submit(service, "import time; time.sleep(600)", envelope=asks("delta"), name="other")
    job = (await in_state(service, other, State.RUNNING)).attempt.native.id
    await in_state(service, mine, State.RUNNING)
    await service.cancel(mine.id, "you")
    testbed.run("delta", "scancel", job)
    for task in (mine, other):
        done = await ended(service, task, seconds=90)
        assert (done.state, done.attempt.failure, len(done.attempts)) == (State.CANCELLED, "user_cancel", 1)


async def test_without_room_in_the_range_the_user_is_told_what_to_change(pool, testbed):
    service = await pool.start()
    source = HUNGRY.format(mib=900) + "\nimport time; time.sleep(30)"
    task = await pool.submit(service, source, envelope=asks("delta", memory=(200, 200)))
    done = await ended(service, task, seconds=60)
    assert (done.attempt.failure, len(done.attempts)) == ("oom", 1), done.attempt
    assert "--memory 200M-800M" in done.next
    assert retries_used(done) == 0


async def test_no_retries_means_none(pool, testbed, tmp_path):
    service = await pool.start()
    source = held(tmp_path / "go", "answer = 1")
    task = await pool.submit(service, source, envelope=asks("delta", partition="cpu"), healing=Healing(retries=0))
    node = (await in_state(service, task, State.RUNNING)).attempt.nodes
    testbed.down_node("delta", (await until(lambda: node_of(service, task))) or node)
    done = await ended(service, task, seconds=90)
    assert (done.state, done.attempt.failure, len(done.attempts)) == (State.NODE_FAIL, "node", 1)
    assert "--retries 3" in done.next


async def node_of(service, task):
    nodes = (await service.task(task.id)).attempt.nodes
    return nodes if nodes.startswith("cn") else None


async def pinned_behind(pool, testbed, service, tmp_path, source="answer = 1"):
    """A task that waits at delta, where nothing is free."""
    whole = ("-p", "cpu", "-N", "2", "-n", "2", "-c", "128", "-A", "bbka-delta-cpu")
    blocker = testbed.sbatch("delta", "sleep 600", *whole)
    await asyncio.to_thread(testbed.wait_running, "delta", blocker)
    await refreshed(service)
    counted = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\n{source}"
    envelope = asks("delta", partition="cpu", sites=("delta", "anvil"))
    task = await pool.submit(service, counted, outputs=("answer",), envelope=envelope)
    await in_state(service, task, State.PENDING)
    return blocker, task


async def test_replan_unpin_moves_a_waiting_job_and_never_leaves_two(pool, testbed, tmp_path):
    service = await pool.start()
    _, task = await pinned_behind(pool, testbed, service, tmp_path, held(tmp_path / "go", "answer = 1"))
    most, shown = 0, []

    def refused(decision):
        shown.append(decision.choice)
        raise ApprovalVoid("Another place was approved.")

    with pytest.raises(ApprovalVoid):
        await service.replan(task.id, "Coder", unpin=True, agreed=refused)
    assert (await service.task(task.id)).attempt.withdrawal is None
    await service.replan(task.id, "you", unpin=True, agreed=lambda decision: shown.append(decision.choice))
    deadline = time.monotonic() + 60
    while True:
        jobs = await asyncio.to_thread(live_jobs, testbed, "delta", "anvil")
        most = max(most, len(jobs["delta"]) - 1 + len(jobs["anvil"]))  # one is the blocker
        now = await service.task(task.id)
        if now.attempt.n == 2 and now.state is State.RUNNING:
            break
        assert time.monotonic() < deadline, now.attempts
    assert most == 1
    (tmp_path / "go").touch()
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempt.site, done.attempt.step) == (State.COMPLETED, "anvil", "replan"), done.cause
    assert done.attempts[0].state is State.CANCELLED
    assert done.attempts[0].failure is None
    decision = await service.decision(task.id)
    agreed = shown[1]
    assert (decision.envelope.site, decision.envelope.partition) == (agreed.site, agreed.partition)
    assert (done.attempt.site, done.attempt.partition) == (agreed.site, agreed.partition)
    assert done.attempt.why.startswith("Moved to anvil:")
    assert (tmp_path / "runs").read_text() == "run "


async def test_replan_leaves_a_job_where_it_is_when_that_is_still_the_best(pool, testbed, tmp_path):
    service = await pool.start()
    _, task = await pinned_behind(pool, testbed, service, tmp_path)
    job = (await service.task(task.id)).attempt.native
    same = await service.replan(task.id, "you")
    assert (same.attempt.native, same.attempt.withdrawal) == (job, None)
    assert (await types(service, task))[-1] == "task.stays"
    assert len(live_jobs(testbed, "delta")["delta"]) == 2


async def test_what_runs_is_not_planned_anew(pool):
    service = await pool.start()
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=asks("delta"))
    await in_state(service, task, State.RUNNING)
    for act in (service.replan, service.hold):
        with pytest.raises(Conflict):
            await act(task.id, "you")


async def test_a_job_that_starts_before_it_is_taken_back_stays(pool, testbed, tmp_path):
    service = await pool.start()
    blocker, task = await pinned_behind(pool, testbed, service, tmp_path, held(tmp_path / "go", "answer = 1"))
    watcher = service.engine._watchers["delta"]
    cancels = watcher.link.scheduler.cancel_script

    def late(jobs, *, waiting_only=False):
        testbed.run("delta", "scancel", blocker)
        testbed.wait_running("delta", jobs[0].id)
        return cancels(jobs, waiting_only=waiting_only)

    watcher.link.scheduler.cancel_script = late
    await service.replan(task.id, "you", unpin=True)
    now = await in_state(service, task, State.RUNNING)

    async def left_alone():
        found = await service.task(task.id)
        return found if found.attempt.withdrawal is None else None

    now = await until(left_alone)
    watcher.link.scheduler.cancel_script = cancels
    assert "task.stays" in await types(service, task)
    (tmp_path / "go").touch()
    done = await ended(service, task, seconds=60)
    assert (done.state, len(done.attempts), now.attempt.n) == (State.COMPLETED, 1, 1)
    assert (tmp_path / "runs").read_text() == "run "


async def test_a_held_task_has_no_job_until_it_is_released(pool, testbed, tmp_path):
    service = await pool.start()
    blocker, task = await pinned_behind(pool, testbed, service, tmp_path)
    await service.hold(task.id, "you")

    async def taken_back():
        now = await service.task(task.id)
        return now if now.attempt.n == 2 else None

    now = await until(taken_back)
    assert (now.state, now.held_by, now.attempt.native) == (State.WAITING, "you", None)
    assert len(live_jobs(testbed, "delta")["delta"]) == 1, "only the blocker is left"
    testbed.run("delta", "scancel", blocker)
    await pool.services.pop().stop()
    again = await pool.start()
    assert (await again.task(task.id)).attempt.native is None, "a hold outlives the server"
    await again.release(task.id, "you")
    done = await ended(again, task, seconds=60)
    assert (done.state, len(done.attempts)) == (State.COMPLETED, 2), done.cause
    assert (tmp_path / "runs").read_text() == "run "
