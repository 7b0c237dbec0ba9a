"""What follows a failure, on this machine as a real site: budgets, crashes, cancels, and plans that are refused."""

import asyncio
import time

import pytest

from jupyter_diamond.engine.heal import endings
from jupyter_diamond.engine.heal.causes import Ended
from jupyter_diamond.errors import Infeasible
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.manifest import EndFile
from jupyter_diamond.model.states import State
from tests.engine import cells
from tests.engine.conftest import ended, until
from tests.engine.heal.samples import against, candidate, decision, flaky
from tests.engine.looks import in_state, types, value

pytestmark = pytest.mark.asyncio


class Planning:
    """The service's planner, which waits, refuses or answers as a test says once a task has been taken."""

    def __init__(self, service):
        self.planner, self.plan = service.engine.planner, service.engine.planner.plan
        self.asked, self.go = asyncio.Event(), asyncio.Event()
        self.answers = []

    def begin(self):
        self.planner.plan = self._plan

    async def _plan(self, envelope, **how):
        self.asked.set()
        await self.go.wait()
        return self.answers.pop(0) if self.answers else await self.plan(envelope, **how)


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


async def in_planning(bench, runs, **fields):
    """A task whose first attempt has failed and whose next is being planned."""
    service = await bench.start()
    planning = Planning(service)
    task = await bench.submit(service, flaky(runs, 1), outputs=("answer",), **fields)
    planning.begin()
    await asyncio.wait_for(planning.asked.wait(), 30)
    return service, planning, task


async def test_what_a_node_did_is_tried_again_and_the_result_is_the_last_ones(bench, runs):
    service = await bench.start()
    task = await bench.submit(service, flaky(runs, 2), outputs=("answer",))
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempt.n, done.cause) == (State.COMPLETED, 3, "")
    assert await value(service, done) == 3
    assert [each.step for each in done.attempts] == ["first", "retry", "retry"]
    assert len({each.token for each in done.attempts} | {each.folder for each in done.attempts}) == 6
    assert "exception: OSError: [Errno 116] Stale file handle" in done.attempts[0].evidence
    assert done.attempt.why.startswith("Run again: the node")
    assert not (service._spool.folder / f"{task.id}.tar").exists(), "and then the inputs are let go"


async def test_the_budget_ends_and_the_last_word_says_so(bench, runs):
    service = await bench.start()
    task = await bench.submit(service, flaky(runs, 9), healing=Healing(retries=1))
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempt.n, runs.read_text()) == (State.FAILED, 2, "run run ")
    assert done.next == (
        "It was tried again 1 time, as many as --retries allows. Allow more with --retries 4, or ask for something else."
    )
    assert (await types(service, done))[-1] == "task.not_again"


async def test_the_task_is_never_seen_as_ended_in_between(bench, runs):
    service = await bench.start()
    task = await bench.submit(service, flaky(runs, 2))
    seen = []
    service.on_change(lambda event: seen.append(event.type))
    states = set()

    async def over():
        now = await service.task(task.id)
        states.add((now.attempt.n, now.state.terminal))
        return now.attempt.n == 3 and now.state.terminal

    await until(over, 60)
    assert {n for n, terminal in states if terminal} == {3}
    at = [place for place, kind in enumerate(seen) if kind == "attempt.terminal"]
    assert [seen[place + 1 : place + 3] for place in at[:2]] == [["task.retry", "decision.made"]] * 2


async def test_a_server_that_dies_while_it_plans_heals_at_its_next_start(bench, runs):
    service, planning, task = await in_planning(bench, runs)
    assert not (await service.task(task.id)).state.terminal
    bench.services.remove(service)
    await service.stop()
    again = await bench.start()
    done = await ended(again, task, seconds=60)
    assert (done.state, [each.step for each in done.attempts]) == (State.COMPLETED, ["first", "retry"])
    assert runs.read_text() == "run run "
    assert not planning.go.is_set()


async def test_a_cancel_while_it_is_planned_wins(bench, runs):
    service, planning, task = await in_planning(bench, runs)
    await service.cancel(task.id, "you")
    planning.go.set()
    done = await ended(service, task)
    assert (len(done.attempts), done.cancel_requested_by, runs.read_text()) == (1, "you", "run ")
    assert not {"task.retry", "task.not_again"} & set(await types(service, done))


