"""Durable transfers: every method is one transaction, a writing one with the event that says so."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.transfer import Transfer, TransferRequest

from . import eventlog
from .database import Database
from .rows import stored
from .schema import transfers

LOG_LINES = 200
_REMEMBERED = 100
_RATED = 12
"""So many of a pair's newest transfers say how fast it is."""
_FADES = 0.7
"""Each older one counts so much of the next newer one."""
_LEAST_BYTES = 64 << 10
"""Less tells how long a connection takes, not how fast it is."""


class Transfers:
    """The transfers of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, transfer: Transfer) -> tuple[Transfer, bool]:
        """Keep a new one. A client token that is known gives its transfer and False; nothing is written then."""
        with self._database.write() as connection:
            known = _find(connection, transfers.c.client_token == transfer.request.client_token)
            if known is not None:
                return known, False
            connection.execute(insert(transfers).values(**_row(transfer)))
            told = {"from": str(transfer.request.source)[:1000], "to": str(transfer.request.destination)[:1000]}
            return _tell(connection, transfer, "transfer.created", told, at=transfer.created_at), True

    def find_token(self, client_token: str) -> Transfer | None:
        """The transfer that a client's token made, if any."""
        with self._database.read() as connection:
            return _find(connection, transfers.c.client_token == client_token)

    def get(self, ref: str) -> Transfer:
        """A transfer by its id, or by the beginning of it where that is one's alone. Raises NotFound."""
        with self._database.read() as connection:
            return _get(connection, ref)

    def list(self, active: bool | None = None, task: str | None = None, limit: int = 100) -> tuple[Transfer, ...]:
        """Transfers, newest first: all, or those that go on (or not), or those of a task."""
        query = select(transfers.c.body).order_by(transfers.c.row.desc()).limit(limit)
        if active is not None:
            query = query.where(~transfers.c.ended if active else transfers.c.ended)
        if task is not None:
            query = query.where(transfers.c.task_id == task)
        with self._database.read() as connection:
            return tuple(stored(Transfer, body) for body in connection.execute(query).scalars())

    def active(self) -> tuple[Transfer, ...]:
        """All that have not ended, oldest first."""
        return self.list(active=True, limit=100_000)[::-1]

    def change(
        self,
        transfer_id: str,
        *,
        at: datetime,
        kind: EventType | None = None,
        data: Mapping[str, Any] | None = None,
        log: Collection[str] = (),
        durable: bool = True,
        **changes: Any,
    ) -> Transfer:
        """Change fields of one, and tell ``kind`` of it; without a kind nobody is told. What has ended stays as it is.

        ``log`` is added to its lines. Not ``durable``: it would be told again, such as how far it is.
        """
        with self._database.write(asked_again=not durable) as connection:
            before = _get(connection, transfer_id)
            if before.ended:
                return before
            if changes.get("state", before.state) != before.state:
                changes["state_since"] = at
            lines = (*before.log, *(line[:500] for line in log))
            if len(lines) > LOG_LINES:
                lines = (*lines[:20], "… some lines were left out here", *lines[-(LOG_LINES - 21) :])
            after = before.model_copy(update={**changes, "log": lines})
            if kind is not None:
                return _tell(connection, after, kind, data or {}, at=at)
            _put(connection, after)
            return after

    def request_cancel(self, transfer_id: str, by: str, at: datetime) -> Transfer:
        """Note who wants its end; the first one is kept. What has ended stays as it is."""
        with self._database.write() as connection:
            found = _get(connection, transfer_id)
            if found.ended or found.cancel_requested_by is not None:
                return found
            asked = found.model_copy(update={"cancel_requested_by": by})
            return _tell(connection, asked, "transfer.cancel_requested", {"by": by}, at=at)

    def like(self, request: TransferRequest) -> Transfer | None:
        """The newest that went well between the same two paths, of those that went between the same places lately."""
        query = (
            select(transfers.c.body)
            .where(
                transfers.c.source == request.source.place,
                transfers.c.destination == request.destination.place,
                transfers.c.state == "succeeded",
                transfers.c.ended_at.is_not(None),
            )
            .order_by(transfers.c.ended_at.desc())
            .limit(_REMEMBERED)
        )
        with self._database.read() as connection:
            found = (stored(Transfer, body) for body in connection.execute(query).scalars())
            ends = (request.source, request.destination)
            return next((each for each in found if (each.request.source, each.request.destination) == ends), None)

    def rate(self, source: str, destination: str) -> float | None:
        """Bytes a second that were seen between two places, the newest counted most; None where none were."""
        query = (
            select(transfers.c.bytes, transfers.c.seconds)
            .where(
                transfers.c.source == source,
                transfers.c.destination == destination,
                transfers.c.ended_at.is_not(None),
                transfers.c.seconds > 0,
                transfers.c.bytes >= _LEAST_BYTES,
                transfers.c.state == "succeeded",
            )
            .order_by(transfers.c.ended_at.desc())
            .limit(_RATED)
        )
        with self._database.read() as connection:
            seen = connection.execute(query).all()
        weights = [_FADES**age for age in range(len(seen))]
        seconds = sum(weight * row.seconds for weight, row in zip(weights, seen, strict=True))
        moved = sum(weight * row.bytes for weight, row in zip(weights, seen, strict=True))
        return moved / seconds if seconds > 0 else None


