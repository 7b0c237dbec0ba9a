"""A plain copy where both ends see the same files: on this machine in a thread, at a site by a script of its own."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.transfer import MoverKind

from .base import Move
from .copy_there import copy_there, stop_there
from .threads import in_thread
from .work import ShellMover, Work, shell

_PIECE = 16 << 20


class CopyMover(ShellMover):
    """Copies files. The file system shares their blocks where it can."""

    kind: MoverKind = "copy"

    async def fetch(self, work: Work) -> int:
        """Copy what is wanted; a file that was begun is begun again."""
        if not (work.source.shares_files and work.destination.shares_files):
            return await copy_there(work)
        stop = threading.Event()  # a thread cannot be killed: it ends after its piece
        return await in_thread(lambda: _copy(work, stop), stop.set)

    async def cancel(self, move: Move) -> None:
        """Stop a script that copies at a site; take away what has come so far."""
        if not shell(move.destination).shares_files:
            await stop_there(move)
        await super().cancel(move)


class _Stopped(Exception):
    """Nobody wants it any more."""


def _copy(work: Work, stop: threading.Event) -> int:
    loop_tell, done = work.move.tell, 0

    def told(more: int) -> None:
        nonlocal done
        done += more
        loop_tell(work.told(done, files))
        if stop.is_set():
            raise _Stopped

    files = 0
    source, part = Path(work.move.source.path), Path(work.part)
    try:
        for path in work.fetch:
            _copy_file(source / path if path else source, part / path if path else part, told)
            files += 1
    except _Stopped:
        return done
    except OSError as problem:
        raise _problem(work, problem) from problem
    loop_tell(work.told(done, files))
    return done


def _copy_file(source: Path, target: Path, told: Callable[[int], None]) -> None:
    """The content, then mode and times: a file with its source's time has come whole."""
    with source.open("rb") as reader, _opened(target) as writer:
        while copied := _piece(reader.fileno(), writer.fileno()):
            told(copied)
        about = os.fstat(reader.fileno())
        os.fchmod(writer.fileno(), stat.S_IMODE(about.st_mode))
    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _opened(target: Path) -> BinaryIO:
    try:
        return target.open("wb")
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("wb")


def _piece(reader: int, writer: int) -> int:
    """Copy the next piece in the kernel, where it can be: that shares blocks on file systems that do."""
    if hasattr(os, "copy_file_range"):
        try:
            return os.copy_file_range(reader, writer, _PIECE)
        except OSError as problem:
            if problem.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
    piece = os.read(reader, 1 << 20)
    view = memoryview(piece)
    while view:
        view = view[os.write(writer, view) :]
    return len(piece)


def _problem(work: Work, problem: OSError) -> DataProblem:
    what = f"{problem.filename or work.move.destination.path}: {problem.strerror or problem}"
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataProblem(f"There is no room left for {what}.", kind="no_space", advice="Make room, then try again.")
    if problem.errno in (errno.EACCES, errno.EPERM):
        return DataProblem(f"Not allowed: {what}.", kind="permission", advice="Have it opened to you.")
    if problem.errno == errno.ENOENT:
        return DataProblem(f"It was changed while it was copied: {what}.", kind="changed", transient=True)
    return DataProblem(f"It could not be copied: {what}.", kind="broken", transient=True)
