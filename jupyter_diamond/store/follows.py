"""What follows an attempt, in the transaction that ends it: a task is never seen as ended while more is to come."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, update

from jupyter_diamond.errors import Conflict
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.healing import Mismatch, Withdrawal
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Attempt

from . import attempt_rows, eventlog
from .schema import tasks

_NOT_STARTED = (
    State.WAITING, State.STAGING_IN, State.SUBMITTING, State.SUBMIT_UNKNOWN, State.PENDING, State.CONFIGURING,
)  # fmt: skip


class Following(NamedTuple):
    """The attempt that follows, with its decision, and the event that says why. ``key`` is its HMAC key in hex.

    ``caps`` are those that it is held against, once the end before it has been settled.
    """

    attempt: Attempt
    key: str
    decision: Decision
    kind: EventType
    caps: tuple[SpendingCap, ...] = ()


def end_and_follow(
    connection: Connection, task_id: str, n: int, *, at: datetime, changes: Mapping[str, Any], following: Following
) -> bool:
    """End attempt ``n`` and begin the one that follows it. False, and only the end is written, where none may follow.

    None may once the user has asked for the task's end, where attempt ``n`` is not the newest or had ended already.
    Raises OverBudget where a cap does not leave what the next one may cost: then nothing may be written.
    """
    row = connection.execute(select(tasks.c.cancel_requested_by, tasks.c.attempts).where(tasks.c.id == task_id)).one()
    follows = row.cancel_requested_by is None and row.attempts == n == following.attempt.n - 1
    state = State(changes["state"]).value
    if row.cancel_requested_by is not None and state == State.CANCELLED.value:
        changes = {**changes, "cause": f"Cancelled by {row.cancel_requested_by}."}
    said = {"state": state, "attempt": n, **({"followed_by": n + 1} if follows else {})}
    ended = attempt_rows.change(
        connection, task_id, n, at=at, kind="attempt.terminal", data=said, changes=changes, dedup_key=f"terminal:{n}"
    )
    if not (ended and follows):
        return False
    attempt = following.attempt
    subject = f"task:{task_id}"
    told = {"attempt": attempt.n, "site": attempt.site, "partition": attempt.partition, "why": attempt.why[:1000]}
    eventlog.append(connection, following.kind, subject, told, at=at, dedup_key=f"follow:{attempt.n}")
    mirrored = {**attempt_rows.mirrored(attempt), "attempts": attempt.n, "why_here": following.decision.sentence}
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(**mirrored))
    attempt_rows.put(
        connection, task_id, attempt, key=following.key, decision=following.decision, at=at, caps=following.caps
    )
    return True


def end_for_good(
    connection: Connection, task_id: str, n: int, *, at: datetime, changes: Mapping[str, Any], why: str
) -> None:
    """End attempt ``n``, and say why nothing follows."""
    said = {"state": State(changes["state"]).value, "attempt": n}
    ended = attempt_rows.change(
        connection, task_id, n, at=at, kind="attempt.terminal", data=said, changes=changes, dedup_key=f"terminal:{n}"
    )
    if ended and why:
        told = {"attempt": n, "class": changes.get("failure"), "why": why[:1000], "next": str(changes.get("next", ""))}
        eventlog.append(connection, "task.not_again", f"task:{task_id}", told, at=at, dedup_key=f"not-again:{n}")


def withdraw(connection: Connection, task_id: str, attempt: Attempt, wanted: Withdrawal, *, at: datetime) -> None:
    """Note that the attempt shall be taken back from its queue. Raises Conflict when it has started, or has ended."""
    _not_started(attempt, f"{wanted.then} it")
    told = {"attempt": attempt.n, **wanted.model_dump()}
    attempt_rows.change(
        connection, task_id, attempt.n, at=at, kind="task.withdrawal", data=told, changes={"withdrawal": wanted}
    )


def mismatch(
    connection: Connection, task_id: str, attempt: Attempt, told: Mismatch, wanted: Withdrawal | None, *, at: datetime
) -> None:
    """Note that the attempt's site is wrong for its task; with ``wanted`` its waiting job is taken back, too.

    Raises Conflict when it is to be taken back and has started, and when it has ended.
    """
    if attempt.state.terminal:
        raise Conflict(f"Attempt {attempt.n} has ended meanwhile: {attempt.state.value}.")
    if wanted is not None:
        _not_started(attempt, "move it")
    said = {"attempt": attempt.n, "site": attempt.site, "by": told.by, "reason": told.reason}
    attempt_rows.change(
        connection, task_id, attempt.n, at=at, kind="task.mismatch", data=said, changes={"mismatch": told}
    )
    if wanted is not None:
        withdraw(connection, task_id, attempt, wanted, at=at)


def hold(connection: Connection, task_id: str, attempt: Attempt, by: str, *, at: datetime) -> None:
    """Let nothing of the task be submitted; a job of it that waits is taken back. Raises Conflict when it runs."""
    _not_started(attempt, "hold it")
    eventlog.append(connection, "task.held", f"task:{task_id}", {"by": by}, at=at)
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(held_by=by))
    if attempt.state is not State.WAITING:
        withdraw(connection, task_id, attempt, Withdrawal(by=by, then="hold"), at=at)


def release(connection: Connection, task_id: str, by: str, *, at: datetime) -> None:
    """Let the task go on."""
    eventlog.append(connection, "task.released", f"task:{task_id}", {"by": by}, at=at)
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(held_by=None))


def stay(connection: Connection, task_id: str, attempt: Attempt, why: str, *, at: datetime) -> None:
    """The attempt is not taken back after all; where it has started, nothing holds its task any more.

    One that is being taken back stays only where it has started: its job may have been cancelled already.
    """
    started = attempt.started_at is not None or attempt.state.phase is Phase.RUNNING
    if attempt.withdrawal is not None and not started:
        return
    told = {"attempt": attempt.n, "why": why}
    attempt_rows.change(
        connection, task_id, attempt.n, at=at, kind="task.stays", data=told, changes={"withdrawal": None}
    )
    if attempt.started_at is not None:
        connection.execute(update(tasks).where(tasks.c.id == task_id).values(held_by=None))


def not_started(attempt: Attempt) -> bool:
    """Its job can still be taken back from its queue."""
    return attempt.state in _NOT_STARTED and attempt.started_at is None


def _not_started(attempt: Attempt, act: str) -> None:
    if not not_started(attempt):
        raise Conflict(
            f"Attempt {attempt.n} is {attempt.state.value} at {attempt.site}: only what has not started can be "
            f"taken back from its queue, so there is no way to {act}. %diamond cancel ends it."
        )
