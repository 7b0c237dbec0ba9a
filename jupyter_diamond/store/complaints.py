"""SQLite's and the disk's complaints as sentences a user can act on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from jupyter_diamond.errors import StoreError

BUSY_S = 10.0
"""How long a write waits for another process of the same user."""

_ELSEWHERE = "or point c.DiamondStore.path to another folder"

# Python 3.10 gives no SQLite error codes, so SQLite's own fixed words decide: (words, what it means, later may help)
_MEANINGS: tuple[tuple[tuple[str, ...], str, bool], ...] = (
    (
        ("is locked",),
        (
            f"has been locked by another process for {BUSY_S:.0f} s; try again, and if it stays so, stop the other "
            "Jupyter server that uses it."
        ),
        True,
    ),
    (("readonly",), f"cannot be written: make its file and folder writable for you, {_ELSEWHERE}.", False),
    (
        ("disk is full",),
        f"cannot grow because the disk or your quota is full, and nothing was changed; free space there, {_ELSEWHERE}.",
        True,
    ),
    (
        ("disk i/o error",),
        (
            "could not be read or written by the operating system (a full quota and a lost network disk look like "
            f"this), and nothing was changed; check the disk, {_ELSEWHERE}."
        ),
        True,
    ),
    (
        ("not a database", "malformed"),
        (
            "is damaged or is no task store; move it and its -wal and -shm files away and restart the server. "
            "Jobs go on at their sites."
        ),
        False,
    ),
    (("unable to open",), f"cannot be opened; check that its folder exists and is yours, {_ELSEWHERE}.", False),
)


def complaint(path: Path, words: str) -> StoreError:
    """What SQLite said about the store at ``path``, as a sentence."""
    for keys, meaning, transient in _MEANINGS:
        if any(key in words.lower() for key in keys):
            return StoreError(f"The task store {path} {meaning}", transient=transient, evidence=(words,))
    return StoreError(f"The task store {path} failed: {words}.", evidence=(words,))


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system raise inside the block into a StoreError."""
    try:
        yield
    except DBAPIError as error:
        raise complaint(path, str(error.orig)) from error
    except sqlite3.Error as error:
        raise complaint(path, str(error)) from error
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(
            f"The task store {path} cannot be used: {why} ({error.filename or path}); check the folder's owner, "
            f"rights and quota, {_ELSEWHERE}.",
            evidence=(str(error),),
        ) from error
