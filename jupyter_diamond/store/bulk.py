"""Many rows by one statement that is compiled once.

SQLAlchemy prepares each value of each row anew, which takes longer than SQLite needs to write it.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from threading import Lock
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Insert, Table, Update, bindparam, func, insert, select, update
from sqlalchemy.dialects import sqlite

_DIALECT = sqlite.dialect()


class Bulk:
    """A statement with named places, for rows of at least two values."""

    def __init__(self, statement: Insert | Update, columns: Collection[str] | None = None) -> None:
        compiled = statement.compile(dialect=_DIALECT, column_keys=None if columns is None else list(columns))
        self.text = str(compiled)
        self._values = itemgetter(*(compiled.positiontup or ()))

    def run(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> int:
        """Write rows, each with a value for every place; how many rows of the table that was."""
        values = [self._values(row) for row in rows]
        return connection.exec_driver_sql(self.text, values).rowcount if values else 0


def insertion(table: Table, *columns: str) -> Bulk:
    """New rows with these columns; the others are NULL, or given by SQLite."""
    return Bulk(insert(table), columns)


def change(table: Table, where: ColumnElement[bool], *columns: str) -> Bulk:
    """These columns of rows; what ``where`` compares with are places of other names."""
    return Bulk(update(table).where(where).values({name: bindparam(name) for name in columns}))


def among(column: Column[Any] | ColumnElement[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """Whether a text is one of many, which are one parameter: SQLite takes no more than some thousands of them."""
    listed = func.json_each(json.dumps(list(values))).table_valued("value")
    return column.in_(select(listed.c.value))


_PAUSES: list[bool] = []
"""Those that go on, each with whether garbage was collected before it."""
_PAUSING = Lock()


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected while the block lasts, which has to be short.

    Thousands of new values that all live on make Python look for garbage among all that the process knows, a tenth of
    a second each time, and there is none.
    """
    with _PAUSING:
        _PAUSES.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _PAUSING:
            if _PAUSES.pop():
                gc.enable()
