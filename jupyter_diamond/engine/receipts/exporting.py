"""Writes an export: fetches small files, checks them, describes all, and puts the whole in its place at once."""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_diamond import __version__
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.secrets import Secrets
from jupyter_diamond.errors import Conflict, DiamondError, InvalidRequest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.receipt import Crate, CrateForm, TaskFile
from jupyter_diamond.model.task import Task

from .building import Found, receipt_of
from .crate import METADATA, About, Exported, write_metadata
from .crate_readme import readme
from .kept import listed

if TYPE_CHECKING:
    from .desk import Receipts

_MOST_COPIED = 2 << 30
"""So many bytes are copied into one export at most; what is beyond is named with its digest."""
_LOOKED_THROUGH = 4 << 20
"""A text up to this size is searched for secrets before it is copied."""
_AT_ONCE = 4


class Exports:
    """Exports tasks and groups."""

    def __init__(self, receipts: Receipts, ledger: Ledger) -> None:
        self._receipts, self._ledger = receipts, ledger
        self._secrets = Secrets()

    async def task(self, ref: str, form: CrateForm) -> Crate:
        """Of a task's newest attempt. Raises NotFound, Conflict, InvalidRequest: nothing was written then."""
        receipt = await self._receipts.receipt(ref)
        files = await self._receipts.files(receipt.task)
        decision = await self._decision(receipt.task) if receipt.decided is not None else None
        exported = Exported(receipt, decision, files.files, _room(receipt.name))
        return await self._export([exported], receipt.name, f"jupyter-diamond:{receipt.task}", form)

    async def group(self, group: Group, form: CrateForm) -> Crate:
        """Of all members that have begun."""
        found: list[Exported] = []
        decision: Decision | None = None
        after: int | None = None
        while True:
            page = await self._receipts.page(group, after)
            for task, left in page.members:
                attempt = newest(task)
                decision = decision or await self._decision(task.id)
                what = Found(page.request, decision, left)
                receipt = receipt_of(task, attempt, what, now=from_epoch(time.time()))
                found.append(Exported(receipt, decision, listed(left, attempt, None), _room(group.name, task)))
            after = page.next
            if after is None:
                return await self._export(found, group.name, f"jupyter-diamond:{group.id}", form)

    async def _decision(self, task_id: str) -> Decision:
        return await self._ledger.do(self._ledger.store.decision, task_id)

    async def _export(self, tasks: Sequence[Exported], name: str, identifier: str, form: CrateForm) -> Crate:
        target = _target(form.folder)
        about = About(name, identifier, getpass.getuser(), from_epoch(time.time()), __version__)
        await asyncio.to_thread(_refuse_others, target, identifier)
        part = target.parent / f".{target.name}.diamond-part-{secrets.token_hex(4)}"
        try:
            await asyncio.to_thread(self._write_own, part, tasks)
            copied = await self._copy_all(tasks, part, form.copy_bytes)
            await asyncio.to_thread(_describe, part, about, tasks)
            await asyncio.to_thread(_place, part, target, identifier)
        except OSError as problem:
            raise InvalidRequest(f"The export could not be written to {target}: {problem.strerror}.") from problem
        finally:
            await asyncio.to_thread(shutil.rmtree, part, ignore_errors=True)
        outputs = sum(1 for task in tasks for each in task.files if each.kind in ("kept", "value"))
        inside = sum(1 for task in tasks for each in task.files if each.ask in task.copies and each.kind != "outputs")
        return Crate(
            folder=str(target), tasks=len(tasks), copied=inside, copied_bytes=copied, referenced=outputs - inside,
            notes=tuple(note for task in tasks for note in task.notes)[:50],
        )  # fmt: skip

    def _write_own(self, part: Path, tasks: Sequence[Exported]) -> None:
        """Code, receipt, decision and log of each task, without anything that looks like a secret. Blocks."""
        for task in tasks:
            (part / task.room).mkdir(parents=True)
            receipt = json.dumps(self._secrets.blot_all(task.receipt.model_dump(mode="json")), indent=1)
            texts = {
                task.code: ("What ran", self._secrets.blot(task.receipt.code.source)),
                f"{task.room}/receipt.json": ("Its receipt", receipt),
            }
            if task.decision is not None:
                texts[f"{task.room}/decision.json"] = ("Why there", task.decision.model_dump_json(indent=1))
            if task.receipt.log.text:
                texts[f"{task.room}/log.txt"] = ("The end of its log", self._secrets.blot(task.receipt.log.text))
            for path, (name, text) in texts.items():
                (part / path).write_text(text, encoding="utf-8", errors="backslashreplace")
                task.own[path] = name

    async def _copy_all(self, tasks: Sequence[Exported], part: Path, most: int) -> int:
        gate, room = asyncio.Semaphore(_AT_ONCE), [_MOST_COPIED]

        async def copy(task: Exported, each: TaskFile) -> int:
            async with gate:
                if each.bytes is None or each.bytes > most or each.bytes > room[0]:
                    return 0
                room[0] -= each.bytes
                return await self._copy(task, each, part)

        wanted = [(task, each) for task in tasks for each in task.files if each.kind != "log"]
        return sum(await asyncio.gather(*(copy(task, each) for task, each in wanted)))

    async def _copy(self, task: Exported, each: TaskFile, part: Path) -> int:
        """One file, if it is what its digest says and holds no secret; else what is wrong is noted."""
        where = f"{task.room}/files/{each.path}" if each.kind == "kept" else f"{task.room}/{each.path}"
        receipt = task.receipt
        try:
            data = b"".join([piece async for piece in self._receipts.pieces(receipt.task, each.ask, receipt.attempt)])
            if each.kind == "outputs":  # our own record of what was shown, which has no digest
                data = (await asyncio.to_thread(self._secrets.blot, data.decode("utf-8", "replace"))).encode()
            wrong = await asyncio.to_thread(self._wrong, data, each)
            if not wrong:
                await asyncio.to_thread(_write, part / where, data)
                task.copies[each.ask] = where
                return len(data)
        except (DiamondError, OSError) as problem:
            wrong = str(problem)
        task.notes.append(f"{each.path} was not copied: {wrong}")
        return 0

    def _wrong(self, data: bytes, each: TaskFile) -> str:
        if each.sha256 and hashlib.sha256(data).hexdigest() != each.sha256:
            return "it has changed since its receipt was written"
        if len(data) <= _LOOKED_THROUGH and b"\0" not in data:
            text = data.decode("utf-8", "replace")
            if self._secrets.blot(text) != text:
                return "it holds what looks like a secret"
        return ""