def _find(connection: Connection, where: Any) -> Transfer | None:
    body = connection.execute(select(transfers.c.body).where(where)).scalar()
    return None if body is None else stored(Transfer, body)


def _get(connection: Connection, ref: str) -> Transfer:
    found = _find(connection, transfers.c.id == ref)
    if found is not None:
        return found
    shown = ref if len(ref) <= 80 else ref[:80] + "…"
    begins = transfers.c.id.startswith(ref, autoescape=True) if len(ref) >= 3 else transfers.c.id == ref
    several = connection.execute(select(transfers.c.id).where(begins).limit(2)).scalars().all()
    if len(several) > 1:
        raise InvalidRequest(f"{shown!r} is the beginning of more than one transfer; write more of its id.")
    if not several:
        raise NotFound(f"There is no transfer {shown!r}; %diamond transfer lists those that there are.")
    only = _find(connection, transfers.c.id == several[0])
    assert only is not None, "it was found in the same transaction"
    return only


def _tell(
    connection: Connection, transfer: Transfer, kind: EventType, data: Mapping[str, Any], *, at: datetime
) -> Transfer:
    """Append an event about it, and store it with that event's number."""
    request = transfer.request
    told: dict[str, Any] = {"state": transfer.state, **data}
    if request.task is not None:
        told |= {"task": request.task, "attempt": request.attempt}
    if request.dataset is not None:
        told["dataset"] = request.dataset
    told = {name: value[:1000] if isinstance(value, str) else value for name, value in told.items()}
    event = eventlog.append(connection, kind, f"transfer:{transfer.id}", told, at=at)
    assert event is not None, "it has no key that could have been told"
    transfer = transfer.model_copy(update={"version": event.seq})
    _put(connection, transfer)
    return transfer


def _put(connection: Connection, transfer: Transfer) -> None:
    connection.execute(update(transfers).where(transfers.c.id == transfer.id).values(**_row(transfer)))


def _row(transfer: Transfer) -> dict[str, Any]:
    request, progress = transfer.request, transfer.progress
    seconds = None
    if transfer.ended_at is not None and transfer.started_at is not None:
        seconds = (transfer.ended_at - transfer.started_at).total_seconds()
    return {
        "id": transfer.id, "client_token": request.client_token, "task_id": request.task, "n": request.attempt,
        "state": transfer.state, "ended": transfer.ended, "source": request.source.place,
        "destination": request.destination.place, "mover": transfer.mover,
        "bytes": progress.bytes_sent if transfer.ended else None,
        "files": progress.files_done if transfer.ended else None, "seconds": seconds,
        "created_at": transfer.created_at.timestamp(),
        "ended_at": None if transfer.ended_at is None else transfer.ended_at.timestamp(),
        "version": transfer.version, "body": transfer.model_dump_json(),
    }  # fmt: skip
