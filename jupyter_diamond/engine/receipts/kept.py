"""The files that an attempt left: which there are, where they lie, and which of them may be handed out.

A receipt is foreign text, which may name anything. So only names that it lists are read, only below the folder that
the attempt's cell was told to run in, and that folder is never the receipt's word alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.results import is_result, log_path
from jupyter_diamond.errors import DataProblem, NotFound, ResultUnavailable
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.manifest import KeptFile, Manifest
from jupyter_diamond.model.receipt import TaskFile
from jupyter_diamond.model.task import Attempt

KEPT = "kept/"
"""What a file that the cell left is asked for by: ``kept/`` and its path."""
PIECE_BYTES = 4 << 20
"""So much of a file comes with one answer."""
_MOST_LIST_BYTES = 64 << 20
_FAR_BYTES = 300_000_000
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MEDIA = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class Left:
    """What an attempt left. ``folder`` is where its kept files lie, None where that is not sure."""

    manifest: Manifest
    kept: tuple[KeptFile, ...] = ()
    folder: str | None = None
    note: str = ""
    by_path: dict[str, KeptFile] = field(default_factory=dict, compare=False)


async def left_by(attempt: Attempt, link: SiteLink, *, cwd: str | None) -> Left | None:
    """What the runner's receipt says; None where there is none. ``cwd`` is the folder of the kernel that asked."""
    if not attempt.folder or not (attempt.result_ready or attempt.state.terminal):
        return None
    data = await link.read(f"{attempt.folder}/{files.MANIFEST}")
    manifest = attempt_folder.parse(Manifest, data) if data is not None else None
    if data is not None and manifest is None:
        raise ResultUnavailable(f"The receipt in {attempt.folder} at {link.name} cannot be read; look at the log.")
    return None if manifest is None else await of_manifest(manifest, attempt, link, cwd=cwd)


async def of_manifest(manifest: Manifest, attempt: Attempt, link: SiteLink, *, cwd: str | None) -> Left:
    """The same, where the receipt was read already."""
    kept, trouble = await _all(manifest, attempt, link)
    good = tuple(each for each in kept if _is_below(each.path))
    folder = await asyncio.to_thread(
        _run_folder, attempt, manifest.folder, cwd if link.transport.shares_files else None
    )
    notes = [manifest.files_note, trouble]
    if len(good) < len(kept):
        notes.append(f"{len(kept) - len(good)}: paths that lead out of the folder")
    if good and folder is None:
        notes.append(f"the receipt names {manifest.folder}, which is not the folder that the cell was to run in")
    note = "; ".join(each for each in notes if each)
    return Left(manifest, good, folder, note, {each.path: each for each in good})


async def _all(manifest: Manifest, attempt: Attempt, link: SiteLink) -> tuple[tuple[KeptFile, ...], str]:
    """Every file that is listed, and what is wrong with the list."""
    if manifest.files_count <= len(manifest.files):
        return manifest.files, ""
    data = await link.read(f"{attempt.folder}/{files.FILES}", limit=_MOST_LIST_BYTES)
    first = f"only the first {len(manifest.files)} of {manifest.files_count:,} are listed here"
    if data is None:
        return manifest.files, f"{first}: {files.FILES} is no longer there"
    if hashlib.sha256(data).hexdigest() != manifest.files_sha256:
        return manifest.files, f"{first}: {files.FILES} is not the one that the receipt was written with"
    try:
        return await asyncio.to_thread(_lines, data), ""
    except ValidationError as fault:
        return manifest.files, f"{first}: {files.FILES} cannot be read ({fault.error_count()} faults)"


def _lines(data: bytes) -> tuple[KeptFile, ...]:
    return tuple(KeptFile.model_validate_json(line) for line in data.splitlines())


def _is_below(path: str) -> bool:
    parts = path.split("/")
    return bool(path) and "\0" not in path and not {"", ".", ".."} & set(parts)


def _run_folder(attempt: Attempt, said: str, cwd: str | None) -> str | None:
    """The attempt's own ``work``, or the kernel's folder where the site sees it. Blocks."""
    own = PurePosixPath(attempt.folder or "/") / "work"
    if PurePosixPath(said).parts[-3:] == own.parts[-3:]:
        return str(own)
    if cwd is not None and said and Path(said).resolve() == Path(cwd).resolve():
        return said
    return None


def listed(left: Left | None, attempt: Attempt, log_bytes: int | None) -> tuple[TaskFile, ...]:
    """Every file that can be fetched: those that were kept, values, outputs, log."""
    found = [] if left is None else [_of_kept(each) for each in left.kept if left.folder is not None]
    if left is not None:
        found += values_of(left.manifest)
        size = left.manifest.outputs_bytes
        found.append(TaskFile(kind="outputs", path=files.OUTPUTS, ask=files.OUTPUTS, bytes=size))
    if log_path(attempt) is not None and log_bytes is not None:
        log = TaskFile(kind="log", path=files.LOG, ask=files.LOG, bytes=log_bytes, media_type="text/plain")
        found.append(log)
    return tuple(found)


def _of_kept(each: KeptFile) -> TaskFile:
    digest = each.sha256 if _DIGEST.fullmatch(each.sha256) else ""
    return TaskFile(
        kind="kept", path=each.path, ask=KEPT + each.path, bytes=each.bytes, sha256=digest, media_type=each.media_type,
        mtime=from_epoch(each.mtime) if 0 < each.mtime < 2**33 else None,
    )  # fmt: skip


def values_of(manifest: Manifest) -> list[TaskFile]:
    """The variables that came back, as files."""
    return [
        TaskFile(
            kind="value", path=each.file, ask=each.file, bytes=each.bytes, sha256=each.sha256,
            media_type=_MEDIA.get(each.codec, "application/octet-stream"),
            about=f"{each.name}: {each.type} {each.preview}",
        )
        for each in manifest.values if is_result(each.file)
    ]  # fmt: skip


def kept_file(left: Left | None, ask: str) -> tuple[str, KeptFile]:
    """Where a kept file lies, and what is said of it. Raises NotFound for every name that the receipt does not list."""
    found = left.by_path.get(ask.removeprefix(KEPT)) if left is not None else None
    if left is None or found is None:
        raise NotFound(f"The receipt names no file {ask.removeprefix(KEPT)!r}.")
    if left.folder is None:
        raise NotFound(f"{found.path!r} is not handed out: {left.note}.")
    return f"{left.folder}/{found.path}", found


def refuse_large(path: str, size: int, link: SiteLink) -> None:
    """What Globus Compute is not made for. Raises DataProblem."""
    if link.site.transport == "globus-compute" and size > _FAR_BYTES:
        raise DataProblem(
            f"{path} at {link.name} has {size:,} bytes; over Globus Compute at most {_FAR_BYTES:,} are fetched. "
            f"Move it: %diamond transfer {link.name}:{path} home:~/",
            kind="refused",
        )


async def read_piece(path: str, link: SiteLink, *, within: str, offset: int, limit: int) -> bytes:
    """A piece of a kept file. Raises NotFound where it is gone, or has become a link that leads out of its folder."""
    if link.transport.shares_files and not await asyncio.to_thread(_inside, path, within):
        raise NotFound(f"{path} is a link that leads out of {within}; it is not handed out.")
    data = await link.read(path, offset=offset, limit=limit)
    if data is None:
        raise NotFound(f"{path} is no longer there at {link.name}.")
    return data


def _inside(path: str, folder: str) -> bool:
    return Path(path).resolve().is_relative_to(Path(folder).resolve())
