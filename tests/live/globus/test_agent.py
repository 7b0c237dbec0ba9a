"""The real endpoint agent behind the stand-in: a task, a death during a task, an end and a second life."""

from __future__ import annotations

import os
import time

from globus_compute_sdk.serialize import JSONData

from tests.live.globus import BOB, RealAgent, StandIn, TaskClient
from tests.live.slurm import Testbed, wait_until

WHERE = "def where(x):\n    import os\n    return {'x': x, 'pid': os.getpid(), 'home': os.environ['HOME'], 'slurm': os.environ.get('SLURM_CONF')}\n"
SBATCH = """
def sbatch(env, script):
    import os, subprocess
    done = subprocess.run(["sbatch", "--parsable", "--time=1", "--output=/dev/null"], input=script, text=True,
                          capture_output=True, env={**os.environ, **env}, timeout=60)
    return done.stdout.strip() or done.stderr
"""
SLEEP = "def sleep(seconds):\n    import subprocess\n    subprocess.run(['sleep', str(seconds)])\n"


def test_tasks_run_in_a_process_of_the_agents_and_are_lost_with_it(
    globus_agent: RealAgent, globus_services: StandIn
) -> None:
    client = TaskClient(globus_services)
    done = client.wait(client.submit(globus_agent.endpoint_id, WHERE, [1, "ü"]))
    result = JSONData().deserialize(done["result"])
    assert result["x"] == [1, "ü"]
    assert result["home"] == str(globus_agent.home)
    assert [result["pid"]] == globus_agent.user_endpoints

    lost = client.submit(globus_agent.endpoint_id, SLEEP, 600)
    client.wait(lost, until="running")
    assert globus_agent.kill_user_endpoints() == [result["pid"]]

    for left in globus_agent.home.rglob("uep.*/daemon.pid"):
        os.utime(left, (time.time() + 300, time.time() + 300))  # fresh, however long the next start takes here
    refused = client.wait(client.submit(globus_agent.endpoint_id, WHERE, 2))
    assert "Another instance of this endpoint is running" in refused["exception"]

    globus_agent.drop_stale_pidfiles()
    after = client.wait(client.submit(globus_agent.endpoint_id, WHERE, 3))
    assert JSONData().deserialize(after["result"])["pid"] != result["pid"]
    assert client.document(lost)["status"] == "running"


def test_an_agent_that_ended_comes_back_as_the_same_endpoint(globus_agent: RealAgent, globus_services: StandIn) -> None:
    client, endpoint_id = TaskClient(globus_services), globus_agent.endpoint_id

    globus_agent.stop()

    assert client.v2.get_endpoint_status(endpoint_id)["status"] == "offline"
    waiting = client.submit(endpoint_id, WHERE, 3)
    assert client.document(waiting)["status"] == "waiting-for-ep"

    globus_agent.start()

    assert globus_agent.endpoint_id == endpoint_id
    assert client.wait(waiting)["status"] == "success"


def test_the_agent_refuses_tasks_of_another_person(globus_agent: RealAgent, globus_services: StandIn) -> None:
    globus_agent.endpoint.public = True  # so that the services let it through
    bobs = TaskClient(globus_services, token=globus_services.auth.issue(identity=BOB)["access_token"])

    done = bobs.wait(bobs.submit(globus_agent.endpoint_id, WHERE, 4))

    assert "Ignoring start request for untrusted identity" in done["exception"]


def test_an_agent_takes_everything_along_that_it_started(globus_services: StandIn) -> None:
    with RealAgent(globus_services, env={"SLURM_CONF": "/nowhere/slurm.conf"}) as agent:
        client = TaskClient(globus_services)
        done = client.wait(client.submit(agent.endpoint_id, WHERE, 5))
        assert JSONData().deserialize(done["result"])["slurm"] == "/nowhere/slurm.conf"
        client.wait(client.submit(agent.endpoint_id, SLEEP, 600), until="running")
        wait_until(lambda: len(agent.processes) > 2, 10, "The task started nothing")

    assert agent.processes == []
    assert not agent.home.exists()


def test_a_task_submits_to_the_real_slurm_behind_the_agent(
    globus_agent: RealAgent, globus_services: StandIn, testbed: Testbed
) -> None:
    client = TaskClient(globus_services)

    done = client.wait(client.submit(globus_agent.endpoint_id, SBATCH, testbed.env("delta"), "#!/bin/sh\ntrue\n"))

    testbed.wait_state("delta", JSONData().deserialize(done["result"]), "COMPLETED", seconds=60)
