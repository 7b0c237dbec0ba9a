"""Who waits is woken: once, in order, also for what happened while no server was there."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import jupyter_diamond
from jupyter_diamond.errors import InvalidRequest, NotFound, StoreError
from jupyter_diamond.model.continuation import (
    AttemptFailed,
    InState,
    Milestone,
    Overrun,
    Registration,
    Terminal,
    Waking,
)
from jupyter_diamond.model.states import Outcome, State
from tests.engine import cells
from tests.engine.conftest import ended, until
from tests.engine.heal.samples import flaky

pytestmark = pytest.mark.asyncio


def wish(task, condition, consumer="monday", **fields):
    return Registration(
        id=fields.pop("id", uuid.uuid4().hex), subject=task.id, condition=condition, consumer=consumer, **fields
    )


async def news(service, consumer="monday", count=1, after=None):
    """The next pieces of news, as a consumer gets them that waits and does not acknowledge."""
    found = []
    while len(found) < count:
        page = await service.consumers.wait(consumer, found[-1].seq if found else after, wait=20)
        assert page.events, f"only {found!r}"
        found += page.events
    return [Waking.model_validate(event.data) for event in found], found[-1].seq


async def restart(bench, service):
    await service.stop()
    bench.services.remove(service)
    return await bench.start()


async def test_the_end_wakes_with_where_how_and_what_next(bench):
    service = await bench.start()
    task = await bench.submit(service, "answer = 1", outputs=("answer",))
    await service.consumers.register(wish(task, Terminal()))
    (told,), seq = await news(service)
    assert (told.over, told.kind, told.state, told.outcome) == ("fired", "terminal", State.COMPLETED, Outcome.OK)
    assert (told.name, told.provenance.site, told.provenance.attempt) == ("fit", "here", 1)
    assert told.manifest.path == f"tasks/{task.id}/result"
    assert told.actions[0].verb == "result"
    assert told.happened_at == (await service.task(task.id)).attempt.ended_at
    await service.consumers.ack("monday", seq)
    assert (await service.consumers.wait("monday")).events == ()


async def test_what_has_happened_already_wakes_at_once(bench):
    service = await bench.start()
    task = await ended(service, await bench.submit(service, "print('epoch 1')\n1 / 0"))
    wishes = [
        Terminal(outcomes=(Outcome.FAILED,)), InState(states=(State.RUNNING,)), AttemptFailed(),
        Milestone(pattern=r"epoch \d"), Milestone(pattern="epoch 2"), Terminal(outcomes=(Outcome.OK,)),
    ]  # fmt: skip
    for condition in wishes:
        await service.consumers.register(wish(task, condition))
    told, _ = await news(service, count=len(wishes))
    assert sorted((each.kind, each.over) for each in told) == [
        ("exception", "fired"), ("milestone", "ended"), ("milestone", "fired"), ("state", "fired"),
        ("terminal", "ended"), ("terminal", "fired"),
    ]  # fmt: skip
    assert next(each.line for each in told if each.line) == "epoch 1"
    assert all("ZeroDivisionError" in each.cause for each in told)


async def test_a_milestone_in_the_log_wakes_while_the_job_runs(bench, tmp_path):
    service = await bench.start()
    source = "print('epoch 1', flush=True)\n" + cells.held(tmp_path / "go", "print('epoch 10 loss 0.1')")
    task = await bench.submit(service, source)
    await service.consumers.register(wish(task, Milestone(pattern=r"epoch 1$")))
    await service.consumers.register(wish(task, Milestone(pattern=r"^epoch \d\d loss")))
    (first,), seq = await news(service)
    assert (first.line, first.state, first.task_state) == ("epoch 1", State.RUNNING, State.RUNNING)
    assert "cancel" in {action.verb for action in first.actions}
    (tmp_path / "go").touch()
    (second,), _ = await news(service, after=seq)
    assert second.line == "epoch 10 loss 0.1"


async def test_two_consumers_are_each_told_in_the_order_in_which_it_happened(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(service, cells.held(tmp_path / "go", "print('half')\nprint('done')"))
    for consumer in ("monday", "tuesday"):
        await service.consumers.register(wish(task, Terminal(), consumer))
        await service.consumers.register(wish(task, InState(states=(State.RUNNING,)), consumer))
    await news(service)
    (tmp_path / "go").touch()
    for consumer in ("monday", "tuesday"):
        told, _ = await news(service, consumer, count=2)
        assert [each.kind for each in told] == ["state", "terminal"]
    _, seq = await news(service, "monday", count=2)
    await service.consumers.ack("monday", seq)
    assert (await service.consumers.wait("monday")).events == ()
    assert len((await service.consumers.wait("tuesday")).events) == 2


async def test_a_job_that_runs_for_too_long_wakes_by_the_clock(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(service, cells.held(tmp_path / "go", "pass"))
    await service.consumers.register(wish(task, Overrun(running_s=0.5)))
    (told,), _ = await news(service)
    attempt = (await service.task(task.id)).attempt
    assert (told.kind, told.state) == ("overrun", State.RUNNING)
    assert (told.happened_at - attempt.started_at).total_seconds() == 0.5
    (tmp_path / "go").touch()


async def test_a_wish_that_expires_says_so(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(service, cells.held(tmp_path / "go", "pass"))
    await service.consumers.register(wish(task, Terminal(), lasts_s=0.3))
    (told,), _ = await news(service)
    assert (told.over, told.task_state.terminal) == ("expired", False)
    assert await service.consumers.waiting("monday") == ()
    (tmp_path / "go").touch()


async def test_one_that_was_taken_back_is_not_woken(bench):
    service = await bench.start()
    task = await bench.submit(service, "pass")
    first, second = wish(task, Terminal()), wish(task, Terminal())
    for each in (first, second):
        await service.consumers.register(each)
    await service.consumers.withdraw(first.id)
    told, _ = await news(service)
    assert [each.continuation for each in told] == [second.id]
    await ended(service, task)
    assert len((await service.consumers.wait("monday")).events) == 1


async def test_nonsense_is_refused_in_a_sentence(bench):
    service = await bench.start()
    task = await ended(service, await bench.submit(service, "pass"))
    with pytest.raises(InvalidRequest, match="look-around"):
        await service.consumers.register(wish(task, Milestone(pattern="(?=x)")))
    with pytest.raises(InvalidRequest, match=r"c\.DiamondNews\.webhook_url"):
        await service.consumers.register(wish(task, Terminal(), "webhook"))
    with pytest.raises(NotFound):
        await service.consumers.register(wish(task.model_copy(update={"id": "nope"}), Terminal()))


async def test_what_happened_between_two_servers_is_told_by_the_second(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(service, cells.held(tmp_path / "go", "print('epoch 2')"))

    async def running():
        return (await service.task(task.id)).state is State.RUNNING

    await until(running)
    for condition in (Terminal(), Milestone(pattern="epoch 2")):
        await service.consumers.register(wish(task, condition))
    folder = Path((await service.task(task.id)).attempt.folder)
    await service.stop()
    bench.services.remove(service)
    (tmp_path / "go").touch()
    await until(lambda: asyncio.to_thread((folder / "end.json").exists))
    told, _ = await news(await bench.start(), count=2)
    assert {each.kind for each in told} == {"terminal", "milestone"}


async def test_news_that_were_not_acknowledged_come_again_after_a_restart_and_only_once_each(bench):
    service = await bench.start()
    task = await bench.submit(service, "pass")
    await service.consumers.register(wish(task, InState(states=(State.RUNNING,))))
    await service.consumers.register(wish(task, Terminal()))
    before, seq = await news(service, count=2)
    service = await restart(bench, service)
    after, again = await news(service, count=2)
    assert (after, again) == (before, seq)
    await service.consumers.ack("monday", seq)
    service = await restart(bench, service)
    assert (await service.consumers.wait("monday", wait=1.0)).events == ()


async def test_a_server_that_only_reads_takes_registrations_and_the_other_wakes(bench, tmp_path):
    holder = await bench.start()
    reader = await bench.start()
    assert (holder.engine.advances, reader.engine.advances) == (True, False)
    task = await bench.submit(holder, cells.held(tmp_path / "go", "pass"))
    await reader.consumers.register(wish(task, Terminal()))
    (tmp_path / "go").touch()
    for service in (reader, holder):
        (told,), _ = await news(service)
        assert told.kind == "terminal"


async def test_a_failed_attempt_is_told_at_once_and_the_end_only_when_nothing_follows(bench, tmp_path):
    """A task that heals: news name the attempt, and the log of each attempt is searched."""
    service = await bench.start()
    task = await bench.submit(service, flaky(tmp_path / "runs", 2) + "\nprint('epoch', ran)")
    for condition in (AttemptFailed(), Milestone(pattern="epoch 3"), Terminal()):
        await service.consumers.register(wish(task, condition))
    told, _ = await news(service, count=3)
    by_kind = {each.kind: each for each in told}
    failed, end, line = by_kind["exception"], by_kind["terminal"], by_kind["milestone"]
    assert told[0] == failed
    assert (failed.provenance.attempt, failed.state, failed.task_state.terminal) == (1, State.FAILED, False)
    assert "Stale file handle" in failed.cause
    assert (end.provenance.attempt, end.provenance.attempts, end.outcome) == (3, 3, Outcome.OK)
    assert end.provenance.step == "retry"
    assert (line.provenance.attempt, line.line) == (3, "epoch 3")


async def test_a_site_that_hangs_delays_nobody_elses_news(bench, monkeypatch):
    service = await bench.start()
    task = await ended(service, await bench.submit(service, "print('epoch 1')"))
    other = await ended(service, await bench.submit(service, "pass", name="other"))
    transport = service.links["here"].transport
    get, asked, free = transport.get, asyncio.Event(), asyncio.Event()

    async def hangs(path, **options):
        asked.set()
        await free.wait()
        return await get(path, **options)

    monkeypatch.setattr(transport, "get", hangs)
    await service.consumers.register(wish(task, Milestone(pattern="epoch 1")))
    await asyncio.wait_for(asked.wait(), 20)
    await service.consumers.register(wish(other, Terminal(), "tuesday"))
    (told,), _ = await news(service, "tuesday")
    assert told.name == "other"
    assert (await service.consumers.wait("monday")).events == ()
    free.set()
    (told,), _ = await news(service)
    assert told.line == "epoch 1"


async def test_a_store_that_cannot_be_written_is_tried_again(bench, monkeypatch):
    service = await bench.start()
    task = await ended(service, await bench.submit(service, "pass"))
    store = service.engine._ledger.store.continuations
    close, tries = store.close, []

    def locked(*args, **options):
        tries.append(1)
        if len(tries) < 3:
            raise StoreError("The task store is locked.", transient=True)
        return close(*args, **options)

    monkeypatch.setattr(store, "close", locked)
    monkeypatch.setattr("jupyter_diamond.engine.news.continuations._AGAIN_S", 1.0)
    await service.consumers.register(wish(task, Terminal()))
    (told,), _ = await news(service)
    assert (told.kind, len(tries)) == ("terminal", 3)


SERVER = """
import asyncio, logging, sys
from pathlib import Path
from tests.engine.conftest import Bench
from jupyter_diamond.engine.news import continuations

