"""What real jobs are charged: reserved before they are sent, settled by what sacct says, never twice, never over a cap."""

import asyncio

import pytest

from jupyter_diamond.errors import InvalidRequest, OverBudget
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.settings import DiamondBudget
from tests.engine import cells
from tests.engine.cells import held
from tests.engine.conftest import ended, until

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]
MIB = 1 << 20


@pytest.fixture
def pool(bench, slurm_catalogue):
    """The clusters as the machines that they are modelled on, so that what they charge is known."""
    text = slurm_catalogue.read_text()
    for name in ("delta", "vista"):
        assert f'- name: "{name}"\n' in text, "the catalogue is written otherwise"
        text = text.replace(f'- name: "{name}"\n', f'- name: "{name}"\n    machine: {name}\n')
    slurm_catalogue.write_text(text)
    bench.sites_path = slurm_catalogue
    return bench


def at(site, **fields):
    size = {"walltime_s": Span.exactly(600), "cpus": Span.exactly(2), "memory_bytes": Span.exactly(500 * MIB)}
    return Envelope(site=site, **(size | fields))


def elapsed(testbed, site, job):
    """What sacct says: seconds of the whole job."""
    said = testbed.run(site, "sacct", "-X", "-n", "-P", "-M", site, "-j", job, "-o", "ElapsedRaw").stdout
    return int(said.strip())


async def in_state(service, task, state):
    async def check():
        now = await service.task(task.id)
        return now if now.state is state and now.attempt.native else None

    return await until(check, 60)


async def charge_events(service, task):
    page = await service.task_events(task.id)
    return [(event.type, event.data) for event in page.events if event.type.startswith("charge.")]


async def row(service, site="delta"):
    (found,) = [each for each in (await service.charges()).accounts if each.site == site]
    return found


async def test_a_job_is_reserved_and_settled_by_what_sacct_says(pool, testbed, tmp_path):
    service = await pool.start()
    task = await pool.submit(service, held(tmp_path / "go", "answer = 1"), envelope=at("delta"))
    most = 2 * 600 / 3600  # two core-hours an hour, for its time limit
    assert task.attempt.charge.at_most == pytest.approx(most)
    live = await row(service)
    assert (live.account, live.unit, live.live, live.actual) == ("bbka-delta-cpu", "core-hour", 1, None)
    assert live.reserved == pytest.approx(most)
    running = await in_state(service, task, State.RUNNING)
    (tmp_path / "go").touch()
    done = await ended(service, task, seconds=90)
    seconds = elapsed(testbed, "delta", running.attempt.native.id)
    charge = done.attempt.charge
    assert done.state is State.COMPLETED, done.cause
    assert done.attempt.ran_s == seconds
    assert charge.actual == pytest.approx(2 * seconds / 3600)
    settled = await row(service)
    assert (settled.live, settled.unknown, settled.reserved) == (0, 0, None)
    assert settled.actual == pytest.approx(charge.actual)
    assert [kind for kind, _ in await charge_events(service, task)] == ["charge.reserved", "charge.settled"]
    (by_task,) = (await service.charges(tasks=True)).tasks
    assert [(each.n, each.charge) for each in by_task.attempts] == [(1, charge)]


async def test_the_least_that_a_site_charges_is_charged_for_a_short_job(pool):
    service = await pool.start()
    envelope = at("vista", cpus=Span.exactly(1), memory_bytes=None)
    done = await ended(service, await pool.submit(service, "answer = 1", envelope=envelope), seconds=90)
    assert done.state is State.COMPLETED, done.cause
    charge = done.attempt.charge
    assert done.attempt.ran_s < 900
    assert (charge.unit, charge.actual) == ("node-hour", pytest.approx(0.33 * 0.25))
    assert charge.at_most == pytest.approx(0.33 * 0.25)


async def test_a_job_that_ended_while_no_server_was_there_is_settled_once_at_the_next_start(pool, testbed, tmp_path):
    service = await pool.start()
    task = await pool.submit(service, held(tmp_path / "go", "answer = 1"), envelope=at("delta"))
    job = (await in_state(service, task, State.RUNNING)).attempt.native.id
    await service.stop()
    pool.services.remove(service)
    (tmp_path / "go").touch()
    testbed.wait_state("delta", job, "COMPLETED")
    again = await pool.start()
    done = await ended(again, task, seconds=90)
    assert done.attempt.charge.actual == pytest.approx(2 * elapsed(testbed, "delta", job) / 3600)
    await again.stop()
    pool.services.remove(again)
    third = await pool.start()
    assert (await third.task(task.id)).attempt.charge == done.attempt.charge
    assert [kind for kind, _ in await charge_events(third, task)] == ["charge.reserved", "charge.settled"]


