"""What a finished attempt left at its site: receipt, values, outputs, log. Never unpickled here."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import NotFound, ResultUnavailable
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.model.views import LogChunk, ResultView

_MAX_OUTPUTS = 24 << 20


async def read_result(task: Task, attempt: Attempt, link: SiteLink, *, key: str, inline_bytes: int) -> ResultView:
    """The receipt with its small values. Raises ResultUnavailable while there is none."""
    folder = attempt.folder
    data, outputs = None, None
    if folder and attempt.result_ready:
        data, outputs = await asyncio.gather(
            link.read(f"{folder}/{files.MANIFEST}"), link.read(f"{folder}/{files.OUTPUTS}", limit=_MAX_OUTPUTS)
        )
    if data is None:
        raise ResultUnavailable(_why_not(task, attempt), transient=not task.state.terminal)
    manifest = attempt_folder.parse(Manifest, data)
    if manifest is None:
        raise ResultUnavailable(f"The receipt in {folder} at {link.name} cannot be read; look at the task's log.")
    small, room = [], inline_bytes
    for value in manifest.values:
        if value.bytes <= room and is_result(value.file):
            small.append(value.file)
            room -= value.bytes
    contents = await asyncio.gather(*(link.read(f"{folder}/{name}") for name in small))
    return ResultView(
        task_id=task.id,
        attempt=attempt.n,
        manifest=manifest,
        key=key,
        inline={
            name: base64.b64encode(content).decode()
            for name, content in zip(small, contents, strict=True)
            if content is not None
        },
        outputs=tuple(_outputs(outputs or b"")),
    )


def _why_not(task: Task, attempt: Attempt) -> str:
    if task.state.terminal:
        return f"`{task.name}` left no result: {task.cause or task.state.value}"
    return f"`{task.name}` has no result yet; it is {attempt.state.value} at {attempt.site}."


def _outputs(data: bytes) -> list[dict[str, Any]]:
    outputs = []
    for line in data.split(b"\n"):
        try:
            output = json.loads(line)
        except ValueError:
            continue  # the last line of a file that was cut, or is still being written
        if isinstance(output, dict) and "output_type" in output:
            outputs.append(output)
    return outputs


def log_path(attempt: Attempt) -> str | None:
    """Where its log is, also when its job died before it had made its folder; None before it was sent."""
    if attempt.folder is None:
        return None
    if attempt.array is None:
        return f"{attempt.folder}/{files.LOG}"
    return f"{files.array_folder(attempt.folder)}/{files.member_log(attempt.array.at)}"


async def read_log(attempt: Attempt, link: SiteLink, *, offset: int, limit: int, tail: int | None) -> LogChunk:
    """A piece of the job's log: ``limit`` bytes from ``offset`` on, or the last ``tail`` bytes."""
    path = log_path(attempt)
    size = await link.transport.size(path) if path is not None else None
    if path is None or size is None:
        return LogChunk(text="", offset=0, next_offset=0, size=None, exists=False)
    start = max(0, size - tail) if tail is not None else min(offset, size)
    data = await link.transport.get(path, offset=start, limit=limit if tail is None else size - start)
    end = start + len(data)
    if end < size:
        data = _whole_characters(data)
    return LogChunk(
        text=data.decode("utf-8", "backslashreplace"),
        offset=start,
        next_offset=start + len(data),
        size=size,
        exists=True,
    )


def _whole_characters(data: bytes) -> bytes:
    """Leave a character that the limit cut for the next piece."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0xC0:
            width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if width > back and len(data) > back else data
        if byte < 0x80:
            return data
    return data


async def read_file(attempt: Attempt, link: SiteLink, path: str) -> bytes:
    """A file that the API may hand out. Raises NotFound."""
    if attempt.folder is None or not (path in (files.LOG, files.OUTPUTS) or is_result(path)):
        raise NotFound(f"There is no file {path!r} of this task to fetch.")
    data = await link.read(f"{attempt.folder}/{path}")
    if data is None:
        raise NotFound(f"{path} is no longer in {attempt.folder} at {link.name}.")
    return data


def is_result(path: str) -> bool:
    """A file right below ``result/``: a receipt is foreign text and may name anything."""
    folder, slash, name = path.partition("/")
    return folder == files.RESULT and bool(slash) and name not in ("", ".", "..") and not {"/", "\0"} & set(name)
