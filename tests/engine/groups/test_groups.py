"""Groups on this machine: round after round, whatever is stopped and started in between."""

from __future__ import annotations

import base64
import json
import uuid
from functools import partial

import pytest

from jupyter_diamond.errors import Conflict, Infeasible, InvalidRequest, NotFound
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import Outcome, Phase, State
from tests.engine import cells
from tests.engine.arrays import bundle
from tests.engine.conftest import until

pytestmark = pytest.mark.asyncio

NO_RETRY = Healing(retries=0)


async def submit(service, source, members, *, token=None, name="fit", outputs=(), again=False, envelope=None, **more):
    data = bundle(source, [member.index for member in members], name=name, outputs=outputs)
    request = cells.request(
        source, data, name=name, outputs=outputs, again=again, healing=more.pop("healing", NO_RETRY),
        envelope=envelope, client_token=token or str(uuid.uuid4()),
    )  # fmt: skip
    return await service.groups.submit(GroupRequest(request=request, members=members, **more), data)


def members(*rounds):
    """So many members in each round."""
    found = [number for number, count in enumerate(rounds, start=1) for _ in range(count)]
    return [Member(index=index, round=number) for index, number in enumerate(found)]


async def over(service, ref, seconds=60.0):
    async def check():
        group = await service.groups.group(ref)
        return group if group.phase is Phase.ENDED else None

    return await until(check, seconds)


async def running(service, ref, count=1):
    return (await service.groups.group(ref)).states.get(State.RUNNING, 0) == count


async def restarted(bench, service):
    bench.services.remove(service)
    await service.stop()
    return await bench.start(lookup_for_s=1.0)


async def kinds(service, ref):
    return [event.type for event in (await service.groups.events(ref)).events]


async def test_a_group_runs_and_its_values_come_back_together(bench):
    service = await bench.start()
    submitted = await submit(service, "answer = 6 * 7", members(3), outputs=("answer",), token="the-group-token-1")
    assert (submitted.created, submitted.group.members) == (True, 3)
    again = await submit(service, "answer = 6 * 7", members(3), outputs=("answer",), token="the-group-token-1")
    assert (again.created, again.group.id) == (False, submitted.group.id)
    assert await service.tasks() == ()
    done = await over(service, "fit")
    assert (done.outcome, done.states) == (Outcome.OK, {State.COMPLETED: 3})
    assert await kinds(service, "fit") == ["group.created", "group.round_started", "group.ended"]
    results = await service.groups.results("fit")
    assert [member.index for member in results.members] == [0, 1, 2]
    for member in results.members:
        (value,) = member.manifest.values
        assert json.loads(base64.b64decode(member.inline[value.file])) == 42
    assert (results.missing, results.next) == ((), None)
    page = await service.groups.results("fit", limit=2)
    assert [member.index for member in page.members] == [0, 1]
    assert [member.index for member in (await service.groups.results("fit", after=page.next)).members] == [2]
    assert (await service.task("fit[1]")).member.index == 1
    assert list((bench.folder / "diamond" / "spool").iterdir()) == []


async def test_rounds_follow_each_other_over_restarts_and_each_begins_once(bench, tmp_path):
    """The server dies while the first round runs, and again while the second does."""
    gates = [tmp_path / "one", tmp_path / "two"]
    source = cells.held(gates[0], "pass")
    service = await bench.start()
    group = (await submit(service, source, members(2, 2))).group
    await until(partial(running, service, group.id, 2))
    service = await restarted(bench, service)
    with pytest.raises(NotFound):
        await service.task("fit[2]")
    gates[0].touch()

    async def second():
        return (await service.groups.group(group.id)).round == 2

    await until(second)
    service = await restarted(bench, service)
    done = await over(service, group.id)
    assert (done.outcome, done.states, done.round, done.rounds) == (Outcome.OK, {State.COMPLETED: 4}, 2, 2)
    told = await kinds(service, group.id)
    assert [told.count(kind) for kind in ("group.round_started", "group.round_finished", "group.ended")] == [2, 1, 1]
    tasks = await service.groups.tasks(group.id)
    assert [(task.index, task.attempts) for task in tasks] == [(0, 1), (1, 1), (2, 1), (3, 1)]


