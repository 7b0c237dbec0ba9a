"""Writing attempts inside the caller's transaction, each change with the event that says it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt

from . import charges, eventlog
from .order import may_move
from .rows import attempt_of, attempt_row, unknown
from .schema import attempts, tasks

_FIXED = frozenset({"n", "token", "step", "why", "segment", "site", "created_at", "state_since", "charge"})


def put(
    connection: Connection,
    task_id: str,
    attempt: Attempt,
    *,
    key: str,
    decision: Decision,
    at: datetime,
    caps: Collection[SpendingCap] = (),
) -> None:
    """Write a new attempt with its decision, and reserve what it may cost.

    One that is ``submitting`` already brings its intent with it. Raises OverBudget where one of the ``caps`` does not
    leave so much; nothing is written then.
    """
    attempt = charges.reserve(connection, task_id, attempt, decision=decision, at=at, caps=caps)
    kept = {"task_id": task_id, "n": attempt.n, "key": key, "decision": decision.model_dump_json()}
    connection.execute(insert(attempts).values(**kept, **attempt_row(attempt)))
    subject = f"task:{task_id}"
    placed = {"attempt": attempt.n, "site": attempt.site, "partition": attempt.partition}
    eventlog.append(connection, "decision.made", subject, placed, at=at, dedup_key=f"decision:{attempt.n}")
    charges.write(connection, task_id, attempt, at=at)
    if attempt.state is State.SUBMITTING:
        eventlog.append(connection, "attempt.submitting", subject, {"site": attempt.site}, at=at)


def change(
    connection: Connection,
    task_id: str,
    n: int,
    *,
    at: datetime,
    kind: EventType,
    data: Mapping[str, Any],
    changes: Mapping[str, Any],
    dedup_key: str | None = None,
) -> bool:
    """Change an attempt and append its event; False, and nothing is written, where that would lie."""
    check(changes)
    before = _read(connection, task_id, n)
    state = State(changes.get("state", before.state))
    if not may_move(before, state, data):
        return False
    if eventlog.append(connection, kind, f"task:{task_id}", data, at=at, dedup_key=dedup_key) is None:
        return False
    since = {"state_since": at} if state != before.state else {}
    after = Attempt.model_validate({**dict(before), **changes, **since})
    if after.state.terminal:
        after = charges.settle(connection, task_id, after, at=at)
    same = (attempts.c.task_id == task_id) & (attempts.c.n == n)
    connection.execute(update(attempts).where(same).values(**attempt_row(after)))
    newest = (tasks.c.id == task_id) & (tasks.c.attempts == n)
    connection.execute(update(tasks).where(newest).values(**mirrored(after)))
    return True


def check(changes: Mapping[str, Any]) -> None:
    """Raises ValueError where something of an attempt is to be changed that never does."""
    if _FIXED & changes.keys():
        raise ValueError(f"an attempt's {', '.join(sorted(_FIXED & changes.keys()))} cannot be changed")


def mirrored(attempt: Attempt) -> Mapping[str, Any]:
    """What a task's row shows of its newest attempt."""
    ended = attempt.state.terminal
    ended_at = (attempt.ended_at or attempt.state_since).timestamp() if ended else None
    return {"state": attempt.state.value, "ended": ended, "ended_at": ended_at}


def _read(connection: Connection, task_id: str, n: int) -> Attempt:
    query = select(attempts.c.body, attempts.c.last_seen_at)
    row = connection.execute(query.where(attempts.c.task_id == task_id, attempts.c.n == n)).first()
    if row is None:
        raise unknown(f"{task_id} attempt {n}")
    return attempt_of(row.body, row.last_seen_at)
