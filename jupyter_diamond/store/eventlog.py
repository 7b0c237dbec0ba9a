"""The append-only event log: numbered facts, each told once."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event, EventType

from .schema import events, tasks

DATA_BYTES = 8 * 1024
"""The most JSON that one event carries: events are read by every client, bulk belongs in files."""
# made once: every write is followed by a look at the log
_AFTER = select(events).where(events.c.seq > bindparam("cursor")).order_by(events.c.seq).limit(bindparam("most"))
_APPEND = insert(events).returning(events.c.seq)
_VERSION = update(tasks).where(tasks.c.id == bindparam("task")).values(version=bindparam("seq"))


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
    text = _encode(kind, data)
    if dedup_key is not None:
        same = select(events.c.seq).where(events.c.subject == subject, events.c.dedup_key == dedup_key)
        if connection.execute(same).first() is not None:
            return None
    row = {"at": at.timestamp(), "type": kind, "subject": subject, "data": text, "dedup_key": dedup_key}
    seq = connection.execute(_APPEND, row).scalar_one()
    if subject.startswith("task:"):
        connection.execute(_VERSION, {"task": subject[5:], "seq": seq})
    return Event(seq=seq, at=at, type=kind, subject=subject, data=json.loads(text), dedup_key=dedup_key)


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
        text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"The data of the event {kind} is not plain JSON: {error}.") from error
    if len(text) > DATA_BYTES:
        raise InvalidRequest(
            f"The data of the event {kind} is {len(text)} bytes of JSON, more than the {DATA_BYTES} an event may "
            "carry; put the bulk in a file and name it."
        )
    return text
