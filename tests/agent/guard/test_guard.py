"""Nothing happens without a word that names it, and what was approved happens once, whatever is lost in between."""

import asyncio

import pytest

from jupyter_diamond.agent.guard.acts import Acts
from jupyter_diamond.errors import (
    ApprovalVoid,
    Conflict,
    Infeasible,
    InvalidRequest,
    NeedsApproval,
    PolicyBlocked,
    TransportError,
)
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.proposal import Allowance, BudgetScope, Speaker
from jupyter_diamond.store.proposals import Proposals
from tests.agent.guard.conftest import ADA, BOT, given, tasks, told
from tests.engine import cells
from tests.engine.conftest import until

pytestmark = pytest.mark.asyncio
GUEST = Speaker(user="eve", channel="chat:one", guest=True)


class Killed(BaseException):
    """The process is gone."""


async def test_a_proposal_shows_what_would_happen_and_nothing_does(room, guard):
    found = await room.ask(guard, envelope=Envelope(cpus=Span(min=1, max=1), walltime_s=Span.exactly(600)))
    assert (found.standing, found.terms.site, found.terms.partition) == ("waiting", "here", "machine")
    assert found.title == "Run fit at here:machine: 1 core, for at most 10 min"
    assert found.hash == found.terms.hash
    assert found.source == "answer = 42"
    assert found.script.startswith("#!/bin/bash")
    assert found.terms.bundle_sha256 in found.script
    assert "dmd-00000000" in found.script
    assert found.starts_in_s == 0.0
    assert "here:machine starts now" in found.why
    assert found.notes == ("If it fails, or is cut off, up to 3 attempts may follow.",)
    with pytest.raises(NeedsApproval):
        await guard.perform(found.id, BOT)
    assert await tasks(guard) == ()


async def test_one_click_is_one_task(room, guard):
    found = await room.ask(guard)
    done = await given(guard, found)
    assert done.standing == "done"
    task = await guard._service.task(done.task)
    assert (task.by, task.attempt.site, task.healing.moves) == ("Diamond", "here", 0)
    assert (task.envelope.site, task.envelope.partition) == ("here", "machine")
    assert await given(guard, found) == done
    assert (await guard.perform(found.id, BOT)).task == done.task
    again = await room.ask(guard)
    assert (again.id, again.told) == (found.id, True)
    assert len(await tasks(guard)) == 1
    assert await told(guard) == ["proposal.made", "proposal.approved", "act.begun", "act.done"]


async def test_the_same_question_finds_its_proposal_and_another_one_does_not(room, guard):
    first = await room.ask(guard)
    assert (await room.ask(guard)).id == first.id
    assert (await room.ask(guard, "answer = 43")).id != first.id
    assert (await room.ask(guard, envelope=Envelope(walltime_s=Span.exactly(60)))).id != first.id
    assert (await room.ask(guard, by=BOT.model_copy(update={"channel": "chat:two"}))).id != first.id


STEPS = [
    (Proposals, "begin", False), (Proposals, "begin", True), (Acts, "do", False), (Acts, "do", True),
    (Proposals, "finish", False), (Proposals, "finish", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "name", "after"), STEPS, ids=[f"{'after' if a else 'before'} {n}" for _, n, a in STEPS]
)
async def test_a_crash_between_any_two_steps_gives_one_task(room, guard, monkeypatch, owner, name, after):
    found = await room.ask(guard)
    await guard.approve(found.id, found.hash, ADA)
    real = getattr(owner, name)

    async def killed_later(*args, **kwargs):
        if after:
            await real(*args, **kwargs)
        raise Killed

    def killed(*args, **kwargs):
        if after:
            real(*args, **kwargs)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, killed_later if owner is Acts else killed)
        with pytest.raises(Killed):
            await guard.perform(found.id, ADA)
    before = len(await tasks(guard))
    assert before == (1 if (name, after) in {("do", True), ("finish", False), ("finish", True)} else 0)
    again = await room.open(guard=guard)
    standing = (await again.proposal(found.id)).standing
    assert standing == ("done" if before else "approved")
    done = await again.perform(found.id, BOT)
    assert [task.id for task in await tasks(again)] == [done.task]
    assert (await told(again)).count("act.done") == 1


async def test_two_tabs_and_two_servers_give_one_task(room, guard):
    other = await room.open()
    found = await room.ask(guard)
    done = await asyncio.gather(*(given(each, found) for each in (guard, guard, other, other)))
    assert {each.standing for each in done} == {"done"}
    assert {each.task for each in done} == {row.id for row in await tasks(guard)}
    assert len(await tasks(guard)) == 1
    assert (await told(guard)).count("act.done") == 1


