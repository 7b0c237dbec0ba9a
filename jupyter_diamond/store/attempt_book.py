"""Changes of many attempts, each kind in one transaction and by some statements, however many they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Update, bindparam, func, select, update

from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task

from . import attempt_rows, charges, eventlog, loading
from .database import Database
from .eventlog import Fact
from .order import may_move
from .rows import attempt_of, attempt_row, remember, unknown
from .schema import attempts, events, tasks

_NEVER_SEEN = {"last_seen_at": None}
"""That moment has a column of its own."""


# made once: every look at a site ends in some of these
_ATTEMPTS = select(attempts.c.task_id, attempts.c.n, attempts.c.body, attempts.c.last_seen_at).where(
    attempts.c.task_id.in_(bindparam("ids", expanding=True))
)
_ENDED = tuple(state.value for state in State if state.terminal)


class Change(NamedTuple):
    """What is to be changed of an attempt, and the event that says so. As in ``Store.update_attempt``."""

    task_id: str
    n: int
    kind: EventType
    data: Mapping[str, Any]
    changes: Mapping[str, Any]
    dedup_key: str | None = None


class AttemptBook:
    """The attempts of a store, many at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def tasks(self, ids: Collection[str]) -> tuple[Task, ...]:
        """These tasks, in this order. Raises NotFound."""
        with self._database.read() as connection:
            return _tasks(connection, ids)

    def of_array(self, token: str) -> tuple[Task, ...]:
        """The tasks that were made as members of a job array, oldest first; some may have left it since."""
        with self._database.read() as connection:
            return loading.load(connection, tasks.c.id.in_(select(attempts.c.task_id).where(_of_array(token))))

    def open_in_array(self, token: str) -> int:
        """How many of these attempts have not ended, among them those that have left it."""
        query = select(func.count()).select_from(attempts).where(_of_array(token), attempts.c.state.not_in(_ENDED))
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())

    def update(self, wanted: Sequence[Change], *, at: datetime) -> tuple[Task, ...]:
        """Make these changes, all or none, each with its event; the tasks in the same order.

        One that would lie is left out, as by ``Store.update_attempt``: its task comes back as it is. The intent to
        submit is written for all or for none: not where its user has meanwhile held one, or asked for its end or for
        another plan.
        """
        with self._database.write(asked_again=True) as connection:
            _change(connection, wanted, at=at)
            return _tasks(connection, [each.task_id for each in wanted])

    def end(self, ended: Sequence[tuple[str, int, Mapping[str, Any]]], *, at: datetime) -> tuple[Task, ...]:
        """End attempts, (task, number, changes), that nothing follows and about which nothing is to be said."""
        return self.update(
            [
                Change(
                    task_id, n, "attempt.terminal", {"state": State(changes["state"]).value, "attempt": n}, changes,
                    f"terminal:{n}",
                )
                for task_id, n, changes in ended
            ],
            at=at,
        )  # fmt: skip


def _of_array(token: str) -> ColumnElement[bool]:
    return (attempts.c.token >= f"{token}-") & (attempts.c.token < f"{token}.")


def _tasks(connection: Connection, ids: Collection[str]) -> tuple[Task, ...]:
    found = {task.id: task for task in loading.of_ids(connection, ids)}
    lost = next((task_id for task_id in ids if task_id not in found), None)
    if lost is not None:
        raise unknown(lost)
    return tuple(found[task_id] for task_id in ids)


def _change(connection: Connection, wanted: Sequence[Change], *, at: datetime) -> None:
    before, told = _read(connection, wanted), _told(connection, wanted)
    if any(each.kind == "attempt.submitting" for each in wanted) and _unwanted(connection, before):
        return
    facts: list[Fact] = []
    after: list[tuple[str, Attempt]] = []
    for each in wanted:
        attempt_rows.check(each.changes)
        attempt = before[each.task_id, each.n]
        state = State(each.changes.get("state", attempt.state))
        if (f"task:{each.task_id}", each.dedup_key) in told or not may_move(attempt, state, each.data):
            continue
        since = {"state_since": at} if state != attempt.state else {}
        facts.append(Fact(each.kind, each.task_id, each.data, each.dedup_key))
        after.append((each.task_id, Attempt.model_validate({**dict(attempt), **each.changes, **since})))
    eventlog.append_many(connection, facts, at=at)
    if after:
        _write(connection, charges.settle_all(connection, after, at=at))


def _read(connection: Connection, wanted: Sequence[Change]) -> dict[tuple[str, int], Attempt]:
    asked = {(each.task_id, each.n) for each in wanted}
    rows = connection.execute(_ATTEMPTS, {"ids": list({task_id for task_id, _ in asked})})
    found = {(row.task_id, row.n): attempt_of(row.body, row.last_seen_at) for row in rows if row[:2] in asked}
    for task_id, n in asked - found.keys():
        raise unknown(f"{task_id} attempt {n}")
    return found


def _unwanted(connection: Connection, before: Mapping[tuple[str, int], Attempt]) -> bool:
    """Whether something of one of these is not to be sent now."""
    kept = tasks.c.held_by.is_not(None) | tasks.c.cancel_requested_by.is_not(None)
    theirs = tasks.c.id.in_({task_id for task_id, _ in before})
    asked = connection.execute(select(tasks.c.id).where(theirs & kept).limit(1)).first()
    return asked is not None or any(attempt.withdrawal is not None for attempt in before.values())


def _told(connection: Connection, wanted: Sequence[Change]) -> set[tuple[str, str]]:
    """The keys of these changes whose events were told before, each with its subject."""
    keyed = [each for each in wanted if each.dedup_key is not None]
    if not keyed:
        return set()
    query = select(events.c.subject, events.c.dedup_key).where(
        events.c.subject.in_([f"task:{each.task_id}" for each in keyed]),
        events.c.dedup_key.in_({each.dedup_key for each in keyed}),
    )
    return {(row.subject, row.dedup_key) for row in connection.execute(query)}


def _write(connection: Connection, changed: Iterable[tuple[str, Attempt]]) -> None:
    rows, mirrors = [], []
    for task_id, attempt in changed:
        same = {"the_task": task_id, "the_n": attempt.n}
        row = attempt_row(attempt)
        remember(row["body"], attempt if attempt.last_seen_at is None else attempt.model_copy(update=_NEVER_SEEN))
        rows.append({**same, **row})
        mirrors.append({**same, **attempt_rows.mirrored(attempt)})
    of_attempt, of_task = _updates(tuple(rows[0]), tuple(mirrors[0]))
    connection.execute(of_attempt, rows)
    connection.execute(of_task, mirrors)


@cache
def _updates(row: tuple[str, ...], mirror: tuple[str, ...]) -> tuple[Update, Update]:
    """The statements that write rows with these columns of attempts, and of tasks."""
    this = (attempts.c.task_id == bindparam("the_task")) & (attempts.c.n == bindparam("the_n"))
    newest = (tasks.c.id == bindparam("the_task")) & (tasks.c.attempts == bindparam("the_n"))
    return (
        update(attempts).where(this).values(_named(attempts.c, row)),
        update(tasks).where(newest).values(_named(tasks.c, mirror)),
    )


def _named(columns: Any, row: Iterable[str]) -> dict[str, Any]:
    return {name: bindparam(name) for name in row if name in columns}
