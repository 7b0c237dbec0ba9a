"""What was shown is what is sent; what it cost is what counts; groups and smoke jobs go the same way."""

import re

import pytest

from jupyter_diamond.errors import Conflict, InvalidRequest, OverBudget
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.proposal import Allowance, BudgetScope
from jupyter_diamond.settings import DiamondBudget
from tests.agent.guard.conftest import ADA, BOT, given, tasks
from tests.agent.guard.test_guard import PAID, doctored
from tests.engine import cells
from tests.engine.arrays import bundle
from tests.engine.conftest import ended, until

pytestmark = pytest.mark.asyncio
ONCE = Healing(retries=0)


async def test_the_script_that_was_shown_is_the_one_that_is_sent(room, guard):
    found = await room.ask(guard, envelope=Envelope(memory_bytes=Span(min=64 << 20, max=128 << 20)))
    done = await given(guard, found)
    await until(lambda: there(guard, done.task))
    attempt = (await guard._service.task(done.task)).attempt
    sent = (await guard._service.links["here"].read(f"{attempt.folder}/job.sh")).decode()
    assert sent.replace(attempt.token, "dmd-00000000") == found.script
    assert attempt.size == found.terms.size
    assert "with up to 128M" in found.notes[-1]


async def there(guard, task):
    attempt = (await guard._service.task(task)).attempt
    return attempt.folder is not None and await guard._service.links["here"].read(f"{attempt.folder}/job.sh")


async def test_a_budget_is_settled_by_what_the_job_did_cost(room, guard, monkeypatch):
    doctored(guard._service, monkeypatch, estimate=PAID)
    await guard.set_budget(BudgetScope(), Allowance(amounts=("1 core-hour",)), ADA)
    done = await guard.perform((await room.ask(guard, healing=ONCE)).id, BOT)
    assert (await guard.budgets())[0].used == {"core-hour": 1.0, "jobs": 1.0}
    await ended(guard._service, await guard._service.task(done.task))
    charge = (await guard._service.task(done.task)).attempt.charge

    async def settled():
        return (await guard.budgets())[0].used["core-hour"] < 1.0

    assert 0.0 < charge.actual < 1.0
    await until(settled)
    assert (await guard.budgets())[0].used["core-hour"] == pytest.approx(charge.actual)


async def test_an_agents_cap_holds_though_it_was_approved(room, monkeypatch):
    guard = await room.open(budget=DiamondBudget(per_agent=["1.5 core-hours"]))
    doctored(guard._service, monkeypatch, estimate=PAID)
    first = await room.ask(guard, cells.held(room.bench.folder / "gate", "answer = 42"), healing=ONCE)
    second = await room.ask(guard, "answer = 43", name="other", healing=ONCE)
    await given(guard, first)
    with pytest.raises(OverBudget, match="per_agent"):
        await given(guard, second)
    assert (await guard.proposal(second.id)).standing == "void"
    assert len(await tasks(guard)) == 1


async def test_a_group_is_one_proposal_and_one_group(guard):
    source, members = "answer = index", tuple(Member(index=index) for index in range(3))
    data = bundle(source, range(3))
    asked = GroupRequest(request=cells.request(source, data, healing=ONCE), members=members)
    found = await guard.propose("submit_group", BOT, request=asked, bundle=data)
    assert found.title.startswith("Run fit 3 times at here:machine")
    assert found.terms.members == 3
    fewer = asked.model_copy(update={"members": members[:2]})
    assert (await guard.propose("submit_group", BOT, request=fewer, bundle=data)).hash != found.hash
    done = await given(guard, found)
    assert (await given(guard, found)).task == done.task
    group = await guard._service.groups.group(done.task)
    assert (group.members, group.by) == (3, "Diamond")
    assert len(await guard._service.groups.groups()) == 1


async def test_a_smoke_job_is_one_too(guard):
    found = await guard.propose("smoke", BOT, subject="here")
    assert found.title.startswith("Try here:machine: 1 core")
    done = await given(guard, found)
    assert (await guard._service.task(done.task)).name == "smoke_here"


@pytest.mark.parametrize("change", ["source", "script", "size", "by"])
async def test_one_changed_byte_gives_another_hash(room, guard, change):
    first = await room.ask(guard, "answer = 42")
    other = {
        "source": lambda: room.ask(guard, "answer = 43"),
        "script": lambda: room.ask(guard, "answer = 42", name="fis"),
        "size": lambda: room.ask(guard, "answer = 42", envelope=Envelope(walltime_s=Span.exactly(601))),
        "by": lambda: room.ask(guard, "answer = 42", by=BOT.model_copy(update={"agent": "Diamonds"})),
    }
    second = await other[change]()
    assert second.hash != first.hash
    assert re.fullmatch("[0-9a-f]{64}", second.hash)


async def test_what_would_be_refused_anyway_is_not_proposed(room, guard, tmp_path):
    await room.bench.submit(guard._service, cells.held(tmp_path / "gate", "answer = 42"))
    with pytest.raises(Conflict, match="runs another cell"):
        await room.ask(guard, "answer = 43")
    with pytest.raises(InvalidRequest, match="not those that the request names"):
        await guard.propose("submit", BOT, request=cells.request("x = 1", b"one"), bundle=b"other")
    assert await guard.proposals() == ()
