"""Data by name and transfers: what there is, where copies lie, and moving it between sites, collections and home."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from jupyter_diamond.model.data import DATA_NAME, Dataset, Replica
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.transfer import Transfer

from .acts import needs_approval, through_guard
from .answers import UNKNOWN, age, at, foreign, known, label, size_of, span_of, without_empty
from .pool import now
from .registry import tool
from .tasks import Intent

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

Place = Annotated[str, Field(min_length=1, max_length=4200)]
DataName = Annotated[str, Field(pattern=DATA_NAME)]
TransferRef = Annotated[str, Field(min_length=4, max_length=80)]


@tool("read", "data", long=True)
async def list_datasets(desk: AgentDesk, _speaker: Speaker, *, name: DataName | None = None) -> dict[str, Any]:
    """Data that has a name: how much it is, where copies lie, how they are, when a site will delete one.

    Use a name as stage_in in the options of submit_task: it is at the site before the job starts, never moved twice.

    Args:
        name: this one only
    """
    found = (await desk.service.data.get(name),) if name is not None else await desk.service.data.list()
    return {"data": [dataset_view(each, now()) for each in found]}


@tool("act", "data")
async def register_dataset(
    desk: AgentDesk, speaker: Speaker, *, name: DataName, location: Place, note: str = "", reason: Intent = ""
) -> dict[str, Any]:
    """Give a name to data that lies somewhere, or another copy to a name. It is looked at; nothing is moved.

    It needs the user's approval.

    Args:
        name: what it is called from now on
        location: SITE:/path, globus://COLLECTION-ID/path or home:/path
        note: what it is, in a few words
        reason: what for, shown to the user
    """
    given = {"name": name, "location": location, "note": note[:500]}
    proposal, done = await through_guard(desk, speaker, "register_data", arguments=given, intent=reason)
    if not done:
        return needs_approval(proposal)
    return {"done": True, "proposal": proposal.id, **dataset_view(await desk.service.data.get(name), now())}


@tool("act", "data")
async def transfer_data(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    source: Place,
    destination: Place,
    sync: Literal["checksum", "mtime", "size", "exists", "all"] = "checksum",
    reason: Intent = "",
) -> dict[str, Any]:
    """Move a file or a folder between sites, Globus collections and this machine; verified, and put in place whole.

    The user approves from where to where and how many bytes. For a job's inputs use stage_in instead.

    Args:
        source: SITE:/path, globus://COLLECTION-ID/path or home:/path
        destination: the same; a file onto a file, a folder onto a folder of that name
        sync: what is sent although something of that name is there: what differs by this measure, or all
        reason: what for, shown to the user
    """
    given = {"source": source, "destination": destination, "sync": sync}
    proposal, done = await through_guard(desk, speaker, "transfer", subject="data", arguments=given, intent=reason)
    if not done:
        return needs_approval(proposal)
    found = await desk.service.transfers.get(proposal.result)
    return {"begun": True, "proposal": proposal.id, **transfer_view(found, now())}


@tool("read", "data", long=True)
async def transfer_status(
    desk: AgentDesk,
    _speaker: Speaker,
    *,
    transfer: TransferRef | None = None,
    active: bool | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
) -> dict[str, Any]:
    """How far transfers are: bytes of bytes, rate, what is left, what is wrong, and whether one needs the user.

    Args:
        transfer: this one, by its id
        active: only those under way (true) or ended (false); left out: both
        limit: at most so many, newest first
    """
    if transfer is not None:
        return transfer_view(await desk.service.transfers.get(transfer), now(), whole=True)
    found = await desk.service.transfers.list(active=active, limit=limit)
    return {"transfers": [transfer_view(each, now()) for each in found]}


@tool("act", "data", destroys=True)
async def cancel_transfer(
    desk: AgentDesk, speaker: Speaker, *, transfer: TransferRef, reason: Intent = ""
) -> dict[str, Any]:
    """End a transfer. What has arrived under its temporary name is taken away; what was there before stays.

    Args:
        transfer: its id
        reason: what for, shown to the user
    """
    found = await desk.service.transfers.get(transfer)
    proposal, done = await through_guard(
        desk, speaker, "cancel_transfer", subject=f"transfer:{found.id}", intent=reason
    )  # fmt: skip
    if not done:
        return needs_approval(proposal)
    return {"done": True, "proposal": proposal.id, **transfer_view(await desk.service.transfers.get(found.id), now())}


def dataset_view(found: Dataset, moment: datetime) -> dict[str, Any]:
    """One name with its copies."""
    return without_empty({
        "name": found.name,
        "note": foreign(found.note, "a note about data", 500),
        "bytes": known(found.size.bytes if found.size else None),
        "size": size_of(found.size.bytes if found.size else None),
        "files": known(found.size.files if found.size else None),
        "copies": [_copy(each, moment) for each in found.replicas],
        "next_actions": [f"submit_task(… options={{'stage_in': '{found.name}'}} …)"],
    })  # fmt: skip


def _copy(copy: Replica, moment: datetime) -> dict[str, Any]:
    return without_empty({
        "location": label(str(copy.location), "a location", 300),
        "state": copy.state,
        "made_by": "the user" if copy.given else "a stage-in",
        "looked_at": f"{age(copy.checked_at, moment)} ago" if copy.checked_at else "never",
        "deleted_from": at(copy.purge_at),
        "problem": foreign(copy.problem, "why the copy cannot be used", 300),
    })  # fmt: skip


def transfer_view(found: Transfer, moment: datetime, *, whole: bool = False) -> dict[str, Any]:
    """One transfer."""
    far, request = found.progress, found.request
    return without_empty({
        "transfer": found.id,
        "state": found.state,
        "from": label(str(request.source), "a location", 300),
        "to": label(str(request.destination), "a location", 300),
        "way": found.mover,
        "why_that_way": found.why if whole else None,
        "bytes_done": far.bytes_done,
        "bytes_total": known(far.bytes_total),
        "files_done": far.files_done,
        "files_total": known(far.files_total),
        "files_that_were_there": far.files_skipped or None,
        "bytes_per_s": None if found.ended else known(None if far.rate is None else int(far.rate)),
        "left": None if found.ended else span_of(far.eta_s) if far.eta_s is not None else UNKNOWN,
        "since": f"{age(found.state_since, moment)} ago",
        "for_task": request.task,
        "asked_by": request.by or "the user",
        "trouble": foreign(found.trouble, "why a transfer does not go on", 400),
        "needs_the_user": "a login or a consent: the Diamond sidebar, Needs you, has the page"
        if found.state == "needs_you" else None,
        "cause": foreign(found.cause, "why a transfer ended", 400),
        "advice": foreign(found.next, "what is advised", 300),
        "log": foreign("\n".join(found.log[-20:]), "the log of a transfer", 2000) if whole else None,
        "next_actions": [] if found.ended else [
            f"transfer_status(transfer='{found.id}')", f"cancel_transfer(transfer='{found.id}')"
        ],
    })  # fmt: skip
