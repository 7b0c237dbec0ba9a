"""The text of a location: ``delta:/scratch/x``, ``delta:~/x``, ``globus://UUID/path``, ``home:/path``, ``/path``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from uuid import UUID

from pydantic import ValidationError

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.data import Location

EXAMPLE = "delta:/scratch/me/data, globus://COLLECTION-ID/path or home:/path"
_GLOBUS = "globus://"
_PLACE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_.-]*):(.*)", re.DOTALL)


def location_of(text: str, sites: Collection[str] | None = None) -> Location:
    """The location that is written so; a path alone is this machine's. Raises InvalidRequest with what to write.

    ``sites`` are the names that there are, where they are known: another one is refused then. A path keeps whatever is
    in it; only what says nothing, a slash at its end or twice, is left out.
    """
    said = text.strip()
    if said.startswith(_GLOBUS):
        return _of_globus(said)
    if said.startswith(("/", "~")):
        return _made(said, kind="home", path=said)
    found = _PLACE.fullmatch(said)
    if found is None:
        raise InvalidRequest(f"{_shown(said)} is no location; write {EXAMPLE}.")
    place, path = found.groups()
    if place == "home":
        return _made(said, kind="home", path=path)
    if sites is not None and place not in sites:
        close = difflib.get_close_matches(place, sites, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else f"the sites are: {', '.join(sites) or 'none'}."
        raise InvalidRequest(f"{_shown(said)}: there is no site {place!r}; {hint}")
    return _made(said, kind="site", site=place, path=path)


def _of_globus(said: str) -> Location:
    identity, slash, path = said.removeprefix(_GLOBUS).partition("/")
    try:
        collection = UUID(identity)
    except ValueError:
        raise InvalidRequest(
            f"{_shown(said)}: {identity[:60]!r} is no collection's id. Write {_GLOBUS}ID/path with the id that Globus "
            "shows for the collection."
        ) from None
    path = f"/{path}" if slash else "/"
    if path.startswith("/~/") or path == "/~":
        path = path[1:]
    return _made(said, kind="globus", collection=collection, path=path)


def _made(said: str, **fields: object) -> Location:
    path = str(fields["path"])
    fields["path"] = re.sub(r"/{2,}", "/", path)
    try:
        return Location.model_validate(fields)
    except ValidationError as fault:
        why = str(fault.errors()[0]["msg"]).removeprefix("Value error, ")
        if not path:
            why = "it names no path"
        raise InvalidRequest(f"{_shown(said)}: {why}; write {EXAMPLE}.") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")
