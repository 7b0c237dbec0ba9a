"""The main job on a real Slurm cluster behind a Globus Compute endpoint: real clients against a local stand-in.

Here the endpoint's tasks run by the agent's own code, in processes of the stand-in; test_globus_agent.py has the agent.
"""

import asyncio
import json
import time

import pytest
import pytest_asyncio

from jupyter_diamond.globus import bucket
from jupyter_diamond.model.states import State
from jupyter_diamond.sites.machines import machine_of
from tests.engine.conftest import ended, until
from tests.engine.looks import LEAVES, all_is_fetched, at_delta, in_state, leaving, one_job_was_found, reading, value
from tests.transport.globus import catalogue, site_at

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]
MIB = 1 << 20
SUBMIT = "POST /v3/endpoints/[^/]+/submit"


@pytest.fixture
def endpoint(testbed, globus_services, monkeypatch, tmp_path):
    """An endpoint on the login node of delta: only there is the cluster's slurm.conf known."""
    monkeypatch.setenv("JUPYTER_DIAMOND_TOKENS", json.dumps(globus_services.auth.issue()))
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket())
    return globus_services.compute.add_endpoint("delta", env=testbed.env("delta"))


@pytest_asyncio.fixture
async def pool(endpoint, bench, globus_services, testbed, tmp_path):
    bench.sites_path.write_text(catalogue(endpoint.id, testbed.site("delta", tmp_path / "work")))
    yield bench
    globus_services.heal()  # the bench cancels what still runs
    endpoint.offline = False


async def online(service):
    """The site's reading, once it has answered: more patient than one answer that never comes."""

    async def check():
        await service.refresh("delta")
        found = await reading(service)
        print(f"{found.health}: {found.problem}")
        return found if found.health == "online" else None

    return await until(check, 200)


async def test_the_machine_is_known_by_the_host_of_the_endpoint(tmp_path):
    site = site_at("11111111-2222-4333-8444-555555555555", tmp_path, host="ada@dt-login03.delta.ncsa.illinois.edu")
    assert machine_of(site).name == "delta"


async def test_a_cell_runs_on_a_cluster_behind_an_endpoint_and_comes_back(pool, globus_services):
    service = await pool.start()
    found = await online(service)
    assert (found.health, found.transport, found.gpus_total) == ("online", "globus-compute", 24)
    source = (
        "import os\nprint('on', os.environ['SLURM_CLUSTER_NAME'], 'ü')\nanswer = 6 * 7\nbig = os.urandom(10_000_000)"
    )
    task = await pool.submit(service, source + LEAVES, outputs=("answer", "big"), envelope=leaving())
    done = await ended(service, task, seconds=90)
    assert (done.state, done.attempt.raw_state) == (State.COMPLETED, "COMPLETED"), done.cause
    assert await value(service, task) == 42
    view = await service.result(task.id)
    (big,) = (value for value in view.manifest.values if value.name == "big")
    assert len(await service.receipts.whole(task.id, big.file)) == big.bytes > 10_000_000
    await all_is_fetched(service, task)
    log = (await service.logs(task.id)).text
    assert "on delta ü" in log
    assert (await service.logs(task.id, tail=4)).text == log.encode()[-4:].decode()


@pytest.mark.parametrize("fault", [{"status": 502}, {"drop": True}, {"delay": 6.0}], ids=["502", "dropped", "slow"])
async def test_an_answer_lost_after_the_submission_was_taken_leaves_one_job(
    pool, globus_services, endpoint, tmp_path, fault
):
    """B03: the service took the task, the scheduler took the job, and nobody heard of it."""
    service = await pool.start(lookup_for_s=5.0)
    service.globus._settings.timeout_s = 5.0
    await online(service)
    await until(lambda: quiet(service, globus_services, endpoint))
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\nanswer = 1"
    globus_services.fault(SUBMIT, when="after", **fault)
    task = await pool.submit(service, source, outputs=("answer",), envelope=at_delta())
    await in_state(service, task, State.SUBMIT_UNKNOWN, State.PENDING, State.RUNNING, State.COMPLETED)
    done = await ended(service, task, seconds=90)
    await one_job_was_found(service, done, tmp_path / "runs")


async def quiet(service, services, endpoint):
    """Nothing of the service's own is under way, or still to come by itself: a fault hits what comes next."""
    if service.links["delta"].scheduler.capabilities is None:
        return False
    return all(task.status in ("success", "failed") for task in services.compute.tasks_of(endpoint))


async def test_an_endpoint_that_goes_offline_under_a_job_changes_no_state(pool, globus_services, endpoint):
    """B08: the site is out of reach, the job is fine; then the endpoint is back, and so is the result."""
    service = await pool.start()
    task = await pool.submit(
        service, "import time; time.sleep(8); answer = 6 * 7", outputs=("answer",), envelope=at_delta()
    )
    await in_state(service, task, State.RUNNING)
    service.links["delta"].transport._endpoint.doubt()
    globus_services.compute.set_online(endpoint, online=False)

    async def troubled():
        return (await service.task(task.id)).attempt.trouble

    assert "The Globus Compute endpoint of delta is offline" in await until(troubled, seconds=60)
    assert (await service.task(task.id)).state is State.RUNNING
    await service.refresh("delta")
    found = await reading(service)
    assert found.health in ("degraded", "offline")
    assert "type `globus-compute-endpoint start delta` on login1" in found.problem
    globus_services.compute.set_online(endpoint)
    done = await ended(service, task, seconds=120)
    assert (done.state, len(done.attempts), done.attempt.submissions) == (State.COMPLETED, 1, 1), done.cause
    assert await value(service, task) == 42


async def test_a_login_that_ends_is_said_and_the_task_waits(pool, globus_services, endpoint, tmp_path, monkeypatch):
    service = await pool.start()
    await service.refresh("delta")
    globus_services.auth.expire()
    task = await pool.submit(service, "answer = 1", outputs=("answer",), envelope=at_delta())

    async def troubled():
        return (await service.task(task.id)).attempt.trouble

    assert "log in" in await until(troubled)
    monkeypatch.setenv("JUPYTER_DIAMOND_TOKENS", json.dumps(globus_services.auth.issue()))
    done = await ended(service, task, seconds=120)
    assert done.state is State.COMPLETED, done.cause
    assert await value(service, task) == 1


async def test_cancel_reaches_a_cluster_behind_an_endpoint(pool):
    service = await pool.start()
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=at_delta())
    await in_state(service, task, State.RUNNING)
    await service.cancel(task.id, "you")
    done = await ended(service, task, seconds=90)
    assert (done.state, done.cause) == (State.CANCELLED, "Cancelled by you.")


async def test_several_cells_cost_hardly_more_requests_than_one(pool, globus_services, endpoint):
    service = await pool.start(probe_tick_s=600.0)
    await service.refresh("delta")
    before = len(globus_services.requests("/v[23]/"))
    begun = time.monotonic()
    tasks = [
        await pool.submit(service, "import time; time.sleep(5); answer = 1", outputs=("answer",), envelope=at_delta())
        for _ in range(4)
    ]
    done = await asyncio.gather(*(ended(service, task, seconds=120) for task in tasks))
    assert {task.state for task in done} == {State.COMPLETED}
    asked = len(globus_services.requests("/v[23]/")) - before
    assert asked < 60, f"{asked} requests in {time.monotonic() - begun:.0f} s"
