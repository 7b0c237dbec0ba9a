"""Receipts, the files that tasks left, and exports."""

from __future__ import annotations

import re
from urllib.parse import quote

from jupyter_server.auth.decorator import authorized
from tornado import web
from tornado.iostream import StreamClosedError

from jupyter_diamond.engine.receipts.kept import KEPT
from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.receipt import CrateForm

from .base import DiamondHandler
from .forms import AfterQuery, AttemptQuery, PieceQuery

_OWN = re.compile(r"job\.out|outputs\.jsonl|result/(?!\.)[\w.-]+")
"""What can be fetched of a task besides the files that it kept; names of variables may have any letters. Never the
attempt's key, bundle or script."""


class ReceiptHandler(DiamondHandler):
    """What is known of an attempt."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Its receipt, of the newest attempt by default."""
        self.answer(await self.service.receipts.receipt(ref, self.query(AttemptQuery).attempt))


class FilesHandler(DiamondHandler):
    """The files of a task."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Those that can be fetched."""
        self.answer(await self.service.receipts.files(ref, self.query(AttemptQuery).attempt))


class GroupFilesHandler(DiamondHandler):
    """The files of a group's members."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Those that can be fetched, member by member."""
        group = await self.service.groups.group(ref)
        self.answer(await self.service.receipts.group_files(group, self.query(AfterQuery).after))


class FileHandler(DiamondHandler):
    """One file of a task."""

    @web.authenticated
    @authorized
    async def get(self, ref: str, path: str) -> None:
        """Its bytes, as a download: a browser must never show what a job wrote as a page of this server."""
        if not (path.startswith(KEPT) or _OWN.fullmatch(path)):
            raise NotFound(
                "Of a task's files only job.out, outputs.jsonl, those in result/ and those that it kept can be fetched."
            )
        asked = self.query(PieceQuery)
        name = path.rsplit("/", 1)[-1]
        if asked.offset is not None or asked.limit is not None:
            limit = {} if asked.limit is None else {"limit": asked.limit}
            content = await self.service.receipts.fetch(ref, path, offset=asked.offset or 0, n=asked.attempt, **limit)
        elif path.startswith(KEPT) or asked.attempt is not None:
            await self._stream(ref, path, asked.attempt, name)
            return
        else:
            content = await self.service.receipts.whole(ref, path)
        self._is_download(name)
        self.finish(content, set_content_type="application/octet-stream")

    async def _stream(self, ref: str, path: str, attempt: int | None, name: str) -> None:
        """The whole of it, however large: never more than a piece is held here."""
        begun = False
        async for piece in self.service.receipts.pieces(ref, path, attempt):
            if not begun:
                self._is_download(name)
                self.set_header("Content-Type", "application/octet-stream")
            begun = True
            self.write(piece)
            try:
                await self.flush()
            except StreamClosedError:  # who asked has had enough
                return
        if not begun:
            self._is_download(name)
        self.finish(set_content_type="application/octet-stream")

    def _is_download(self, name: str) -> None:
        self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(name)}")


class CrateHandler(DiamondHandler):
    """An export of a task."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Write it to a folder of this machine."""
        self.answer(await self.service.receipts.exports.task(ref, self.form(CrateForm)))


class GroupCrateHandler(DiamondHandler):
    """An export of a group."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Write it to a folder of this machine."""
        group = await self.service.groups.group(ref)
        self.answer(await self.service.receipts.exports.group(group, self.form(CrateForm)))


RECEIPT_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/tasks/([^/]+)/receipt", ReceiptHandler),
    ("/tasks/([^/]+)/files", FilesHandler),
    ("/tasks/([^/]+)/files/(.+)", FileHandler),
    ("/tasks/([^/]+)/crate", CrateHandler),
    ("/groups/([^/]+)/files", GroupFilesHandler),
    ("/groups/([^/]+)/crate", GroupCrateHandler),
]
