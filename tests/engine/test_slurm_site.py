"""The main job on real Slurm clusters: how jobs end there, and what is said of it."""

import asyncio
import base64
import json
import os
import subprocess
import time

import pytest

from jupyter_diamond.errors import Infeasible
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from tests.benchmarks.stage import counted, counting, is_probe
from tests.engine.cells import held
from tests.engine.conftest import ended, readings, until

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]
MIB = 1 << 20


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


def at(site, **fields):
    size = {"walltime_s": Span.exactly(600), "memory_bytes": Span.exactly(500 * MIB)} | fields
    return Envelope(site=site, **size)


async def running(service, task):
    async def check():
        now = await service.task(task.id)
        return now if now.state is State.RUNNING and now.attempt.started_at else None

    return await until(check)


def slurm(testbed, site, *argv):
    env = {**os.environ, **testbed.env(site)}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("site", ["delta", "anvil", "vista"])
async def test_a_cell_runs_and_comes_back(pool, site):
    service = await pool.start()
    source = "import os\nprint('on', os.environ['SLURM_CLUSTER_NAME'])\nanswer = 6 * 7"
    task = await pool.submit(service, source, outputs=("answer",), envelope=at(site))
    done = await ended(service, task)
    assert (done.state, done.attempt.raw_state, done.attempt.exit_code) == (State.COMPLETED, "COMPLETED", 0), done.cause
    view = await service.result(task.id)
    assert json.loads(base64.b64decode(view.inline[view.manifest.values[0].file])) == 42
    assert f"on {site}" in (await service.logs(task.id)).text


async def test_without_a_site_the_rules_choose_one_and_say_why(pool):
    service = await pool.start()
    task = await pool.submit(
        service, "answer = 1", envelope=Envelope(gpus=Span.exactly(1), walltime_s=Span.exactly(600))
    )
    assert task.attempt.site in ("delta", "anvil")
    decision = await service.decision(task.id)
    assert {candidate.site for candidate in decision.candidates} == {"here", "delta", "anvil", "vista"}
    assert task.attempt.site in task.why_here
    done = await ended(service, task)
    assert done.state is State.COMPLETED, done.cause


async def test_out_of_memory_is_named(pool, testbed):
    service = await pool.start()
    source = "hold = bytearray(900 << 20)\nfor i in range(0, len(hold), 4096): hold[i] = 1\nimport time; time.sleep(30)"
    task = await pool.submit(service, source, envelope=at("delta", memory_bytes=Span.exactly(200 * MIB)))
    done = await ended(service, task, seconds=60)
    if testbed.cgroup:
        assert done.state is State.OUT_OF_MEMORY, (done.cause, done.attempt)
    else:
        assert done.state is State.FAILED
    assert "memory" in done.cause


async def test_a_time_limit_is_named(pool, testbed):
    service = await pool.start()
    envelope = at("anvil", walltime_s=Span.exactly(60), memory_bytes=None)
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=envelope)
    testbed.end_soon("anvil", (await running(service, task)).attempt.native.id)
    done = await ended(service, task, seconds=150)
    assert done.state is State.TIMEOUT, (done.cause, done.attempt)
    assert "time limit" in done.cause
    assert "--time" in done.next


async def test_a_job_cancelled_by_hand_is_cancelled_not_failed(pool, testbed):
    service = await pool.start()
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=at("delta"))
    job = (await running(service, task)).attempt.native.id
    assert slurm(testbed, "delta", "scancel", job).returncode == 0
    done = await ended(service, task, seconds=90)
    assert done.state is State.CANCELLED, done.cause


async def test_slurms_own_words_in_the_log_end_the_wait_for_the_next_poll(pool, testbed):
    """Slurm kills a batch job without a signal first, so no end-file tells of it; the queue is asked once a minute."""
    service = await pool.start()
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=at("delta"))
    job = (await running(service, task)).attempt.native.id
    service.engine._watchers["delta"]._queue._wanted_at = time.monotonic() + 600.0
    assert slurm(testbed, "delta", "scancel", job).returncode == 0
    done = await ended(service, task, seconds=30)
    assert done.state is State.CANCELLED, done.cause


