"""The main job without a notebook: a sealed cell in, a result out, on this machine as a real site."""

import asyncio
import base64
import json
import os
import re
import signal
from pathlib import Path

import pytest

from jupyter_diamond.errors import Conflict, Infeasible, InvalidRequest, NotFound, ResultUnavailable
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import Outcome, State
from tests.engine import cells
from tests.engine.conftest import ended, readings, until

pytestmark = pytest.mark.asyncio


async def test_a_cell_runs_and_its_value_output_and_log_come_back(bench):
    service = await bench.start()
    task = await bench.submit(service, "print('hello')\nanswer = 6 * 7\nanswer", outputs=("answer",))
    assert task.attempt.site == "here"
    assert "here" in task.why_here
    done = await ended(service, task)
    assert (done.state, done.outcome, done.attempt.exit_code) == (State.COMPLETED, Outcome.OK, 0)
    view = await service.result(task.id)
    assert json.loads(base64.b64decode(view.inline[view.manifest.values[0].file])) == 42
    assert [output["output_type"] for output in view.outputs] == ["stream", "execute_result"]
    log = await service.logs(task.id)
    assert "hello" in log.text
    (before,) = await service.ledger.do(service.ledger.store.past_runs, done.digest, "")
    assert (before.task, before.site, before.same, before.run_s > 0) == (done.id, "here", "digest", True)


async def test_a_plan_that_is_shown_and_the_one_that_is_submitted_are_reordered_alike(bench):
    service = await bench.start()
    asked = []

    async def reorder(decision):
        asked.append(decision)
        return decision.model_copy(update={"ranking": "turned around"})

    service.reorder = reorder
    assert (await service.plan(Envelope())).ranking == "turned around"
    task = await bench.submit(service, "x = 1")
    assert len(asked) == 2
    assert (await service.decision(task.id)).ranking == "turned around"
    await ended(service, task)


async def test_a_lot_without_a_seed_is_drawn_and_recorded(bench):
    service = await bench.start()
    drawn = {(await service.plan(Envelope(objective="random"))).seed for _ in range(3)}
    assert None not in drawn
    assert len(drawn) == 3
    assert (await service.plan(Envelope(objective="random", seed=7))).seed == 7


async def test_events_tell_the_story_in_order(bench):
    service = await bench.start()
    task = await bench.submit(service, "pass")
    await ended(service, task)
    page = await service.task_events("fit")
    types = [event.type for event in page.events]
    assert types[:2] == ["task.created", "decision.made"]
    for earlier, later in (
        ("attempt.submitting", "attempt.submitted"),
        ("attempt.submitted", "attempt.result_ready"),
        ("attempt.result_ready", "attempt.terminal"),
    ):
        assert types.index(earlier) < types.index(later)
    assert [event.seq for event in page.events] == sorted({event.seq for event in page.events})


async def test_an_exception_is_a_failure_with_its_own_words(bench):
    service = await bench.start()
    done = await ended(service, await bench.submit(service, "1 / 0"))
    assert done.state is State.FAILED
    assert done.cause == "ZeroDivisionError: division by zero."
    view = await service.result(done.id)
    assert view.manifest.error.ename == "ZeroDivisionError"


async def test_the_same_client_token_is_the_same_task(bench):
    service = await bench.start()
    source = "pass"
    data = cells.bundle(source)
    ask = cells.request(source, data)
    first, second = await asyncio.gather(service.submit(ask, data), service.submit(ask, data))
    assert first.task.id == second.task.id
    await ended(service, first.task)
    folders = list(Path(first.task.attempt.folder or (await service.task("fit")).attempt.folder).parent.iterdir())
    assert len(folders) == 1


async def test_the_same_cell_while_active_attaches_and_another_is_refused(bench):
    """B27: running the cell again never submits it twice by accident."""
    service = await bench.start()
    source = "import time; time.sleep(60)"
    task = await bench.submit(service, source)
    data = cells.bundle(source)
    again = await service.submit(cells.request(source, data), data)
    assert (again.attached, again.task.id) == (True, task.id)
    with pytest.raises(Conflict, match=r"still .* runs another cell.*--again"):
        await bench.submit(service, "pass")
    other = await bench.submit(service, "pass", again=True)
    assert other.id != task.id
    await ended(service, other)


async def test_cancel_ends_a_running_cell(bench):
    service = await bench.start()
    task = await bench.submit(service, "import time; print('up', flush=True); time.sleep(300)")

    async def running():
        return (await service.task(task.id)).state is State.RUNNING

    await until(running)
    await service.cancel("fit", "you")
    done = await ended(service, task)
    assert (done.state, done.cause) == (State.CANCELLED, "Cancelled by you.")


