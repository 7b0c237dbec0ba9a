"""A pipe from a process at one place to a process at another, through this machine, which keeps nothing of it.

Runs in a thread: the kernel moves the bytes where it can, and whichever side is slower holds up the other.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from jupyter_diamond.transport.channel import Channel

_PIECE = 1 << 20
_NOISE = 1 << 20
_LAST_WORDS_S = 60.0


@dataclass(frozen=True)
class Side:
    """A process: how it is begun, its script, and what the script's input is, where we give it."""

    channel: Channel
    script: str
    stdin: bytes = b""


@dataclass(frozen=True)
class Relayed:
    """What became of it: bytes, and each side's exit code and complaints. None: a side never answered with our mark."""

    bytes: int
    source: int
    destination: int
    source_said: str
    destination_said: str
    marked: bool


@dataclass
class Relay:
    """One relay. ``run`` blocks; ``stop`` may be called from any thread, and ends it with both its processes."""

    source: Side
    destination: Side
    mark: str
    """What the source's script prints, with a newline on each side, before what is meant: dotfiles print, too (B21)."""
    tell: Callable[[int], None]
    _stopped: threading.Event = field(default_factory=threading.Event)
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def stop(self) -> None:
        """End both."""
        self._stopped.set()
        for process in tuple(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def run(self) -> Relayed:
        """Move all of it."""
        with self._both() as (source, destination, errors, others):
            done, marked = 0, False
            assert source.stdout is not None and destination.stdin is not None  # noqa: PT018
            feeding = threading.Thread(target=_feed, args=(source.stdin, self.source), daemon=True)
            feeding.start()
            with contextlib.suppress(BrokenPipeError):
                os.write(destination.stdin.fileno(), self.destination.script.encode() + b"\0")
                first = self._after_mark(source.stdout.fileno())
                marked = first is not None
                if first:
                    _write(destination.stdin.fileno(), first)
                    done = len(first)
                if marked:
                    done = self._pump(source.stdout.fileno(), destination.stdin.fileno(), done)
            source.stdout.close()  # a source that still writes has nobody to write to
            destination.stdin.close()
            left, arrived = _end(source), _end(destination)
            feeding.join(_LAST_WORDS_S)
            return Relayed(done, left, arrived, _said(errors), _said(others), marked)

    @contextlib.contextmanager
    def _both(self) -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as others:
            try:
                destination = self._begin(self.destination, subprocess.DEVNULL, others)
                source = self._begin(self.source, subprocess.PIPE, errors)
                yield source, destination, errors, others
            finally:
                for process in self._processes:
                    if process.poll() is None:
                        with contextlib.suppress(ProcessLookupError):
                            os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    for pipe in (process.stdin, process.stdout):
                        if pipe is not None:
                            with contextlib.suppress(BrokenPipeError):
                                pipe.close()

    def _begin(self, side: Side, stdout: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            side.channel.argv, bufsize=0, stdin=subprocess.PIPE, stdout=stdout, stderr=errors,
            env=dict(side.channel.env), start_new_session=True,
        )  # fmt: skip
        self._processes.append(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None and hasattr(fcntl, "F_SETPIPE_SZ"):
                with contextlib.suppress(OSError):  # a user may have only so much of it
                    fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIECE)
        if self._stopped.is_set():
            self.stop()
        return process

    def _after_mark(self, reader: int) -> bytes | None:
        """What follows the mark in what was read up to it; None where it never comes."""
        mark, seen = f"\n{self.mark}\n".encode(), b""
        while mark not in seen:
            piece = os.read(reader, 1 << 16)
            if not piece or len(seen) > _NOISE:
                return None
            seen += piece
        return seen.partition(mark)[2]

    def _pump(self, reader: int, writer: int, done: int) -> int:
        while moved := _piece(reader, writer):
            done += moved
            self.tell(done)
        return done


def _piece(reader: int, writer: int) -> int:
    if hasattr(os, "splice"):
        return os.splice(reader, writer, _PIECE)
    piece = os.read(reader, _PIECE)
    _write(writer, piece)
    return len(piece)


def _write(writer: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(writer, view) :]


def _feed(pipe: IO[bytes], side: Side) -> None:
    with contextlib.suppress(BrokenPipeError, ValueError):
        _write(pipe.fileno(), side.script.encode("utf-8", "surrogateescape") + b"\0" + side.stdin)
    with contextlib.suppress(BrokenPipeError):
        pipe.close()


def _end(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(_LAST_WORDS_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _said(errors: IO[bytes]) -> str:
    errors.seek(0)
    return errors.read(1 << 16).decode("utf-8", "backslashreplace")
