"""What is asked of receipts: one of them, the files of a task or a group, a piece of a file, an export."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, Protocol, TypeVar

from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.groups.results import PAGE, read_results
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.results import is_result, log_path, read_file, read_log
from jupyter_diamond.errors import DiamondError, NotFound
from jupyter_diamond.model import attempt_files as names
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.data import Dataset
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.receipt import FileList, GroupFiles, LogTail, Receipt
from jupyter_diamond.model.task import Attempt, Task, TaskRequest
from jupyter_diamond.model.transfer import Transfer

from .building import Found, receipt_of
from .exporting import Exports
from .kept import KEPT, PIECE_BYTES, Left, kept_file, left_by, listed, of_manifest, read_piece, refuse_large

T = TypeVar("T")

LOG_LINES, LOG_BYTES = 200, 64 << 10
_REMEMBERED = 32
_AT_ONCE = 8
"""So many lists of a group's files that have a file of their own are read side by side."""


class Transfers(Protocol):
    """What knows the transfers of a task."""

    async def list(self, active: bool | None = None, task: str | None = None, limit: int = 100) -> tuple[Transfer, ...]:
        """Newest first."""


class DataDesk(Protocol):
    """What knows data by name."""

    async def list(self) -> tuple[Dataset, ...]:
        """All of them."""


class Page(NamedTuple):
    """Some members of a group. ``next`` as in ``GroupFiles``."""

    request: TaskRequest
    members: tuple[tuple[Task, Left | None], ...]
    next: int | None


