"""Talking to a process of ours through its pipes: feed it, read it, bounded, and leave nothing of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from .marks import Reader

_KILL_WAIT_S = 5.0


class Bounded:
    """The first bytes of a stream."""

    def __init__(self, max_bytes: int) -> None:
        self.kept = bytearray()
        self.cut = False
        self._max_bytes = max_bytes

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""
        room = self._max_bytes - len(self.kept)
        self.kept += chunk[:room]
        self.cut = self.cut or len(chunk) > room

    def lines(self) -> tuple[str, ...]:
        """The first lines, as text."""
        return tuple(self.kept.decode("utf-8", "backslashreplace").splitlines()[:20])


async def begin(starting: Coroutine[Any, Any, asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """Start a process; a caller who is cancelled meanwhile leaves nothing of it behind.

    asyncio would kill the process without its group, and then wait for all who hold its pipes.
    """
    start = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(start)
    except asyncio.CancelledError:
        await _to_the_end(_undo(start))
        raise


async def _undo(start: asyncio.Future[asyncio.subprocess.Process]) -> None:
    await asyncio.wait({start})
    if not start.cancelled() and start.exception() is None:
        await _let_go(start.result(), finished=False)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do it, however often the caller is cancelled meanwhile: a server that ends may cancel a task more than once."""
    doing, cancelled = asyncio.ensure_future(work), False
    while not doing.done():
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError:  # noqa: PERF203 - that is what the loop is for
            cancelled = True
    doing.result()
    if cancelled:
        raise asyncio.CancelledError


async def talk(
    process: asyncio.subprocess.Process,
    stdin: Sequence[bytes],
    reader: Reader,
    errors: Bounded,
    *,
    after_mark_s: float,
    hold_stdin: bool = False,
) -> None:
    """Feed the script and read it until it has ended and has nothing more to say.

    ``after_mark_s``: how long output is still awaited after the second mark, in case somebody else keeps a pipe open.
    With ``hold_stdin`` the script's input ends only when we do, so that the script can notice that nobody listens.
    """
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: PT018
    marked = asyncio.Event()

    def take(chunk: bytes) -> None:
        reader.feed(chunk)
        if reader.ended:
            marked.set()

    out = asyncio.ensure_future(_drain(process.stdout, take))
    err = asyncio.ensure_future(_drain(process.stderr, errors.feed))
    fill = asyncio.ensure_future(_fill(process.stdin, stdin, close=not hold_stdin))
    exited = asyncio.ensure_future(process.wait())
    ended = asyncio.ensure_future(marked.wait())
    try:
        await asyncio.wait({exited, ended}, return_when=asyncio.FIRST_COMPLETED)
        # a child that went its own way may hold the pipes for hours: the second mark is the end, not end-of-file
        await asyncio.wait({out, err, exited}, timeout=after_mark_s)
    finally:
        for task in (out, err, fill, exited, ended):
            task.cancel()
        await asyncio.gather(out, err, fill, exited, ended, return_exceptions=True)


async def _drain(stream: asyncio.StreamReader, take: Callable[[bytes], None]) -> None:
    while chunk := await stream.read(1 << 16):
        take(chunk)


async def _fill(stream: asyncio.StreamWriter, pieces: Sequence[bytes], *, close: bool) -> None:
    # a script that does not read its input to the end is not in error
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for piece in pieces:
            stream.write(piece)
            await stream.drain()
    if close:
        stream.close()


async def let_go(process: asyncio.subprocess.Process, *, finished: bool) -> None:
    """No process of the group outlives an unfinished script, and no pipe stays open."""
    await _to_the_end(_let_go(process, finished=finished))


async def _let_go(process: asyncio.subprocess.Process, *, finished: bool) -> None:
    # there is no public way to close pipes that a stranger keeps open
    transport: asyncio.SubprocessTransport | None = getattr(process, "_transport", None)
    if process.returncode is None and not finished:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        pipes = [transport.get_pipe_transport(fd) for fd in range(3)] if transport is not None else []
        for pipe in pipes:
            if isinstance(pipe, asyncio.WriteTransport) and pipe.get_write_buffer_size():
                pipe.abort()  # what nobody reads any more would be waited for, too
            elif pipe is not None:  # a shared ssh connection holds them too, and wait() would wait for it
                pipe.close()
        with contextlib.suppress(asyncio.TimeoutError):  # a process in an uninterruptible wait cannot be waited for
            await asyncio.wait_for(process.wait(), _KILL_WAIT_S)
    if transport is not None:
        transport.close()
        await asyncio.sleep(0)  # the pipes close in the loop's next turn, which may be its last
