"""Being woken by groups: their end, a quorum, the first member that fails; told once, over restarts."""

from __future__ import annotations

from functools import partial

import pytest

from jupyter_diamond.engine.news.waking import as_data
from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.continuation import (
    AttemptFailed,
    InState,
    Milestone,
    Quorum,
    Registration,
    Terminal,
    Waking,
)
from jupyter_diamond.model.states import Outcome, State
from tests.engine import cells
from tests.engine.conftest import until
from tests.engine.groups.test_groups import members, over, restarted, running, submit

pytestmark = pytest.mark.asyncio


def wish(number, condition, subject="fit"):
    return Registration(id=f"wish-{number:08d}", subject=subject, condition=condition, consumer="agent:7")


async def news(service, count):
    async def check():
        events = (await service.consumers.wait("agent:7")).events
        return events if len(events) >= count else None

    return [Waking.model_validate(event.data) for event in await until(check, 60)]


async def test_a_quorum_the_first_failure_and_the_end_are_told_once_each(bench, tmp_path):
    gate, done = tmp_path / "gate", tmp_path / "done"
    source = f"import os, pathlib\nif pathlib.Path({str(done)!r}).exists(): 1 / 0\n{cells.held(gate, 'pass')}"
    service = await bench.start()
    group = (await submit(service, source, members(3), at_once=1, next_round="ended")).group
    for number, condition in enumerate((
        Quorum(count=1), Quorum(share=1.0, well=True), AttemptFailed(), Terminal(), Terminal(outcomes=(Outcome.OK,)),
    )):  # fmt: skip
        made = await service.consumers.register(wish(number, condition, ("fit", group.id)[number % 2]))
        assert made.continuation.subject == f"group:{group.id}"
    assert len(await service.consumers.waiting(ref="fit")) == 5
    done.touch()  # the first is past this line, or fails as the others do
    gate.touch()
    await over(service, group.id)
    told = {each.continuation[-1]: each for each in await news(service, 5)}
    quorum, all_well, failed, ended, ended_well = (told[str(number)] for number in range(5))
    assert (quorum.kind, quorum.over, quorum.group.members) == ("quorum", "fired", 3)
    assert (all_well.over, ended_well.over) == ("ended", "ended")
    assert (failed.subject, failed.state, failed.cause) == (
        f"group:{group.id}", State.FAILED, "ZeroDivisionError: division by zero."
    )  # fmt: skip
    assert failed.name.startswith("fit[")
    assert failed.provenance.site == "here"
    assert (ended.outcome, ended.state, ended.group.id) == (Outcome.FAILED, State.FAILED, group.id)
    assert [action.verb for action in ended.actions] == ["group", "events"]
    assert len((await service.consumers.wait("agent:7")).events) == 5
    assert await service.consumers.waiting() == ()


async def test_what_happened_while_no_server_listened_is_told_by_the_next(bench, tmp_path):
    service = await bench.start()
    group = (await submit(service, cells.held(tmp_path / "gate", "pass"), members(2))).group
    await service.consumers.register(wish(1, Quorum(share=0.5)))
    await service.consumers.register(wish(2, Terminal()))
    await until(partial(running, service, group.id, 2))
    (tmp_path / "gate").touch()
    service = await restarted(bench, service)
    await over(service, group.id)
    told = await news(service, 2)
    assert sorted((each.kind, each.over) for each in told) == [("quorum", "fired"), ("terminal", "fired")]
    again = await restarted(bench, service)
    assert len((await again.consumers.wait("agent:7")).events) == 2


async def test_what_cannot_happen_to_a_group_or_to_a_task_is_refused(bench):
    service = await bench.start()
    group = (await submit(service, "pass", members(1))).group
    for condition in (Milestone(pattern="x"), InState(states=(State.RUNNING,))):
        with pytest.raises(InvalidRequest, match="wait for one of its members"):
            await service.consumers.register(wish(1, condition))
    with pytest.raises(InvalidRequest, match="a task has none"):
        await service.consumers.register(wish(1, Quorum(count=1), "fit[0]"))
    with pytest.raises(NotFound, match="no task 'nothing'"):
        await service.consumers.register(wish(1, Terminal(), "nothing"))
    await over(service, group.id)
    made = await service.consumers.register(wish(2, Terminal(), f"group:{group.id}"))
    assert made.created
    (told,) = await news(service, 1)
    assert len(as_data(told)) > 10
