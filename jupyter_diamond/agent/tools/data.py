"""What ended tasks brought back, file by file, and small files to a site. Large ones are named, never sent."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.looks import PUT_BYTES
from jupyter_diamond.model.manifest import Manifest, ResultFile
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.views import ResultView

from .acts import needs_approval, through_guard
from .answers import MOST_KIB, Foreign, at, foreign, label, size_of, span_of, without_empty, word
from .parameters import Ref, SiteName
from .registry import tool
from .tasks import Intent, task_or_group

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

FETCHABLE = re.compile(r"job\.out|outputs\.jsonl|result/(?!\.)[\w.-]+")
_INLINE = 400
_NUMBERS = re.compile(r"[\[\]\s,0-9.eE+-]+|true|false|null")
"""JSON without any text: nobody can say anything in it."""


@tool("read", "data", first=True, long=True)
async def get_result_manifest(desk: AgentDesk, _speaker: Speaker, *, task: Ref) -> dict[str, Any]:
    """The receipt of an ended task: how it ended, which values came back (size, digest), what it printed, what failed.

    Use it when a task has ended, before you report. Large values are named, not sent: fetch_file gives a small one.

    Args:
        task: id or name; of a group: what each member brought back
    """
    found = await task_or_group(desk, task)
    if isinstance(found, Group):
        results = await desk.service.groups.results(found.id)
        return without_empty({
            "group": found.id,
            "members": [
                {"member": each.index, "task": each.task_id, **receipt(each.manifest)} for each in results.members
            ],
            "missing": [
                {"member": each.index, "why": foreign(each.why, "why there is none", 200)} for each in results.missing
            ],
        })  # fmt: skip
    result = await desk.service.result(task)
    return {
        "task": found.id,
        "attempt": result.attempt,
        **receipt(result.manifest, result),
        "next_actions": [f"fetch_file(task='{found.id}', path='{each.file}')" for each in result.manifest.values[:5]]
        or [f"tail_log(task='{found.id}')"],
    }


def receipt(manifest: Manifest, result: ResultView | None = None) -> dict[str, Any]:
    """A manifest in few words; all text of the job is foreign."""
    error = manifest.error
    trace = "\n".join(error.traceback[-15:]) if error else ""
    return without_empty({
        "outcome": manifest.outcome,
        "host": word(manifest.host),
        "python": word(manifest.python),
        "started_at": at(from_epoch(manifest.started_at)),
        "ended_at": at(from_epoch(manifest.ended_at)),
        "ran": span_of(manifest.ended_at - manifest.started_at),
        "memory_peak": size_of(manifest.max_rss_bytes),
        "params": dict(manifest.params) or None,
        "values": [_value(each, result) for each in manifest.values],
        "not_brought_back": [
            {"name": label(each.name, "the name of a value"), "why": foreign(each.why, "the runner's reason", 200)}
            for each in manifest.missing
        ],
        "error": foreign(f"{error.ename}: {error.evalue}\n{trace}" if error else "", "the exception of the job", 2500),
        "printed": _printed(result),
    })  # fmt: skip


def _value(each: ResultFile, result: ResultView | None) -> dict[str, Any]:
    inline = result.inline.get(each.file) if result is not None and each.codec == "json" else None
    text = base64.b64decode(inline).decode("utf-8", "backslashreplace") if inline else each.preview
    value = text if each.codec == "json" and len(text) <= _INLINE and _NUMBERS.fullmatch(text) else None
    return without_empty({
        "name": label(each.name, "the name of a value"), "type": label(each.type, "the type of a value"),
        "codec": each.codec, "file": label(each.file, "the name of a file", 200),
        "bytes": each.bytes, "sha256": each.sha256,
        "value": value or foreign(text, f"value of {word(each.name)}", _INLINE),
    })  # fmt: skip


def _printed(result: ResultView | None) -> Foreign | None:
    """The text of the cell's outputs."""
    told: list[str] = []
    for output in result.outputs if result is not None else ():
        text = output.get("text") or output.get("data", {}).get("text/plain") or ""
        told.append("".join(text) if isinstance(text, list) else str(text))
    return foreign("".join(told).strip(), "what the cell printed and showed", 2000)


@tool("read", "data")
async def list_output(desk: AgentDesk, _speaker: Speaker, *, task: Ref) -> dict[str, Any]:
    """Which files of a task can be fetched, with sizes: its log, its cell's outputs, its values.

    Args:
        task: id or name
    """
    found = await desk.service.task(task)
    files: list[dict[str, Any]] = []
    if found.attempt is not None and found.attempt.folder is not None:
        log = await desk.service.logs(task, tail=0)
        if log.exists:
            files.append({"path": "job.out", "bytes": log.size if log.size is not None else "unknown"})
    if found.attempt is not None and found.attempt.result_ready:
        result = await desk.service.result(task)
        files += [
            {"path": label(each.file, "the name of a file", 200), "bytes": each.bytes, "codec": each.codec}
            for each in result.manifest.values
        ]
        files.append({"path": "outputs.jsonl", "bytes": result.manifest.outputs_bytes})
    return {
        "task": found.id,
        "folder": found.attempt.folder if found.attempt and found.attempt.folder else None,
        "site": found.attempt.site if found.attempt else "unknown",
        "files": files,
    }


@tool("read", "data", long=True)
async def fetch_file(
    desk: AgentDesk,
    _speaker: Speaker,
    *,
    task: Ref,
    path: Annotated[str, Field(max_length=300)],
    offset: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1, le=MOST_KIB << 10)] = 6000,
) -> dict[str, Any]:
    """A piece of one small file of a task, as text: a JSON value, its outputs, its log. What is no text is described.

    Args:
        task: id or name
        path: as list_output tells it: job.out, outputs.jsonl, result/NAME
        offset: from which byte
        limit: at most so many bytes
    """
    if not FETCHABLE.fullmatch(path):
        raise NotFound(
            "Of a task's files only job.out, outputs.jsonl and those in result/ can be fetched: list_output."
        )
    content = await desk.service.file(task, path)
    piece = content[offset : offset + limit]
    facts = {"task": task, "path": path, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if not _is_text(path, piece):
        return facts | {"text": "none: it is no text. A notebook reads it: task.result() gives its value."}
    end = offset + len(piece)
    return facts | without_empty({
        "offset": offset,
        "next_offset": end if end < len(content) else None,
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


@tool("act", "data", destroys=True)
async def put_file(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    site: SiteName,
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")],
    text: Annotated[str, Field(max_length=PUT_BYTES)],
    replace: bool = False,
    reason: Intent = "",
) -> dict[str, Any]:
    """Put one small text file (at most 2 MB) into the work folder of a site, and nowhere else.

    It needs the user's approval. For more, or for data, use the user's own transfer.

    Args:
        site: which site
        name: the file's name there, without a folder
        text: what it holds
        replace: write over a file of that name
        reason: what for, shown to the user
    """
    data = text.encode("utf-8")
    if len(data) > PUT_BYTES:
        raise InvalidRequest(f"The file has {len(data):,} bytes; at most {PUT_BYTES:,} can be put this way.")
    given = {"name": name, "replace": "true" if replace else "false"}
    proposal, done = await through_guard(
        desk, speaker, "put_file", bundle=data, subject=site, arguments=given, intent=reason
    )
    if not done:
        return needs_approval(proposal)
    return {"done": True, "proposal": proposal.id, "site": site, "file": name, "bytes": len(data)}
