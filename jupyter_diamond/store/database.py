"""One connection to the store's file: opening, transactions, and schema check."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from jupyter_diamond.errors import StoreError
from jupyter_diamond.model.event import Event

from . import eventlog
from .complaints import BUSY_S, store_errors
from .disk import journal_mode, make_private
from .schema import APPLICATION_ID, HEAD

_MOST_TOLD = 10_000
"""Where nobody asks for what was told, it is forgotten."""


class Database:
    """The store's file. ``read`` and ``write`` are whole transactions; errors come out as StoreError.

    There is exactly one SQLite connection, so that ``PRAGMA data_version`` tells of other processes only.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = RLock()
        self._told: list[Mapping[str, Any]] = []
        with store_errors(path):
            make_private(path)
            raw = _connect(path)
            self._wal = raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        self._raw = raw
        self._engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        event.listen(self._engine, "begin", _begin)
        self._writer = self._engine.execution_options(diamond_begin="BEGIN IMMEDIATE")
        try:
            if self._stamp() != HEAD:
                self._migrate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; the last one out folds the journal into it."""
        with self._turn:
            self._engine.dispose()
            self._raw.close()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent view of the store."""
        with self._turn, store_errors(self.path), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, *, asked_again: bool = False) -> Iterator[Connection]:
        """One transaction that holds the write lock from its start: what it reads stays true until it commits.

        ``asked_again``: it holds nothing that the sites and the attempts' folders would not tell again, so it may be
        lost in a power cut (never in a crash of this process) and does not wait for the disk.
        """
        with self._turn, store_errors(self.path):
            self._raw.execute(f"PRAGMA synchronous = {'NORMAL' if asked_again and self._wal else 'FULL'}")
            with self._writer.begin() as connection:
                told = connection.info[eventlog.TOLD] = list[Mapping[str, Any]]()
                yield connection
            if len(self._told) > _MOST_TOLD:
                self._told.clear()
            self._told += told

    def told(self, after: int) -> tuple[Event, ...]:
        """What was written here since this was asked last, where that is all that follows ``after``; else nothing."""
        with self._turn:
            rows, self._told = self._told, []
        rows = [row for row in rows if row["seq"] > after]
        # another process may have told something between; numbers are given without a gap
        whole = bool(rows) and rows[0]["seq"] == after + 1 and rows[-1]["seq"] == after + len(rows)
        return eventlog.told(rows) if whole else ()

    def data_version(self) -> int:
        """A number that changes when another process has written."""
        with self._turn, store_errors(self.path):
            return int(self._raw.execute("PRAGMA data_version").fetchone()[0])

    def _stamp(self) -> str | None:
        """The schema's number, by plain SQL; None for a new file. A file of something else is refused."""
        with store_errors(self.path):
            names = {name for (name,) in self._raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not names:
                return None
            (owner,) = self._raw.execute("PRAGMA application_id").fetchone()
            if owner != APPLICATION_ID or "alembic_version" not in names:
                raise StoreError(
                    f"{self.path} is a database of another program; "
                    "point c.DiamondStore.path to a file of its own. Nothing was changed."
                )
            row = self._raw.execute("SELECT version_num FROM alembic_version").fetchone()
            return None if row is None else str(row[0])

    def _migrate(self) -> None:
        from .migrate import upgrade

        with self.write() as connection:
            stamp = self._stamp()  # another process may have migrated while this one waited for the lock
            if stamp != HEAD:
                upgrade(connection, stamp, self.path)


def _connect(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        raw.execute("PRAGMA foreign_keys = ON")
        # FULL, not NORMAL: an attempt's row must outlive a power cut before its job is submitted; see ``write``
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute(f"PRAGMA journal_mode = {journal_mode(path)}")
    except BaseException:
        raw.close()
        raise
    return raw


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("diamond_begin", "BEGIN"))
