"""Who stands at each end of a movement: its shell, its path there, and the collection that holds it."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Mapping

from jupyter_diamond.data.base import End
from jupyter_diamond.data.choice import Reach, Shell
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.data import Location, SiteCollection
from jupyter_diamond.transport.base import Transport
from jupyter_diamond.transport.local import LocalTransport

_SHELLS: Mapping[str, Shell] = {"local": "here", "ssh": "ssh", "globus-compute": "far"}
_KNOWN_S = 600.0
"""How long it is remembered whether rsync is installed somewhere."""
_S = 30.0


class Ends:
    """Makes ends of locations. ``collections`` are those of this machine, each with the folder that is its root."""

    def __init__(self, links: SiteLinks, collections: Mapping[str, str]) -> None:
        self._links, self._collections = links, dict(collections)
        self._home: LocalTransport | None = None
        self._rsync: dict[str, tuple[float, bool]] = {}

    async def close(self) -> None:
        """Let go of this machine's threads."""
        if self._home is not None:
            await self._home.close()

    @property
    def home(self) -> LocalTransport:
        """This machine's shell."""
        if self._home is None:
            self._home = LocalTransport({}, where="this machine")
        return self._home

    async def end_of(self, location: Location) -> End:
        """Who stands there. Raises NotFound for a site that there is not, TransportError."""
        if location.kind == "site":
            assert location.site is not None, "a location of a site names it"
            return await self._site_end(location, self._links[location.site])
        if location.kind == "globus":
            return await self._collection_end(location)
        path = await self.home.expand(location.path)
        held = [SiteCollection.model_validate({"id": each, "folder": root}) for each, root in self._collections.items()]
        collection, below = await _collection_of(self.home, path, held)
        return End(location, path, transport=self.home, collection=collection, collection_path=below)

    async def _site_end(self, location: Location, link: SiteLink) -> End:
        if link.site.simulated:
            raise InvalidRequest(f"{link.name} is simulated: there are no files, and nothing is moved there.")
        path = await link.transport.expand(location.path)
        collection, below = await _collection_of(link.transport, path, link.site.data.collections)
        return End(location, path, link.site, link.transport, collection, below)

    async def _collection_end(self, location: Location) -> End:
        """A collection; where it is a configured site's or this machine's, with the shell there."""
        told = f"/{location.path}" if location.path.startswith("~") else location.path
        collection = str(location.collection)
        for link in self._links.values():
            for each in link.site.data.collections:
                path = (
                    _within(told, each.path, await link.transport.expand(each.folder))
                    if each.id == location.collection
                    else None
                )
                if path is not None:
                    return End(location, path, link.site, link.transport, collection, told)
        for identity, root in self._collections.items():
            if (
                identity.lower() == collection
                and (path := _within(told, "/", await self.home.expand(root))) is not None
            ):
                return End(location, path, None, self.home, collection, told)
        return End(location, told, collection=collection, collection_path=told)

    async def reach(self, end: End) -> Reach:
        """What the choice of a mover has to know of it. Raises TransportError."""
        if end.transport is None:
            return Reach(end.location.place, end.location.place, None, collection=end.collection is not None)
        shell = _SHELLS[end.site.transport] if end.site is not None else "here"
        machine = "home" if shell == "here" or end.site is None else f"site:{end.site.name}"
        name = end.site.name if end.site is not None else "this machine"
        rsync = await self._has_rsync(machine, end.transport) if shell != "far" else None
        return Reach(name, machine, shell, collection=end.collection is not None, rsync=rsync)

    async def _has_rsync(self, machine: str, transport: Transport) -> bool:
        known = self._rsync.get(machine)
        if known is None or time.monotonic() - known[0] > _KNOWN_S:
            done = await transport.run("command -v rsync", timeout_s=_S)
            known = self._rsync[machine] = (time.monotonic(), done.exit == 0)
        return known[1]


def _within(path: str, folder: str, there: str) -> str | None:
    """What ``path`` below ``folder`` is called where that folder is ``there``; None: it is not below it."""
    if path.startswith("/~"):
        return None  # a collection's home is known to Globus alone
    below = posixpath.relpath(path, folder)
    return None if below.startswith("..") else posixpath.normpath(posixpath.join(there, below))


async def _collection_of(
    transport: Transport, path: str, collections: tuple[SiteCollection, ...] | list[SiteCollection]
) -> tuple[str | None, str | None]:
    """The collection through which a path is reached, and its path there: the longest folder wins."""
    best: tuple[int, str, str] | None = None
    for each in collections:
        folder = await transport.expand(each.folder)
        below = _within(path, folder, each.path)
        if below is not None and (best is None or len(folder) > best[0]):
            best = (len(folder), str(each.id), below)
    return (best[1], best[2]) if best is not None else (None, None)