async def test_jobs_that_end_together_are_asked_about_together(pool, testbed, tmp_path):
    """Each question to accounting costs a site's database: a storm of ends must not become a storm of questions."""
    site = {**testbed.site("delta", tmp_path / "work"), "env": testbed.env("delta")}
    site["env"]["PATH"] = f"{counting(tmp_path / 'count')}:{os.environ['PATH']}"
    pool.sites_path.write_text(json.dumps({"sites": [site]}))
    service = await pool.start()
    begun = time.monotonic()
    gate = tmp_path / "go"
    tasks = [await pool.submit(service, held(gate, "pass"), again=True, envelope=at("delta")) for _ in range(10)]
    for task in tasks:
        await running(service, task)
    gate.touch()
    for task in tasks:
        assert (await ended(service, task, seconds=90)).state is State.COMPLETED
    took = time.monotonic() - begun
    asked = [line.split()[0] for _, line in counted(tmp_path / "count") if not is_probe(line)]
    assert asked.count("sbatch") == 10
    assert asked.count("sacct") <= 8 + took / 3 + 1, (took, asked)
    assert asked.count("squeue") <= 6 + took / 15 + 1, (took, asked)


async def test_cancel_reaches_the_scheduler(pool, testbed):
    service = await pool.start()
    task = await pool.submit(service, "import time; time.sleep(600)", envelope=at("anvil", memory_bytes=None))
    job = (await running(service, task)).attempt.native.id
    await service.cancel(task.id, "you")
    done = await ended(service, task, seconds=60)
    assert (done.state, done.cause) == (State.CANCELLED, "Cancelled by you.")
    left = slurm(testbed, "anvil", "squeue", "-h", "-j", job, "-t", "running,pending", "-o", "%T")
    assert left.stdout.strip() == ""


async def test_a_stopped_controller_harms_no_job_and_delays_no_result(pool, testbed, tmp_path):
    """B08: the scheduler is down, the job is fine; where files are in reach its result does not wait for it."""
    service = await pool.start()
    task = await pool.submit(service, held(tmp_path / "go", "answer = 1"), outputs=("answer",), envelope=at("delta"))
    await running(service, task)
    testbed.stop_controller("delta")
    (tmp_path / "go").touch()

    async def ready():
        now = await service.task(task.id)
        return now if now.attempt.result_ready else None

    during = await until(ready, 15)
    assert during.state is State.COMPLETING
    assert (await service.result(task.id)).manifest.outcome == "OK"
    testbed.start_controller("delta")
    done = await ended(service, task, seconds=90)
    assert (done.state, len(done.attempts)) == (State.COMPLETED, 1)


async def test_submitting_while_the_controller_is_down_waits_and_runs_once(pool, testbed, tmp_path):
    service = await pool.start(lookup_for_s=5.0)
    await readings(service)
    testbed.stop_controller("anvil")
    source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run '); answer = 1"
    task = await pool.submit(service, source, outputs=("answer",), envelope=at("anvil", memory_bytes=None))

    async def noticed():
        attempt = (await service.task(task.id)).attempt
        return attempt.trouble or attempt.state is State.SUBMIT_UNKNOWN

    await until(noticed, 60)
    testbed.start_controller("anvil")
    done = await ended(service, task, seconds=120)
    assert done.state is State.COMPLETED, done.cause
    assert (tmp_path / "runs").read_text() == "run "


async def test_accounting_that_is_down_only_delays_the_last_word(pool, testbed):
    service = await pool.start()
    task = await pool.submit(service, "answer = 1", outputs=("answer",), envelope=at("delta"))
    testbed.stop_accounting()
    await asyncio.sleep(0)

    async def ready():
        return (await service.task(task.id)).attempt.result_ready

    await until(ready, 30)
    testbed.start_accounting()
    done = await ended(service, task, seconds=90)
    assert done.state is State.COMPLETED, done.cause


async def test_an_account_that_is_not_the_users_is_refused_before_anything_is_sent(pool):
    service = await pool.start()
    with pytest.raises(
        Infeasible, match=r"you have no account nobody there: add --account with one of .*bbka-delta-cpu"
    ):
        await pool.submit(service, "pass", envelope=at("delta", account="nobody"))


async def test_what_only_the_scheduler_can_refuse_is_rejected_in_its_own_words(pool):
    delta = pool.sites_path.read_text().partition('- name: "delta"\n')
    assert delta[1], "the catalogue is written otherwise"
    pool.sites_path.write_text(f"{delta[0]}{delta[1]}    options: {{reservation: nosuch}}\n{delta[2]}")
    service = await pool.start()
    task = await pool.submit(service, "pass", envelope=at("delta"))
    done = await ended(service, task)
    assert done.state is State.REJECTED
    assert "reservation" in done.cause.lower()
    assert done.attempt.native is None


async def test_the_sites_are_shown_with_what_is_free(pool):
    service = await pool.start()
    sites = await readings(service)
    assert set(sites) == {"here", "delta", "anvil", "vista"}
    assert all(reading.health == "online" for reading in sites.values()), sites
    assert sites["delta"].gpus_total == 24
    assert sites["here"].cpus_total >= 1
