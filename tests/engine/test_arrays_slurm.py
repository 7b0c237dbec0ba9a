"""Job arrays on real Slurm: a thousand members are one submission, exactly once, and each ends as it does."""

import os
import subprocess

import pytest

from jupyter_diamond.model.states import State
from tests.engine import arrays
from tests.engine.arrays import all_ended, all_of

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]

STORY = """import os
at = int(os.environ["SLURM_ARRAY_TASK_ID"])
if at == 3: raise ValueError("three")
if at == 5:
    import time
    time.sleep(600)
answer = at * at
"""


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


def slurm(testbed, site, *argv):
    env = {**os.environ, **testbed.env(site)}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


async def test_an_array_is_one_job_whose_members_end_each_in_their_own_way(pool, testbed):
    service = await pool.start()
    tasks = await arrays.submit(service, range(20), source=STORY, outputs=("answer",), site="delta")
    now = await all_of(service, tasks, lambda task: task.attempt.native is not None)
    base = now[0].attempt.native.id.partition("_")[0]
    assert [task.attempt.native.id for task in now] == [f"{base}_{at}" for at in range(20)]
    await all_of(service, [tasks[5]], lambda task: task.state is State.RUNNING)
    slurm(testbed, "delta", "scancel", f"{base}_5")
    done = await all_ended(service, tasks)
    assert {task.name: task.state for task in done if task.state is not State.COMPLETED} == {
        "fit[3]": State.FAILED, "fit[5]": State.CANCELLED
    }  # fmt: skip
    assert "three" in done[3].cause
    token = tasks[0].attempt.array.token
    said = slurm(testbed, "delta", "sacct", "-n", "-P", "-X", "--name", token, "-o", "JobID")
    assert {line.partition("_")[0] for line in said.split()} == {base}, "one job, and no other"
