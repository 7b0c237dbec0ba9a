"""The main job on a real Slurm cluster behind a real login node: ssh is cut, killed and slow, the job is not."""

import asyncio
import time

import pytest
import pytest_asyncio

from jupyter_diamond.model.states import State
from tests.engine.cells import held
from tests.engine.conftest import ended, readings, until
from tests.engine.faults import FaultyScheduler
from tests.engine.looks import LEAVES, all_is_fetched, at_delta, in_state, leaving, one_job_was_found, types, value
from tests.live.sshd import Sshd

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm, pytest.mark.sshd]
MIB = 1 << 20


@pytest.fixture
def node(testbed, tmp_path, tmp_path_factory, monkeypatch):
    """The login node of delta: only its sessions know where the cluster's slurm.conf is."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    node = Sshd(tmp_path / "ssh", "delta", env=testbed.env("delta"))
    yield node
    node.close()


@pytest_asyncio.fixture
async def pool(node, bench, testbed, tmp_path):
    bench.sites_path = testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work", names=["delta"], nodes=[node])
    yield bench
    if node._process is None:
        node.start()  # the bench cancels what still runs
    node.line.release()


async def test_a_cell_runs_on_a_cluster_behind_ssh_and_comes_back(pool, node):
    service = await pool.start()
    delta = (await readings(service))["delta"]
    assert (delta.health, delta.transport, delta.gpus_total) == ("online", "ssh", 24)
    source = "import os\nprint('on', os.environ['SLURM_CLUSTER_NAME'], 'ü')\nanswer = 6 * 7\nbig = b'x' * 10_000_000"
    task = await pool.submit(service, source + LEAVES, outputs=("answer", "big"), envelope=leaving())
    done = await ended(service, task)
    assert (done.state, done.attempt.raw_state) == (State.COMPLETED, "COMPLETED"), done.cause
    assert await value(service, task) == 42
    view = await service.result(task.id)
    (big,) = (value for value in view.manifest.values if value.name == "big")
    assert len(await service.receipts.whole(task.id, big.file)) == big.bytes > 10_000_000
    await all_is_fetched(service, task)
    log = (await service.logs(task.id)).text
    assert "on delta ü" in log
    assert (await service.logs(task.id, tail=4)).text == log.encode()[-4:].decode()
    assert node.logins() == 1


async def test_the_result_is_heard_of_long_before_the_next_poll(pool):
    """The site says so itself: no poll is so often."""
    pool.sites_path.write_text(pool.sites_path.read_text().replace("poll_floor_s: 1", "poll_floor_s: 45"))
    service = await pool.start()
    task = await pool.submit(
        service, "import time; time.sleep(2); at = time.time()", outputs=("at",), envelope=at_delta()
    )

    async def ready():
        return (await service.task(task.id)).attempt.result_ready

    await until(ready)
    assert time.time() - await value(service, task) < 5
    story = await types(service, task)
    assert story.count("attempt.result_ready") == 1


async def test_a_login_node_that_dies_under_a_running_job_changes_no_state(pool, node, tmp_path):
    """B08: the site is out of reach, the job is fine; then it is back, and so is the result."""
    service = await pool.start()
    task = await pool.submit(service, held(tmp_path / "go", "answer = 6 * 7"), outputs=("answer",), envelope=at_delta())
    await in_state(service, task, State.RUNNING)
    node.kill()

    async def troubled():
        return (await service.task(task.id)).attempt.trouble

    assert "delta" in await until(troubled)
    assert (await service.task(task.id)).state is State.RUNNING
    await service.refresh("delta")
    (reading,) = (reading for reading in (await service.sites()).sites if reading.site == "delta")
    assert reading.health == "degraded"
    assert "not reachable by ssh" in reading.problem
    (tmp_path / "go").touch()
    node.start()
    done = await ended(service, task, seconds=60)
    assert (done.state, len(done.attempts), done.attempt.submissions) == (State.COMPLETED, 1, 1), done.cause
    assert await value(service, task) == 42


async def test_a_line_cut_right_after_sbatch_leaves_one_job(pool, node, tmp_path):
    """B03: the scheduler took the job, and the connection died before anybody heard of it."""
    service = await pool.start(lookup_for_s=5.0)
    await readings(service)
    link, taken = service.links["delta"], tmp_path / "taken"
    link.scheduler = FaultyScheduler(link.scheduler, submit=f"{{}}; touch {taken}; sleep 3")
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\nanswer = 1"
    task = await pool.submit(service, source, outputs=("answer",), envelope=at_delta())

    async def was_taken():
        return taken.exists()

    await until(was_taken)
    node.line.cut()
    await in_state(service, task, State.SUBMIT_UNKNOWN)
    done = await ended(service, task, seconds=60)
    await one_job_was_found(service, done, tmp_path / "runs")


async def test_a_line_cut_while_the_cells_inputs_travel_submits_once_in_the_end(pool, node, tmp_path):
    service = await pool.start(lookup_for_s=2.0)
    await readings(service)
    node.line.cut_after = 40_000
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run ')\nanswer = 1\n" + "# filling\n" * 30_000
    task = await pool.submit(service, source, outputs=("answer",), envelope=at_delta())
    done = await ended(service, task, seconds=60)
    assert done.state is State.COMPLETED, done.cause
    assert (tmp_path / "runs").read_text() == "run "
    assert "attempt.submit_unknown" in await types(service, task)


async def test_a_login_that_is_refused_is_said_and_the_task_waits(pool, node):
    """S4: one knock, one sentence that says what to do; when the way is open the task goes on by itself."""
    node.deny()
    service = await pool.start()
    reading = (await readings(service))["delta"]
    assert "needs login: open a connection once in a terminal: `ssh " in reading.problem
    await service.refresh("delta")
    assert node.knocks() == 2, "one by the fixture, which looks whether the port is open, and one by us"
    words = reading.problem.split("`")[1].split()
    node.allow()
    login = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.DEVNULL)
    assert await login.wait() == 0
    snapshot = await service.refresh("delta")
    (reading,) = (reading for reading in snapshot.sites if reading.site == "delta")
    assert (reading.health, reading.problem) == ("online", "")
    task = await pool.submit(service, "answer = 1", outputs=("answer",), envelope=at_delta())
    done = await ended(service, task)
    assert done.state is State.COMPLETED, done.cause
    logout = await asyncio.create_subprocess_exec(*[word for word in words if word != "-fNM"], "-O", "exit")
    await logout.wait()


async def test_a_slow_line_delays_and_breaks_nothing(pool, node):
    node.line.delay_s = 0.1
    service = await pool.start()
    task = await pool.submit(service, "answer = 6 * 7", outputs=("answer",), envelope=at_delta())
    done = await ended(service, task, seconds=60)
    assert done.state is State.COMPLETED, done.cause
    assert await value(service, task) == 42


async def test_a_noisy_login_is_noted_and_disturbs_nothing(pool, node):
    """B21: what start-up files print is no part of any answer."""
    noise = "echo '** Scratch purge on 1 May **'; echo oops >&2"
    node.extra = f'ForceCommand {noise}; eval "$SSH_ORIGINAL_COMMAND"; echo Goodbye'
    node.kill()
    node.start()
    service = await pool.start()
    reading = (await readings(service))["delta"]
    assert (reading.health, reading.unreadable) == ("online", ())
    assert any("** Scratch purge on 1 May **" in note for note in reading.notes), reading.notes
    task = await pool.submit(service, "answer = 6 * 7", outputs=("answer",), envelope=at_delta())
    done = await ended(service, task)
    assert (done.state, await value(service, task)) == (State.COMPLETED, 42), done.cause


async def test_cancel_reaches_a_cluster_behind_ssh(pool):
    service = await pool.start()
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=at_delta())
    await in_state(service, task, State.RUNNING)
    await service.cancel(task.id, "you")
    done = await ended(service, task, seconds=60)
    assert (done.state, done.cause) == (State.CANCELLED, "Cancelled by you.")
