"""Data by name at real sites of this machine: brought before a job, used by it, and what it leaves brought away."""

from __future__ import annotations

import asyncio
import os
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from jupyter_diamond.errors import Conflict, Infeasible, InvalidRequest, NotFound
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.locations import location_of
from jupyter_diamond.parsing.stagings import stage_in_of, stage_out_of
from jupyter_diamond.placement.explain import explain
from tests.engine import arrays, cells
from tests.engine.conftest import ended, until

pytestmark = pytest.mark.asyncio
READS = "from jupyter_diamond import data_path\nprint(open(data_path('words') + '/a.txt').read())"


class Gate:
    """A mover that waits to be let through, and counts."""

    def __init__(self, mover):
        self.kind, self._mover = mover.kind, mover
        self.open, self.began, self.moved = asyncio.Event(), asyncio.Event(), 0

    async def move(self, move):
        self.began.set()
        await self.open.wait()
        self.moved += 1
        return await self._mover.move(move)

    async def cancel(self, move):
        await self._mover.cancel(move)


def needs(*stage_in, out=(), site="box", **fields):
    return Envelope(
        site=site, walltime_s=Span.exactly(600), stage_in=tuple(map(stage_in_of, stage_in)),
        stage_out=tuple(map(stage_out_of, out)), **fields,
    )  # fmt: skip


@pytest.fixture
def words(bench):
    """Data that its user has on this machine."""
    folder = bench.folder / "words"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("first")
    (folder / "sub" / "b.bin").write_bytes(os.urandom(70_000))
    return folder


@pytest.fixture
def pool(bench):
    """This machine twice: ``box`` and ``other`` keep their data in folders of their own."""
    sites = "".join(
        f"  - {{name: {name}, scheduler: process, workdir: {bench.folder / name},"
        f" data: {{folder: {bench.folder / name / 'scratch'}, purge_days: 30}}}}\n"
        for name in ("box", "other")
    )
    bench.sites_path.write_text(f"sites:\n{sites}")
    return bench


def gated(service):
    gate = Gate(service.transfers.movers["copy"])
    service.transfers.movers["copy"] = gate
    return gate


async def log_of(service, task):
    return (await service.logs(task.id)).text


async def kinds(service, task):
    return [event.type for event in (await service.task_events(task.id)).events]


async def test_data_is_brought_once_used_again_and_brought_anew_when_it_has_changed(pool, words):
    service = await pool.start()
    added = await service.data.add("words", location_of(str(words)), "two files")
    assert (added.size.files, added.replicas[0].state, added.note) == (2, "here", "two files")
    first = await ended(service, await pool.submit(service, READS, name="first", envelope=needs("words")))
    assert (first.state, first.attempt.staged[0].name, await log_of(service, first)) == (
        State.COMPLETED, "words", "first\n",
    )  # fmt: skip
    assert "attempt.staging" in await kinds(service, first)
    again = await ended(service, await pool.submit(service, READS, name="again", envelope=needs("words")))
    staged = again.attempt.staged[0]
    assert (again.state, staged.transfer, staged.path) == (State.COMPLETED, None, first.attempt.staged[0].path)
    assert len(await service.transfers.list()) == 1
    made = [each for each in (await service.data.get("words")).replicas if not each.given]
    assert [(each.location.site, each.state) for each in made] == [("box", "here")]
    assert made[0].purge_at - datetime.now(timezone.utc) > timedelta(days=29)
    (words / "a.txt").write_text("second")
    third = await ended(service, await pool.submit(service, READS, name="third", envelope=needs("words")))
    assert (await log_of(service, third), third.attempt.staged[0].path == staged.path) == ("second\n", False)
    assert len(await service.transfers.list()) == 2


async def test_a_site_that_sees_this_machines_files_uses_them_where_they_lie(pool, words):
    service = await pool.start()
    task = await pool.submit(service, READS, envelope=needs(f"words={words}", site="here"))
    done = await ended(service, task)
    assert (done.state, done.attempt.staged[0].path) == (State.COMPLETED, str(words))
    assert await service.transfers.list() == ()


async def test_a_copy_that_somebody_changed_is_not_used(pool, words):
    service = await pool.start()
    await service.data.add("words", location_of(str(words)))
    first = await ended(service, await pool.submit(service, READS, name="first", envelope=needs("words")))
    copy = first.attempt.staged[0].path
    await asyncio.to_thread(Path(copy, "a.txt").write_text, "spoiled")
    again = await ended(service, await pool.submit(service, READS, name="again", envelope=needs("words")))
    assert await log_of(service, again) == "first\n"
    assert again.attempt.staged[0].transfer is not None


