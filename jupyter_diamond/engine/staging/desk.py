"""Data by name, as its user has it: given a name, looked at, forgotten; and where a copy of it lies at a site."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from jupyter_diamond.engine.engine import Engine
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.errors import Conflict, DataProblem, InvalidRequest, NotFound
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.data import DATA_NAME, Dataset, ListedFile, Listing, Location, Replica
from jupyter_diamond.model.site import Site
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.store.datasets import Copy

from .foresight import Foresight
from .outlook import Outlook
from .sights import look, plain, purge_warning, replica_of, trouble_of
from .stage_in import StageIns
from .stage_out import StageOuts

_DROP_S = 600.0
_LISTED = 1000
"""So many files of a listing are named."""


class DataDesk:
    """The datasets of one user. What is said of a copy is what was seen at the last look, with its time."""

    def __init__(self, ledger: Ledger, links: SiteLinks, transfers: TransferDesk, log: logging.Logger) -> None:
        self._ledger, self._links, self._transfers, self._log = ledger, links, transfers, log
        self._foresight: Foresight | None = None

    def serve(self, engine: Engine) -> None:
        """Have the engine bring data to sites before jobs, and away after them."""
        engine.readiness.add(StageIns(self._ledger, self._transfers, self.copies, self._log))
        engine.planner.data = Outlook(self._links, self._transfers, self.copies).world
        engine.healer.away = StageOuts(self._ledger, self._transfers, self._log)
        self._foresight = Foresight(
            self._ledger, self._links, self._transfers, self._log, advances=lambda: engine.advances
        )  # fmt: skip

    async def stop(self) -> None:
        """Stop background work; transfers go on elsewhere."""
        if self._foresight is not None:
            await self._foresight.stop()

    async def add(self, name: str, location: Location, note: str = "") -> Dataset:
        """Give data a name, or a name another place where the same data lies; it is looked at now.

        What cannot be read is kept with its state, for it may be there later. Raises InvalidRequest, NotFound.
        """
        if not re.fullmatch(DATA_NAME, name):
            raise InvalidRequest(
                f"{name[:60]!r} cannot name data: write a letter, then letters, digits, and any of _ . - (at most 63)."
            )
        site, location = self._site(location), plain(location)
        sight, now = await look(self._transfers, location), _now()
        copy = replica_of(sight, given=True, now=now, site=site)
        dataset = Dataset(name=name, note=note, size=copy.replica.size, created_at=now)
        return await self._ledger.write(self._ledger.store.datasets.add, dataset, copy, now)

    async def list(self) -> tuple[Dataset, ...]:
        """All of them, by name, as they were seen last."""
        return await self._ledger.do(self._ledger.store.datasets.all)

    async def get(self, name: str) -> Dataset:
        """One, as it was seen last. Raises NotFound."""
        return await self._ledger.do(self._ledger.store.datasets.get, name)

    async def check(self, name: str) -> Dataset:
        """Look at every copy now. Raises NotFound."""
        seen = await self.seen(await self.copies(name))
        return await self._ledger.write(self._ledger.store.datasets.saw, name, seen, _now())

    async def copies(self, name: str) -> tuple[Copy, ...]:
        """Its copies as they were seen last, those that the user named first. Raises NotFound."""
        return await self._ledger.do(self._ledger.store.datasets.copies, name)

    async def seen(self, copies: Sequence[Copy]) -> tuple[Copy, ...]:
        """Copies as they are seen now; nothing is kept of it."""
        sights = await asyncio.gather(*(look(self._transfers, each.replica.location) for each in copies))
        now = _now()
        return tuple(
            replica_of(sight, given=each.replica.given, now=now, before=each, site=self._site_of(each.replica))
            for each, sight in zip(copies, sights, strict=True)
        )

    async def remove(self, name: str) -> Dataset:
        """Forget the name and where its copies are. Nothing is deleted anywhere. Raises NotFound."""
        return await self._ledger.write(self._ledger.store.datasets.remove, name, _now())

    async def listing(self, name: str, place: str) -> Listing:
        """What lies in the copy at a site, or ``home``, now; its digest is what ``drop_replica`` wants.

        Raises NotFound, DataProblem.
        """
        location = (await self._at(name, place)).replica.location
        found = await self._transfers.look(location)
        if (problem := trouble_of(location, found)) is not None:
            raise problem
        if found is None:
            raise DataProblem(f"Nobody can list {location}.", kind="no_way")
        files = (
            ListedFile(path=shown(path), bytes=entry.bytes, modified_at=_when(entry.mtime_s))
            for path, entry in sorted(found.files.items())
        )
        first = tuple(islice(files, _LISTED))
        return Listing(location=location, size=found.size, digest=found.digest, files=first)

    async def drop_replica(self, name: str, location: Location, listing_digest: str) -> Dataset:
        """Delete a copy that a stage-in made, as it was listed. Raises NotFound, InvalidRequest, Conflict, DataProblem.

        ``listing_digest`` is that of the listing which its user saw: where anything is different now, nothing is
        deleted.
        """
        here = next((each for each in await self.copies(name) if each.replica.location == location), None)
        if here is None:
            raise NotFound(f"No copy of {name} at {location} is known.")
        if here.replica.given:
            raise InvalidRequest(
                f"You named {location} yourself, so it is not deleted here; %diamond data remove {name} forgets it."
            )
        await self._refuse_in_use(name, location)
        end = await self._transfers.ends.end_of(location)
        listing = await self._transfers.look(location)
        if listing is not None and listing.kind != "missing":
            if listing.digest != listing_digest or not listing.whole:
                raise Conflict(
                    f"What lies at {location} is not what was listed; look at it again. Nothing was deleted."
                )
            if end.transport is None:
                raise DataProblem(f"There is no shell at {location.place} to delete it.", kind="no_way")
            done = await end.transport.run(f"rm -rf -- {quote(end.path, 'the copy')}", timeout_s=_DROP_S)
            if done.exit != 0:
                said = tuple(done.err.splitlines()[:20])
                raise DataProblem(f"{location} could not be deleted.", kind="permission", evidence=said)
        self._log.info("the copy of %s at %s was deleted, as its user asked", name, location)
        return await self._ledger.write(self._ledger.store.datasets.forget, name, str(location), _now())

    async def _refuse_in_use(self, name: str, location: Location) -> None:
        """Raise Conflict while a task that has not ended was given the copy."""
        for task in await self._ledger.do(self._ledger.store.active):
            attempt = task.attempt
            paths = {each.path for each in attempt.staged if each.name == name} if attempt is not None else set()
            if attempt is not None and attempt.site == location.site and paths:
                raise Conflict(f"{task.name} ({task.id}) uses it now; wait for its end, or cancel it.")

    async def where(self, name: str, place: str) -> str | None:
        """The path of a copy at a site, or at ``home``, by what was seen last; None: there is none. Raises NotFound."""
        try:
            found = await self._at(name, place)
        except DataProblem:
            return None
        return (await self._transfers.ends.end_of(found.replica.location)).path

    async def warnings(self, name: str) -> tuple[str, ...]:
        """Which of its copies may be deleted by their site within a week."""
        now = _now()
        told = (purge_warning(name, replica, now) for replica in (await self.get(name)).replicas)
        return tuple(sentence for sentence in told if sentence)

    async def _at(self, name: str, place: str) -> Copy:
        """A good copy at a place. Raises NotFound, DataProblem."""
        copies = await self.copies(name)
        here = [each for each in copies if each.replica.location.place == place]
        good = [each for each in here if each.replica.state in ("here", "unknown")]
        if not here or not good:
            others = ", ".join(str(each.replica.location) for each in copies)
            raise DataProblem(
                f"There is no copy of {name} at {place}.", kind="missing",
                advice=f"It lies at {others}: bring it with %diamond transfer, or name it with --stage-in {name}.",
            )  # fmt: skip
        return good[0]

    def _site(self, location: Location) -> Site | None:
        return self._links[location.site].site if location.site is not None else None

    def _site_of(self, replica: Replica) -> Site | None:
        name = replica.location.site
        return self._links[name].site if name is not None and name in tuple(self._links) else None


def shown(path: str) -> str:
    """A name as text: bytes that are none are escaped. A file alone has the path ``.``."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") or "."


def _when(seconds: int) -> datetime | None:
    try:
        return from_epoch(seconds)
    except (ValueError, OverflowError, OSError):  # a file may be dated to a year that there is not
        return None


def _now() -> datetime:
    return from_epoch(time.time())