async def test_a_round_that_failed_keeps_the_rest_from_being_submitted(bench):
    service = await bench.start()
    group = (await submit(service, "1 / 0", members(1, 3))).group
    done = await over(service, group.id)
    assert (done.outcome, done.states) == (Outcome.FAILED, {State.FAILED: 1})
    assert done.cause == "Round 2 waits for fit[0] to end well, and fit[0] failed: 3 members are not submitted."
    assert (await kinds(service, group.id))[-2:] == ["group.stopped", "group.ended"]
    (told,) = (await service.groups.results(group.id)).members
    assert told.manifest.error.ename == "ZeroDivisionError"


async def test_rounds_may_follow_whatever_came_of_the_one_before_and_wait_for_the_required_only(bench):
    service = await bench.start()
    mixed = [Member(index=0, required=False), Member(index=1), Member(index=2, round=2)]
    group = (await submit(service, "raise SystemExit(3)", mixed, next_round="ended")).group
    done = await over(service, group.id)
    assert (done.outcome, done.states) == (Outcome.FAILED, {State.FAILED: 3})
    assert "group.stopped" not in await kinds(service, group.id)


async def test_only_so_many_run_at_once(bench, tmp_path):
    service = await bench.start()
    gate = tmp_path / "gate"
    group = (await submit(service, cells.held(gate, "pass"), members(3), at_once=1)).group
    await until(partial(running, service, group.id))
    tasks = await service.groups.tasks(group.id)
    assert [task.state for task in tasks[1:]] == [State.WAITING, State.WAITING]
    assert (await service.groups.replan(group.id, "you")).states == (await service.groups.group(group.id)).states
    gate.touch()
    assert (await over(service, group.id)).states == {State.COMPLETED: 3}
    with pytest.raises(Conflict, match="have started"):
        await service.groups.replan(group.id, "you")


async def test_cancel_ends_what_runs_what_waits_and_what_never_began(bench, tmp_path):
    service = await bench.start()
    group = (await submit(service, cells.held(tmp_path / "never", "pass"), members(3, 2), at_once=1)).group
    await until(partial(running, service, group.id))
    await service.groups.cancel("fit", "you")
    done = await over(service, group.id)
    assert (done.outcome, done.states, done.cancel_requested_by) == (Outcome.CANCELLED, {State.CANCELLED: 3}, "you")


async def test_a_held_group_goes_on_when_it_is_released(bench, tmp_path):
    service = await bench.start()
    gate = tmp_path / "gate"
    group = (await submit(service, cells.held(gate, "pass"), members(1, 1))).group
    held = await service.groups.hold(group.id, "you")
    assert held.held_by == "you"
    gate.touch()
    await until(lambda: _first_is_over_or_held(service))
    assert (await service.groups.group(group.id)).round == 1
    await service.groups.release(group.id, "you")
    assert (await over(service, group.id)).states == {State.COMPLETED: 2}


async def _first_is_over_or_held(service):
    task = await service.task("fit[0]")
    return task.state.terminal or task.held_by == "you"


async def test_the_same_group_attaches_and_another_of_that_name_is_refused(bench, tmp_path):
    service = await bench.start()
    source = cells.held(tmp_path / "gate", "pass")
    group = (await submit(service, source, members(2))).group
    twin = await submit(service, source, members(2))
    assert (twin.attached, twin.group.id) == (True, group.id)
    with pytest.raises(Conflict, match="as another group"):
        await submit(service, source, members(3))
    with pytest.raises(Conflict, match="as another group"):
        await bench.submit(service, "pass")
    (tmp_path / "gate").touch()
    await over(service, group.id)


async def test_what_cannot_run_anywhere_is_refused_and_leaves_nothing(bench):
    service = await bench.start()
    envelope = Envelope(gpus=Span.exactly(64), walltime_s=Span.exactly(60))
    with pytest.raises(Infeasible, match="GPU"):
        await submit(service, "pass", members(2), envelope=envelope)
    data = cells.bundle("pass")
    request = cells.request("pass", data)
    with pytest.raises(InvalidRequest, match="damaged"):
        await service.groups.submit(GroupRequest(request=request, members=members(1)), b"something else")
    assert await service.groups.groups() == ()
    assert list((bench.folder / "diamond" / "spool").iterdir()) == []
