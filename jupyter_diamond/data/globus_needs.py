"""What must be given before Globus can move something: asked at plan time, not at three in the morning (B30)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from jupyter_diamond.errors import DataProblem, GlobusProblem
from jupyter_diamond.globus.access import Globus

from .base import End
from .globus_calls import SERVICE, Calls, Known
from .globus_document import collection_path

NeedKind = Literal["login", "missing", "permission", "no_way", "offline", "session"]


@dataclass(frozen=True)
class Need:
    """One thing to be given or known. ``blocks`` False: it goes now, and may not go later.

    ``login``: a login or a consent, which ``link`` begins. ``session``: logins are good for this collection for a
    while only, so what runs unattended will stop and ask.
    """

    kind: NeedKind
    sentence: str
    link: str = ""
    blocks: bool = True


async def needs_of(globus: Globus, calls: Calls, source: End, destination: End) -> tuple[Need, ...]:
    """What both ends want. One link gives all consents that are missing."""
    needs: list[Need] = []
    for end, must_be_there in ((source, True), (destination, False)):
        needs += await _of(calls, end, must_be_there=must_be_there)
    if any(need.kind == "login" for need in needs):
        link = await globus.door(SERVICE)  # after both were asked: it begins one login for all of it
        needs = [replace(need, link=link) if need.kind == "login" else need for need in needs]
    return tuple(needs)


async def _of(calls: Calls, end: End, *, must_be_there: bool) -> list[Need]:
    needs: list[Need] = []
    if end.collection is None:
        return [Need("no_way", f"No Globus collection is known for {end.location.place}.")]
    try:
        known = await calls.collection(end.collection)
        needs += _warnings(known)
        found = await calls.look(end.collection, collection_path(end))
    except DataProblem as problem:
        return [*needs, Need("permission" if problem.kind == "permission" else "no_way", problem.message)]
    except GlobusProblem as problem:
        kind: NeedKind = "login" if problem.outcome == "needs_login" else "offline"
        return [*needs, Need(kind, problem.message, blocks=not problem.transient)]
    if must_be_there and found.kind == "missing":
        needs.append(Need("missing", f"{end.location} is not there."))
    return needs


def _warnings(known: Known) -> list[Need]:
    if not known.connected:
        return [Need("offline", f"The collection {known.name} is not connected to Globus at the moment.", blocks=False)]
    if not (known.high_assurance or known.session_min):
        return []
    how_long = f" {known.session_min} min" if known.session_min else " a while"
    said = (
        f"{known.name} wants a fresh login every{how_long}: a transfer that runs longer, or begins later, stops and "
        "asks you."
    )
    return [Need("session", said, blocks=False)]
