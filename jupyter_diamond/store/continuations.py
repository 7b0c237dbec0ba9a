"""Who waits for what, and how far each consumer has read: every method is one transaction, as all of the store's.

News are events of the subject ``consumer:NAME``. They are numbered when they are written, by the one writer that
SQLite lets in, so a consumer that asks for what comes after its cursor misses none and gets none out of order.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from jupyter_diamond.errors import Conflict, InvalidRequest, NotFound
from jupyter_diamond.model.continuation import Continuation, Cursor, Over, Registered, Registration
from jupyter_diamond.model.event import Event, EventType

from . import eventlog
from .database import Database
from .rows import stored
from .schema import continuations, cursors, events, tasks

MOST_WAITING = 1000
"""Of one consumer."""
NEWS: tuple[EventType, ...] = ("continuation.fired", "continuation.expired")
"""What a consumer is told; that it registered it knows."""


class Continuations:
    """The continuations and cursors of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, continuation_id: str) -> Registered | None:
        """A continuation by its id, with its consumer's cursor."""
        with self._database.read() as connection:
            found = _find(connection, continuations.c.id == continuation_id)
            return _registered(connection, found, created=False) if found is not None else None

    def register(self, asked: Registration, subject_id: str, at: datetime) -> Registered:
        """Keep it, once: a known id gives what is kept. Raises Conflict where that waits for something else.

        ``subject_id`` is a task's or a group's. Raises InvalidRequest when the consumer waits for very much already.
        """
        with self._database.write() as connection:
            found = _find(connection, continuations.c.id == asked.id)
            if found is not None:
                if (found.condition, found.consumer) != (asked.condition, asked.consumer):
                    raise Conflict(f"The continuation {asked.id} exists and is another one; choose a new id.")
                return _registered(connection, found, created=False)
            _check_room(connection, asked.consumer)
            attempt = connection.execute(select(tasks.c.attempts).where(tasks.c.id == subject_id)).scalar()
            subject = f"{'task' if attempt is not None else 'group'}:{subject_id}"
            told = {"continuation": asked.id, "subject": subject, "kind": asked.condition.kind}
            event = eventlog.append(
                connection, "continuation.registered", f"consumer:{asked.consumer}", told, at=at,
                dedup_key=f"registered:{asked.id}",
            )  # fmt: skip
            made = Continuation(
                id=asked.id, subject=subject, condition=asked.condition, consumer=asked.consumer,
                created_at=at, expires_at=at + timedelta(seconds=asked.lasts_s), since_attempt=attempt or 1,
                since_event=event.seq if event is not None else 0,
            )  # fmt: skip
            connection.execute(insert(continuations).values(**_row(made)))
            return _registered(connection, made, created=True)

    def close(
        self, continuation_id: str, over: Over, data: Mapping[str, Any], *, at: datetime, dedup_key: str
    ) -> Event | None:
        """Tell its consumer, and note that nobody waits any more, in one. None when it was over already.

        ``dedup_key`` names what happened, by the scheduler's own time; that one fact is told once.
        """
        with self._database.write() as connection:
            found = _find(connection, continuations.c.id == continuation_id)
            if found is None or found.over is not None:
                return None
            kind: EventType = "continuation.fired" if over == "fired" else "continuation.expired"
            event = eventlog.append(
                connection, kind, f"consumer:{found.consumer}", data, at=at, dedup_key=f"{continuation_id}:{dedup_key}"
            )
            changes = {"over": over, "fired_at": at, "event": event.seq if event is not None else None}
            _put(connection, found.model_copy(update=changes))
            return event

    def withdraw(self, continuation_id: str, at: datetime) -> Continuation:
        """Nobody is to be told. One that is over stays as it is. Raises NotFound."""
        with self._database.write() as connection:
            found = _find(connection, continuations.c.id == continuation_id)
            if found is None:
                raise NotFound(f"There is no continuation {continuation_id}.")
            if found.over is None:
                found = found.model_copy(update={"over": "withdrawn"})
                _put(connection, found)
                told = {"continuation": found.id, "subject": found.subject}
                eventlog.append(connection, "continuation.withdrawn", f"consumer:{found.consumer}", told, at=at)
            return found

    def waiting(self, consumer: str | None = None, subject: str | None = None) -> tuple[Continuation, ...]:
        """Those that wait, oldest first; of one consumer or about one subject if given."""
        where: ColumnElement[bool] = continuations.c.waits
        if consumer is not None:
            where &= continuations.c.consumer == consumer
        if subject is not None:
            where &= continuations.c.subject == subject
        with self._database.read() as connection:
            query = select(continuations.c.body).where(where).order_by(continuations.c.row)
            return tuple(each for body in connection.execute(query).scalars() if (each := _readable(body)) is not None)

    # ---- what a consumer reads

    def pending(self, consumer: str, after: int | None = None, limit: int = 100) -> tuple[Event, ...]:
        """News of a consumer after a number, by default after what it acknowledged; oldest first."""
        with self._database.read() as connection:
            cursor = _cursor(connection, consumer) if after is None else after
            return eventlog.after(connection, cursor, limit, f"consumer:{consumer}", NEWS)

    def cursor(self, consumer: str) -> int:
        """How far a consumer has acknowledged its news; 0 where it never did."""
        with self._database.read() as connection:
            return _cursor(connection, consumer)

    def ack(self, consumer: str, seq: int, at: datetime) -> Cursor:
        """Acknowledge all news up to a number. A cursor never goes back. Raises InvalidRequest for what is not yet."""
        with self._database.write() as connection:
            newest = select(func.max(events.c.seq)).where(events.c.subject == f"consumer:{consumer}")
            told = connection.execute(newest).scalar() or 0
            if seq > told:
                raise InvalidRequest(
                    f"The consumer {consumer} has no news with the number {seq}: the newest is {told}. Acknowledge the "
                    "number of an event that was received."
                )
            row = {"consumer": consumer, "seq": seq, "at": at.timestamp()}
            put = upsert(cursors).values(**row)
            on = put.on_conflict_do_update(index_elements=["consumer"], set_=row, where=cursors.c.seq < seq)
            connection.execute(on)
            return Cursor(consumer=consumer, seq=_cursor(connection, consumer))


