"""The small values of many members at once: one read a site, however many they are. Never unpickled here."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.results import is_result
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.group import GroupResults, MemberResult, MissingResult
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.states import Outcome
from jupyter_diamond.model.task import Task

PAGE = 500
"""So many members at most come with one answer."""
PAGE_BYTES = 3 << 20
"""And so much of their files is read at each site, packed, as it comes from far ones; so much of values is sent."""
VALUE_BYTES = 256 << 10
"""A value that is larger is fetched by itself."""
_UNPACKED = 64 << 20
_TIMEOUT_S = 60.0
_OUTPUT = 8 << 20

_Files = dict[str, bytes]


class _Read(NamedTuple):
    """By task, what was found in its folder; ``cut``: the rest did not fit, and has to be asked for again."""

    found: dict[str, _Files]
    cut: bool = False
    problem: str = ""


async def read_results(
    group_id: str, tasks: Sequence[Task], keys: Mapping[str, str], links: SiteLinks, *, inline_bytes: int, more: bool
) -> GroupResults:
    """What these members brought back; they are in the order of their numbers. ``more``: others follow them."""
    by_site: dict[str, list[Task]] = {}
    for task in tasks:
        if task.attempts[-1].result_ready and task.attempts[-1].folder:
            by_site.setdefault(task.attempts[-1].site, []).append(task)
    names = list(by_site)
    reads = await asyncio.gather(*(_read(links, name, by_site[name], inline_bytes) for name in names))
    asked = {task.id for each in by_site.values() for task in each}
    read_at = dict(zip(names, reads, strict=True))
    members: list[MemberResult] = []
    missing: list[MissingResult] = []
    sent = 0
    for position, task in enumerate(tasks):
        at = read_at.get(task.attempts[-1].site)
        wanted = task.id in asked
        if wanted and at is not None and at.cut and task.id not in at.found and position:
            return _answer(group_id, members, missing, _index(tasks[position - 1]), sent)
        told = _told(task, keys[task.id], at if wanted else None, inline_bytes)
        if isinstance(told, MemberResult):
            own = sum(file.bytes for file in told.manifest.values if file.file in told.inline)
            if sent + own > PAGE_BYTES and members:
                return _answer(group_id, members, missing, _index(tasks[position - 1]), sent)
            sent += own
            members.append(told)
        elif told is not None:
            missing.append(told)
    return _answer(group_id, members, missing, _index(tasks[-1]) if more and tasks else None, sent)


def _answer(
    group_id: str, members: list[MemberResult], missing: list[MissingResult], next_: int | None, sent: int
) -> GroupResults:
    return GroupResults(group=group_id, members=tuple(members), missing=tuple(missing), next=next_, bytes=sent)


def _index(task: Task) -> int:
    return task.member.index if task.member is not None else 0


def _told(task: Task, key: str, at: _Read | None, inline_bytes: int) -> MemberResult | MissingResult | None:
    """One member's receipt with its values, or why there is none; None while it has not ended."""
    attempt = task.attempts[-1]
    parts = at.found.get(task.id, {}) if at is not None else {}
    manifest = attempt_folder.parse(Manifest, parts[files.MANIFEST]) if files.MANIFEST in parts else None
    if manifest is None:
        if at is None and not task.state.terminal:
            return None
        if at is not None and at.problem:
            why = at.problem
        elif at is not None:
            why = f"Its receipt in {attempt.folder} at {attempt.site} cannot be read; look at its log."
        else:
            why = task.cause if task.state.outcome is not Outcome.OK and task.cause else task.state.value
        return MissingResult(index=_index(task), task_id=task.id, why=why)
    inline, room = {}, inline_bytes
    for value in manifest.values:
        content = parts.get(value.file)
        if content is not None and is_result(value.file) and len(content) <= room:
            inline[value.file] = base64.b64encode(content).decode()
            room -= len(content)
    left = tuple(value.file for value in manifest.values if value.file not in inline)
    return MemberResult(
        index=_index(task), task_id=task.id, attempt=attempt.n, manifest=manifest, key=key, inline=inline, left=left
    )


