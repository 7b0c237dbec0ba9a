"""The append-only event log: numbered facts, each told once."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select, text, update

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event, EventType

from . import bulk
from .schema import events, groups, tasks

DATA_BYTES = 8 * 1024
"""The most JSON that one event carries: events are read by every client, bulk belongs in files."""
_LAST = text("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
"""The last number that was given, also where the event that has it is gone."""
# made once: every write is followed by a look at the log
_AFTER = select(events).where(events.c.seq > bindparam("cursor")).order_by(events.c.seq).limit(bindparam("most"))
_APPEND = insert(events).returning(events.c.seq)
_TOLD = select(events.c.seq).where(
    events.c.subject == bindparam("subject"), events.c.dedup_key == bindparam("dedup_key")
)
_VERSION = update(tasks).where(tasks.c.id == bindparam("task")).values(version=bindparam("seq"))
_APPEND_MANY = bulk.insertion(events, "seq", "at", "type", "subject", "data", "dedup_key")
_VERSIONS = bulk.change(tasks, tasks.c.id == bindparam("the_task"), "version")
_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_PLAIN = frozenset({str, int, float, bool, type(None)})
_ANY = Event(seq=0, at=from_epoch(0.0), type="task.created", subject="", data={}, dedup_key=None)
TOLD = "diamond told"
"""Where a write transaction keeps the events that it appends, for whoever waits for them."""


def append(
    connection: Connection,
    kind: EventType,
    subject: str,
    data: Mapping[str, Any],
    *,
    at: datetime,
    dedup_key: str | None = None,
) -> Event | None:
    """Append one event inside the caller's write transaction; None when its key was told before."""
    body = _encode(kind, data)
    known = {"subject": subject, "dedup_key": dedup_key}
    if dedup_key is not None and connection.execute(_TOLD, known).first() is not None:
        return None
    row = {"at": at.timestamp(), "type": kind, "subject": subject, "data": body, "dedup_key": dedup_key}
    seq = connection.execute(_APPEND, row).scalar_one()
    if subject.startswith("task:"):
        connection.execute(_VERSION, {"task": subject[5:], "seq": seq})
    elif subject.startswith("group:"):
        connection.execute(update(groups).where(groups.c.id == subject[6:]).values(version=seq))
    _note(connection, [{"seq": seq, **row}])
    return Event(seq=seq, at=at, type=kind, subject=subject, data=json.loads(body), dedup_key=dedup_key)


class Fact(NamedTuple):
    """One of many events that are told at once. Its key was surely not told before."""

    kind: EventType
    task_id: str
    data: Mapping[str, Any]
    dedup_key: str | None = None


def append_many(connection: Connection, facts: Sequence[Fact], *, at: datetime) -> None:
    """Append events of many tasks by one statement, inside the caller's write transaction."""
    mark(connection, tell_many(connection, facts, at=at))


def mark(connection: Connection, versions: Mapping[str, int]) -> None:
    """Write the numbers of the newest events about tasks."""
    _VERSIONS.run(connection, [{"the_task": task_id, "version": seq} for task_id, seq in versions.items()])


def tell_many(connection: Connection, facts: Sequence[Fact], *, at: datetime) -> dict[str, int]:
    """As ``append_many``; but their tasks' versions, which are given, are the caller's to write."""
    # the write lock is ours: nobody else takes a number meanwhile
    first = int(connection.execute(_LAST).scalar() or 0) + 1 if facts else 0
    moment, bodies = at.timestamp(), dict[int, str]()
    rows = []
    for seq, fact in enumerate(facts, start=first):
        body = bodies.get(id(fact.data))  # what many say in the very same words
        if body is None:
            body = bodies[id(fact.data)] = _encode(fact.kind, fact.data)
        rows.append({
            "seq": seq, "at": moment, "type": fact.kind, "subject": f"task:{fact.task_id}", "data": body,
            "dedup_key": fact.dedup_key, "plain": fact.data,
        })  # fmt: skip
    _APPEND_MANY.run(connection, rows)
    _note(connection, rows)
    return {fact.task_id: seq for seq, fact in enumerate(facts, start=first)}


def _note(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    connection.info[TOLD].extend(rows)


def told(rows: Sequence[Mapping[str, Any]]) -> tuple[Event, ...]:
    """Events that were appended, as they would be read: without a look at the log."""
    moments: dict[float, datetime] = {}
    for row in rows:
        if row["at"] not in moments:
            moments[row["at"]] = from_epoch(row["at"])
    return tuple(
        _ANY.but(
            seq=row["seq"], at=moments[row["at"]], type=row["type"], subject=row["subject"], data=_as_read(row),
            dedup_key=row["dedup_key"],
        )
        for row in rows
    )  # fmt: skip


def _as_read(row: Mapping[str, Any]) -> dict[str, Any]:
    """The data after its way through JSON; what is plain comes back as it was."""
    data = row.get("plain")
    if data is not None and all(type(key) is str and type(value) in _PLAIN for key, value in data.items()):
        return dict(data)
    found: dict[str, Any] = json.loads(row["data"])
    return found


def newest(connection: Connection) -> int:
    """The number of the newest event; 0 when there is none."""
    return int(connection.execute(select(func.max(events.c.seq))).scalar() or 0)


def after(
    connection: Connection, cursor: int, limit: int, subject: str | None, kinds: Collection[EventType] = ()
) -> tuple[Event, ...]:
    """Events that are newer than ``cursor``, oldest first; of some kinds only, if any are named."""
    query = _AFTER
    if subject is not None:
        query = query.where(events.c.subject == subject)
    if kinds:
        query = query.where(events.c.type.in_(kinds))
    return tuple(
        Event(
            seq=row.seq,
            at=from_epoch(row.at),
            type=row.type,
            subject=row.subject,
            data=json.loads(row.data),
            dedup_key=row.dedup_key,
        )
        for row in connection.execute(query, {"cursor": cursor, "most": limit})
    )


def _encode(kind: str, data: Mapping[str, Any]) -> str:
    try:
        text = _JSON.encode(data)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"The data of the event {kind} is not plain JSON: {error}.") from error
    if len(text) > DATA_BYTES:
        raise InvalidRequest(
            f"The data of the event {kind} is {len(text)} bytes of JSON, more than the {DATA_BYTES} an event may "
            "carry; put the bulk in a file and name it."
        )
    return text
