"""What is asked of transfers: to begin one, to look at it, to end it, to do it again; and how fast two places are."""

from __future__ import annotations

import asyncio
import logging
import posixpath
import secrets
import time
from collections.abc import Collection
from datetime import timedelta
from typing import Protocol, runtime_checkable

from jupyter_diamond.data import listing
from jupyter_diamond.data.base import End
from jupyter_diamond.data.choice import choose
from jupyter_diamond.data.globus import GlobusMover
from jupyter_diamond.data.listing import Listing
from jupyter_diamond.data.work import refuse_source
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.transfers.driver import TransferDriver
from jupyter_diamond.engine.transfers.ends import Ends
from jupyter_diamond.engine.transfers.movers import movers
from jupyter_diamond.errors import DataProblem, InvalidRequest
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.data import DataSize, Location
from jupyter_diamond.model.transfer import MoverKind, Transfer, TransferNeed, TransferRequest
from jupyter_diamond.settings import DiamondData

_LOOK_AGAIN_S = 30.0
_GIB = 1 << 30


@runtime_checkable
class Looks(Protocol):
    """A mover that can look where there is no shell."""

    async def look(self, end: End, files: Collection[str] = ()) -> Listing | None:
        """What lies at an end; None where that cannot be said now. Raises DataProblem."""


