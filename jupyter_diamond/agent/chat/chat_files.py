"""Chats as files: which id one has, and where the one with an id is."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

_MOST_BYTES = 64 << 20
_MOST_FILES = 5000
_SEARCH_S = 20.0
_NEVER = frozenset({"node_modules", "__pycache__", "site-packages"})


def id_in(path: Path) -> str | None:
    """The id that a chat's file carries; None where there is no such file, or none can be read in it."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    metadata = content.get("metadata") if isinstance(content, dict) else None
    found = metadata.get("id") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else None


def find_by_id(root: Path, chat_id: str) -> Path | None:
    """Look for a chat that was moved by hand, nearest to the root first; gives up after some seconds.

    Of a chat and its copies, which carry the same id, the one that was written last.
    """
    found: list[Path] = []
    deadline, seen = time.monotonic() + _SEARCH_S, 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NEVER)
        for name in names:
            if name.endswith(".chat"):
                seen += 1
                path = Path(folder) / name
                if id_in(path) == chat_id:
                    found.append(path)
        if seen > _MOST_FILES or time.monotonic() > deadline:
            break
    return max(found, key=_written_at, default=None)


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
