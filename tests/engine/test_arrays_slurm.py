"""Job arrays on real Slurm: a thousand members are one submission, exactly once, and each ends as it does."""

import os
import subprocess
from pathlib import Path

import pytest

from jupyter_diamond.model.states import State
from tests.engine import arrays
from tests.engine.arrays import all_ended, all_of
from tests.engine.cells import held
from tests.engine.conftest import ended, readings
from tests.engine.faults import FaultyScheduler
from tests.live.sshd import Sshd

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]

AT = 'import os\nat = int(os.environ.get("SLURM_ARRAY_TASK_ID", "-1"))\n'
STORY = (
    AT
    + """
if at == 3: raise ValueError("three")
if at == 5:
    import time
    time.sleep(600)
if at == 7:
    hold = bytearray(400 << 20)
    for i in range(0, len(hold), 4096): hold[i] = 1
    import time
    time.sleep(30)
answer = at * at
"""
)


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


@pytest.fixture
def node(testbed, tmp_path, tmp_path_factory, monkeypatch):
    """The login node of delta."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    node = Sshd(tmp_path / "ssh", "delta", env=testbed.env("delta"))
    yield node
    node.close()


def slurm(testbed, *argv):
    env = {**os.environ, **testbed.env("delta")}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


def jobs(testbed, tasks):
    """The members that Slurm has ever had of the array, by the number of their job."""
    token = tasks[0].attempt.array.token
    found = {}
    for line in slurm(testbed, "sacct", "-n", "-P", "-X", "--name", token, "-o", "JobID").split():
        job, _, at = line.partition("_")
        found.setdefault(job, set()).update([int(at)] if at.isdigit() else [])
    return found


def ran(folder):
    return {path.name: path.read_text() for path in Path(folder).iterdir()}


def claim_of(task):
    return str(Path(task.attempt.folder, "claim").readlink())


def noting(folder):
    """A cell that leaves a mark each time that it runs."""
    folder.mkdir()
    return AT + f"open({str(folder)!r} + f'/{{at}}', 'a').write('x')\nanswer = at"


def in_(state):
    return lambda task: task.state is state


async def test_an_array_is_one_job_whose_members_end_each_in_their_own_way(pool, testbed):
    service = await pool.start()
    assert (await readings(service))["delta"].array_places == 1001
    tasks = await arrays.submit(service, range(20), source=STORY, outputs=("answer",), site="delta", announced=True)
    now = await all_of(service, tasks, lambda task: task.attempt.native is not None)
    base = now[0].attempt.native.id.partition("_")[0]
    assert [task.attempt.native.id for task in now] == [f"{base}_{at}" for at in range(20)]
    await all_of(service, [tasks[5]], in_(State.RUNNING))
    slurm(testbed, "scancel", f"{base}_5")
    done = await all_ended(service, tasks)
    assert {task.name: task.state for task in done if task.state is not State.COMPLETED} == {
        "fit[3]": State.FAILED, "fit[5]": State.CANCELLED,
        "fit[7]": State.OUT_OF_MEMORY if testbed.cgroup else State.FAILED,
    }  # fmt: skip
    assert "three" in done[3].cause
    assert "memory" in done[7].cause
    assert jobs(testbed, tasks) == {base: set(range(20))}
    assert (await service.result(tasks[4].id)).manifest is not None
    assert "ValueError: three" in (await service.logs(tasks[3].id)).text


async def test_an_array_whose_answer_was_lost_is_found_by_its_name_and_runs_once(pool, testbed, tmp_path):
    service = await pool.start(lookup_for_s=30.0)
    link = service.links["delta"]
    link.scheduler = FaultyScheduler(link.scheduler, submit="{}; kill -KILL 0")
    source = noting(tmp_path / "ran")
    tasks = await arrays.submit(service, (2, 4, 5), source=source, outputs=("answer",), site="delta", at_once=1)
    done = await all_ended(service, tasks)
    assert {task.state for task in done} == {State.COMPLETED}
    assert {task.attempt.submissions for task in done} == {1}
    assert list(jobs(testbed, tasks).values()) == [{2, 4, 5}]
    assert ran(tmp_path / "ran") == {"2": "x", "4": "x", "5": "x"}


async def test_a_member_of_an_array_that_nobody_knows_of_is_closed_and_the_rest_is_sent_again(pool, testbed, tmp_path):
    service = await pool.start(lookup_for_s=4.0)
    link = service.links["delta"]
    link.scheduler = FaultyScheduler(link.scheduler, submit="kill -KILL 0; {}")
    source = noting(tmp_path / "ran")
    tasks = await arrays.submit(service, range(4), source=source, outputs=("answer",), site="delta")
    await all_of(service, tasks, in_(State.SUBMIT_UNKNOWN))
    await service.cancel(tasks[1].id, "you")
    done = await all_ended(service, tasks)
    assert [task.state for task in done] == [State.COMPLETED, State.CANCELLED, State.COMPLETED, State.COMPLETED]
    assert [task.attempt.submissions for task in done] == [2, 1, 2, 2]
    assert list(jobs(testbed, tasks).values()) == [{0, 2, 3}]
    assert ran(tmp_path / "ran") == {"0": "x", "2": "x", "3": "x"}
    assert claim_of(done[1]) == "fenced", "and no job that comes late is it"


async def test_members_that_are_held_or_cancelled_before_it_is_sent_leave_the_array(pool, testbed, tmp_path):
    service = await pool.start()
    source = noting(tmp_path / "ran")
    tasks = await arrays.submit(service, range(5), source=source, outputs=("answer",), site="delta", adopt=False)
    ledger, at = service._ledger, tasks[0].created_at
    await ledger.do(ledger.store.request_cancel, tasks[1].id, "you", at)
    await ledger.do(ledger.store.hold, tasks[2].id, "you", at)
    service.engine.adopt_all(await ledger.do(ledger.store.attempts.tasks, [tasks[0].id]))  # one is heard of: all go
    done = await all_ended(service, [tasks[0], tasks[1], tasks[3], tasks[4]])
    assert [task.state for task in done] == [State.COMPLETED, State.CANCELLED, State.COMPLETED, State.COMPLETED]
    assert list(jobs(testbed, tasks).values()) == [{0, 3, 4}]
    alone = await service.task(tasks[2].id)
    assert (alone.state, alone.attempt.array) == (State.WAITING, None)
    await service.release(alone.id, "you")
    alone = await ended(service, alone)
    assert alone.state is State.COMPLETED, alone.cause
    assert "_" not in alone.attempt.native.id
    assert ran(tmp_path / "ran") == {"0": "x", "3": "x", "4": "x", "-1": "x"}


async def test_another_server_takes_over_a_throttled_array_and_cancels_it(pool, testbed, tmp_path):
    service = await pool.start(lease_s=2.0)
    source = AT + held(tmp_path / "go", "answer = at")
    tasks = await arrays.submit(service, range(6), source=source, outputs=("answer",), site="delta", at_once=2)
    await all_of(service, tasks[:2], in_(State.RUNNING))
    await all_of(service, tasks[2:], lambda task: task.attempt.reason == "JobArrayTaskLimit")
    await service.stop()
    pool.services.remove(service)
    other = await pool.start(lease_s=2.0)
    for task in tasks[1:]:
        await other.cancel(task.id, "you")
    await all_ended(other, tasks[1:])  # else the end of the first lets another one begin
    (tmp_path / "go").touch()
    done = await all_ended(other, tasks)
    assert done[0].state is State.COMPLETED
    assert {task.state for task in done[2:]} == {State.CANCELLED}
    assert len(jobs(testbed, tasks)) == 1


@pytest.mark.sshd
async def test_an_array_runs_on_a_cluster_behind_ssh(node, bench, testbed, tmp_path):
    bench.sites_path = testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work", names=["delta"], nodes=[node])
    service = await bench.start()
    await readings(service)
    tasks = await arrays.submit(service, range(7), source=STORY, outputs=("answer",), site="delta", announced=True)
    await all_of(service, [tasks[5]], in_(State.RUNNING))
    await service.cancel(tasks[5].id, "you")
    done = await all_ended(service, tasks)
    odd = {3: State.FAILED, 5: State.CANCELLED}
    assert [task.state for task in done] == [odd.get(at, State.COMPLETED) for at in range(7)]
    assert (await service.result(tasks[4].id)).manifest is not None
