"""Small files through whatever reaches a site, one by one: for endpoints that only carry scripts and their answers."""

from __future__ import annotations

import asyncio
import posixpath

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.transfer import MoverKind

from .work import ShellMover, Work

_AT_ONCE = 4
_MOST_FILES = 200


class ChunkMover(ShellMover):
    """Reads each file and writes it. All of it is held in memory here, so it has to be little."""

    kind: MoverKind = "chunks"

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes

    async def fetch(self, work: Work) -> int:
        """Carry the files, some at once."""
        if work.to_fetch > self._most_bytes or len(work.fetch) > _MOST_FILES:
            raise DataProblem(
                f"{len(work.fetch)} files with {work.to_fetch / (1 << 20):,.1f} MB are more than goes through Globus "
                f"Compute ({_MOST_FILES} files, {self._most_bytes / (1 << 20):.3g} MB).",
                kind="no_way", advice="Name the Globus collections of both places, or pack the files into one.",
            )  # fmt: skip
        turns, done = asyncio.Semaphore(_AT_ONCE), [0, 0]

        async def carry(path: str) -> None:
            async with turns:
                sent = await _carry(work, path)
                done[0] += sent
                done[1] += 1
                work.move.tell(work.told(done[0], done[1]))

        await asyncio.gather(*(carry(path) for path in work.fetch))
        return done[0]


async def _carry(work: Work, path: str) -> int:
    source = posixpath.join(work.move.source.path, path) if path else work.move.source.path
    target = posixpath.join(work.part, path) if path else work.part
    try:
        data = await work.source.get(source)
    except FileNotFoundError:
        data = b""
    if len(data) != work.fetch[path].bytes:
        raise DataProblem(
            f"{source} at {work.move.source.location.place} was changed while it was read.",
            kind="changed",
            transient=True,
        )
    await work.destination.put(target, data, mode=0o644)
    return len(data)