async def test_what_is_missing_is_told_before_anything_is_queued(pool, words):
    service = await pool.start()
    with pytest.raises(Infeasible, match=r"words cannot get here: home:.*nowhere is not there"):
        await pool.submit(service, READS, envelope=needs(f"words={pool.folder}/nowhere", site=None))
    with pytest.raises(NotFound, match="no data named 'letters'"):
        await pool.submit(service, READS, envelope=needs("letters"))
    gone = await service.data.add("gone", location_of(f"{pool.folder}/nowhere"))
    assert (gone.replicas[0].state, gone.size) == ("missing", None)


async def test_what_goes_missing_after_the_plan_ends_the_attempt_as_one_of_its_data(pool, words):
    service = await pool.start()
    gate = gated(service)
    task = await pool.submit(service, READS, envelope=needs(f"words={words}"), healing=Healing(retries=0))
    await gate.began.wait()
    shutil.rmtree(words)
    gate.open.set()
    done = await ended(service, task)
    assert (done.state, done.attempt.failure, done.attempt.submissions) == (State.REJECTED, "data", 0)
    assert "did not get to box" in done.cause
    assert done.next


async def test_two_tasks_and_an_array_share_what_is_brought(pool, words):
    service = await pool.start()
    gate = gated(service)
    await service.data.add("words", location_of(str(words)))
    tasks = [await pool.submit(service, READS, name=name, envelope=needs("words")) for name in ("one", "two")]
    data = arrays.bundle(READS, range(3), name="many")
    request = cells.request(READS, data, name="many", envelope=needs("words"))
    asked = GroupRequest(request=request, members=tuple(Member(index=index) for index in range(3)))
    group = (await service.groups.submit(asked, data)).group

    async def all_wait():
        members = [f"{group.id}-{index}" for index in range(3)]
        found = [await service.task(ref) for ref in (*(task.id for task in tasks), *members)]
        return found if all(each.state is State.STAGING_IN for each in found) else None

    found = await until(all_wait)
    assert len({each.attempt.staged[0].transfer for each in found}) == 1
    gate.open.set()
    assert {(await ended(service, each)).state for each in found} == {State.COMPLETED}
    assert gate.moved == 1


async def test_a_cancel_ends_the_transfer_only_when_nobody_else_needs_it(pool, words):
    service = await pool.start()
    gate = gated(service)
    tasks = [await pool.submit(service, READS, name=name, envelope=needs(f"words={words}")) for name in ("one", "two")]

    async def both_wait():
        found = [await service.task(task.id) for task in tasks]
        return all(each.state is State.STAGING_IN for each in found)

    await until(both_wait)
    await service.cancel(tasks[0].id, "you")
    assert (await ended(service, tasks[0])).state is State.CANCELLED
    (transfer,) = await service.transfers.list()
    assert not transfer.ended
    assert transfer.cancel_requested_by is None
    await service.cancel(tasks[1].id, "you")
    assert (await ended(service, tasks[1])).state is State.CANCELLED
    assert (await service.transfers.wait(transfer.id)).state == "cancelled"
    assert gate.moved == 0


async def test_what_is_held_while_its_data_comes_lets_go_of_it_and_goes_on_when_released(pool, words):
    service = await pool.start()
    gate = gated(service)
    task = await pool.submit(service, READS, envelope=needs(f"words={words}"))
    await gate.began.wait()
    await until(lambda: _in(service, task, State.STAGING_IN))
    await service.hold(task.id, "you")
    (first,) = await service.transfers.list()
    assert (await service.transfers.wait(first.id)).state == "cancelled"
    await service.release(task.id, "you")
    gate.open.set()
    done = await ended(service, task)
    assert (done.state, done.attempt.n) == (State.COMPLETED, 2)
    assert gate.moved == 1


async def _in(service, task, state):
    return (await service.task(task.id)).state is state


async def test_a_better_place_is_where_the_data_lies(pool, words):
    service = await pool.start()
    folder = pool.folder / "other" / "given"
    shutil.copytree(words, folder)
    big = folder / "c.bin"
    with big.open("wb") as file:
        file.truncate(30 << 30)  # sparse: 5 min at the rate that is assumed of a copy
    await service.data.add("words", Location(kind="site", site="other", path=str(folder)))
    decision = await service.plan(needs("words", site=None))
    told = {each.site: each for each in decision.candidates}
    assert decision.choice.site == "other"
    assert told["other"].estimate.transfer_s == 0
    assert told["box"].estimate.transfer_s == pytest.approx(322, abs=5)
    said = next(each.sentence for each in told["box"].verdicts if each.rule == "data")
    assert said.startswith("words (30") or "comes from other by a copy, in about 5 min, as is assumed" in said
    assert "needs 5 min to move the data" in " ".join(explain(decision).split())


