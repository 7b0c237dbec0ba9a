"""Copying one file as Globus Transfer does: in pieces, checked by a checksum of both ends, again where that differs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .transfer_tasks import Item, Mover, Task

PIECE = 1 << 20


class Cancelled(Exception):
    """The task was cancelled."""


class Broken(Exception):
    """The task fails for good."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(f"{code}: {description}")
        self.code, self.description = code, description


def checksum(path: Path, algorithm: str = "MD5") -> str:
    digest = hashlib.new(algorithm.lower().replace("-", ""))
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def is_same(source: Path, destination: Path, level: int | None) -> bool:
    """Whether a file need not be sent, by the measure that was asked for."""
    if level is None or not destination.exists():
        return False
    here, there = source.stat(), destination.stat()
    if level == 0:
        return True
    if here.st_size != there.st_size:
        return False
    return level == 1 or (level == 2 and here.st_mtime <= there.st_mtime) or (
        level == 3 and checksum(source) == checksum(destination)
    )  # fmt: skip


def copied(mover: Mover, task: Task, item: Item, algorithm: str) -> None:
    """Copy until it is right."""
    document, landing = task.document, task.ends[1]
    while True:
        mover.ready(task)
        _write(mover, task, item)
        if landing.corrupt:
            landing.corrupt -= 1
            with item.destination.open("r+b") as file:
                file.write(b"\xff\x00")
        if not document["verify_checksum"]:
            break
        document["bytes_checksummed"] += item.source.stat().st_size
        if checksum(item.source, algorithm) == checksum(item.destination, algorithm):
            break
        document["subtasks_retrying"] = 1
        task.fault("VERIFY_CHECKSUM", f"The checksum of {landing.seen(item.destination)} is not that of the source")
    document["subtasks_retrying"] = 0
    if document["nice_status"] != "OK":
        task.says("OK")
    if document["preserve_timestamp"]:
        found = item.source.stat()
        os.utime(item.destination, ns=(found.st_atime_ns, found.st_mtime_ns))


def _write(mover: Mover, task: Task, item: Item) -> None:
    source, landing = task.ends
    item.destination.parent.mkdir(parents=True, exist_ok=True)
    with item.source.open("rb") as file, item.destination.open("wb") as out:
        while True:
            rate = source.rate or landing.rate
            piece = file.read(min(PIECE, max(1, int(rate * 0.02))) if rate else PIECE)
            if not piece:
                return
            mover.ready(task)
            out.write(piece)
            task.moved(len(piece))
            if rate:
                task.cancelled.wait(len(piece) / rate)