async def test_no_agent_and_no_guest_says_yes(room, guard):
    found = await room.ask(guard)
    for by in (BOT, GUEST):
        with pytest.raises(PolicyBlocked, match=r"only (a person|its owner) may approve"):
            await guard.approve(found.id, found.hash, by)
        with pytest.raises(PolicyBlocked):
            await guard.switch(by, on=False)
        with pytest.raises(PolicyBlocked):
            await guard.set_budget(BudgetScope(), Allowance(), by)
    with pytest.raises(PolicyBlocked, match="guests look, nothing else"):
        await guard.perform(found.id, GUEST)
    with pytest.raises(PolicyBlocked, match="guests look, nothing else"):
        await room.ask(guard, by=GUEST)
    assert (await guard.proposal(found.id)).standing == "waiting"
    assert (await told(guard)).count("act.refused") == 8


async def test_an_agent_does_only_what_it_proposed_itself(room, guard):
    found = await room.ask(guard)
    await guard.approve(found.id, found.hash, ADA)
    for other in (
        Speaker(user="ada", agent="Other", channel="chat:one"),
        BOT.model_copy(update={"channel": "chat:two"}),
    ):
        with pytest.raises(PolicyBlocked, match="was not proposed by"):
            await guard.perform(found.id, other)
    assert await tasks(guard) == ()


async def test_what_was_denied_or_switched_off_is_not_done(room, guard):
    first, second = await room.ask(guard), await room.ask(guard, "answer = 43", name="other")
    await guard.deny(first.id, ADA, "not on this machine")
    with pytest.raises(ApprovalVoid, match="ada said not now: not on this machine"):
        await guard.perform(first.id, BOT)
    await guard.approve(second.id, second.hash, ADA)
    await guard.switch(ADA, on=False)
    with pytest.raises(PolicyBlocked, match="Agents are switched off"):
        await guard.perform(second.id, BOT)
    with pytest.raises(PolicyBlocked, match="Agents are switched off"):
        await room.ask(guard, "answer = 44")
    with pytest.raises(PolicyBlocked):
        await guard.may_ask_model(BOT)
    assert await tasks(guard) == ()


async def test_off_holds_for_what_has_begun_too_and_spends_no_word(room, guard, monkeypatch):
    other = await room.open()
    found = await room.ask(guard)
    plan = guard._service.engine.planner.plan

    async def long(*args, **kwargs):  # a site's numbers are waited for, and the user thinks better of it elsewhere
        await other.switch(ADA, on=False)
        await until(off)
        return await plan(*args, **kwargs)

    async def off():
        return guard._acts.off

    monkeypatch.setattr(guard._service.engine.planner, "plan", long)
    with pytest.raises(PolicyBlocked, match="Agents are switched off"):
        await given(guard, found)
    assert await tasks(guard) == ()
    monkeypatch.setattr(guard._service.engine.planner, "plan", plan)
    await guard.switch(ADA, on=True)
    assert (await guard.perform(found.id, BOT)).standing == "done"


async def test_off_outlives_a_restart_and_leaves_running_jobs_to_their_user(room, guard, tmp_path):
    done = await given(guard, await room.ask(guard, cells.held(tmp_path / "gate", "answer = 42")))
    await guard.switch(ADA, on=False)
    again = await room.open(guard=guard)
    assert (await again.switched()).on is False
    with pytest.raises(PolicyBlocked):
        await room.ask(again, "answer = 45")
    assert (await again._service.cancel(done.task, "you")).cancel_requested_by == "you"


def doctored(service, monkeypatch, **changes):
    """Decisions with another chosen candidate from now on."""
    plan = service.engine.planner.plan

    async def changed(*args, **kwargs):
        decision = await plan(*args, **kwargs)
        choice, told = decision.choice, dict(changes)
        if "estimate" in told:
            estimate = choice.estimate.model_copy(update=told.pop("estimate"))
            if "wait_s" in told:
                estimate = estimate.model_copy(
                    update={"forecast": estimate.forecast.model_copy(update={"wait_s": told.pop("wait_s")})}
                )
            told["estimate"] = estimate
        chosen = choice.model_copy(update=told)
        candidates = tuple(chosen if at == decision.chosen else each for at, each in enumerate(decision.candidates))
        return decision.model_copy(update={"candidates": candidates})

    monkeypatch.setattr(service.engine.planner, "plan", changed)


