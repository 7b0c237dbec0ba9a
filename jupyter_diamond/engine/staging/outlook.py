"""What a decision may know of the data that a task needs: where it lies, and how it would get to each site.

Places are looked at before a plan, at most once a minute and all at once; one that hangs holds nothing up for long. So
a path that is missing is told when the cell is sent, not when its turn comes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.errors import DataProblem, DiamondError
from jupyter_diamond.model.data import Location, Replica, StageIn
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.transfer import MoverKind
from jupyter_diamond.placement.data_at import DataAt
from jupyter_diamond.placement.data_rules import with_data
from jupyter_diamond.placement.world import World
from jupyter_diamond.store.datasets import Copy

from .resolve import Seen, is_version, origin_of, version_of
from .sights import Sight, look, plain

_KEPT_S = 60.0
_PATIENCE_S = 8.0
"""A decision waits for places no longer than this."""
_LATE = "it was not told in time what lies there"

Copies = Callable[[str], Awaitable[tuple[Copy, ...]]]
_Way = tuple[str, str, int | None]


class Outlook:
    """One for a service."""

    def __init__(self, links: SiteLinks, transfers: TransferDesk, copies: Copies) -> None:
        self._links, self._transfers, self._copies = links, transfers, copies
        self._sights: dict[str, tuple[float, Sight]] = {}
        self._ways: dict[_Way, tuple[float, MoverKind | DiamondError]] = {}

    async def world(self, envelope: Envelope, world: World) -> World:
        """The world with what is known of its data at each site that may be chosen. Raises NotFound, StoreError."""
        if not envelope.stage_in:
            return world
        links = [self._links[name] for name in self._links if _may_be(name, envelope)]
        real = [link for link in links if not link.site.simulated]
        wanted = [(want, await self._all(want)) for want in envelope.stage_in]
        named = {str(copy.replica.location): copy.replica.location
                 for _, copies in wanted for copy in copies if copy.replica.given}  # fmt: skip
        await _together(self._see(location) for location in named.values())
        now = time.monotonic()
        self._ways = {way: kept for way, kept in self._ways.items() if now - kept[0] < _KEPT_S}
        found = [[self._at(want, copies, link) for want, copies in wanted] for link in real]
        await _together(each for row in found for each in row)
        known = {
            link.name: [each.result() if each.done() and not each.cancelled() else DataAt(want.name, "unknown")
                        for (want, _), each in zip(wanted, row, strict=True)]
            for link, row in zip(real, found, strict=True)
        }  # fmt: skip
        return with_data(world, known)

    async def _all(self, want: StageIn) -> tuple[Copy, ...]:
        if want.source is None:
            return await self._copies(want.name)
        return (Copy(Replica(location=plain(want.source), given=True), ""),)

    async def _see(self, location: Location) -> None:
        at, _ = self._sights.get(str(location), (-_KEPT_S, None))
        if time.monotonic() - at >= _KEPT_S:
            sight = await look(self._transfers, location)
            self._sights[str(location)] = (time.monotonic(), sight)

    def _seen(self, copies: Sequence[Copy]) -> list[Seen]:
        found = []
        for each in copies:
            late = Sight(each.replica.location, None, DiamondError(f"{each.replica.location.place}: {_LATE}."))
            _, sight = self._sights.get(str(each.replica.location), (0.0, late))
            found.append(Seen(each.replica, each.listing, sight))
        return found

    def _at(self, want: StageIn, copies: Sequence[Copy], link: SiteLink) -> asyncio.Task[DataAt]:
        return asyncio.create_task(self._stands(want, copies, link), name=f"diamond-data-look-{link.name}")

    async def _stands(self, want: StageIn, copies: Sequence[Copy], link: SiteLink) -> DataAt:
        """How it stands at one site, by what was seen lately and what is written down."""
        seen, site = self._seen(copies), link.name
        in_place = link.transport.shares_files and link.site.data.folder is None
        places = (site, "home") if in_place else (site,)
        if any(each.replica.given and each.place in places and each.sight.good for each in seen):
            return DataAt(want.name, "there")
        origin = origin_of(seen)
        if origin is None:
            return _without_origin(want.name, site, seen)
        version = version_of(origin.sight)
        made = [each for each in seen if not each.replica.given and each.replica.state == "here"]
        alike = [each.replica.location for each in made if is_version(each.replica.location.path, version)]
        if any(location.place == site for location in alike):
            return DataAt(want.name, "there")
        size = origin.sight.found.size if origin.sight.found is not None else origin.replica.size
        return await self._best(
            want.name, (origin.replica.location, *alike), link, None if size is None else size.bytes
        )

    async def _best(self, name: str, sources: Sequence[Location], link: SiteLink, total: int | None) -> DataAt:
        """The fastest way that there is, or why there is none."""
        ways = [await self._way(name, source, link, total) for source in sources]
        good = [way for way in ways if way.there == "comes"]
        if not good:
            return next((way for way in ways if way.there == "unknown"), ways[0])
        return max(good, key=lambda way: way.rate or 0.0)

    async def _way(self, name: str, source: Location, link: SiteLink, total: int | None) -> DataAt:
        key = (str(source), link.name, total)
        if key not in self._ways:
            self._ways[key] = (time.monotonic(), await self._mover(source, link, total))
        _, mover = self._ways[key]
        if isinstance(mover, DataProblem):
            return DataAt(name, "no_way", total, source.place, said=mover.message)
        if isinstance(mover, DiamondError):
            return DataAt(name, "unknown", total, source.place, said=mover.message)
        rate = await self._transfers.rate(source.place, link.name)
        return DataAt(name, "comes", total, source.place, mover, rate)

    async def _mover(self, source: Location, link: SiteLink, total: int | None) -> MoverKind | DiamondError:
        folder = link.site.data.folder or link.site.workdir
        try:
            kind, _ = await self._transfers.mover(source, Location(kind="site", site=link.name, path=folder), total)
        except DiamondError as problem:
            return problem
        return kind


def _without_origin(name: str, site: str, seen: Sequence[Seen]) -> DataAt:
    """No copy that its user named can be looked at: what was brought to the site before will do."""
    given = [each for each in seen if each.replica.given]
    silent = [each for each in given if not isinstance(each.sight.problem, DataProblem)]
    if silent and any(not each.replica.given and each.place == site and each.replica.state == "here" for each in seen):
        return DataAt(name, "there")
    problems = [each.sight.problem for each in (silent or given) if each.sight.problem is not None]
    said = problems[0].message if problems else "no place of it is known."
    return DataAt(name, "unknown" if silent else "no_way", said=said)


async def _together(looks: Iterable[Awaitable[object]]) -> None:
    """Wait for all of them, but not for long; what is late is given up."""
    asked = [asyncio.ensure_future(each) for each in looks]
    if asked:
        _, late = await asyncio.wait(asked, timeout=_PATIENCE_S)
        for each in late:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


def _may_be(name: str, envelope: Envelope) -> bool:
    return name == envelope.site if envelope.site is not None else not envelope.sites or name in envelope.sites
