"""What Globus Transfer is asked to do for a transfer of ours: which items, to where, by which measure. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.data import DataSize
from jupyter_diamond.model.transfer import Filter, SyncLevel, Transfer, TransferRequest

from .base import End
from .differences import Fingerprints, differing, empty_folders, fingerprints, to_compare, unchanged, wanted
from .listing import Entry, Kind, Listing
from .placing import part_of

SYNC: dict[SyncLevel, int] = {"exists": 0, "size": 1, "mtime": 2, "checksum": 3}
MOST_ITEMS = 2000
"""One document holds so many at most; what has more differences goes as a whole."""


@dataclass(frozen=True)
class Item:
    """A file, or with ``recursive`` a folder, as paths of the two collections."""

    source: str
    destination: str
    recursive: bool = False


@dataclass(frozen=True)
class Plan:
    """What is to be sent. ``part``: some of it comes under a temporary name, and must be renamed afterwards.

    ``skipped``: files that need not be sent as their sizes and times already tell. ``note`` is for the log.
    """

    items: tuple[Item, ...]
    part: bool
    inside: bool = False
    skipped: int = 0
    note: str = ""


def collection_path(end: End) -> str:
    """The end's path in words of its collection: ``~`` is ``/~/`` there."""
    path = end.collection_path or "/"
    return f"/{path}" if path.startswith("~") else path


def part_path(end: End, transfer_id: str, *, inside: bool) -> str:
    """The temporary name, in words of the collection."""
    return part_of(collection_path(end), transfer_id, inside=inside)


def plan_of(transfer: Transfer, source: End, destination: End, here: Listing, there: Listing) -> Plan:
    """Which items bring it about. Raises DataProblem where a file and a folder stand against each other.

    ``here`` and ``there`` have been looked at now; where they are not ``whole``, Globus compares by itself. What
    differs comes under a temporary name. What has the same size is compared by Globus where it lies, as only it reads
    both ends; if a file of the same size differs, it is replaced there.
    """
    request = transfer.request
    _fits(here.kind, there.kind, request, destination)
    inside = there.kind == "folder"
    first, last = collection_path(source), collection_path(destination)
    part = part_path(destination, transfer.id, inside=inside)
    if there.kind == "missing":
        return Plan(tuple(_fresh(request, here, first, part)), part=True)
    if inside and destination.transport is None:
        note = "There is no shell at the destination: Globus replaces there what differs, file by file."
        return Plan(tuple(_fresh(request, here, first, last)), part=False, inside=True, note=note)
    if request.sync is None or not (here.whole and there.whole):
        return Plan(tuple(_fresh(request, here, first, part)), part=True, inside=inside)
    files = _asked(request, here)
    compare = to_compare(files, there.files, request.sync)
    send = tuple(path for path in differing(files, there.files, request.sync, equal=compare))
    if unchanged(transfer.compared, files, there.files):
        compare = ()  # all of it was found the same before
    bare = () if request.files else tuple(set(empty_folders(here)) - set(there.folders))
    skipped = len(files) - len(send) - len(compare)
    if not (send or compare or bare):
        return Plan((), part=False, inside=inside, skipped=skipped)
    if (not send and inside and not request.files) or len(send) + len(compare) + len(bare) > MOST_ITEMS:
        note = "Globus compares both ends where they lie."
        return Plan(tuple(_fresh(request, here, first, last)), part=False, inside=inside, note=note)
    return Plan(
        (*(Item(_below(first, path), _below(part, path)) for path in send),
         *(Item(_below(first, path), _below(part, path), recursive=True) for path in bare),
         *(Item(_below(first, path), _below(last, path)) for path in compare)),
        part=bool(send or bare), inside=inside, skipped=skipped,
    )  # fmt: skip


def document(transfer: Transfer, source: End, destination: End, plan: Plan, submission_id: str) -> dict[str, Any]:
    """The body of ``POST transfer``: the same for the same transfer, so that it can be sent again."""
    request = transfer.request
    body: dict[str, Any] = {
        "DATA_TYPE": "transfer", "submission_id": submission_id, "label": f"jupyter_diamond {transfer.id}"[:128],
        "source_endpoint": source.collection, "destination_endpoint": destination.collection,
        "deadline": transfer.deadline.isoformat(timespec="seconds"), "verify_checksum": request.verify,
        "preserve_timestamp": True, "fail_on_quota_errors": True, "skip_source_errors": False,
        "notify_on_succeeded": False, "notify_on_failed": False, "notify_on_inactive": False,
        "DATA": [
            {"DATA_TYPE": "transfer_item", "source_path": item.source, "destination_path": item.destination,
             "recursive": item.recursive}
            for item in plan.items
        ],
    }  # fmt: skip
    if request.sync is not None:
        body["sync_level"] = SYNC[request.sync]
    if request.filters and any(item.recursive for item in plan.items):
        body["filter_rules"] = [_rule(one) for one in request.filters]
    return body


def _fits(here: Kind, there: Kind, request: TransferRequest, destination: End) -> None:
    if there in ("other", "unreadable"):
        what = "may not be read by you" if there == "unreadable" else "is neither a file nor a folder"
        raise DataProblem(
            f"{destination.location} {what}.", kind="permission" if there == "unreadable" else "refused",
            advice="Choose another destination.",
        )  # fmt: skip
    comes: Kind = "folder" if request.files else here
    if {comes, there} == {"file", "folder"}:
        raise DataProblem(
            f"{destination.location} is a {there}, and a {comes} is to come there.",
            kind="refused", advice="Choose another destination, or move away what stands there.",
        )  # fmt: skip


def _fresh(request: TransferRequest, here: Listing, source: str, target: str) -> Iterable[Item]:
    """Everything that is wanted."""
    if not request.files:
        is_folder = here.kind == "folder"
        return (Item(_folder(source), _folder(target), recursive=True) if is_folder else Item(source, target),)
    return (
        Item(_below(source, name), _below(target, name), recursive=name.endswith("/") or name in here.folders)
        for name in request.files
    )


def same_now(request: TransferRequest, here: Listing, there: Listing) -> Fingerprints | None:
    """What both ends look like, now that Globus has found all of it to be the same; None where that is not sure.

    Globus gives what it sends the time of its source: where times differ, the source may have changed meanwhile.
    """
    files = _asked(request, here)
    if not (request.verify and request.sync == "checksum" and here.whole and there.whole):
        return None
    same_time = all(path in there.files and there.files[path].mtime_s == one.mtime_s for path, one in files.items())
    return fingerprints(files, there.files) if same_time else None


def size_of(request: TransferRequest, here: Listing) -> DataSize:
    """How much of what lies there was asked for."""
    files = _asked(request, here)
    return DataSize(bytes=sum(entry.bytes for entry in files.values()), files=len(files))


def _asked(request: TransferRequest, here: Listing) -> dict[str, Entry]:
    return {path: entry for path, entry in wanted(here, request.filters).items() if _named(path, request.files)}


def _named(path: str, files: tuple[str, ...]) -> bool:
    """Whether a file is one of those that were asked for, or lies below one."""
    return not files or any(path == name or path.startswith(f"{name.rstrip('/')}/") for name in files)


def _rule(one: Filter) -> dict[str, Any]:
    rule: dict[str, Any] = {"DATA_TYPE": "filter_rule", "method": one.method, "name": one.name}
    return rule if one.type is None else {**rule, "type": one.type}


def _below(folder: str, path: str) -> str:
    return posixpath.join(folder, path) if path else folder


def _folder(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
