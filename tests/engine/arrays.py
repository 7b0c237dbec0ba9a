"""Groups whose members are one job array, made without a kernel and without what splits a group."""

import io
import json
import secrets
import tarfile
import time

from jupyter_diamond.engine.batch import Inputs
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import ArrayPlace, Attempt
from jupyter_diamond.store.groups import Round, Share
from tests.engine import cells
from tests.engine.conftest import until

MIB = 1 << 20


def bundle(source, members, *, name="fit", outputs=()):
    """A sealed cell with the members that are given their numbers."""
    with tarfile.open(fileobj=io.BytesIO(cells.bundle(source, name=name, outputs=outputs))) as tar:
        spec = json.loads(tar.extractfile("spec.json").read())
    data = json.dumps(spec | {"members": {str(index): {"index": index} for index in members}}).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo("spec.json")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def group(members, *, source, outputs=(), at_once=None, **envelope):
    """What a kernel asks for, and its bundle."""
    asked = Envelope(**{"walltime_s": Span.exactly(600), "memory_bytes": Span.exactly(100 * MIB)} | envelope)
    data = bundle(source, members, outputs=outputs)
    request = cells.request(source, data, outputs=outputs, envelope=asked, again=True)
    return GroupRequest(request=request, members=tuple(Member(index=at) for at in members), at_once=at_once), data


async def planned(service, members, *, source, outputs=(), at_once=None, announced=False, **envelope):
    """A group of which nothing is with its site yet: its id, the group, its only round and its bundle."""
    asked, data = group(members, source=source, outputs=outputs, at_once=at_once, **envelope)
    decision = await service.engine.planner.plan(asked.request.envelope)
    choice, token, now = decision.choice, f"dmd-{secrets.token_hex(8)}", from_epoch(time.time())
    assert choice is not None, decision.sentence
    folder = await service.links[choice.site].folder(token)
    intent = {"state": State.SUBMITTING, "submissions": 1} if announced else {}

    def attempt(at):
        mine = intent | ({"folder": files.member_folder(folder, at)} if announced else {})
        return Attempt.model_validate({
            "n": 1, "token": f"{token}-{at}", "array": ArrayPlace(token=token, at=at), "site": choice.site,
            "partition": choice.partition or None, "account": choice.account, "size": choice.size, "created_at": now,
            "state_since": now, **mine,
        })  # fmt: skip

    share = Share(token, secrets.token_hex(32), decision, tuple((index, attempt(index)) for index in members))
    return f"g{secrets.token_hex(5)}", asked, Round((share,)), data


async def submit(service, members, *, adopt=True, **how):
    """Submit a group as one array: its members' tasks."""
    group_id, asked, first, data = await planned(service, members, **how)
    service._spool.save(group_id, data)
    ledger = service._ledger
    create = ledger.store.groups.create
    _, tasks = await ledger.write(create, asked, group_id=group_id, first=first, at=from_epoch(time.time()))
    if adopt:
        inputs = Inputs(
            asked.request, first.shares[0].key, data, announced=how.get("announced", False), at_once=asked.at_once
        )
        service.engine.adopt_all(tasks, inputs)
    return tasks


async def all_of(service, tasks, check, seconds=60.0):
    """Wait until each of the tasks is as ``check`` says; the tasks as they are then."""
    ids = [task.id for task in tasks]

    async def look():
        now = await service._ledger.do(service._ledger.store.attempts.tasks, ids)
        return now if all(map(check, now)) else None

    try:
        return await until(look, seconds)
    except AssertionError:
        now = await service._ledger.do(service._ledger.store.attempts.tasks, ids)
        odd = [(task.name, task.state.value, task.attempt) for task in now if not check(task)]
        raise AssertionError(f"{len(odd)} are not so after {seconds} s, the first: {odd[0]}") from None


async def all_ended(service, tasks, seconds=90.0):
    """Wait for the end of all."""
    return await all_of(service, tasks, lambda task: task.state.terminal, seconds)