async def test_a_job_that_never_started_is_charged_nothing_once_accounting_says_so(pool, testbed):
    service = await pool.start()
    blocker = testbed.sbatch("delta", "sleep 300", "-p", "cpu", "-N", "2", "--exclusive")
    testbed.wait_running("delta", blocker)
    task = await pool.submit(service, "answer = 1", envelope=at("delta"))
    await in_state(service, task, State.PENDING)
    await service.cancel(task.id, "you")
    done = await ended(service, task, seconds=90)
    assert done.state is State.CANCELLED, done.cause
    assert (done.attempt.ran_s, done.attempt.started_at) == (0.0, None)
    assert done.attempt.charge.actual == 0.0
    testbed.run("delta", "scancel", blocker)


async def test_what_the_scheduler_refuses_is_charged_nothing(pool):
    head, name, rest = pool.sites_path.read_text().partition('- name: "delta"\n')
    pool.sites_path.write_text(f"{head}{name}    options: {{reservation: nosuch}}\n{rest}")
    service = await pool.start()
    done = await ended(service, await pool.submit(service, "pass", envelope=at("delta")))
    assert done.state is State.REJECTED
    assert (done.attempt.native, done.attempt.charge.actual) == (None, 0.0)


async def test_a_cap_is_kept_in_words_before_anything_is_stored(pool, tmp_path):
    service = await pool.start(budget=DiamondBudget(per_day=["0.5 core-hours"]))
    first = await pool.submit(service, held(tmp_path / "go", "answer = 1"), envelope=at("delta"))
    newest = (await service.status()).newest_event
    with pytest.raises(OverBudget) as refused:
        await pool.submit(service, "pass", envelope=at("delta"), name="second")
    assert refused.value.message == (
        "delta cannot run this. delta:cpu: your cap of 0.5 core-hours in 24 hours (c.DiamondBudget.per_day) leaves "
        "0.17 core-hours (0 core-hours spent, 0.33 core-hours reserved), and this job may cost up to 0.33 core-hours: ask for "
        "--time 5m, or raise the cap."
    )
    assert [task.name for task in await service.tasks()] == ["fit"]
    told = await service.events(newest)
    assert {event.subject for event in told.events if event.subject.startswith("task:")} <= {f"task:{first.id}"}
    (against,) = (await service.charges()).caps
    assert against.left == pytest.approx(0.5 - 2 * 600 / 3600)
    shorter = at("delta", walltime_s=Span.exactly(300))
    second = await pool.submit(service, "answer = 1", envelope=shorter, name="second")
    (tmp_path / "go").touch()
    for task in (first, second):
        assert (await ended(service, task, seconds=90)).state is State.COMPLETED


async def test_without_a_pin_a_place_within_the_caps_is_taken(pool):
    budget = DiamondBudget(per_account={"delta": "0 core-hours"})
    service = await pool.start(budget=budget)
    decision = await service.plan(Envelope(walltime_s=Span.exactly(600), sites=("delta", "here")))
    assert decision.choice.site == "here"
    assert " refused: your cap of 0 core-hours at delta (c.DiamondBudget.per_account)" in decision.sentence


async def test_two_submissions_at_once_never_pass_a_cap_together(pool):
    budget = DiamondBudget(per_day=["0.5 core-hours"])
    service, other = await pool.start(budget=budget), await pool.start(budget=budget)
    await asyncio.gather(service.plan(at("delta")), other.plan(at("delta")))
    asked = [pool.submit(where, "answer = 1", envelope=at("delta"), name=name)
             for where, name in ((service, "a"), (other, "b"), (service, "c"), (other, "d"))]  # fmt: skip
    fates = await asyncio.gather(*asked, return_exceptions=True)
    refused = [fate for fate in fates if isinstance(fate, OverBudget)]
    assert len(refused) == 3, fates
    (task,) = [fate for fate in fates if not isinstance(fate, BaseException)]
    assert {each.name for each in await service.tasks()} == {task.name}
    assert [path.stem for path in (pool.folder / "diamond" / "spool").glob("*.tar")] in ([task.id], [])
    assert (await ended(service, task, seconds=90)).state is State.COMPLETED


async def test_where_a_charge_is_not_known_a_cap_refuses_unless_told_otherwise(pool):
    service = await pool.start(budget=DiamondBudget(per_task=["1 core-hour"]))
    anvil = at("anvil", memory_bytes=None)
    with pytest.raises(OverBudget, match=r"not known, so your cap of 1 core-hour for one task .* add --unknown-charge"):
        await pool.submit(service, "pass", envelope=anvil)
    will_do = anvil.model_copy(update={"unknown_charge": True})
    done = await ended(service, await pool.submit(service, "answer = 1", envelope=will_do), seconds=90)
    assert (done.state, done.attempt.charge.actual) == (State.COMPLETED, None)
    found = await row(service, "anvil")
    assert (found.unit, found.unknown, found.predicted, found.actual) == ("", 1, None, None)


