"""Verdicts and reports of a mismatch on real jobs of this machine, with a second place on it to go to."""

import asyncio

import pytest

from jupyter_diamond.errors import Conflict, Infeasible
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import State
from tests.engine import cells
from tests.engine.conftest import ended, readings, until
from tests.engine.looks import in_state, types

pytestmark = pytest.mark.asyncio
SPOILT = "print('loss: nan', flush=True)\nanswer = 1"


@pytest.fixture
def two_places(bench):
    bench.sites_path.write_text(f"sites:\n  - {{name: box, scheduler: process, workdir: {bench.folder / 'box'}}}\n")


async def test_a_task_that_did_all_that_was_asked_is_a_plain_yes_and_one_that_did_not_says_why(bench):
    service = await bench.start()
    good, spoilt, bad = await asyncio.gather(
        bench.submit(service, "answer = 42\nprint('fine')", outputs=("answer",), name="good"),
        bench.submit(service, SPOILT, outputs=("answer",), name="spoilt"),
        bench.submit(service, "print('0 errors')\nraise ValueError('bad')", outputs=("answer",), name="bad"),
    )
    for task in (good, spoilt, bad):
        await ended(service, task)
    found = await service.verdict("good")
    assert (found.correct, [each.answer for each in found.findings]) == ("yes", ["yes"] * 6), found
    assert "cores: asked 1, given 1" in found.finding("size").evidence
    assert await service.verdict("good") is found, "nothing has changed, so nothing is read again"
    seen = await service.verdict("spoilt")
    assert (seen.correct, seen.finding("clean_log").signs) == ("no", ("nan_loss",))
    assert [each.question for each in seen.findings if each.answer == "no"] == ["clean_log"]
    failed = await service.verdict("bad")
    assert {each.question for each in failed.findings if each.answer == "no"} == {"clean_log", "outputs", "ended_well"}
    assert any("ValueError: bad" in line for line in failed.finding("clean_log").evidence)
    await _without_its_files(service, good)


async def _without_its_files(service, task):
    """What was there at its end may be gone when somebody asks later."""
    attempt = (await service.task(task.id)).attempt
    folder = attempt.folder
    service.verdicts._kept.clear()
    await service.links[attempt.site].transport.run(f"rm {folder}/result/*; rm {folder}/job.out", timeout_s=10)
    late = await service.verdict(task.id)
    assert (late.finding("outputs").answer, late.finding("clean_log").answer) == ("no", "unknown")


async def test_a_job_that_waits_moves_and_the_site_is_left_out_from_then_on(bench, two_places, tmp_path):
    service = await bench.start()
    cpus = max(each.cpus_total for each in (await readings(service)).values())
    all_cores = Envelope(walltime_s=Span.exactly(600), cpus=Span.exactly(cpus))
    gate = tmp_path / "gate"
    first = await bench.submit(service, cells.held(gate, ""), name="first", envelope=all_cores)
    await in_state(service, first, State.RUNNING)
    task = await bench.submit(service, "answer = 1", outputs=("answer",), envelope=all_cores, healing=Healing(moves=1))
    await in_state(service, task, State.PENDING)
    was = (await service.task(task.id)).attempt.site
    await service.report_mismatch(task.id, "its \n libfabric   is broken", "claude")

    async def moved():
        now = await service.task(task.id)
        return now if len(now.attempts) == 2 else None

    now = await until(moved)
    assert (now.attempts[0].state, now.attempt.step) == (State.CANCELLED, "migrate")
    assert now.attempt.site != was
    assert now.attempt.why == (
        f"Moved to {now.attempt.site}:machine: claude reported that {was} is wrong for it (its libfabric is broken)."
    )
    assert now.attempts[0].mismatch.reason == "its libfabric is broken"
    against = [each for each in (await service.decision(task.id)).candidates if each.site == was]
    assert any(
        "reported to be wrong for this task: its libfabric is broken." in each.sentence for each in against[0].verdicts
    )
    with pytest.raises(Conflict, match=r"may change its site 1 time \(--moves\), and no move is left"):
        await service.report_mismatch(task.id, "this one, too", "claude")
    gate.touch()
    done = await ended(service, task)
    assert (done.state, done.attempt.site) == (State.COMPLETED, now.attempt.site)
    kinds = await types(service, task)
    assert kinds.index("task.mismatch") < kinds.index("task.withdrawal") < kinds.index("task.migrate")
    with pytest.raises(Conflict, match=r"has ended \(completed\), and what has ended is not taken up again"):
        await service.report_mismatch(task.id, "late", "claude")


async def test_what_runs_is_not_ended_and_goes_elsewhere_once_it_has_failed(bench, two_places, tmp_path):
    service = await bench.start()
    await readings(service)
    gate, runs = tmp_path / "gate", tmp_path / "runs"
    cell = cells.held(gate, f"n = len(list(pathlib.Path({str(tmp_path)!r}).glob('runs*')))\n"
                            f"pathlib.Path({str(runs)!r} + str(n)).touch()\nif n == 0: raise RuntimeError('no fabric')")  # fmt: skip
    pinned = Envelope(site="here", walltime_s=Span.exactly(600))  # as an agent's task is, to what was approved
    task = await bench.submit(service, cell, healing=Healing(retries=1, moves=0), by="claude", envelope=pinned)
    await in_state(service, task, State.RUNNING)
    told = await service.report_mismatch(task.id, "no fabric here", "claude")
    assert (told.state, told.attempt.withdrawal) == (State.RUNNING, None)
    assert (await service.verdict(task.id)).attempts_left == 1
    gate.touch()
    done = await ended(service, task)
    assert (done.state, [each.step for each in done.attempts]) == (State.COMPLETED, ["first", "migrate"])
    assert done.attempts[0].site != done.attempts[1].site
    assert "which claude had reported to be wrong for it" in done.attempt.why


async def test_where_there_is_no_other_place_nothing_changes(bench, tmp_path):
    service = await bench.start()
    gate = tmp_path / "gate"
    task = await bench.submit(service, cells.held(gate, ""))
    await in_state(service, task, State.RUNNING)
    with pytest.raises(Infeasible, match=r"stays at .*, for no other site can take it"):
        await service.report_mismatch(task.id, "wrong", "you")
    assert (await service.task(task.id)).attempt.mismatch is None
    gate.touch()
    await ended(service, task)
