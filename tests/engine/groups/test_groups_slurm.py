"""A group over two real clusters: shared out, each share one job array, the next round after it, results in one read."""

from __future__ import annotations

import base64
import json
import uuid

import pytest

from jupyter_diamond.engine.groups import results
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.states import Outcome, State
from tests.engine import arrays, cells
from tests.engine.conftest import readings
from tests.engine.groups.test_groups import over

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]

MIB = 1 << 20
SOURCE = "if index == 3: raise ValueError('three')\nanswer = index * index"


def asked(number, rounds, **more):
    data = arrays.bundle(SOURCE, range(number), outputs=("answer",))
    envelope = Envelope(
        sites=("delta", "anvil"), cpus=Span.exactly(40), memory_bytes=Span.exactly(64 * MIB),
        walltime_s=Span.exactly(900), runtime=Runtime(seconds=600),
    )  # fmt: skip
    request = cells.request(SOURCE, data, outputs=("answer",), envelope=envelope, client_token=str(uuid.uuid4()))
    each = -(-number // rounds)
    members = tuple(Member(index=index, params={"index": index}, round=index // each + 1) for index in range(number))
    return GroupRequest(request=request, members=members, next_round="ended", **more), data


async def test_members_are_shared_out_over_two_clusters_and_come_back_together(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    service = await bench.start()
    await readings(service)
    group = (await service.groups.submit(*asked(30, 2))).group
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
