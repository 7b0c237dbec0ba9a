"""What follows members of a group that were taken back together, in the transaction that ends their attempts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt

from . import attempt_book, attempt_rows, bulk, charges, eventlog, group_rows, loading, round_rows
from .attempt_book import Change
from .eventlog import Fact
from .group_rows import Kept
from .round_rows import Share
from .rows import stored
from .schema import tasks

Ended = Mapping[str, tuple[int, Mapping[str, Any]]]
"""By task, the number of the attempt that ended, and its changes."""
_NEXT = bulk.change(
    tasks, tasks.c.id == bindparam("the_task"), "state", "ended", "ended_at", "attempts", "why_here", "version"
)


def follow(
    connection: Connection,
    group_id: str,
    ended: Ended,
    shares: Sequence[Share],
    *,
    caps: Collection[SpendingCap],
    at: datetime,
) -> None:
    """End attempts, and begin those that follow them: each share is one submission. As ``follows.end_and_follow``.

    Raises OverBudget: nothing may be written then.
    """
    going = _ended(connection, ended, at=at)
    by = loading.whole(connection, group_id).request.by
    for share in shares:
        mine = tuple(each for each in share.attempts if f"{group_id}-{each[0]}" in going)
        if mine:
            left = share._replace(attempts=mine)
            charge = round_rows.reserved(connection, left, by=by, caps=caps, at=at)
            _begin(connection, group_id, left if charge is None else left.charged(charge), by=by, at=at)
    row = group_rows.row_of(connection, group_id)
    kept = round_rows.kept_of(shares, stored(Kept, row.body))
    group_rows.change(connection, group_id, body=kept.model_dump_json())


def _ended(connection: Connection, ended: Ended, *, at: datetime) -> set[str]:
    """End them; those whose next attempt may begin."""
    columns = tasks.c.id, tasks.c.attempts, tasks.c.cancel_requested_by
    rows = connection.execute(select(*columns).where(bulk.among(tasks.c.id, ended))).all()
    cancelled = {task_id: by for task_id, _, by in rows if by is not None}
    going = {task_id for task_id, newest, _ in rows if newest == ended[task_id][0] and task_id not in cancelled}
    wanted = []
    for task_id, (n, changes) in ended.items():
        told: dict[str, Any] = {"state": State(changes["state"]).value, "attempt": n}
        if task_id in going:
            told["followed_by"] = n + 1
        own = {"cause": f"Cancelled by {cancelled[task_id]}."} if task_id in cancelled else {}
        wanted.append(Change(task_id, n, "attempt.terminal", told, {**changes, **own}, f"terminal:{n}"))
    return going & attempt_book.change(connection, wanted, at=at)


def _begin(connection: Connection, group_id: str, share: Share, *, by: str | None, at: datetime) -> None:
    members = [(f"{group_id}-{index}", attempt) for index, attempt in share.attempts]
    versions = eventlog.tell_many(connection, [fact for each in members for fact in _facts(*each)], at=at)
    _NEXT.run(connection, [
        {
            "the_task": task_id, "attempts": attempt.n, "why_here": share.decision.sentence,
            "version": versions[task_id], **attempt_rows.mirrored(attempt),
        }
        for task_id, attempt in members
    ])  # fmt: skip
    round_rows.put_attempts(connection, group_id, share, by=by, at=at)


def _facts(task_id: str, attempt: Attempt) -> list[Fact]:
    placed = {"attempt": attempt.n, "site": attempt.site, "partition": attempt.partition}
    facts = [
        Fact("task.replanned", task_id, {**placed, "why": attempt.why[:1000]}, f"follow:{attempt.n}"),
        Fact("decision.made", task_id, placed, f"decision:{attempt.n}"),
    ]
    if attempt.charge is not None and attempt.charge.unit:
        told, key = charges.reservation(attempt), f"charge.reserved:{attempt.n}"
        facts.append(Fact("charge.reserved", task_id, told, key))
    return facts
