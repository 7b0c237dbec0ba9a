"""The acts about data: to move it, to end that, to give a name. What would be moved is part of what is approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from jupyter_diamond.errors import Conflict, DataFault, DataProblem, InvalidRequest
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.proposal import Act, Proposal, Terms
from jupyter_diamond.model.transfer import SyncLevel, TransferRequest
from jupyter_diamond.notebook.data_words import MOVER, route, short_place, state_word, what_moves
from jupyter_diamond.notebook.vocabulary import byte_size
from jupyter_diamond.parsing.locations import location_of
from jupyter_diamond.placement import words

from .terms import Planned

if TYPE_CHECKING:
    from jupyter_diamond.service import DiamondService

DATA_ACTS: frozenset[Act] = frozenset({"transfer", "cancel_transfer", "register_data"})
FOUND = ("bytes", "listing", "way")
"""Arguments that are found out, not asked for."""
NOT_KNOWN = "unknown"
REPLACES = "Files that have the same names there are replaced, each by a rename."
_WRONG = {"missing": "nothing is there", "unreadable": "it cannot be read", "other": "it is no file and no folder"}


class Sized(NamedTuple):
    """What lies at a place. ``listing`` is a digest of names, sizes and times; both None: nobody can say from here."""

    bytes: int | None = None
    files: int | None = None
    listing: str | None = None


async def planned(service: DiamondService, act: Act, subject: str, arguments: Mapping[str, str]) -> Planned:
    """What it would be now. Raises NotFound, Conflict, InvalidRequest, DataProblem."""
    if act == "transfer":
        return await _transfer(service, arguments)
    if act == "register_data":
        where = _located(service, arguments.get("location", ""))
        name = arguments.get("name", "")
        told = {"name": name, "location": str(where), "note": arguments.get("note", "")}
        terms = Terms(act=act, subject=f"data:{name}", site=where.site, arguments=told)
        return Planned(terms=terms, title=f"Call {short_place(where)} {name}")
    found = await service.transfers.get(subject.removeprefix("transfer:"))
    if found.ended:
        raise Conflict(f"The transfer {found.id} has ended already: there is nothing to cancel.")
    terms = Terms(
        act=act, subject=f"transfer:{found.id}", site=found.request.destination.site,
        arguments={"made_by": found.request.by or "you"},
    )  # fmt: skip
    title = f"Cancel the transfer of {what_moves(found.request)}, which is {state_word(found)}"
    return Planned(terms=terms, title=title, notes=(route(found.request),))


async def _transfer(service: DiamondService, arguments: Mapping[str, str]) -> Planned:
    source = _located(service, arguments.get("source", ""))
    destination = _located(service, arguments.get("destination", ""))
    mover, why = await service.transfers.plan(source, destination)
    size = await size_of(service, source)
    told = {
        "source": str(source), "destination": str(destination), "sync": arguments.get("sync", "checksum"),
        "bytes": NOT_KNOWN if size.bytes is None else str(size.bytes), "listing": size.listing or NOT_KNOWN,
        "way": mover,
    }  # fmt: skip
    amount = "Data of a size that is not known"
    if size.bytes is not None and size.files is not None:
        amount = f"{byte_size(size.bytes)} in {words.count(size.files, 'file')}"
    moved = f"{amount} goes from {short_place(source)} to {short_place(destination)}, by {MOVER[mover]}."
    terms = Terms(act="transfer", subject="data", site=destination.site, arguments=told, data=(moved,))
    title = f"Move {amount[:1].lower()}{amount[1:]} from {short_place(source)} to {short_place(destination)}"
    needs = await service.transfers.needs(source, destination) if mover == "globus" else ()
    notes = (REPLACES, *(need.sentence for need in needs))
    return Planned(terms=terms, title=title, why=why, notes=notes)


def _located(service: DiamondService, text: str) -> Location:
    if not text:
        raise InvalidRequest("A location is missing: write SITE:/path, globus://COLLECTION/path or home:/path.")
    return location_of(text, tuple(service.links))


async def size_of(service: DiamondService, place: Location) -> Sized:
    """How much lies there, where a shell of ours sees it. Raises DataProblem where there is nothing to read."""
    found = await service.transfers.look(place)
    if found is None:
        return Sized()
    if found.kind in ("missing", "unreadable", "other"):
        kind: DataFault = "permission" if found.kind == "unreadable" else "missing"
        raise DataProblem(f"{short_place(place)} cannot be moved: {_WRONG[found.kind]}.", kind=kind)
    if not found.whole:
        return Sized()
    return Sized(found.total_bytes, len(found.files), found.digest)


async def done(service: DiamondService, proposal: Proposal, client_token: str) -> str:
    """Do it; what came of it: of a transfer its id, of a name the name. The same token makes one transfer."""
    terms, by = proposal.terms, proposal.by.agent or "you"
    if terms.act == "cancel_transfer":
        return (await service.transfers.cancel(terms.subject.removeprefix("transfer:"), by)).id
    told = terms.arguments
    if terms.act == "register_data":
        await service.data.add(told["name"], _located(service, told["location"]), told["note"])
        return told["name"]
    request = TransferRequest(
        client_token=client_token,
        source=_located(service, told["source"]),
        destination=_located(service, told["destination"]),
        sync=None if told["sync"] == "all" else cast("SyncLevel", told["sync"]),
        purpose="agent",
        by=proposal.by.agent,
    )
    return (await service.transfers.start(request)).id