async def test_what_a_job_leaves_is_brought_where_it_says(pool):
    service = await pool.start()
    there = pool.folder / "results"
    source = "import os\nos.makedirs('ckpt')\nopen('ckpt/a.pt', 'w').write('weights')\nopen('log.txt', 'w').write('x')"
    task = await pool.submit(service, source, envelope=needs(out=(f"ckpt/*.pt=>{there}", "*.txt")))
    done = await ended(service, task)
    assert (done.state, done.attempt.job_state, len(done.attempt.staged_out)) == (State.COMPLETED, None, 1)
    assert [str(path.relative_to(there)) for path in there.rglob("*.*")] == ["ckpt/a.pt"]
    states = [event.data.get("state") for event in (await service.task_events(task.id)).events]
    assert states[-3:] == ["staging_out", None, "completed"]


async def test_files_that_cannot_be_brought_end_a_good_job_as_one_of_its_data(pool):
    service = await pool.start()
    (pool.folder / "file").write_text("no folder")
    task = await pool.submit(
        service, "open('a.txt', 'w').write('x')", envelope=needs(out=(f"*.txt=>{pool.folder}/file",))
    )
    done = await ended(service, task)
    assert (done.state, done.attempt.failure, done.attempt.job_state) == (State.FAILED, "data", State.COMPLETED)
    assert "The job ended well, but *.txt did not get to home:" in done.cause
    assert (await service.result(task.id)).manifest.outcome == "OK"
    assert len(done.attempts) == 1


async def test_what_a_failed_job_leaves_is_brought_and_its_failure_is_told(pool):
    service = await pool.start()
    there = pool.folder / "results"
    task = await pool.submit(
        service, "open('a.log', 'w').write('why')\n1 / 0", envelope=needs(out=(f"*.log=>{there}",))
    )
    done = await ended(service, task)
    assert (done.state, done.attempt.failure, done.cause) == (
        State.FAILED, "app_args", "ZeroDivisionError: division by zero.",
    )  # fmt: skip
    assert done.next == "Read its traceback."
    assert (there / "a.log").read_text() == "why"


async def test_members_bring_what_they_leave_to_folders_of_their_own(pool):
    service = await pool.start()
    there = pool.folder / "results"
    source = "open('a.txt', 'w').write(str(index))"
    data = arrays.bundle(source, range(2), name="many")
    request = cells.request(source, data, name="many", envelope=needs(out=(f"a.txt=>{there}",)))
    asked = GroupRequest(request=request, members=tuple(Member(index=index) for index in range(2)))
    group = (await service.groups.submit(asked, data)).group
    for index in range(2):
        done = await ended(service, await service.task(f"{group.id}-{index}"))
        assert done.state is State.COMPLETED, done.cause
        assert (there / str(index) / "a.txt").read_text() == str(index)


async def test_a_cancel_while_files_are_brought_leaves_the_result(pool):
    service = await pool.start()
    gate = gated(service)
    envelope = needs(out=(f"*.txt=>{pool.folder}/results",))
    task = await pool.submit(service, "open('a.txt', 'w').write('x')", envelope=envelope)
    await gate.began.wait()
    assert (await service.task(task.id)).state is State.STAGING_OUT
    await service.cancel(task.id, "you")
    done = await ended(service, task)
    assert (done.state, done.attempt.job_state) == (State.CANCELLED, State.COMPLETED)
    assert (await service.result(task.id)).manifest.outcome == "OK"


async def test_names_are_given_looked_at_and_forgotten_and_only_copies_of_ours_are_deleted(pool, words):
    service = await pool.start()
    here = location_of(str(words))
    await service.data.add("words", here)
    await service.data.add("words", here, "the same once more")
    assert [(each.name, each.note, len(each.replicas)) for each in await service.data.list()] == [
        ("words", "the same once more", 1)
    ]
    await ended(service, await pool.submit(service, READS, envelope=needs("words")))
    made = (await service.data.get("words")).replicas[1].location
    listing = await service.data.listing("words", "box")
    assert [each.path for each in listing.files] == ["a.txt", "sub/b.bin"]
    assert await service.data.where("words", "box") == made.path
    assert await service.data.where("words", "other") is None
    with pytest.raises(InvalidRequest, match="You named"):
        await service.data.drop_replica("words", here, listing.digest)
    with pytest.raises(Conflict, match="not what was listed"):
        await service.data.drop_replica("words", made, "sha256:other")
    left = await service.data.drop_replica("words", made, listing.digest)
    assert [each.location for each in left.replicas] == [here]
    assert not await asyncio.to_thread(Path(made.path).exists)
    (words / "a.txt").unlink()
    assert (await service.data.check("words")).size.files == 1
    await service.data.remove("words")
    assert words.is_dir()
    assert await service.data.list() == ()
    with pytest.raises(InvalidRequest, match="cannot name data"):
        await service.data.add("no name", here)