PAID = {"charged": True, "charge_unit": "core-hour", "charge_per_hour": 6.0, "charge": 0.5, "charge_at_most": 1.0}


@pytest.mark.parametrize(("changes", "said"), [
    ({"estimate": PAID}, "At here:machine it would now cost at most 1 core-hour, not nothing."),
    ({"partition": "other"}, "It would now go to here:other, not to here:machine."),
    ({"account": "abc"}, "It would now go to here:machine, paid by abc, not to here:machine."),
    ({"estimate": {}, "wait_s": 9000.0}, "here:machine would now let it start in about 2 h 30 min, not in 0 s as was said."),
    ({"feasible": False}, "Of here:machine it is now not known whether it passes these rules: "),
])  # fmt: skip
async def test_what_is_not_as_it_was_approved_is_void(room, guard, monkeypatch, changes, said):
    found = await room.ask(guard)
    with monkeypatch.context() as patch:
        doctored(guard._service, patch, **changes)
        assert said in (await guard.looked_at(found.id)).changed[0]
        with pytest.raises(ApprovalVoid, match="what was approved is not what would happen now") as refused:
            await given(guard, found)
    assert said in refused.value.message
    void = await guard.proposal(found.id)
    assert (void.standing, said in void.reason) == ("void", True)
    with pytest.raises(ApprovalVoid, match="its proposal is void"):
        await guard.perform(found.id, ADA)
    assert await tasks(guard) == ()
    assert (await room.ask(guard)).id != found.id


async def test_a_charge_that_is_only_foreseen_otherwise_voids_nothing(room, guard, monkeypatch):
    doctored(guard._service, monkeypatch, estimate=PAID)
    found = await room.ask(guard)
    assert (found.predicted, found.terms.charge.at_most, found.at_most) == (0.5, 1.0, 4.0)
    assert "at most 4 core-hours in all" in found.notes[-1]
    doctored(guard._service, monkeypatch, estimate={**PAID, "charge": 0.25})
    assert (await given(guard, found)).standing == "done"


async def test_a_place_that_cannot_take_it_any_more_refuses_and_voids(room, guard, monkeypatch):
    found = await room.ask(guard)
    guard._service.engine.collector._settings.stale_s = -1.0
    with pytest.raises(Infeasible, match="here cannot run this"):
        await given(guard, found)
    assert (await guard.proposal(found.id)).standing == "void"
    assert await tasks(guard) == ()


async def test_what_may_pass_is_tried_again_with_the_same_word(room, guard, monkeypatch):
    found = await room.ask(guard)
    real = guard._service.submit

    async def away(*_):
        raise TransportError("here does not answer.", outcome="not_sent")

    monkeypatch.setattr(guard._service, "submit", away)
    with pytest.raises(TransportError):
        await given(guard, found)
    assert (await guard.proposal(found.id)).standing == "approved"
    monkeypatch.setattr(guard._service, "submit", real)
    assert (await guard.perform(found.id, BOT)).standing == "done"


async def test_a_standing_budget_lets_pass_and_an_agents_cap_holds_beside_it(room, guard, monkeypatch):
    await guard.set_budget(BudgetScope(channel="chat:one", agent="Diamond"), Allowance(jobs=1), ADA)
    done = await guard.perform((await room.ask(guard)).id, BOT)
    assert (done.standing, done.decided_by) == ("done", None)
    (kept,) = await guard.budgets()
    assert (done.budget, kept.used) == (kept.id, {"jobs": 1.0})
    second = await room.ask(guard, "answer = 43", name="other")
    with pytest.raises(NeedsApproval, match="it leaves 0 jobs, and this is 1 job"):
        await guard.perform(second.id, BOT)
    await guard.revoke(kept.id, ADA)
    assert await guard.budgets() == ()


async def test_foreign_text_asks_for_a_fresh_word(room, guard):
    await guard.set_budget(BudgetScope(), Allowance(), ADA)
    await guard.foreign("chat:one")
    found = await room.ask(guard)
    with pytest.raises(NeedsApproval, match="so standing budgets do not count"):
        await guard.perform(found.id, BOT)
    await guard.clean("chat:one")
    assert (await guard.perform(found.id, BOT)).standing == "done"


async def test_a_budget_in_units_that_no_site_charges_in_is_refused(guard):
    with pytest.raises(InvalidRequest, match="is no amount with its unit"):
        await guard.set_budget(BudgetScope(), Allowance(amounts=("2bananas",)), ADA)
    kept = await guard.set_budget(BudgetScope(), Allowance(amounts=("2 GPU hours",)), ADA, lasts_s=1e9)
    assert kept.allowance.amounts == ("2 GPU-hours",)
    assert (kept.expires_at - kept.created_at).days == 7


