"""Receipts of a rehearsed service: of what its store knows, and files that a test gives."""

from __future__ import annotations

from jupyter_diamond.engine.receipts.building import Found, receipt_of
from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.receipt import Crate, FileList, GroupFiles, TaskFile
from tests.store.store_samples import at


class RehearsalReceipts:
    """``content`` has files by what they are asked for."""

    def __init__(self, service):
        self.service = service
        self.content = {"kept/ckpt/a 1.pt": b"0123456789", "job.out": b"log"}
        self.exports = RehearsalExports()

    async def receipt(self, ref, n=None):
        store = self.service.store
        task = store.task(ref)
        if n not in (None, 1):
            raise NotFound(f"`{task.name}` has no attempt {n}; it has 1.")
        return receipt_of(task, task.attempt, Found(store.request(task.id), store.decision(task.id)), now=at(9))

    async def files(self, ref, n=None):
        task = self.service.store.task(ref)
        kept = [ask for ask in self.content if ask.startswith("kept/")]
        files = tuple(TaskFile(kind="kept", path=ask.removeprefix("kept/"), ask=ask) for ask in kept)
        return FileList(task=task.id, name=task.name, attempt=n or 1, site="alpha", files=files)

    async def fetch(self, ref, ask, *, offset=0, limit=4, n=None):
        self.service.store.task(ref)
        if ask not in self.content:
            raise NotFound(f"The receipt names no file {ask!r}.")
        return self.content[ask][offset : offset + limit]

    async def whole(self, ref, path):
        self.service.store.task(ref)
        return self.service.files[path]

    async def pieces(self, ref, ask, n=None):
        offset = 0
        while piece := await self.fetch(ref, ask, offset=offset, n=n):
            yield piece
            offset += len(piece)

    async def group_files(self, group, after=None):
        return GroupFiles(group=group.id, name=group.name, next=after)


class RehearsalExports:
    """Writes nothing."""

    async def task(self, ref, form):
        return Crate(folder=form.folder, tasks=1, copied=1, copied_bytes=10, referenced=0, notes=(str(ref),))

    async def group(self, group, form):
        return await self.task(group.id, form)
