"""The main job through the real endpoint agent, with a real Slurm cluster behind it and the services' stand-in before.

The agent's user endpoint is killed, the agent is stopped and started, answers are lost after they were given.
"""

import asyncio
import contextlib
import json
import time

import pytest
import pytest_asyncio

from jupyter_diamond.errors import TransportError
from jupyter_diamond.model.states import State
from tests.engine.conftest import ended, until
from tests.engine.looks import at_delta, in_state, one_job_was_found, reading, value
from tests.engine.test_globus_site import SUBMIT, online, quiet
from tests.transport.globus import catalogue

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm, pytest.mark.globus, pytest.mark.timeout(500)]


@pytest.fixture(scope="module")
def agent_at_delta(testbed):
    """The agent on the login node of delta, with our own template: one worker thread."""
    from tests.live.globus import RealAgent, StandIn

    with StandIn() as services, RealAgent(services, name="delta-login", env=testbed.env("delta")) as agent:
        yield agent


@pytest.fixture
def agent(agent_at_delta, monkeypatch):
    """The same for each test, healed after it."""
    services = agent_at_delta.services
    for name, said in services.environment.items():
        monkeypatch.setenv(name, said)
    monkeypatch.setenv("JUPYTER_DIAMOND_TOKENS", json.dumps(services.auth.issue()))
    yield agent_at_delta
    print(f"{agent_at_delta.user_endpoints} run tasks; the agent said:\n{agent_at_delta.last_words}")
    services.forget()
    agent_at_delta.heal()


@pytest_asyncio.fixture
async def pool(agent, bench, testbed, tmp_path):
    bench.sites_path.write_text(catalogue(agent.endpoint_id, testbed.site("delta", tmp_path / "work")))
    yield bench
    agent.services.heal()  # the bench cancels what still runs
    agent.heal()


async def test_a_cell_runs_through_the_real_agent_and_comes_back(pool, agent, testbed):
    service = await pool.start()
    found = await online(service)
    assert (found.health, found.transport, found.gpus_total) == ("online", "globus-compute", 24)
    source = "import os\nprint('on', os.environ['SLURM_CLUSTER_NAME'], 'ü')\nanswer = os.environ.get('OMP_NUM_THREADS')"
    task = await pool.submit(service, source, outputs=("answer",), envelope=at_delta())
    done = await ended(service, task, seconds=90)
    assert (done.state, done.attempt.raw_state) == (State.COMPLETED, "COMPLETED"), done.cause
    assert await value(service, task) != "1", "the agent's own limits are no part of a job"
    assert "on delta ü" in (await service.logs(task.id)).text
    assert len(agent.user_endpoints) == 1


@pytest.mark.parametrize("fault", [{"status": 502}, {"drop": True}], ids=["502", "dropped"])
async def test_an_answer_lost_after_the_real_agent_got_the_submission_leaves_one_job(pool, agent, tmp_path, fault):
    """B03, B06: never two jobs."""
    service = await pool.start(lookup_for_s=5.0)
    await online(service)
    await until(lambda: quiet(service, agent.services, agent.endpoint))
    agent.services.fault(SUBMIT, when="after", **fault)
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\nanswer = 1"
    task = await pool.submit(service, source, outputs=("answer",), envelope=at_delta())
    done = await ended(service, task, seconds=90)
    await one_job_was_found(service, done, tmp_path / "runs")


async def test_a_user_endpoint_killed_under_a_submission_leaves_one_job(pool, agent, testbed, tmp_path):
    """The command is lost, or given to the next user endpoint; the job it made is found by its claim or in the queue."""
    service = await pool.start(lookup_for_s=5.0, command_timeout_s=5.0)
    for link in service.links.values():
        if link.name == "delta":
            link.transport.answer_s = 8.0
    await online(service)
    link = service.links["delta"]
    taken = tmp_path / "taken"
    from tests.engine.faults import FaultyScheduler

    link.scheduler = FaultyScheduler(link.scheduler, submit=f"{{}}; touch {taken}; sleep 60")
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\nanswer = 1"
    task = await pool.submit(service, source, outputs=("answer",), envelope=at_delta())

    async def was_taken():
        return taken.exists()

    await until(was_taken, 60)
    assert await asyncio.to_thread(agent.kill_user_endpoints)
    agent.drop_stale_pidfiles()
    done = await ended(service, task, seconds=120)
    assert done.state is State.COMPLETED, done.cause
    assert (tmp_path / "runs").read_text() == "run "
    known = testbed.run(
        "delta", "sacct", "-X", "-n", "-P", "-o", "jobid", f"--name={done.attempt.token}"
    ).stdout.split()
    assert known == [done.attempt.native.id], "one job was made, not two of which one gave way"


async def test_an_agent_that_is_stopped_and_started_changes_no_state(pool, agent):
    """B08: the site is out of reach, the job is not; the wall says what to type; then all goes on by itself."""
    service = await pool.start()
    task = await pool.submit(
        service, "import time; time.sleep(15); answer = 6 * 7", outputs=("answer",), envelope=at_delta()
    )
    await in_state(service, task, State.RUNNING)
    await asyncio.to_thread(agent.stop)
    service.links["delta"].transport._endpoint.doubt()

    async def told():
        await service.refresh("delta")
        return (await reading(service)).problem

    problem = await until(told, 60)
    assert (
        "The Globus Compute endpoint of delta is offline: type `globus-compute-endpoint start delta-login` on"
        in problem
    )
    assert (await service.task(task.id)).state is State.RUNNING
    await asyncio.to_thread(agent.start)
    done = await ended(service, task, seconds=120)
    assert (done.state, len(done.attempts), done.attempt.submissions) == (State.COMPLETED, 1, 1), done.cause
    assert await value(service, task) == 42
    await online(service)


async def test_an_agent_that_is_killed_is_noticed_and_its_successor_is_used(pool, agent):
    """SIGKILL says goodbye to nobody: commands are unknown until the services miss its heartbeat."""
    service = await pool.start()
    link = service.links["delta"]
    await online(service)  # the agent's first process has its own time
    link.transport.answer_s = 20.0
    await asyncio.to_thread(agent.kill)

    async def gone():
        return not await asyncio.to_thread(lambda: agent.user_endpoints)  # they notice, and end by themselves

    await until(gone, 60)
    begun = time.monotonic()
    with pytest.raises(TransportError) as caught:
        await link.run("echo on", timeout_s=5)
    assert time.monotonic() - begun < 40
    assert caught.value.outcome in ("unknown", "not_sent")
    await asyncio.to_thread(agent.start)

    async def back():
        with contextlib.suppress(TransportError):
            return (await link.run("echo on", timeout_s=10)).out
        return ""

    assert await until(back, 150) == "on\n"
