"""Data by name and its copies: every method is one transaction, a writing one with the event that says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, literal_column, select, update

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.data import Dataset, Replica
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task

from . import eventlog, loading
from .database import Database
from .rows import stored
from .schema import datasets, replicas, tasks


class Copy(NamedTuple):
    """A replica, with what tells cheaply whether it is still what it was; empty where nobody could look."""

    replica: Replica
    listing: str


class Datasets:
    """The datasets of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, dataset: Dataset, copy: Copy, at: datetime) -> Dataset:
        """Keep a new name with its first copy; where the name is known, another copy of it, or the same looked at."""
        with self._database.write() as connection:
            known = _find(connection, dataset.name)
            if known is None:
                row = {"name": dataset.name, "created_at": at.timestamp(), "body": _body(dataset)}
                connection.execute(insert(datasets).values(**row))
            elif dataset.note:
                _rewrite(connection, known.model_copy(update={"note": dataset.note}))
            _put(connection, dataset.name, copy)
            kind: EventType = "data.added" if known is None else "data.changed"
            return _told(connection, dataset.name, kind, copy.replica, at)

    def get(self, name: str) -> Dataset:
        """A dataset with its copies, those that the user named first. Raises NotFound."""
        with self._database.read() as connection:
            return _get(connection, name)

    def copies(self, name: str) -> tuple[Copy, ...]:
        """Its copies with their listings, in the same order. Raises NotFound."""
        with self._database.read() as connection:
            _get(connection, name)
            return _copies(connection, name)

    def find(self, name: str) -> Dataset | None:
        """A dataset, None where there is none of that name."""
        with self._database.read() as connection:
            return _find(connection, name)

    def all(self) -> tuple[Dataset, ...]:
        """All of them, by name."""
        with self._database.read() as connection:
            names = connection.execute(select(datasets.c.name).order_by(datasets.c.name)).scalars().all()
            return tuple(_get(connection, name) for name in names)

    def saw(self, name: str, seen: Collection[Copy], at: datetime) -> Dataset:
        """Keep what was seen of copies; told only where that is news. One that is gone meanwhile is not made again."""
        with self._database.write(asked_again=True) as connection:
            before = {str(each.replica.location): each for each in _copies(connection, name)}
            for copy in seen:
                known = before.get(str(copy.replica.location))
                if known is None:
                    continue
                _put(connection, name, copy)
                if (known.replica.state, known.listing) != (copy.replica.state, copy.listing):
                    _tell(connection, name, "data.changed", copy.replica, at)
            found = _get(connection, name)
            newest = next((each.size for each in found.replicas if each.given and each.size is not None), found.size)
            return _rewrite(connection, found.model_copy(update={"size": newest}))

    def placed(self, name: str, copy: Copy, at: datetime) -> None:
        """A stage-in has made a copy. Nothing is kept of a dataset that was removed meanwhile."""
        with self._database.write() as connection:
            if _find(connection, name) is not None:
                _put(connection, name, copy)
                _tell(connection, name, "data.changed", copy.replica, at)

    def forget(self, name: str, location: str, at: datetime) -> Dataset:
        """A copy is no more. Raises NotFound."""
        with self._database.write() as connection:
            gone = (replicas.c.dataset == name) & (replicas.c.location == location)
            connection.execute(delete(replicas).where(gone))
            eventlog.append(connection, "data.changed", f"data:{name}", {"dropped": location[:1000]}, at=at)
            return _get(connection, name)

    def remove(self, name: str, at: datetime) -> Dataset:
        """Forget a name and where its copies are; they stay. Raises NotFound."""
        with self._database.write() as connection:
            found = _get(connection, name)
            connection.execute(delete(replicas).where(replicas.c.dataset == name))
            connection.execute(delete(datasets).where(datasets.c.name == name))
            eventlog.append(connection, "data.removed", f"data:{name}", {}, at=at)
            return found

    def staging(self) -> tuple[Task, ...]:
        """The tasks for which something is brought to their site now."""
        with self._database.read() as connection:
            return loading.load(connection, tasks.c.state == State.STAGING_IN.value)


def _find(connection: Connection, name: str) -> Dataset | None:
    body = connection.execute(select(datasets.c.body).where(datasets.c.name == name)).scalar()
    if body is None:
        return None
    held = tuple(copy.replica for copy in _copies(connection, name))
    return stored(Dataset, body).model_copy(update={"replicas": held})


def _get(connection: Connection, name: str) -> Dataset:
    found = _find(connection, name)
    if found is None:
        shown = name if len(name) <= 80 else f"{name[:80]}…"
        raise NotFound(
            f"There is no data named {shown!r}; %diamond data lists what there is, and %diamond data add NAME LOCATION "
            "gives it a name."
        )
    return found


def _copies(connection: Connection, name: str) -> tuple[Copy, ...]:
    query = select(replicas.c.body, replicas.c.listing).where(replicas.c.dataset == name)
    found = [
        Copy(stored(Replica, row.body), row.listing)
        for row in connection.execute(query.order_by(literal_column("rowid")))
    ]
    return tuple(sorted(found, key=lambda copy: not copy.replica.given))


def _put(connection: Connection, name: str, copy: Copy) -> None:
    location = copy.replica.location
    same = (replicas.c.dataset == name) & (replicas.c.location == str(location))
    known = connection.execute(select(replicas.c.body).where(same)).scalar()
    replica = copy.replica
    if known is not None and stored(Replica, known).given:  # what the user named stays named by him
        replica = replica.model_copy(update={"given": True})
    row: Mapping[str, Any] = {"site": location.site, "body": replica.model_dump_json(), "listing": copy.listing}
    if known is None:
        connection.execute(insert(replicas).values(dataset=name, location=str(location), **row))
    else:
        connection.execute(update(replicas).where(same).values(**row))


def _body(dataset: Dataset) -> str:
    """Without its copies, which have rows of their own."""
    return dataset.model_copy(update={"replicas": ()}).model_dump_json()


def _rewrite(connection: Connection, dataset: Dataset) -> Dataset:
    connection.execute(update(datasets).where(datasets.c.name == dataset.name).values(body=_body(dataset)))
    return dataset


def _told(connection: Connection, name: str, kind: EventType, replica: Replica, at: datetime) -> Dataset:
    _tell(connection, name, kind, replica, at)
    found = _get(connection, name)
    return _rewrite(connection, found.model_copy(update={"size": replica.size or found.size}))


def _tell(connection: Connection, name: str, kind: EventType, replica: Replica, at: datetime) -> None:
    told: dict[str, Any] = {"location": str(replica.location)[:1000], "state": replica.state}
    if replica.size is not None:
        told |= {"bytes": replica.size.bytes, "files": replica.size.files}
    eventlog.append(connection, kind, f"data:{name}", told, at=at)