async def _read(links: SiteLinks, name: str, tasks: Sequence[Task], inline_bytes: int) -> _Read:
    try:
        link = links[name]
        if link.transport.shares_files:
            return await asyncio.to_thread(_read_here, tasks, inline_bytes)
        return await _read_there(link, tasks, inline_bytes)
    except DiamondError as problem:
        return _Read({}, problem=problem.message)


def _read_here(tasks: Sequence[Task], inline_bytes: int) -> _Read:
    found: dict[str, _Files] = {}
    room = PAGE_BYTES
    for task in tasks:
        folder = Path(task.attempts[-1].folder or "")
        parts: _Files = {}
        receipt = _content(folder / files.MANIFEST, PAGE_BYTES)
        manifest = attempt_folder.parse(Manifest, receipt) if receipt is not None else None
        if receipt is not None:
            parts[files.MANIFEST] = receipt
        for value in manifest.values if manifest is not None else ():
            if is_result(value.file) and (content := _content(folder / value.file, inline_bytes)) is not None:
                parts[value.file] = content
        room -= sum(len(each) for each in parts.values())
        if room < 0 and found:
            return _Read(found, cut=True)
        found[task.id] = parts
    return _Read(found)


def _content(path: Path, most: int) -> bytes | None:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None


async def _read_there(link: SiteLink, tasks: Sequence[Task], inline_bytes: int) -> _Read:
    """One command for all of them: what is small goes into one archive, as far as it fits."""
    folders = {str(task.attempts[-1].folder): task.id for task in tasks}
    done = await link.run(archive_script(inline_bytes), stdin="\n".join(folders).encode() + b"\n", timeout_s=_TIMEOUT_S)
    return unpacked(done.stdout, folders)


def archive_script(inline_bytes: int) -> str:
    """POSIX shell with GNU find and tar. Reads folders, a line each; writes base64 of a packed archive, cut to size."""
    return f"""LC_ALL=C; export LC_ALL
tr '\\n' '\\0' | xargs -0 sh -c 'find "$@" -maxdepth 2 -type f \\( -name {files.MANIFEST} -o \\
-path "*/{files.RESULT}/*" -size -{inline_bytes + 1}c \\) -print0' sh 2>/dev/null |
tar --null --no-recursion -P -cf - -T - 2>/dev/null | gzip -c | head -c {PAGE_BYTES} | base64 | tr -d '\\n'
"""


def unpacked(answer: bytes, folders: Mapping[str, str]) -> _Read:
    """What came of the archive, by task. The last folder of a cut one may lack files: it counts as not read."""
    try:
        packed = base64.b64decode(answer.strip(), validate=True)
        opened = zlib.decompressobj(31)
        data = opened.decompress(packed, _UNPACKED)
    except (binascii.Error, zlib.error) as problem:
        return _Read({}, problem=f"What the site answered makes no sense: {problem}.")
    cut = not opened.eof
    found: dict[str, _Files] = {}
    last = ""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r|") as archive:
            for entry in archive:
                folder, part = _place(entry.name, folders)
                content = archive.extractfile(entry) if folder and entry.isfile() else None
                if content is not None:
                    last = folders[folder]
                    found.setdefault(last, {})[part] = content.read()
    except (tarfile.TarError, EOFError):
        cut = True
    if cut:
        found.pop(last, None)
    else:
        found = {task_id: found.get(task_id, {}) for task_id in folders.values()}
    return _Read(found, cut=cut)


def _place(name: str, folders: Mapping[str, str]) -> tuple[str, str]:
    """Which of the folders a file is of, and its path there."""
    above, _, base = name.rpartition("/")
    if above in folders:
        return above, base
    folder, _, room = above.rpartition("/")
    return (folder, f"{room}/{base}") if folder in folders and room == files.RESULT else ("", "")
