"""Brings files of tasks to a folder here: each whole or not at all, checked, and none that is here already."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from jupyter_diamond.errors import InvalidRequest, NotFound, ResultUnavailable
from jupyter_diamond.model.receipt import FileList, TaskFile
from jupyter_diamond.parsing.globs import names

from .receipt_calls import ReceiptCalls
from .vocabulary import byte_size

Shown = Callable[["Fetch"], None]
_AT_ONCE = 4
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """One file, and where it goes."""

    task: str
    attempt: int
    file: TaskFile
    place: Path


class Fetch:
    """How far it is. Read from any thread."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.files, self.files_total = 0, len(wanted)
        self.bytes, self.bytes_total = 0, sum(each.file.bytes or 0 for each in wanted)
        self.stopped = False

    @property
    def text(self) -> str:
        """``3 of 12 files, 1.2 of 4.5 GB``."""
        return f"{self.files} of {self.files_total} files, {byte_size(self.bytes)} of {byte_size(self.bytes_total)}"


def chosen(listings: Iterable[FileList], patterns: Sequence[str], to: Path, *, by_member: bool = False) -> list[Wanted]:
    """The files that patterns name, of the attempts that they were listed for. Raises NotFound where there is none.

    ``by_member``: those of a group's member go into a folder of its number.
    """
    wanted, seen = list[Wanted](), list[str]()
    for listing in listings:
        folder = to / f"{listing.index:04d}" if by_member and listing.index is not None else to
        for file in listing.files:
            if file.kind == "kept":
                seen.append(file.path)
            if any(_is_meant(pattern, file) for pattern in patterns):
                wanted.append(Wanted(listing.task, listing.attempt, file, _inside(folder, file.path)))
    if not wanted:
        first = ", ".join(seen[:5]) + (f" and {len(seen) - 5:,} more" if len(seen) > 5 else "")
        there = f"it kept {first}" if seen else "it kept none: say --stage-out 'PATTERN' when you submit it"
        raise NotFound(f"No file is named by {' or '.join(patterns)}; {there}.")
    return wanted


def _is_meant(pattern: str, file: TaskFile) -> bool:
    """Values, outputs and the log are meant by their own names alone."""
    return names(pattern, file.path) if file.kind == "kept" else pattern == file.path


def _inside(folder: Path, path: str) -> Path:
    if path.startswith("/") or {"", ".", ".."} & set(path.split("/")):
        raise InvalidRequest(f"{path!r} would leave the folder; it is not fetched.")
    return folder / path


def fetch(client: ReceiptCalls, wanted: Sequence[Wanted], shown: Shown = lambda _: None) -> list[Path]:
    """Bring them, four at a time; their paths here, in the order in which they were asked for.

    :raises ResultUnavailable: a file is not what its receipt says any more; what had come whole by then is here.
    """
    state, lock = Fetch(wanted), threading.Lock()

    def tell(count: int, *, done: bool = False) -> None:
        with lock:
            state.bytes += count
            state.files += done
            shown(state)

    def bring(each: Wanted) -> Path:
        if not state.stopped:
            if _is_here(each):
                tell(each.file.bytes or 0, done=True)
            else:
                _bring(client, each, state, tell)
        return each.place

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="diamond-fetch") as pool:
        coming = [pool.submit(bring, each) for each in wanted]
        try:
            return [each.result() for each in coming]
        except BaseException:
            state.stopped = True
            pool.shutdown(cancel_futures=True)
            raise


def _is_here(each: Wanted) -> bool:
    """With that digest; where there is none, of that size and age."""
    try:
        found = each.place.stat()
        if found.st_size != each.file.bytes:
            return False
        if not each.file.sha256:
            return each.file.mtime is not None and abs(found.st_mtime - each.file.mtime.timestamp()) < 1e-3
        digest = hashlib.sha256()
        with each.place.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError:
        return False
    return digest.hexdigest() == each.file.sha256


def _bring(client: ReceiptCalls, each: Wanted, state: Fetch, tell: Callable[..., None]) -> None:
    each.place.parent.mkdir(parents=True, exist_ok=True)
    part = each.place.with_name(f".diamond-part-{secrets.token_hex(6)}")
    digest, count = hashlib.sha256(), 0
    try:
        with part.open("xb") as file:
            while not state.stopped and (piece := client.piece(each.task, each.file.ask, count, attempt=each.attempt)):
                file.write(piece)
                digest.update(piece)
                count += len(piece)
                tell(len(piece))
                if each.file.bytes is not None and count >= each.file.bytes and each.file.kind != "log":
                    break
        if state.stopped:
            return
        _check(each, count, digest.hexdigest())
        if each.file.mtime is not None:
            os.utime(part, (each.file.mtime.timestamp(),) * 2)
        part.replace(each.place)
        tell(0, done=True)
    finally:
        part.unlink(missing_ok=True)


def _check(each: Wanted, count: int, digest: str) -> None:
    """A log may have grown; all else is what was listed."""
    file = each.file
    if file.kind == "log" or (file.bytes is None and not file.sha256):
        return
    if count != file.bytes or (file.sha256 and digest != file.sha256):
        raise ResultUnavailable(
            f"{file.path} is not what its receipt says ({count:,} bytes instead of {file.bytes:,}, or another digest): "
            "it has been changed at its site since. It was not kept here."
        )
