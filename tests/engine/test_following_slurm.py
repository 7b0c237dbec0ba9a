"""Real Slurm clusters as they are followed: what their commands can do, what was free over time, an outage told."""

import asyncio
import os
import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.schedulers.slurm import scripts
from tests.engine.conftest import ended, until
from tests.engine.faults import FaultyTransport

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


def slurm(testbed, site, *argv):
    env = {**os.environ, **testbed.env(site)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def listen(service, site="delta"):
    link = service.links[site]
    link.transport = FaultyTransport(link.transport, times=0)
    return link, link.transport.scripts


async def learnt(link):
    return await until(lambda: asyncio.sleep(0, link.scheduler.capabilities))


async def refreshed(service, site="delta"):
    return next(reading for reading in (await service.refresh(site)).sites if reading.site == site)


async def test_what_the_commands_can_do_is_tried_once_and_kept(pool, testbed):
    service = await pool.start()
    link, scripts_run = listen(service)
    await refreshed(service)
    found = await learnt(link)
    assert found.version == slurm(testbed, "delta", "sinfo", "-V").split()[-1]
    # the options that came with 23.02 and later: an older Slurm says so, and is not asked with them
    assert found.flags["squeue --only-job-state"] is (testbed.slurm_version >= (23, 11))
    assert found.flags["squeue --json"] is True
    assert set(slurm(testbed, "delta", "sacct", "-e").split()) == set(found.accounting_fields)
    assert (found.relative_times, found.accounting, found.notes) == (True, True, ())
    assert found.clusters == ("anvil", "delta", "vista")
    await pool.services.pop().stop()

    again = await pool.start()
    link, scripts_run = listen(again)
    await refreshed(again)
    assert await learnt(link) == found
    assert scripts.TRIAL not in scripts_run, "the store knew"

    older = found.model_copy(update={"version": "20.11.8", "flags": {}})
    await again._ledger.do(again._ledger.store.put_capabilities, "delta", older)
    await pool.services.pop().stop()
    upgraded = await pool.start()
    link, scripts_run = listen(upgraded)
    await refreshed(upgraded)
    assert (await learnt(link)).version == found.version
    assert (await learnt(link)).flags == found.flags


async def test_capabilities_that_are_wrong_judge_no_job_and_are_dropped(pool):
    """B06: a field that this sacct does not know fails every status call until the older form is used."""
    service = await pool.start()
    link, _ = listen(service)
    await refreshed(service)
    await learnt(link)
    form = scripts.Form(fields=(*scripts.Form().fields[:-1], "NoSuchField", "JobName"), relative=True)
    real = type(link.scheduler)._form
    asked = []

    class Misled(type(link.scheduler)):
        @property
        def _form(self):
            asked.append(self.capabilities is not None)
            return form if self.capabilities is not None else real.fget(self)

    link.scheduler.__class__ = Misled
    envelope = Envelope(site="delta", walltime_s=Span.exactly(600), memory_bytes=Span.exactly(500 << 20))
    task = await pool.submit(service, "answer = 1", outputs=("answer",), envelope=envelope)
    done = await ended(service, task, 120)
    assert (done.state, len(done.attempts), done.cancel_requested_by) == (State.COMPLETED, 1, None)
    assert asked[0] is True, "the wrong form was used"
    assert link.scheduler.capabilities is None, "and is not used any more"
    await refreshed(service)
    assert link.scheduler.capabilities is None, "nor is the site asked again and again"


async def test_the_past_holds_what_scontrol_said(pool, testbed):
    service = await pool.start()
    await refreshed(service)
    size = ("-p", "gpuA40x4", "--gpus-per-node=4", "--mem=1G", "-t", "5", "-A", "bbka-delta-gpu", "-o", "/dev/null")
    job = slurm(testbed, "delta", "sbatch", "--parsable", *size, "--wrap", "sleep 300")

    async def runs():
        return slurm(testbed, "delta", "squeue", "-h", "-j", job, "-o", "%T") == "RUNNING"

    await until(runs)
    reading = await refreshed(service)
    past = {each.partition: each for each in (await service.history("delta", 1.0)).series}
    for record in (record for record in reading.records if not record.hidden):
        told = past[record.partition]
        free, total = (
            (record.gpus_free, record.gpus_total) if told.unit == "GPU" else (record.cpus_free, record.cpus_total)
        )
        assert (told.free[-1], told.total[-1], told.pending[-1], told.running[-1]) == (
            free, total, record.pending, record.running,
        )  # fmt: skip
    gpus = past["gpuA40x4"]
    # not against the first reading: a job of the test before may have been completing then, and held a node still
    assert gpus.free[-1] <= gpus.total[-1] - 4, "a whole node of GPUs went to the job"
    assert gpus.mine_running[-1] == 1


async def test_an_outage_is_told_with_its_times_and_ends(pool, testbed):
    service = await pool.start()
    good = await refreshed(service)
    assert (good.health, abs((good.clock_at - datetime.now(timezone.utc)).total_seconds()) < 30) == ("online", True)
    testbed.stop_controller("delta")
    before = datetime.now(timezone.utc)
    first = await refreshed(service)
    assert first.health == "degraded"
    assert before <= first.failing_since <= datetime.now(timezone.utc)
    assert first.next_try_at > datetime.now(timezone.utc) + timedelta(seconds=30)
    assert "controller" in first.problem
    other = await refreshed(service, "anvil")
    assert (other.health, other.failing_since) == ("online", None)
    testbed.start_controller("delta")
    back = await refreshed(service)
    assert (back.health, back.problem, back.failing_since, back.next_try_at) == ("online", "", None, None)
