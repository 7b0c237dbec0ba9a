"""A site behind a Globus Compute endpoint: scripts run in the agent on its login node, over the service's web API.

A command takes a second or two and a few requests, of which the service allows 20 in 10 s. So whoever waits for
something polls at an easy pace (``longest_wait_s`` is 0), and commands that wait together travel together.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from jupyter_diamond.errors import TransportError
from jupyter_diamond.model.site import Site

from .base import Completed
from .globus_compute_endpoint import Endpoint
from .globus_compute_queue import CommandQueue
from .globus_compute_tasks import tasks_of
from .globus_compute_wire import (
    CARRIED_BYTES,
    PIECE_BYTES,
    FarAnswer,
    Piece,
    Script,
    completed,
)
from .shell_files import ShellFiles

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus

_TRIES = 3
_SMALL_TEXT = 256 << 10
"""Unpacking it takes less time than a way to another thread and back."""


class GlobusComputeTransport(ShellFiles):
    """Runs scripts with ``bash --noprofile --norc`` in the endpoint's user process, whatever it does besides."""

    shares_files = False
    longest_wait_s = 0.0  # a script that waits would keep the agent's only worker

    def __init__(self, globus: Globus, site: Site, answer_s: float) -> None:
        """``answer_s``: how long an answer is waited for beyond the command's own time."""
        assert site.endpoint is not None, "the catalogue wants an endpoint for this transport"
        super().__init__(site.name)
        self.answer_s = answer_s
        self._endpoint = Endpoint(globus, site.endpoint, where=site.name, host=site.host)
        self._queue = CommandQueue(tasks_of(globus), self._endpoint, env=site.env, folder=site.workdir)

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float, max_bytes: int = 8 << 20, hold_stdin: bool = False
    ) -> Completed:
        """Run a script; raises TransportError. Its input always ends where ``stdin`` does: nobody can end it later."""
        del hold_stdin  # see above
        if len(stdin) > CARRIED_BYTES:
            raise self._too_large(f"What goes with a command to {self._where} has {len(stdin):,} bytes")
        if len(stdin) <= PIECE_BYTES:
            order = Script(script, stdin, timeout_s, max_bytes)
        else:
            upload = await self._brought(stdin)
            order = Script(script, b"", timeout_s, max_bytes, upload=upload, upload_bytes=len(stdin))
        answer = await self._carry(order)
        if len(answer.out.head) <= _SMALL_TEXT:
            return completed(self._where, order, answer)
        return await asyncio.to_thread(completed, self._where, order, answer)

    async def get(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read (a part of) a file, page by page."""
        pages: list[bytes] = []
        have = 0
        while True:
            want = PIECE_BYTES if limit is None else min(PIECE_BYTES, limit - have)
            done = await self._read(path, offset=offset + have, limit=want, most=want)
            pages.append(done.stdout)
            have += len(done.stdout)
            if have == limit or (len(done.stdout) < want and not done.truncated):
                return b"".join(pages)
            if not done.stdout:
                raise TransportError(
                    f"{self._where} was too busy to read {path}; it is tried again.", outcome="unknown"
                )
            if len(pages) == 1 and (limit is None or limit > CARRIED_BYTES):
                await self._refuse_large(path, offset)

    async def close(self) -> None:
        """Wait for nothing more; what is out goes on at the site, and jobs are not touched."""
        await self._queue.close()

    async def _carry(self, what: Script | Piece) -> FarAnswer:
        return await self._queue.carry(what, answer_s=self.answer_s)

    async def _brought(self, stdin: bytes) -> str:
        """The name of a file at the site that holds it; the script that reads it removes it. Raises TransportError."""
        upload = secrets.token_hex(12)
        for offset in range(0, len(stdin), PIECE_BYTES):
            await self._bring(Piece(upload, offset, stdin[offset : offset + PIECE_BYTES]))
        return upload

    async def _bring(self, piece: Piece) -> None:
        """One piece, once more where it may have been lost: twice is as good as once. Raises TransportError."""
        for left in reversed(range(_TRIES)):
            try:
                answer = await self._carry(piece)
            except TransportError as error:
                if left and error.outcome == "unknown":
                    continue
                raise TransportError(  # the script itself never left
                    error.message,
                    outcome="refused" if error.outcome == "refused" else "not_sent",
                    transient=error.transient,
                    evidence=error.evidence,
                    needs_login=error.needs_login,
                ) from error
            if answer.end != "kept":
                raise TransportError(
                    f"{self._where} could not keep a command's input: {answer.why}. Nothing was run.",
                    outcome="not_sent",
                )
            return

    async def _refuse_large(self, path: str, offset: int) -> None:
        size = await self.size(path)
        if size is not None and size - offset > CARRIED_BYTES:
            raise self._too_large(f"{path} at {self._where} has {size:,} bytes")

    def _too_large(self, what: str) -> TransportError:
        return TransportError(
            f"{what}; over Globus Compute at most {CARRIED_BYTES:,} travel. Move it with Globus Transfer.",
            outcome="refused",
            transient=False,
        )
