"""A group over two real clusters: shared out, each share one job array, the next round after it, results in one read."""

from __future__ import annotations

import base64
import json
import uuid
from collections import Counter

import pytest

from jupyter_diamond.engine.groups import results
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.states import Outcome, State
from tests.engine import arrays, cells
from tests.engine.conftest import readings, until
from tests.engine.groups.test_groups import over

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]

MIB = 1 << 20
SOURCE = "if index == 3: raise ValueError('three')\nanswer = index * index"


def asked(number, rounds, *, source=SOURCE, site=None, cpus=40, **more):
    data = arrays.bundle(source, range(number), outputs=("answer",))
    envelope = Envelope(
        sites=("delta", "anvil"), cpus=Span.exactly(cpus), memory_bytes=Span.exactly(64 * MIB),
        walltime_s=Span.exactly(900), runtime=Runtime(seconds=600), site=site,
    )  # fmt: skip
    request = cells.request(source, data, outputs=("answer",), envelope=envelope, client_token=str(uuid.uuid4()))
    each = -(-number // rounds)
    members = tuple(Member(index=index, params={"index": index}, round=index // each + 1) for index in range(number))
    return GroupRequest(request=request, members=members, next_round="ended", **more), data


async def test_members_are_shared_out_over_two_clusters_and_come_back_together(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    service = await bench.start()
    await readings(service)
    wanted, data = asked(30, 2)
    told = await service.plan(wanted.request.envelope, members=15)
    group = (await service.groups.submit(wanted, data)).group
    assert told.sentence.split(", so that")[0] == group.why_here.split(", so that")[0], "as it was foretold"
    assert (" at delta" in told.sentence, " at anvil" in told.sentence) == (True, True)
    shared = {share.site: share.waiting + share.running + share.ended for share in group.shares}
    assert set(shared) == {"delta", "anvil"}
    assert sum(shared.values()) == 15
    done = await over(service, group.id, 180)
    assert (done.outcome, done.round) == (Outcome.FAILED, 2)
    assert done.states == {State.COMPLETED: 29, State.FAILED: 1}
    assert "ValueError: three" in done.cause
    members = service._ledger.store.groups.members(group.id)
    arrays_ = {}
    for task in members:
        place = task.attempts[0].array
        arrays_.setdefault((task.attempts[0].site, place.token), set()).add(
            task.attempts[0].native.id.partition("_")[0]
        )
    assert all(len(jobs) == 1 for jobs in arrays_.values()), "each share is one submission"
    assert len(arrays_) <= 4

    found = await service.groups.results(group.id)
    values = {
        each.index: json.loads(base64.b64decode(each.inline["result/answer.json"]))
        for each in found.members
        if each.inline
    }
    assert values == {index: index * index for index in range(30) if index != 3}
    far = [task for task in members if task.attempts[-1].site == "anvil"]
    read = await results._read_there(service.links["anvil"], far, 1 << 16)
    here = results._read_here(far, 1 << 16)
    assert (read.found, read.cut, read.problem) == (here.found, False, "")
    await judged(service, group.id, members)


async def judged(service, group_id, members):
    """Each member by its own log, receipt and row of accounting, however they were submitted."""
    found = await service.verdicts.group(group_id)
    assert found.answers == {"yes": 29, "no": 1, "unknown": 0}, found.first
    (bad,) = found.first
    assert bad.name == "fit[3]"
    assert {each.question for each in bad.findings if each.answer == "no"} == {"clean_log", "outputs", "ended_well"}
    alone = await service.verdict(members[0].id)
    assert "cores: asked 40, given 40" in alone.finding("size").evidence
    link, theirs = service.links["anvil"], [task for task in members if task.attempts[-1].site == "anvil"]
    logs = await service.verdicts._logs(link, theirs)
    for task in theirs[:3]:
        assert logs[task.id].signs == (await service.verdicts._log(task.attempts[-1], link)).signs


def newest_arrays(service, group_id):
    """Of what is to come: by array, where it is and how many there are."""
    open_ = service._ledger.store.groups.members(group_id, ended=False)
    found = Counter((task.attempt.array.token, task.attempt.site) for task in open_ if task.attempt.array is not None)
    return found, [task for task in open_ if task.attempt.array is None]


def counting(link):
    """Its scripts that cancel jobs."""
    run, scripts = link.run, list[str]()

    async def counted(script, **how):
        scripts.extend([script] if "scancel" in script else [])
        return await run(script, **how)

    link.run = counted
    return scripts


async def test_what_waits_is_planned_anew_as_a_group_and_cancelled_in_one_go(bench, slurm_catalogue, tmp_path):
    bench.sites_path = slurm_catalogue
    service = await bench.start()
    await readings(service)
    cancels = {name: counting(service.links[name]) for name in ("delta", "anvil")}
    source = cells.held(tmp_path / "never", "answer = index")
    group = (await service.groups.submit(*asked(20, 1, source=source, site="delta", cpus=100))).group

    async def some_run():
        now = await service.groups.group(group.id)
        return now if now.states.get(State.RUNNING, 0) >= 2 and now.states.get(State.PENDING, 0) >= 10 else None

    await until(some_run, 60)
    await service.groups.replan(group.id, "you", unpin=True)

    async def moved():
        now = await service.groups.group(group.id)
        there = {share.site: share.waiting + share.running for share in now.shares}.get("anvil", 0)
        return there if there and sum(now.states.values()) == now.states.get(State.RUNNING, 0) + now.states.get(
            State.PENDING, 0
        ) else None  # fmt: skip

    count = await until(moved, 60)
    found, alone = newest_arrays(service, group.id)
    assert not alone, "each is in an array"
    assert len([site for _, site in found if site == "anvil"]) <= 2, "those that moved are few submissions, not many"
    assert sum(number for (_, site), number in found.items() if site == "anvil") == count > 2
    again = [task for task in service._ledger.store.groups.members(group.id) if task.attempt.n == 2]
    assert {task.attempt.step for task in again} == {"replan"}
    assert "planned with its group" in again[0].attempt.why
    assert len(cancels["delta"]) == 1

    await service.groups.cancel(group.id, "you")
    done = await over(service, group.id, 60)
    assert done.states == {State.CANCELLED: 20}
    assert [len(scripts) for scripts in cancels.values()] == [2, 1], "one command a site"
    for task in service._ledger.store.groups.members(group.id):
        assert task.attempt.failure == "user_cancel"
        told = [event.type for event in service._ledger.store.events(0, 100, f"task:{task.id}")]
        assert told.count("attempt.terminal") == task.attempt.n
        assert "task.not_again" not in told