async def test_another_attempt_is_held_against_what_the_one_before_it_has_cost(pool):
    """While it may still run, all that it reserves counts; once it has ended, what it was charged."""
    service = await pool.start(budget=DiamondBudget(per_task=["0.5 core-hours"]))
    task = await pool.submit(service, "answer = 1", envelope=at("delta"))
    budget, decision = service.engine.budget, await service.decision(task.id)
    second = task.attempt.model_copy(update={"n": 2})
    running = task.attempt.model_copy(update={"state": State.RUNNING, "started_at": task.created_at})
    runs = task.model_copy(update={"attempts": (running,)})
    said = await budget.allows(runs, second, decision)
    assert said.startswith("Your cap of 0.5 core-hours for one task (c.DiamondBudget.per_task) leaves 0.17 core-hours")
    planned = await service.engine.planner.plan(at("delta"), follows=runs)
    assert (planned.choice, said[0].lower() + said[1:-1] in planned.sentence) == (None, True)
    over = task.attempt.model_copy(update={"state": State.OUT_OF_MEMORY, "ran_s": 60.0, "started_at": task.created_at})
    shown = task.model_copy(update={"attempts": (over,)})
    assert await budget.allows(shown, second, decision) == ""
    assert await budget.allows(task, second, decision) == "", "one that waits is taken back first"
    assert (await service.engine.planner.plan(at("delta"), follows=shown)).choice is not None
    done = await ended(service, task, seconds=90)
    assert await budget.allows(done, second, decision) == ""


async def test_a_cap_that_could_never_hold_is_told_before_the_start(pool):
    with pytest.raises(
        InvalidRequest, match=r"per_account\['vista'\]: vista does not charge in core-hours but in node-"
    ):
        await pool.start(budget=DiamondBudget(per_account={"vista": "5 core-hours"}))
    with pytest.raises(InvalidRequest, match="no site of yours charges in SUs"):
        await pool.start(budget=DiamondBudget(per_day=["5 SU"]))


async def test_this_machine_charges_nobody(pool):
    service = await pool.start(budget=DiamondBudget(per_day=["0 core-hours"]))
    done = await ended(service, await pool.submit(service, "answer = 1", envelope=Envelope(site="here")))
    assert (done.state, done.attempt.charge) == (State.COMPLETED, None)
    assert (await service.charges(tasks=True)).accounts == ()
    data = cells.bundle("pass")
    request = cells.request("pass", data, name="agents", by="writer", envelope=Envelope(site="here"))
    await ended(service, (await service.submit(request, data)).task)


async def test_each_attempt_of_a_healed_task_is_charged_and_a_cap_ends_the_healing(pool, testbed, tmp_path):
    """The cap is what one attempt may cost at most and a little more than what the failed one has cost, or less."""
    service = await pool.start(budget=DiamondBudget(per_task=["0.3335 core-hours", "1 node-hour"]))
    failing = "import time; time.sleep(3); raise OSError(116, 'Stale file handle')"  # what a node's file system did
    told = await ended(service, await pool.submit(service, failing, envelope=at("delta")), seconds=90)
    assert (told.state, len(told.attempts)) == (State.FAILED, 1)
    assert "your cap of 0.33 core-hours for one task (c.DiamondBudget.per_task) leaves" in told.next
    runs = tmp_path / "runs"
    once = (
        f"import pathlib; runs = pathlib.Path({str(runs)!r})\nif not runs.exists(): runs.touch(); {failing}\nanswer = 1"
    )
    envelope = at("delta", walltime_s=Span.exactly(300))
    done = await ended(service, await pool.submit(service, once, envelope=envelope, name="heals"), seconds=120)
    assert (done.state, len(done.attempts)) == (State.COMPLETED, 2), (done.cause, done.next)
    for attempt in done.attempts:
        assert attempt.charge.actual == pytest.approx(2 * elapsed(testbed, "delta", attempt.native.id) / 3600)
    (by_task,) = [each for each in (await service.charges(tasks=True)).tasks if each.name == "heals"]
    assert [each.charge for each in by_task.attempts] == [each.charge for each in done.attempts]
    assert (await row(service)).actual == pytest.approx(
        sum(each.charge.actual for each in (*told.attempts, *done.attempts))
    )
