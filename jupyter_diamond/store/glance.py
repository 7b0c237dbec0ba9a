"""A look at the store from outside, beside a server that uses it: nothing is migrated, nothing is made."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from .schema import APPLICATION_ID


class Glance(NamedTuple):
    """``problem`` is a sentence when the store cannot be used; ``lease`` is its holder and the seconds it still has."""

    exists: bool
    problem: str = ""
    lease: tuple[str, float] | None = None


def glance(path: Path) -> Glance:
    """Whether the store can be written, and who holds its lease."""
    if not path.exists():
        return Glance(exists=False, problem=_unmakable(path))
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=5, isolation_level=None)
        ) as raw:
            if raw.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                return Glance(
                    exists=True,
                    problem=f"{path} is a database of another program; point c.DiamondStore.path to a file of its own.",
                )
            raw.execute("BEGIN IMMEDIATE")
            row = raw.execute("SELECT holder, expires_at FROM lease").fetchone()
            raw.execute("ROLLBACK")
    except sqlite3.Error as problem:
        return Glance(exists=True, problem=f"{path} cannot be used: {problem}. Free some disk space, or move it away.")
    if row is None or row[1] <= time.time():
        return Glance(exists=True)
    return Glance(exists=True, lease=(str(row[0]), float(row[1]) - time.time()))


def _unmakable(path: Path) -> str:
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK | os.X_OK):
        return ""
    return f"{path} cannot be made: {folder} is not writable. Point c.DiamondStore.path to a folder of yours."
