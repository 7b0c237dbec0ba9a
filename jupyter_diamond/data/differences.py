"""What has to be sent: which names are wanted, and which of them are not at the destination already. Pure."""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Mapping, Sequence

from jupyter_diamond.model.transfer import Filter, SyncLevel

from .listing import Entry, Listing, fingerprint

Fingerprints = tuple[str, str]
"""Of the files at both ends, as they were when all of them were found the same by their content."""


def wanted(found: Listing, filters: Sequence[Filter]) -> dict[str, Entry]:
    """The files that the filters take: of the file itself and of every folder above it, the first match decides."""
    if not filters:
        return dict(found.files)
    kept_folders: dict[str, bool] = {"": True}

    def kept_folder(path: str) -> bool:
        if path not in kept_folders:
            above, _, name = path.rpartition("/")
            kept_folders[path] = kept_folder(above) and _taken(name, "dir", filters)
        return kept_folders[path]

    return {
        path: entry
        for path, entry in found.files.items()
        if kept_folder(path.rpartition("/")[0]) and (not path or _taken(path.rpartition("/")[2], "file", filters))
    }


def _taken(name: str, kind: str, filters: Sequence[Filter]) -> bool:
    for each in filters:
        if each.type in (None, kind) and fnmatch.fnmatchcase(name, each.name):
            return each.method == "include"
    return True


def to_compare(source: Mapping[str, Entry], there: Mapping[str, Entry], level: SyncLevel | None) -> tuple[str, ...]:
    """Files whose digests have to be made at both ends before anything can be said."""
    if level != "checksum":
        return ()
    return tuple(path for path, e in source.items() if path in there and there[path].bytes == e.bytes)


def fingerprints(source: Mapping[str, Entry], there: Mapping[str, Entry]) -> Fingerprints | None:
    """What both ends look like; None where something of the source is not there."""
    if not source or not source.keys() <= there.keys():
        return None
    return fingerprint(source), fingerprint({path: there[path] for path in source})


def unchanged(compared: Fingerprints | None, source: Mapping[str, Entry], there: Mapping[str, Entry]) -> bool:
    """Whether both ends look as they did when all of it was found the same."""
    return compared is not None and compared == fingerprints(source, there)


def differing(
    source: Mapping[str, Entry],
    there: Mapping[str, Entry],
    level: SyncLevel | None,
    *,
    equal: Collection[str] = (),
) -> dict[str, Entry]:
    """What has to be sent. ``equal``: those whose digests were made and are the same; times count in whole seconds."""

    def same(path: str, entry: Entry) -> bool:
        other = there.get(path)
        if level is None or other is None:
            return False
        if level == "exists":
            return True
        if level == "checksum":
            return path in equal
        return other.bytes == entry.bytes and (level == "size" or other.mtime_s == entry.mtime_s)

    return {path: entry for path, entry in source.items() if not same(path, entry)}


def empty_folders(found: Listing) -> tuple[str, ...]:
    """Folders that hold no file, nor a folder that does: what is sent file by file would lose them."""
    full = set[str]()
    for path in found.files:
        above = path.rpartition("/")[0]
        while above and above not in full:
            full.add(above)
            above = above.rpartition("/")[0]
    return tuple(folder for folder in found.folders if folder not in full)
