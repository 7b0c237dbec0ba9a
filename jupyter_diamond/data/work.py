"""What movers over a shell have in common: look at both ends, fetch what differs under a temporary name, verify, place.

Nothing is remembered but what lies at the destination: a second try looks again, and what has come already is not
fetched again. So it may be asked after a crash at any instant.
"""

from __future__ import annotations

import abc
import asyncio
import posixpath
from collections.abc import Awaitable, Collection, Mapping
from dataclasses import dataclass, field

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.data import DataSize
from jupyter_diamond.model.transfer import MoverKind, Progress
from jupyter_diamond.transport.base import Transport

from . import listing, placing
from .base import End, Move, Moved
from .differences import differing, empty_folders, fingerprints, to_compare, unchanged, wanted
from .listing import Entry, Listing

_TOLD = 5
_LOOK_S = 600.0


@dataclass(frozen=True)
class Work:
    """What one try has to do. ``send`` is all that differs; ``fetch`` what of it does not lie under ``part`` yet.

    With ``single`` the source is a file, ``part`` will be one, and the only path is ``""``.
    """

    move: Move
    part: str
    single: bool
    send: Mapping[str, Entry]
    fetch: Mapping[str, Entry]
    wanted: Mapping[str, Entry]
    folders: tuple[str, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    """Digests that were made to compare."""
    come: Mapping[str, Entry] = field(default_factory=dict)
    """What lies under ``part``."""
    there: Mapping[str, Entry] = field(default_factory=dict)
    """What lay at the destination before."""

    @property
    def source(self) -> Transport:
        """The shell at the source."""
        return shell(self.move.source)

    @property
    def destination(self) -> Transport:
        """The shell at the destination."""
        return shell(self.move.destination)

    @property
    def to_fetch(self) -> int:
        """Bytes that have to come now."""
        return sum(entry.bytes for entry in self.fetch.values())

    def told(self, bytes_done: int, files_done: int = 0) -> Progress:
        """How far it is, ``bytes_done`` and ``files_done`` of ``fetch``."""
        total, files = sum(entry.bytes for entry in self.wanted.values()), len(self.wanted)
        return Progress(
            bytes_total=total, bytes_done=max(0, min(total, total - self.to_fetch + bytes_done)),
            files_total=files, files_done=max(0, min(files, files - len(self.fetch) + files_done)),
            files_skipped=files - len(self.send), bytes_sent=self.sent_before + bytes_done,
        )  # fmt: skip

    @property
    def sent_before(self) -> int:
        """Bytes that earlier tries have sent."""
        return self.move.transfer.progress.bytes_sent or 0


def shell(end: End) -> Transport:
    """The shell of an end. Raises DataProblem where there is none."""
    if end.transport is None:
        raise DataProblem(f"{end.location.place} has no shell that is configured.", kind="no_way")
    return end.transport


async def look_at(end: End, files: Collection[str] = (), *, timeout_s: float = _LOOK_S) -> Listing:
    """What lies at one end."""
    return await listing.look(shell(end), end.path, files=files, where=end.location.place, timeout_s=timeout_s)


def refuse_source(end: End, found: Listing) -> None:
    """Raise DataProblem where a source cannot be moved as it is."""
    where = f"{end.path} at {end.location.place}"
    if found.kind == "missing":
        raise DataProblem(f"There is no {where}.", kind="missing", advice="Correct the path.")
    if found.kind == "unreadable" or found.unread:
        raise DataProblem(
            f"{where} cannot be read.", kind="permission", advice="Have it opened to you.", evidence=found.unread[:20]
        )
    if found.kind == "other":
        raise DataProblem(f"{where} is neither a file nor a folder.", kind="refused", advice="Name a file or a folder.")
    if found.missing:
        named = ", ".join(found.missing[:_TOLD])
        raise DataProblem(
            f"Below {where} there is no {named}.",
            kind="missing",
            advice="Correct the names.",
            evidence=found.missing[:20],
        )


class ShellMover(abc.ABC):
    """A mover that has a shell at both ends. What differs between such movers is how the bytes come."""

    kind: MoverKind

    @abc.abstractmethod
    async def fetch(self, work: Work) -> int:
        """Bring ``work.fetch`` under ``work.part``; how many bytes were sent. Times of files are kept. DataProblem."""

    async def move(self, move: Move) -> Moved:
        """As Mover says it."""
        work, log = await self._look(move)
        if not work.send and not work.folders:
            await _remember(work, {})
            return self._done(work, 0, (*log, "All of it is there already: nothing is moved."))
        move.tell(work.told(0))
        sent = 0
        place = move.destination.location.place
        await placing.begin(work.destination, move.destination.path, where=place, part=work.part, folders=work.folders)
        if work.fetch:
            sent = await self.fetch(work)
        checked = await self._verify(work)
        await move.say("placing", "", "")
        placed = await placing.place(work.destination, work.part, move.destination.path, where=place)
        return self._done(work, sent, (*log, *checked, *placed))

    async def cancel(self, move: Move) -> None:
        """Take away what has come so far; ``move`` has stopped already."""
        await placing.discard(shell(move.destination), move.destination.path, move.transfer.id)

    def _done(self, work: Work, sent: int, log: tuple[str, ...]) -> Moved:
        size = DataSize(bytes=sum(entry.bytes for entry in work.wanted.values()), files=len(work.wanted))
        return Moved(size, bytes_sent=work.sent_before + sent, files_skipped=len(work.wanted) - len(work.send), log=log)

    async def _look(self, move: Move) -> tuple[Work, tuple[str, ...]]:
        """What has to be done now. Raises DataProblem."""
        request = move.transfer.request
        path, me, place = move.destination.path, move.transfer.id, move.destination.location.place
        paths = [path, *(placing.part_of(path, me, inside=inside) for inside in (False, True))]
        source, (there, *parts) = await asyncio.gather(
            look_at(move.source, request.files),
            listing.look_all(shell(move.destination), paths, where=place, timeout_s=_LOOK_S),
        )
        refuse_source(move.source, source)
        for end, found in ((move.source, source), (move.destination, there)):
            if not found.whole:
                raise DataProblem(
                    f"{end.path} at {end.location.place} holds more files than can be listed "
                    f"({listing.MOST_ENTRIES:,}).",
                    kind="refused", advice="Pack them into archives, or move it by Globus Transfer.",
                )  # fmt: skip
        single = source.kind == "file"
        inside = there.kind == "folder"
        if single and inside:
            raise DataProblem(
                f"{path} at {place} is a folder, and a file is to come there.",
                kind="refused", advice="Name the file at the destination.",
            )  # fmt: skip
        files = wanted(source, request.filters)
        known, equal = await _compare(move, files, there.files)
        send = differing(files, there.files, request.sync, equal=equal)
        part, come = paths[1 + inside], parts[inside]
        fetch = differing(send, come.files, "mtime")
        folders = () if request.files else tuple(set(empty_folders(source)) - set(there.folders))
        left = (f"Left out: {source.links} symbolic links, sockets or devices",) if source.links else ()
        again = (f"{len(send) - len(fetch)} files had come already",) if len(fetch) < len(send) else ()
        return Work(move, part, single, send, fetch, files, folders, known, come.files, there.files), (*left, *again)

    async def _verify(self, work: Work) -> tuple[str, ...]:
        """Nothing is placed but what was wanted, as it was at the source. Raises DataProblem."""
        move, verify = work.move, work.move.transfer.request.verify
        source, come = await asyncio.gather(*self._last_looks(work))
        if work.send and {path: source.files.get(path) for path in work.send} != dict(work.send):
            await self.cancel(move)
            raise DataProblem(
                f"{move.source.path} at {move.source.location.place} was changed while it was moved.",
                kind="changed", transient=True, advice="Move it when nobody writes there any more.",
            )  # fmt: skip
        wrong = [
            path for path, entry in work.send.items() if path not in come.files or come.files[path].bytes != entry.bytes
        ]
        wrong += [path for path in come.files if path not in work.send]
        if not wrong and verify:
            wrong = await self._compare_digests(work, {**work.known, **source.digests}, come.digests)
        if wrong:
            await self.cancel(move)
            raise _corrupt(work, wrong)
        await _remember(work, come.files)
        if not verify:
            return (f"Verified: {len(work.send)} files, by their sizes",)
        return (f"Verified: {len(work.send)} files, by SHA-256",)

    def _last_looks(self, work: Work) -> tuple[Awaitable[Listing], Awaitable[Listing]]:
        """Both ends once more, with digests where they shall be compared."""
        move, names = work.move, list(work.send)
        total = sum(entry.bytes for entry in work.send.values())
        digest = names if move.transfer.request.verify else ()
        source = listing.look(
            work.source, move.source.path, files=() if work.single else names, where=move.source.location.place,
            digest=() if work.known.keys() >= work.send.keys() else digest, timeout_s=listing.patience(total),
        )  # fmt: skip
        come = listing.look(
            work.destination, work.part, where=move.destination.location.place, digest=digest,
            timeout_s=listing.patience(total),
        )  # fmt: skip
        return source, come

    async def _compare_digests(self, work: Work, whole: Mapping[str, str], arrived: Mapping[str, str]) -> list[str]:
        move = work.move
        for end, path, made in ((move.source, move.source.path, whole), (move.destination, work.part, arrived)):
            listing.check_digests(made, work.send, path, end.location.place)
        wrong = [name for name in work.send if whole[name] != arrived[name]]
        if not wrong and len(whole) == len(work.wanted):
            await move.keep(digest=listing.tree_digest(whole))
        return wrong


def _corrupt(work: Work, wrong: list[str]) -> DataProblem:
    place = work.move.destination.location.place
    named = ", ".join(
        posixpath.join(work.move.source.path, path) if path else work.move.source.path for path in wrong[:_TOLD]
    )
    return DataProblem(
        f"{len(wrong)} of {len(work.send)} files did not arrive at {place} as they were sent: {named}.",
        kind="corrupt", transient=True, evidence=tuple(wrong[:20]), advice="It is sent again.",
    )  # fmt: skip


async def _remember(work: Work, come: Mapping[str, Entry]) -> None:
    """Note what both ends look like where all of it is now known to be the same by checksum."""
    request, skipped = work.move.transfer.request, len(work.wanted) - len(work.send)
    if (request.verify or not work.send) and (request.sync == "checksum" or not skipped):
        after = {path: come[path] if path in work.send else work.there[path] for path in work.wanted}
        await work.move.keep(compared=fingerprints(work.wanted, after))


async def _compare(
    move: Move, files: Mapping[str, Entry], there: Mapping[str, Entry]
) -> tuple[dict[str, str], set[str]]:
    """Digests at the source of what could be the same, and the names of those that are.

    Where nothing has changed since all of it was found the same, nothing is read: a change of the content that leaves
    both size and time as they were is no change that a program makes by writing.
    """
    names = to_compare(files, there, move.transfer.request.sync)
    if unchanged(move.transfer.compared, files, there):
        return {}, set(names)
    total = sum(files[name].bytes for name in names)
    made, others = await asyncio.gather(*(
        listing.digests(shell(end), end.path, names, total_bytes=total, where=end.location.place)
        for end in (move.source, move.destination)
    ))  # fmt: skip
    return made, {name for name in names if made[name] == others[name]}
