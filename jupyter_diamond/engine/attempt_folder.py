"""Reading what a job leaves in its attempt's folder: the start, the end, the receipt."""

from __future__ import annotations

import json
import os
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.manifest import EndFile, ForeignValue, Manifest

M = TypeVar("M", bound=BaseModel)
_TAIL = 4096
LOG_CHUNK = 1 << 20
"""At most so much of a log comes with one look."""


class Started(ForeignValue):
    """``started.json``, written by the batch script's head. ``native`` is the id of the job that made the claim."""

    at: float
    host: str = ""
    native: str = ""


class Seen(ForeignValue):
    """What one look into an attempt's folder found. ``unreadable`` names files that are there but make no sense."""

    started: Started | None = None
    end: EndFile | None = None
    manifest: Manifest | None = None
    unreadable: tuple[str, ...] = ()
    log_bytes: int = 0
    noticed: bool = False
    """The scheduler has written into the log that it ends the job: nothing of ours may be left to write an end-file."""
    log: bytes = b""
    """What was asked for of the log, from ``log_offset`` on."""
    log_offset: int = 0


def parse(model: type[M], data: bytes) -> M | None:
    """A file's content as a value; None when it makes no sense."""
    try:
        return model.model_validate(json.loads(data.decode("utf-8")))
    except (ValidationError, ValueError):
        return None


def look(
    folder: str, *, started_known: bool, notice: bytes = b"", log_bytes: int = 0, log_from: int | None = None
) -> Seen:
    """Look into a folder on this machine. Cheap when nothing is new: two or three ``stat`` calls.

    ``notice`` is looked for in what the log has grown since it was ``log_bytes`` long; with ``log_from`` a piece of
    the log comes along, from there on.
    """
    started, end, manifest = None, None, None
    unreadable: list[str] = []
    if not started_known and (data := _read(folder, files.STARTED)) is not None:
        started = parse(Started, data)
        if started is None:
            unreadable.append(files.STARTED)
    if (data := _read(folder, files.END)) is not None:
        end = parse(EndFile, data)
        if end is None:
            unreadable.append(files.END)
        elif (receipt := _read(folder, files.MANIFEST)) is not None:
            manifest = parse(Manifest, receipt)
            if manifest is None:
                unreadable.append(files.MANIFEST)
    size, noticed = _notice(folder, notice, log_bytes) if notice and end is None else (log_bytes, False)
    return Seen(
        started=started, end=end, manifest=manifest, unreadable=tuple(unreadable), log_bytes=size, noticed=noticed,
        log=b"" if log_from is None else _read(folder, files.LOG, log_from, LOG_CHUNK) or b"", log_offset=log_from or 0,
    )  # fmt: skip


def _notice(folder: str, notice: bytes, seen: int) -> tuple[int, bool]:
    """The log's size now, and whether its newest 4 KiB hold the notice. Whatever a cell prints is only read there."""
    try:
        with open(os.path.join(folder, files.LOG), "rb") as file:  # noqa: PTH118, PTH123 - called for every job every tick
            size = os.fstat(file.fileno()).st_size
            if size <= seen:
                return size, False
            file.seek(max(0, seen - len(notice), size - _TAIL))
            return size, notice in file.read(_TAIL + len(notice))
    except OSError:
        return seen, False


def _read(folder: str, name: str, offset: int = 0, most: int = 16 << 20) -> bytes | None:
    try:
        with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123 - called for every job every tick
            file.seek(offset)
            return file.read(most)
    except OSError:
        return None