async def main():
    if sys.argv[2] == "deaf":  # it advances work, and dies before it tells anybody
        async def never(*_): await asyncio.Event().wait()
        continuations.Continuations._close = never
    await Bench(Path(sys.argv[1])).start(lease_s=2.0)
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_server_killed_between_end_and_telling_loses_nothing(bench, tmp_path):
    """The end is in the store, the news are not: whoever takes over tells them, once."""
    env = {**os.environ, "PYTHONPATH": str(Path(jupyter_diamond.__file__).parents[1])}
    command = [sys.executable, "-c", SERVER, str(bench.folder), "deaf"]
    server = await asyncio.create_subprocess_exec(*command, env=env, stdout=subprocess.PIPE)
    assert await asyncio.wait_for(server.stdout.readline(), 60) == b"ready\n"
    reader = await bench.start(lease_s=2.0)
    assert not reader.engine.advances
    task = await bench.submit(reader, "print('here it is')")
    for condition in (Terminal(), Milestone(pattern="here it is")):
        await reader.consumers.register(wish(task, condition))
    await ended(reader, task, seconds=60)
    assert (await reader.consumers.wait("monday")).events == ()
    server.send_signal(signal.SIGKILL)
    await server.wait()
    told, seq = await news(reader, count=2)
    assert {each.kind for each in told} == {"terminal", "milestone"}
    await reader.consumers.ack("monday", seq)
    assert (await reader.consumers.wait("monday", wait=0.5)).events == ()
