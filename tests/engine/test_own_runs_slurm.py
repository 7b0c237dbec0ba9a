"""What own work on real clusters tells of them: how long a job gets ready there, and how fast it then runs."""

import asyncio
import sys

import pytest

from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.placement.explain import explain
from tests.engine.conftest import ended

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]
WORK = "import os, time\ntime.sleep({'delta': 7.0, 'anvil': 12.0}[os.environ['SLURM_CLUSTER_NAME']])"
SLOW_TO_START = f'#!/bin/sh\n[ -z "$SLURM_JOB_ID" ] || sleep 5\nexec {sys.executable} "$@"\n'


@pytest.fixture
def pool(bench, testbed, tmp_path):
    """Delta and Anvil; at Anvil an environment takes five seconds to start."""
    bench.sites_path = testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work", names=("delta", "anvil"))
    python = tmp_path / "slow" / "python3"
    python.parent.mkdir()
    python.write_text(SLOW_TO_START)
    python.chmod(0o755)
    with bench.sites_path.open("a") as file:  # anvil is the last one
        file.write(f"    python: {python}\n")
    return bench


def size(**fields):
    return Envelope(walltime_s=Span.exactly(300), **fields)


async def estimates(service):
    decision = await service.plan(size(sites=("delta", "anvil"), runtime=Runtime(seconds=200)))
    return {each.site: each.estimate for each in decision.candidates if each.estimate is not None}, decision


async def test_what_ran_at_two_sites_is_expected_to_take_as_long_there_again(pool):
    service = await pool.start()
    before, decision = await estimates(service)
    assert {(each.prepare_s, each.speed, each.run_s) for each in before.values()} == {(None, None, 200.0)}
    assert "get ready" not in explain(decision)
    tasks = [
        await pool.submit(service, WORK, name=f"work{number}", again=True, envelope=size(site=site))
        for number in range(3)
        for site in ("delta", "anvil")
    ]
    done = await asyncio.gather(*(ended(service, task, seconds=90) for task in tasks))
    assert {task.state for task in done} == {State.COMPLETED}, [task.cause for task in done]
    assert all(task.attempt.started_at <= task.attempt.cell_started_at <= task.attempt.ended_at for task in done)
    after, decision = await estimates(service)
    assert after["anvil"].prepare_s >= 5.0 > after["delta"].prepare_s
    assert after["delta"].speed < 1.0 < after["anvil"].speed
    assert all(each.run_s == pytest.approx(200 * each.speed) for each in after.values())
    told = {each.site: each for each in (await service.forecasts()).sites}
    assert {site: (told[site].prepare_s, told[site].speed) for site in after} == {
        site: (each.prepare_s, each.speed) for site, each in after.items()
    }
    assert decision.choice.site == "delta"
    assert "to get ready" in explain(decision)
    again = await pool.start()  # nothing but the attempts themselves is kept
    assert (await estimates(again))[0]["anvil"].prepare_s == after["anvil"].prepare_s
