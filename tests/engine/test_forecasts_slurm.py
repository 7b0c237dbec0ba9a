"""Forecasts from real queues, against what the clusters then do."""

import asyncio
import subprocess

import pytest

from jupyter_diamond.engine.planner import _job
from jupyter_diamond.model.decision import Candidate
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.states import State
from tests.engine.conftest import until

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]
PARTITION = "gpuA40x4"  # two nodes of four GPUs


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


def four_gpus(**fields):
    return Envelope(
        site="delta", partition=PARTITION, account="bbka-delta-gpu", gpus=Span.exactly(4),
        memory_bytes=Span.exactly(1 << 30), walltime_s=Span.exactly(300), **fields,
    )  # fmt: skip


def fill(testbed, seconds, *, number=2):
    """Jobs that keep the whole partition, for so long, with a limit of five minutes."""
    options = ("-p", PARTITION, "-A", "bbka-delta-gpu", "--gpus-per-node=4", "--mem=1G", "-t", "5")
    jobs = [testbed.sbatch("delta", f"sleep {seconds}", *options) for _ in range(number)]
    for job in jobs[:2]:
        testbed.wait_running("delta", job)
    return jobs


async def seen(service, jobs):
    """Refresh until the newest queue holds all of these jobs, and return it."""

    async def check():
        await service.refresh("delta")
        queue = service.engine.forecasts._queues.get("delta")
        there = {job.id for job in (*queue.running, *queue.pending)} if queue else set()
        return queue if there >= set(jobs) else None

    return await until(check)


async def test_the_probe_tells_of_each_real_job(pool, testbed):
    service = await pool.start()
    jobs = fill(testbed, 60, number=3)
    held = testbed.sbatch("delta", "true", "-p", "cpu", "-A", "bbka-delta-cpu", "-H", "-c", "4", "--mem=2G", "-N", "2")
    queue = await seen(service, [*jobs, held])
    runs = {job.id: job for job in queue.running}
    for job in jobs[:2]:
        assert (runs[job].gpus, runs[job].nodes, runs[job].limit_s, runs[job].mine) == (4, 1, 300.0, True)
        assert runs[job].partitions == (PARTITION,)
        assert runs[job].nodes_held[0].startswith("gpub")
    waits = {job.id: job for job in queue.pending}
    assert (waits[jobs[2]].gpus, waits[jobs[2]].held) == (4, "")
    assert (waits[held].nodes, waits[held].cpus, waits[held].held) == (2, 4, "JobHeldUser")
    assert waits[held].memory_bytes == 2 << 30
    reading = next(each for each in service.engine.collector.snapshot().sites if each.site == "delta")
    assert (reading.pending, reading.running) == (2, 2)
    assert {use.partition: (use.pending, use.running, use.gpus) for use in reading.own}[PARTITION] == (1, 2, 8)


async def test_a_full_partition_is_forecast_and_what_happened_is_kept_beside_it(pool, testbed):
    service = await pool.start()
    jobs = fill(testbed, 20)
    await seen(service, jobs)
    task = await pool.submit(service, "answer = 1", envelope=four_gpus())
    forecast = (await service.decision(task.id)).choice.estimate.forecast
    assert forecast.method == "replay"
    assert any(job in forecast.because for job in jobs), forecast.because
    assert 0 < forecast.wait_s <= 120

    async def over():
        await service.refresh("delta")
        now = await service.task(task.id)
        return now if now.state.terminal else None

    done = await until(over, 90)
    assert done.state is State.COMPLETED, done.cause
    waited = (done.attempt.started_at - done.attempt.submitted_at).total_seconds()
    found = next(each for each in (await service.forecasts()).sites if each.site == "delta")
    assert (found.n, found.methods, found.banded, found.queue) == (1, {"replay": 1}, 0, "visible")
    assert found.bias_s == pytest.approx(waited - forecast.wait_s, abs=0.01)
    assert found.error_s <= 60, "no further off than a pass of the model"

    async def learnt():  # our own job to the second; the others are gone between two looks
        await service.refresh("delta")
        kept = await service.engine._ledger.do(service.engine._ledger.store.past_jobs, "delta")
        return kept if len(kept) == 3 else None

    past = await until(learnt)
    assert {(job.limit_s, job.units) for job in past} == {(300.0, 4)}
    assert all(15 <= job.used_s <= 60 for job in past[:2]), past
    again = await pool.start()
    await again.refresh("delta")
    told = next(each for each in (await again.forecasts()).sites if each.site == "delta")
    assert (told.n, told.learnt) == (1, len(past))


async def test_where_jobs_are_hidden_the_scheduler_itself_is_asked_for_the_best(pool, testbed):
    conf = testbed.conf("delta")
    before = conf.read_text()
    conf.write_text(before + "PrivateData=jobs\n")
    try:
        testbed.run("delta", "scontrol", "reconfigure")
        service = await pool.start()
        jobs = fill(testbed, 60)
        await seen(service, jobs)
        decision = await service.plan(four_gpus())
    finally:
        conf.write_text(before)
        testbed.run("delta", "scontrol", "reconfigure")
    forecast = decision.choice.estimate.forecast
    assert forecast.method == "test_only", forecast
    assert 0 < forecast.wait_s <= 150  # part of what is left of the limit of what runs


async def test_what_the_scheduler_says_of_a_start_is_read_and_a_refusal_is_no_estimate(pool, testbed):
    service = await pool.start()
    fill(testbed, 60)
    link = service.links["delta"]

    def job(partition, **size):
        size = Size(walltime_s=300, memory_bytes=1 << 30, **size)
        account = "bbka-delta-gpu" if partition == PARTITION else "bbka-delta-cpu"
        candidate = Candidate(site="delta", partition=partition, account=account, size=size, feasible=True)
        return _job(link, candidate, Envelope())

    script = link.scheduler.estimate_script([job(PARTITION, gpus=4), job("no-such"), job("cpu")])
    full, refused, free = link.scheduler.parse_estimate(await link.run(script, timeout_s=30))
    assert 0 < full <= 310
    assert refused is None
    assert free == pytest.approx(0, abs=5)
    assert "dmd-" not in testbed.run("delta", "squeue", "-h", "-a", "-o", "%j").stdout, "nothing was submitted"


async def test_the_loop_goes_on_while_a_decision_is_made(pool, testbed, monkeypatch):
    service = await pool.start()
    await service.refresh("delta")
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def slow(*args, **fields):
        subprocess.run(["sleep", "0.3"], check=True)
        return decide(*args, **fields)

    from jupyter_diamond.placement.policy import decide

    monkeypatch.setattr("jupyter_diamond.engine.planner.decide", slow)
    counting = asyncio.create_task(count())
    await service.plan(four_gpus())
    counting.cancel()
    assert turns > 100