async def test_other_acts_go_the_same_way(room, guard, tmp_path):
    task = (await given(guard, await room.ask(guard, cells.held(tmp_path / "gate", "answer = 42")))).task
    cancel = await guard.propose("cancel", BOT, subject=task)
    assert cancel.title.startswith("Cancel fit, which is ")
    with pytest.raises(NeedsApproval):
        await guard.perform(cancel.id, BOT)
    await guard.set_budget(BudgetScope(), Allowance(), ADA)  # its own it may cancel under any
    assert (await guard.perform(cancel.id, BOT)).standing == "done"
    assert (await guard._service.task(task)).cancel_requested_by == "Diamond"
    look = await guard.propose("execute", BOT, subject="here", arguments={"command": "uname -s"})
    assert (await guard.perform(look.id, BOT)).result == "exit 0\nLinux\n"
    with pytest.raises(InvalidRequest):
        await guard.propose("execute", BOT, subject="here", arguments={"command": "rm -rf x"})
    put = await guard.propose("put_file", BOT, subject="here", arguments={"name": "a.txt"}, bundle=b"data")
    assert put.terms.data == ("4 bytes go to a.txt in the work folder at here.",)
    with pytest.raises(NeedsApproval, match="0 bytes to move"):
        await guard.perform(put.id, BOT)
    assert "a.txt at here: 4 bytes" in (await given(guard, put)).result
    seen = await guard.propose("put_file", BOT, subject="here", arguments={"name": "a.txt"}, bundle=b"data")
    assert seen.id == put.id
    assert (await guard.perform(seen.id, BOT)).told
    anew = await guard.propose("put_file", BOT, subject="here", arguments={"name": "a.txt"}, bundle=b"data")
    assert anew.id != put.id
    with pytest.raises(Conflict, match="is there already"):
        await given(guard, anew)


async def test_a_file_whose_putting_was_cut_off_is_not_put_twice(guard, monkeypatch):
    found = await guard.propose("put_file", BOT, subject="here", arguments={"name": "a.txt"}, bundle=b"data")

    def killed(*_args, **_kwargs):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Proposals, "finish", killed)
        with pytest.raises(Killed):
            await given(guard, found)
    with pytest.raises(ApprovalVoid, match="It was begun before and cut off"):
        await guard.perform(found.id, ADA)


async def test_anothers_task_is_not_cancelled_under_a_budget(room, guard, tmp_path):
    task = await room.bench.submit(guard._service, cells.held(tmp_path / "gate", "answer = 42"))
    await guard.set_budget(BudgetScope(), Allowance(), ADA)
    for act in ("cancel", "hold"):
        found = await guard.propose(act, BOT, subject=task.id)
        with pytest.raises(NeedsApproval):
            await guard.perform(found.id, BOT)


async def test_the_canary_is_in_no_line_event_or_export(room, guard, monkeypatch):
    canary = "c4n4ry-0123456789"
    monkeypatch.setenv("DIAMOND_SERVER_TOKEN", canary)
    found = await room.ask(guard, f"token = {canary!r}\nprint(token)")
    await guard.foreign("chat:one")
    with pytest.raises(NeedsApproval):
        await guard.perform(found.id, BOT)
    await given(guard, found)
    denied = await room.ask(guard, "answer = 43", name="other", intent=canary)
    await guard.deny(denied.id, ADA, f"because {canary}")
    with pytest.raises(ApprovalVoid, match=canary):
        await guard.perform(denied.id, BOT)
    await guard.propose("execute", BOT, subject="here", arguments={"command": f"ls {canary}"})
    await guard.propose("put_file", BOT, subject="here", arguments={"name": canary}, bundle=canary.encode())
    monkeypatch.setattr(guard._service, "submit", fails_with(canary))
    with pytest.raises(Conflict):
        await given(guard, await room.ask(guard, "answer = 44", name="third"))
    lines = "".join(line.model_dump_json() for line in await guard.audit())
    events = "".join(event.model_dump_json() for event in (await guard._service.events(0, limit=1000)).events)
    assert canary not in lines
    assert canary not in events
    assert found.terms.script_sha256 in lines


def fails_with(text):
    async def fails(*_):
        raise Conflict(f"slurm says: export TOKEN={text} is refused")

    return fails