class TransferDesk:
    """Any server of the user takes what is asked; the one that advances work moves."""

    def __init__(
        self, ledger: Ledger, links: SiteLinks, globus: Globus, settings: DiamondData, log: logging.Logger
    ) -> None:
        self._ledger, self._settings = ledger, settings
        self.ends = Ends(links, settings.collections)
        self.movers = movers(globus, settings)
        self.driver = TransferDriver(ledger, self.ends, self.movers, log, at_once=settings.at_once)

    async def close(self) -> None:
        """Let go of what was opened for it."""
        await self.ends.close()

    async def start(self, request: TransferRequest) -> Transfer:
        """Take a transfer; the same client token gives the same one. What cannot be is refused now, not later.

        Raises DataProblem (missing, permission, no_space, no_way, …), NotFound, InvalidRequest, TransportError: nothing
        was begun then.
        """
        known = await self._ledger.do(self._ledger.store.transfers.find_token, request.client_token)
        if known is not None:
            return known
        _check_names(request)
        source, destination = await self._both(request.source, request.destination)
        found, there = await asyncio.gather(self._look(source, request.files), self._glance(destination))
        if found is not None:
            refuse_source(source, found)
            request, destination = await self._aimed(request, found, there, destination)
        total = found.total_bytes if found is not None and found.whole else None
        kind, why = await self._choose(source, destination, total)
        if found is not None and there is not None and there.kind == "missing":
            _check_room(destination, found, there)
        now = time.time()
        size = DataSize(bytes=total, files=len(found.files)) if found is not None and total is not None else None
        before = await self._ledger.do(self._ledger.store.transfers.like, request)
        transfer = Transfer(
            id=f"x{secrets.token_hex(5)}", request=request, mover=kind, why=why, created_at=from_epoch(now),
            deadline=from_epoch(now) + timedelta(seconds=request.deadline_s), state_since=from_epoch(now),
            compared=before.compared if before is not None else None,
        )  # fmt: skip
        if size is not None:
            told = {"bytes_total": size.bytes, "files_total": size.files}
            transfer = transfer.model_copy(update={"progress": transfer.progress.model_copy(update=told)})
        made, _ = await self._ledger.write(self._ledger.store.transfers.create, transfer)
        return made

    async def plan(self, source: Location, destination: Location) -> tuple[MoverKind, str]:
        """Which mover would bring it there now, and why. Raises DataProblem where none can."""
        one, other = await self._both(source, destination)
        found = await self._look(one, ())
        if found is not None:
            refuse_source(one, found)
        return await self._choose(one, other, found.total_bytes if found is not None and found.whole else None)

    async def needs(self, source: Location, destination: Location) -> tuple[TransferNeed, ...]:
        """What Globus wants before it moves something from one to the other: asked now, not when nobody is there."""
        mover = self.movers["globus"]
        if not isinstance(mover, GlobusMover):
            return ()
        return await mover.preconditions(*await self._both(source, destination))

    async def mover(self, source: Location, destination: Location, total_bytes: int | None) -> tuple[MoverKind, str]:
        """As ``plan``, of data that was looked at before."""
        one, other = await self._both(source, destination)
        return await self._choose(one, other, total_bytes)

    async def look(self, location: Location, files: Collection[str] = ()) -> Listing | None:
        """What lies at a location now; None where nobody can look. Raises DataProblem, TransportError."""
        return await self._look(await self.ends.end_of(location), files)

    async def digest(self, location: Location, found: Listing) -> str:
        """``sha256:…`` over what was found at a location, made there. Raises DataProblem, TransportError."""
        end = await self.ends.end_of(location)
        if end.transport is None:
            raise DataProblem(f"{location.place} has no shell that could make a digest.", kind="no_way")
        total, where = found.total_bytes, location.place
        made = await listing.digests(end.transport, end.path, list(found.files), total_bytes=total, where=where)
        return listing.tree_digest(made)

    async def get(self, ref: str) -> Transfer:
        """A transfer by its id or the beginning of it. Raises NotFound."""
        return await self._ledger.do(self._ledger.store.transfers.get, ref)

    async def list(self, active: bool | None = None, task: str | None = None, limit: int = 100) -> tuple[Transfer, ...]:
        """Transfers, newest first."""
        return await self._ledger.do(self._ledger.store.transfers.list, active, task, limit)

    async def cancel(self, ref: str, by: str) -> Transfer:
        """Ask for its end. What has ended stays as it is."""
        found = await self.get(ref)
        return await self._ledger.write(
            self._ledger.store.transfers.request_cancel, found.id, by, from_epoch(time.time())
        )

    async def again(self, ref: str, by: str) -> Transfer:
        """Ask for the same once more, as a new transfer. Raises InvalidRequest while the first goes on."""
        found = await self.get(ref)
        if not found.ended:
            raise InvalidRequest(f"The transfer {found.id} still goes on; cancel it before it is done again.")
        token = f"again-{secrets.token_hex(12)}"
        agent = found.request.by if by == "user" else by
        return await self.start(found.request.model_copy(update={"client_token": token, "by": agent}))

    async def rate(self, source_place: str, destination_place: str) -> float | None:
        """Bytes a second that were seen between two places; None: none were moved yet."""
        return await self._ledger.do(self._ledger.store.transfers.rate, source_place, destination_place)

    async def wait(self, ref: str) -> Transfer:
        """The transfer, when it has ended."""
        while True:
            newest = self._ledger.newest
            found = await self.get(ref)
            if found.ended:
                return found
            await self._ledger.wait(newest, _LOOK_AGAIN_S)

    # ---- looking ahead

    async def _both(self, source: Location, destination: Location) -> tuple[End, End]:
        one, other = await asyncio.gather(self.ends.end_of(source), self.ends.end_of(destination))
        if one.path == other.path and one.location.place == other.location.place:
            raise InvalidRequest(f"{source} is both source and destination.")
        if one.location.place == other.location.place and other.path.startswith(one.path.rstrip("/") + "/"):
            raise InvalidRequest(f"{destination} lies within {source}, which cannot be sent into itself.")
        return one, other

    async def _look(self, end: End, files: Collection[str]) -> Listing | None:
        if end.transport is not None:
            where, patience = end.location.place, self._settings.look_s
            return await listing.look(end.transport, end.path, files=files, where=where, timeout_s=patience)
        mover = self.movers.get("globus")
        return await mover.look(end, files) if isinstance(mover, Looks) else None

    async def _glance(self, end: End) -> Listing | None:
        if end.transport is None:
            return None
        return await listing.glance(end.transport, end.path, where=end.location.place)

    async def _choose(self, source: End, destination: End, total_bytes: int | None) -> tuple[MoverKind, str]:
        one, other = await asyncio.gather(self.ends.reach(source), self.ends.reach(destination))
        return choose(one, other, total_bytes=total_bytes, small_bytes=self._settings.small_bytes)

    async def _aimed(
        self, request: TransferRequest, found: Listing, there: Listing | None, destination: End
    ) -> tuple[TransferRequest, End]:
        """A file that is sent to a folder gets its own name there. Raises DataProblem."""
        into = request.destination.path.endswith("/") or (there is not None and there.kind == "folder")
        if found.kind == "file" and into:
            path = posixpath.join(request.destination.path, posixpath.basename(request.source.path))
            named = request.destination.model_copy(update={"path": path})
            return request.model_copy(update={"destination": named}), await self.ends.end_of(named)
        if found.kind == "folder" and there is not None and there.kind in ("file", "other"):
            raise DataProblem(
                f"{destination.path} at {destination.location.place} is a file, and a folder is to come there.",
                kind="refused", advice="Choose another destination.",
            )  # fmt: skip
        return request, destination


def _check_names(request: TransferRequest) -> None:
    for name in request.files:
        if not name or name.startswith("/") or "\0" in name or ".." in name.split("/"):
            raise InvalidRequest(f"{name!r} does not name a file below {request.source}.")


def _check_room(end: End, found: Listing, there: Listing) -> None:
    """Raise DataProblem where it surely does not fit; what is not told is not held against it."""
    where, need = f"{end.location.place}", found.total_bytes
    free, inodes = there.room.bytes, there.room.inodes
    if free is not None and need > free:
        raise DataProblem(
            f"It holds {need / _GIB:,.2f} GiB, and at {where} {free / _GIB:,.2f} GiB are left to you.",
            kind="no_space", advice="Make room there, or choose another destination.",
        )  # fmt: skip
    if inodes is not None and len(found.files) > inodes:
        raise DataProblem(
            f"It holds {len(found.files):,} files, and at {where} only {inodes:,} more can be made.",
            kind="no_space", advice="Make room there, or pack them into an archive.",
        )  # fmt: skip