def _find(connection: Connection, where: ColumnElement[bool]) -> Continuation | None:
    body = connection.execute(select(continuations.c.body).where(where)).scalar()
    return None if body is None else stored(Continuation, body)


def _readable(body: str) -> Continuation | None:
    """One that a newer version wrote waits on for that version, and keeps no other from being told."""
    try:
        return Continuation.model_validate_json(body)
    except ValidationError:
        return None


def _row(made: Continuation) -> dict[str, Any]:
    return {
        "id": made.id, "consumer": made.consumer, "subject": made.subject, "waits": made.over is None,
        "expires_at": made.expires_at.timestamp(), "body": made.model_dump_json(),
    }  # fmt: skip


def _put(connection: Connection, changed: Continuation) -> None:
    connection.execute(update(continuations).where(continuations.c.id == changed.id).values(**_row(changed)))


def _registered(connection: Connection, found: Continuation, *, created: bool) -> Registered:
    return Registered(continuation=found, created=created, cursor=_cursor(connection, found.consumer))


def _cursor(connection: Connection, consumer: str) -> int:
    return int(connection.execute(select(cursors.c.seq).where(cursors.c.consumer == consumer)).scalar() or 0)


def _check_room(connection: Connection, consumer: str) -> None:
    theirs = select(func.count()).select_from(continuations)
    waiting = connection.execute(theirs.where(continuations.c.waits, continuations.c.consumer == consumer)).scalar()
    if (waiting or 0) >= MOST_WAITING:
        raise InvalidRequest(
            f"The consumer {consumer} waits for {MOST_WAITING} things already; withdraw some before it waits for more."
        )