async def test_a_plan_that_is_refused_ends_the_task_with_both_reasons(bench, runs):
    service, planning, task = await in_planning(bench, runs)
    planning.answers = [decision(candidate("here", None, verdicts=(against("capacity"),)), sentence="No room at here.")]
    planning.go.set()
    done = await ended(service, task)
    assert (done.state, len(done.attempts)) == (State.FAILED, 1)
    assert "Stale file handle" in done.cause
    assert done.next.startswith("It would have been tried again, but no room at here.")


async def test_while_no_site_answers_it_waits_and_then_goes_on(bench, runs, monkeypatch):
    monkeypatch.setattr(endings, "AGAIN_S", 0.2)
    service, planning, task = await in_planning(bench, runs)
    silent = candidate("here", None, verdicts=(against("health", "health"),))
    planning.answers = [decision(silent, sentence="here has not been read for 20 min.")] * 2
    planning.go.set()

    async def troubled():
        return (await service.task(task.id)).attempt.trouble

    assert "goes on when a site answers again: here has not been read" in await until(troubled)
    done = await ended(service, task, seconds=60)
    assert (done.state, len(done.attempts)) == (State.COMPLETED, 2)


async def test_a_new_plan_that_nobody_can_fulfil_changes_nothing(bench, runs):
    service = await bench.start()
    planning = Planning(service)
    task = await bench.submit(service, "answer = 1", outputs=("answer",))
    planning.begin()
    planning.go.set()
    planning.answers = [decision(candidate("here", None), sentence="No site can run this.")]
    waits = (await service.task(task.id)).model_copy(update={"state": State.PENDING, "phase": State.PENDING.phase})
    with pytest.raises(Infeasible, match="stays where it is"):
        await service.engine.asked.replan(waits, "you", unpin=False)


async def test_a_task_held_before_it_was_sent_is_sent_when_it_is_released(bench, runs):
    service = await bench.start()
    watcher = service.engine._watchers["here"]
    sends = watcher._arrivals.submitter._send
    watcher._arrivals.submitter._holds = lambda: asyncio.sleep(0, result=False)
    service.engine._hold = lambda: asyncio.sleep(0, result=False)
    task = await bench.submit(service, flaky(runs, 0), outputs=("answer",))
    await in_state(service, task, State.WAITING)
    await service.hold(task.id, "you")
    watcher._arrivals.submitter._holds = lambda: asyncio.sleep(0, result=True)
    watcher._arrivals.submitter._send = sends
    watcher.watched[task.id].hurry.set()
    await ended(service, await bench.submit(service, "pass", name="other"))
    held = await service.task(task.id)
    assert (held.state, held.held_by, held.attempt.submissions) == (State.WAITING, "you", 0)
    await service.release(task.id, "you")
    done = await ended(service, task)
    assert (done.state, len(done.attempts), runs.read_text()) == (State.COMPLETED, 1, "run ")


async def test_a_work_that_is_longer_than_its_time_limit_goes_on_in_the_next_segment(bench, runs):
    service = await bench.start()
    save = "with checkpoint.saving('half'): pass"
    source = (
        f"{flaky(runs, 0)}\nimport time\nfrom jupyter_diamond import checkpoint\n{save}\nif ran == 1: time.sleep(60)"
    )
    short = Envelope(walltime_s=Span.exactly(2))
    healing = Healing(retries=0, segments=2)
    task = await bench.submit(service, source, outputs=("answer",), envelope=short, healing=healing)
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempts[0].state) == (State.COMPLETED, State.TIMEOUT), done.attempts
    assert (done.attempt.step, done.attempt.segment) == ("segment", 2)
    assert done.attempt.why == "Segment 2 of 2, from checkpoint half: attempt 1 reached its time limit of 2 s."
    assert await value(service, done) == 2


async def test_a_cell_that_had_finished_is_not_run_again_for_what_became_of_its_job(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(service, cells.held(tmp_path / "go", "answer = 1"), outputs=("answer",))

    async def running():
        found = await service.task(task.id)
        return found if found.state is State.RUNNING else None

    found = await until(running)
    end = EndFile(format=1, token=found.attempt.token, by="runner", outcome="OK", exit_code=0, at=time.time())
    changes = {"state": State.NODE_FAIL, "ended_at": from_epoch(time.time()), "cause": "Its node failed."}
    done = await service.engine.healer.end(found, changes, Ended(State.NODE_FAIL, end=end))
    assert (done.state, done.attempt.failure, len(done.attempts)) == (State.NODE_FAIL, "node", 1)
    said = [event for event in (await service.task_events(task.id)).events if event.type == "task.not_again"]
    assert [event.data["why"] for event in said] == [
        "The cell itself had finished before, so it is not run a second time."
    ]
    (tmp_path / "go").touch()
