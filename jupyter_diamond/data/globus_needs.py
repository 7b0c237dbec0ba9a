"""What must be given before Globus can move something: asked at plan time, not at three in the morning (B30)."""

from __future__ import annotations

from jupyter_diamond.errors import DataProblem, GlobusProblem
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.transfer import NeedKind, TransferNeed

from .base import End
from .globus_calls import SERVICE, Calls, Known
from .globus_document import collection_path


async def needs_of(globus: Globus, calls: Calls, source: End, destination: End) -> tuple[TransferNeed, ...]:
    """What both ends want. One link gives all consents that are missing."""
    needs: list[TransferNeed] = []
    for end, must_be_there in ((source, True), (destination, False)):
        needs += await _of(calls, end, must_be_there=must_be_there)
    if any(need.kind == "login" for need in needs):
        link = await globus.door(SERVICE)  # after both were asked: it begins one login for all of it
        needs = [need.model_copy(update={"link": link}) if need.kind == "login" else need for need in needs]
    return tuple(needs)


async def _of(calls: Calls, end: End, *, must_be_there: bool) -> list[TransferNeed]:
    if end.collection is None:
        return [_need("no_way", f"No Globus collection is known for {end.location.place}.")]
    needs: list[TransferNeed] = []
    try:
        known = await calls.collection(end.collection)
        needs += _warnings(known)
        found = await calls.look(end.collection, collection_path(end))
    except DataProblem as problem:
        return [*needs, _need("permission" if problem.kind == "permission" else "no_way", problem.message)]
    except GlobusProblem as problem:
        kind: NeedKind = "login" if problem.outcome == "needs_login" else "offline"
        return [*needs, _need(kind, problem.message, blocks=not problem.transient)]
    if must_be_there and found.kind == "missing":
        needs.append(_need("missing", f"{end.location} is not there."))
    return needs


def _warnings(known: Known) -> list[TransferNeed]:
    if not known.connected:
        said = f"The collection {known.name} is not connected to Globus at the moment."
        return [_need("offline", said, blocks=False)]
    if not (known.high_assurance or known.session_min):
        return []
    how_often = f"every {known.session_min} min" if known.session_min else "every now and then"
    said = (
        f"{known.name} wants a fresh login {how_often}: a transfer that runs longer, or begins later, stops and asks "
        "you."
    )
    return [_need("session", said, blocks=False)]


def _need(kind: NeedKind, sentence: str, *, blocks: bool = True) -> TransferNeed:
    return TransferNeed(kind=kind, sentence=sentence, blocks=blocks)