class Receipts:
    """Reads what attempts left; it changes nothing."""

    def __init__(
        self,
        ledger: Ledger,
        links: SiteLinks,
        *,
        transfers: Callable[[], Transfers | None] = lambda: None,
        data: Callable[[], DataDesk | None] = lambda: None,
    ) -> None:
        self._ledger, self._links, self._transfers, self._data = ledger, links, transfers, data
        self.exports = Exports(self, ledger)
        """The same for other people."""
        self._kept: OrderedDict[tuple[str, int], Left] = OrderedDict()

    async def receipt(self, ref: str, n: int | None = None) -> Receipt:
        """Of the newest attempt, or of the n-th. Raises NotFound; what cannot be read now is said in it."""
        task, request, attempt = await self._find(ref, n)
        link, unknown = self._links[attempt.site], list[str]()

        async def or_none(what: str, asked: Awaitable[T]) -> T | None:
            try:
                return await asked
            except (DiamondError, OSError) as problem:
                unknown.append(f"{what}: {problem}")
                return None

        left, log, decision, transfers, datasets = await asyncio.gather(
            or_none("what it left is not known", self._left(task, attempt, link, request)),
            or_none("its log cannot be read", _log_tail(attempt, link)),
            or_none("why there is not known", self._ledger.do(self._ledger.store.decision, task.id, attempt.n)),
            or_none("its transfers are not known", self._moved(task, attempt)),
            or_none("its inputs are not known", self._datasets(attempt)),
        )
        found = Found(
            request, decision, left, log or LogTail(), transfers or (), datasets or (), unknown=tuple(unknown)
        )
        return receipt_of(task, attempt, found, now=from_epoch(time.time()))

    async def files(self, ref: str, n: int | None = None) -> FileList:
        """All files that can be fetched. Raises NotFound, TransportError."""
        task, request, attempt = await self._find(ref, n)
        link = self._links[attempt.site]
        path = log_path(attempt)
        left, size = await asyncio.gather(
            self._left(task, attempt, link, request), link.transport.size(path) if path is not None else _nothing()
        )
        return _listing(task, attempt, left, size)

    async def group_files(self, group: Group, after: int | None = None) -> GroupFiles:
        """What its members left, a look at each site for 500 of them; without their logs, which each member has."""
        page = await self.page(group, after)
        return GroupFiles(
            group=group.id, name=group.name, next=page.next,
            members=tuple(_listing(task, newest(task), left, None) for task, left in page.members if left is not None),
        )  # fmt: skip

    async def page(self, group: Group, after: int | None = None) -> Page:
        """Its members that have begun, 500 at most, with what they left."""
        store = self._ledger.store
        tasks = await self._ledger.do(store.groups.members, group.id, after=after, limit=PAGE)
        request = (await self._ledger.do(store.groups.request, group.id)).request
        keys = {task.id: "" for task in tasks}
        found = await read_results(group.id, tasks, keys, self._links, inline_bytes=0, more=len(tasks) == PAGE)
        told = {each.task_id: each for each in found.members}
        upto = [task for task in tasks if found.next is None or task.member is None or task.member.index <= found.next]
        gate = asyncio.Semaphore(_AT_ONCE)

        async def of(task: Task) -> tuple[Task, Left | None]:
            if task.id not in told:
                return task, None
            attempt = newest(task)
            async with gate:
                manifest = told[task.id].manifest
                return task, await of_manifest(manifest, attempt, self._links[attempt.site], cwd=request.cwd)

        return Page(request, tuple(await asyncio.gather(*(of(task) for task in upto))), found.next)

    async def fetch(
        self, ref: str, ask: str, *, offset: int = 0, limit: int = PIECE_BYTES, n: int | None = None
    ) -> bytes:
        """A piece of one file, at most 4 MiB; empty at its end. Raises NotFound for what no list of files names."""
        task, request, attempt = await self._find(ref, n)
        link = self._links[attempt.site]
        limit = min(limit, PIECE_BYTES)
        if ask.startswith(KEPT):
            left = await self._left(task, attempt, link, request)
            path, kept = kept_file(left, ask)
            refuse_large(path, kept.bytes, link)
            return await read_piece(path, link, within=left.folder or "" if left else "", offset=offset, limit=limit)
        own = log_path(attempt) if ask == names.LOG else f"{attempt.folder}/{ask}"
        if attempt.folder is None or own is None or not (ask in (names.LOG, names.OUTPUTS) or is_result(ask)):
            raise NotFound(f"There is no file {ask!r} of this task to fetch; ask for its files.")
        data = await link.read(own, offset=offset, limit=limit)
        if data is None:
            raise NotFound(f"{ask} is no longer in {attempt.folder} at {link.name}.")
        return data

    async def whole(self, ref: str, path: str) -> bytes:
        """The log, the outputs, or a value of the newest attempt. Raises NotFound."""
        _, _, attempt = await self._find(ref, None)
        return await read_file(attempt, self._links[attempt.site], path)

    async def pieces(self, ref: str, ask: str, n: int | None = None) -> AsyncIterator[bytes]:
        """The whole of a file, piece by piece."""
        offset = 0
        while piece := await self.fetch(ref, ask, offset=offset, n=n):
            yield piece
            offset += len(piece)
            if len(piece) < PIECE_BYTES:
                return

    async def _find(self, ref: str, n: int | None) -> tuple[Task, TaskRequest, Attempt]:
        store = self._ledger.store

        def find() -> tuple[Task, TaskRequest]:
            task = store.task(ref)
            return task, store.request(task.id)

        task, request = await self._ledger.do(find)
        if n is None:
            return task, request, newest(task)
        for attempt in task.attempts:
            if attempt.n == n:
                return task, request, attempt
        raise NotFound(f"`{task.name}` has no attempt {n}; it has {len(task.attempts)}.")

    async def _left(self, task: Task, attempt: Attempt, link: SiteLink, request: TaskRequest) -> Left | None:
        """Remembered for a while once it has ended: its receipt does not change any more, and files come in pieces."""
        key = task.id, attempt.n
        if key in self._kept:
            return self._kept[key]
        left = await left_by(attempt, link, cwd=request.cwd)
        if left is not None and attempt.state.terminal:
            self._kept[key] = left
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)
        return left

    async def _moved(self, task: Task, attempt: Attempt) -> tuple[Transfer, ...]:
        desk = self._transfers()
        if desk is None:
            return ()
        found = await desk.list(task=task.id)
        return tuple(each for each in found if each.request.attempt in (None, attempt.n))

    async def _datasets(self, attempt: Attempt) -> tuple[Dataset, ...]:
        desk = self._data()
        if desk is None or not attempt.staged:
            return ()
        known = {each.name: each for each in await desk.list()}  # a name may be of a location, or forgotten
        return tuple(known[each.name] for each in attempt.staged if each.name in known)


async def _nothing() -> int | None:
    return None


def _listing(task: Task, attempt: Attempt, left: Left | None, log_bytes: int | None) -> FileList:
    return FileList(
        task=task.id, name=task.name, attempt=attempt.n, site=attempt.site, note=left.note if left is not None else "",
        index=task.member.index if task.member is not None else None,
        folder=(left.folder or "") if left is not None else "", files=listed(left, attempt, log_bytes),
    )  # fmt: skip


async def _log_tail(attempt: Attempt, link: SiteLink) -> LogTail:
    chunk = await read_log(attempt, link, offset=0, limit=LOG_BYTES, tail=LOG_BYTES)
    lines = chunk.text.splitlines(keepends=True)
    return LogTail(text="".join(lines[-LOG_LINES:]), bytes=chunk.size, cut=chunk.offset > 0 or len(lines) > LOG_LINES)