async def test_a_restarted_server_finds_the_job_it_left_running(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(service, cells.held(tmp_path / "go", "answer = 1"), outputs=("answer",))

    async def running():
        return (await service.task(task.id)).state is State.RUNNING

    await until(running)
    await service.stop()
    bench.services.remove(service)
    again = await bench.start()
    (tmp_path / "go").touch()
    done = await ended(again, task)
    assert done.state is State.COMPLETED
    assert len(done.attempts) == 1
    assert (await again.result("fit")).manifest.values[0].name == "answer"


async def test_a_job_that_ended_while_no_server_was_there_is_completed(bench):
    service = await bench.start()
    task = await bench.submit(service, "answer = 1", outputs=("answer",))
    folder = await until(lambda: _folder(service, task))
    await service.stop()
    bench.services.remove(service)
    end = Path(folder) / "end.json"
    await until(lambda: _exists(end))
    done = await ended(await bench.start(), task)
    assert done.state is State.COMPLETED


async def _folder(service, task):
    attempt = (await service.task(task.id)).attempt
    return attempt.folder if attempt.native else None


async def _exists(path):
    return path.exists()


async def test_a_second_server_only_reads_and_its_submission_is_advanced_by_the_first(bench):
    first = await bench.start()
    second = await bench.start()
    assert (first.engine.advances, second.engine.advances) == (True, False)
    task = await bench.submit(second, "answer = 1", outputs=("answer",))
    done = await ended(second, task)
    assert done.state is State.COMPLETED
    assert (await first.task("fit")).id == task.id


async def test_a_runner_that_is_killed_is_a_failure_that_says_so(bench):
    service = await bench.start()
    task = await bench.submit(service, "import os, time; print(os.getpid(), flush=True); time.sleep(300)")

    async def pid():
        text = (await service.logs(task.id)).text.strip()
        return int(text) if text.isdigit() else None

    os.kill(await until(pid), signal.SIGKILL)
    done = await ended(service, task)
    assert done.state is State.FAILED
    assert "The cell was killed (signal 9)" in done.cause
    with pytest.raises(ResultUnavailable, match="left no result"):
        await service.result(task.id)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"gpus": Span.exactly(64)}, "here:machine: it has no GPUs"),
        ({"gpus": Span.exactly(1), "gpu_memory_bytes": 200 << 30}, "here:machine: it has no GPUs"),
        ({"max_charge": 1.0}, "what it would be charged is not known (to try it all the same, name --site here)"),
        ({"container": "apptainer"}, "which container runtimes it has is not known"),
        ({"site": "here", "partition": "gpu"}, "it has no partition gpu: choose --site here:machine"),
    ],
)
async def test_what_fits_nowhere_is_refused_with_each_sites_reason_and_nothing_is_submitted(bench, asked, reason):
    service = await bench.start()
    with pytest.raises(Infeasible, match=re.escape(reason)):
        await bench.submit(service, "pass", envelope=Envelope(**asked))
    assert await service.tasks() == ()


async def test_damaged_inputs_are_refused(bench):
    service = await bench.start()
    data = cells.bundle("pass")
    with pytest.raises(InvalidRequest, match="damaged"):
        await service.submit(cells.request("pass", data), data + b"x")


async def test_unknown_task_and_site_name_what_there_is(bench):
    service = await bench.start()
    with pytest.raises(NotFound, match="nothing"):
        await service.task("nothing")
    with pytest.raises(NotFound, match="the sites are: here"):
        await service.interpreter("moon", None, ())


async def test_the_interpreter_at_a_site_tells_version_and_missing_modules(bench):
    service = await bench.start()
    found = await service.interpreter("here", cells.request("", b"").python.executable, ("json", "no_such_module_x"))
    assert found.version == cells.VERSION
    assert found.missing == ("no_such_module_x",)
    gone = await service.interpreter("here", "/nowhere/python", ())
    assert "does not start at here" in gone.problem


async def test_only_files_of_the_result_are_handed_out(bench):
    service = await bench.start()
    task = await bench.submit(service, "answer = 1", outputs=("answer",))
    await ended(service, task)
    value = (await service.result(task.id)).manifest.values[0]
    assert await service.receipts.whole(task.id, value.file) == b"1"
    for path in ("key", "../key", "result/../key", "job.sh", "/etc/passwd", "result/", "result/a/b"):
        with pytest.raises(NotFound):
            await service.receipts.whole(task.id, path)


async def test_a_long_poll_returns_when_something_happens(bench):
    service = await bench.start()
    await readings(service)
    cursor = (await service.events(-1)).cursor
    waiting = asyncio.create_task(service.events(cursor, wait=10))
    await bench.submit(service, "pass")
    page = await asyncio.wait_for(waiting, 5)
    assert page.events[0].type == "task.created"
    assert page.cursor > cursor