def _room(name: str, task: Task | None = None) -> str:
    """A folder's name: names of tasks are letters, digits and underscores."""
    return name if task is None or task.member is None else f"{name}-{task.member.index:04d}"


def _target(folder: str) -> Path:
    target = Path(folder).expanduser()
    if not target.is_absolute() or ".." in target.parts or target == target.parent:
        raise InvalidRequest(f"{folder!r} must be a full path of a folder on the Jupyter server's machine.")
    return target


def _refuse_others(target: Path, identifier: str) -> None:
    """Only a new folder, an empty one, or an earlier export of the same is written to. Blocks."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    try:
        graph = json.loads((target / METADATA).read_text(encoding="utf-8"))["@graph"]
        if any(each.get("@id") == "./" and each.get("identifier") == identifier for each in graph):
            return
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # it is no export
    raise Conflict(
        f"{target} is there already, and is no export of the same; nothing was written. Name another folder."
    )


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _describe(part: Path, about: About, tasks: Sequence[Exported]) -> None:
    (part / "README.md").write_text(readme(about, tasks), encoding="utf-8", errors="backslashreplace")
    write_metadata(part, about, tasks)


def _place(part: Path, target: Path, identifier: str) -> None:
    """At once where it is new; over an earlier export file by file, and nothing else there is touched. Blocks."""
    _refuse_others(target, identifier)
    if not target.exists() or not any(target.iterdir()):
        part.rename(target)
        return
    for path in sorted(part.rglob("*")):
        if path.is_file():
            place = target / path.relative_to(part)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
