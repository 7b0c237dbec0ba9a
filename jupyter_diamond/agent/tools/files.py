"""The files of tasks: which there are, and a piece of a small one as text. Large ones are named, never sent."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.parsing.globs import names

from .answers import MOST_KIB, Foreign, at, foreign, label, without_empty, word
from .parameters import Ref
from .registry import tool

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

_FETCHABLE = re.compile(r"job\.out|outputs\.jsonl|result/(?!\.)[\w.-]+|kept/(?s:.+)")
_MOST = 40


@tool("read", "data")
async def list_output(
    desk: AgentDesk, _speaker: Speaker, *, task: Ref, pattern: Annotated[str, Field(max_length=300)] = ""
) -> dict[str, Any]:
    """Which files of a task can be fetched, with size, digest and media type: what it kept, its values, outputs, log.

    Args:
        task: id or name
        pattern: of those that it kept only these: ckpt/*.pt
    """
    listing = await desk.service.receipts.files(task)
    meant = [each for each in listing.files if not pattern or (each.kind == "kept" and names(pattern, each.path))]
    meant.sort(key=lambda each: each.kind == "kept")  # the few others first: those that were kept may be many
    return without_empty({
        "task": listing.task,
        "attempt": listing.attempt,
        "site": listing.site,
        "folder": foreign(listing.folder, "the folder that the cell ran in", 300),
        "files": [
            without_empty({
                "path": label(each.ask, "the name of a file", 200), "kind": each.kind,
                "bytes": each.bytes if each.bytes is not None else "unknown", "sha256": each.sha256,
                "media_type": word(each.media_type) if each.media_type else None, "changed_at": at(each.mtime),
            })
            for each in meant[:_MOST]
        ],
        "more_files": max(0, len(meant) - _MOST) or None,
        "note": foreign(listing.note, "what is not among the files", 300),
    })  # fmt: skip


@tool("read", "data", long=True)
async def fetch_file(
    desk: AgentDesk,
    _speaker: Speaker,
    *,
    task: Ref,
    path: Annotated[str, Field(max_length=1000)],
    offset: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1, le=MOST_KIB << 10)] = 6000,
) -> dict[str, Any]:
    """A piece of one file of a task, as text: a JSON value, its outputs, its log, a table it kept. What is no text is
    described.

    Args:
        task: id or name
        path: as list_output tells it: job.out, outputs.jsonl, result/NAME, kept/PATH
        offset: from which byte
        limit: at most so many bytes
    """
    if not _FETCHABLE.fullmatch(path):
        raise NotFound("Of a task's files only those that list_output names can be fetched.")
    receipts = desk.service.receipts
    listing = await receipts.files(task)
    file = next((each for each in listing.files if each.ask == path), None)
    if file is None:
        raise NotFound("Of a task's files only those that list_output names can be fetched; it names no such one.")
    piece = await receipts.fetch(listing.task, path, offset=offset, limit=limit)
    facts = without_empty({"task": task, "path": path, "bytes": file.bytes, "sha256": file.sha256})
    if not _is_text(path, piece):
        return facts | {"text": "none: it is no text. A notebook reads it: task.result() or task.fetch()."}
    end = offset + len(piece)
    return facts | without_empty({
        "offset": offset,
        "next_offset": end if file.bytes is None or end < file.bytes else None,
        "text": Foreign(piece.decode("utf-8", "backslashreplace"), f"{word(path, 100)} of a task", limit),
    })  # fmt: skip


def _is_text(path: str, piece: bytes) -> bool:
    if path.endswith((".npy", ".pickle", ".parquet")) or b"\0" in piece:
        return False
    try:
        json.dumps(piece.decode("utf-8"))
    except UnicodeDecodeError as fault:
        return fault.start > len(piece) - 4  # cut within a character
    return True
