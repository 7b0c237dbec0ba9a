"""Changes of many attempts, each kind in one transaction and by some statements, however many they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from jupyter_diamond.model.base import Value
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task

from . import attempt_rows, bulk, charges, eventlog, loading
from .database import Database
from .eventlog import Fact
from .order import may_move
from .rows import attempt_of, attempt_row, forget, remember, unknown
from .schema import attempts, events, tasks

_UNSEEN = object()
_ENDED = tuple(state.value for state in State if state.terminal)

_OF_ATTEMPT = (attempts.c.task_id == bindparam("the_task")) & (attempts.c.n == bindparam("the_n"))
_NEWEST = (tasks.c.id == bindparam("the_task")) & (tasks.c.attempts == bindparam("the_n"))
# whose they are never changes, and to write it again would mean to sort it in again
_ATTEMPTS = bulk.change(
    attempts,
    _OF_ATTEMPT,
    *(each.name for each in attempts.c if each.name not in ("task_id", "n", "token", "site", "key", "decision")),
)
_MIRRORS = bulk.change(tasks, _NEWEST, "state", "ended", "ended_at", "version")


class Change(NamedTuple):
    """What is to be changed of an attempt, and the event that says so. As in ``Store.update_attempt``."""

    task_id: str
    n: int
    kind: EventType
    data: Mapping[str, Any]
    changes: Mapping[str, Any]
    dedup_key: str | None = None
    then: Fact | None = None
    """What is told after it."""


class _Alike:
    """Changes attempts one after the other; what was looked at in one is not looked at again in the next."""

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._good: dict[str, Any] = {}

    def changed(self, attempt: Attempt, changes: Mapping[str, Any]) -> Attempt:
        """The attempt with changes, none of which is unlike what it may be. Raises ValueError."""
        good = {name: self._known(name, value) for name, value in changes.items()}
        if _UNSEEN not in good.values():
            return attempt.but(**good)
        after = Attempt.model_validate({**dict(attempt), **changes})
        self._given.update(changes)
        self._good.update({name: getattr(after, name) for name in changes})
        return after

    def _known(self, name: str, value: Any) -> Any:
        """The value as it is kept: the very one that was looked at, or another of the same kind of our own."""
        before = self._given.get(name, _UNSEEN)
        if value is before:
            return self._good[name]
        return value if isinstance(value, Value) and type(value) is type(before) else _UNSEEN


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
            change(connection, wanted, at=at)
            return _tasks(connection, [each.task_id for each in wanted])

    def end(self, ended: Sequence[tuple[str, int, Mapping[str, Any], str]], *, at: datetime) -> tuple[Task, ...]:
        """End attempts, (task, number, changes, why nothing follows), for good; where that is plain nothing is said."""
        return self.update([_ending(*each) for each in ended], at=at)


def _ending(task_id: str, n: int, changes: Mapping[str, Any], why: str) -> Change:
    told = {"state": State(changes["state"]).value, "attempt": n}
    then = None
    if why:
        said = {"attempt": n, "class": changes.get("failure"), "why": why[:1000], "next": str(changes.get("next", ""))}
        then = Fact("task.not_again", task_id, said, f"not-again:{n}")
    return Change(task_id, n, "attempt.terminal", told, changes, f"terminal:{n}", then)


def _of_array(token: str) -> ColumnElement[bool]:
    return (attempts.c.token >= f"{token}-") & (attempts.c.token < f"{token}.")


def _tasks(connection: Connection, ids: Collection[str]) -> tuple[Task, ...]:
    found = {task.id: task for task in loading.load(connection, bulk.among(tasks.c.id, ids))}
    lost = next((task_id for task_id in ids if task_id not in found), None)
    if lost is not None:
        raise unknown(lost)
    return tuple(found[task_id] for task_id in ids)


def change(connection: Connection, wanted: Sequence[Change], *, at: datetime) -> set[str]:
    """As ``AttemptBook.update``, inside the caller's transaction; the tasks whose attempts were changed."""
    before, told = _read(connection, wanted), _told(connection, wanted)
    if any(each.kind == "attempt.submitting" for each in wanted) and _unwanted(connection, before):
        return set()
    facts, then, alike = list[Fact](), list[Fact](), _Alike()
    after: list[tuple[str, Attempt]] = []
    for each in wanted:
        attempt_rows.check(each.changes)
        attempt = before[each.task_id, each.n]
        state = State(each.changes.get("state", attempt.state))
        if (f"task:{each.task_id}", each.dedup_key) in told or not may_move(attempt, state, each.data):
            continue
        since = {"state_since": at} if state != attempt.state else {}
        facts.append(Fact(each.kind, each.task_id, each.data, each.dedup_key))
        then += [each.then] if each.then is not None else []
        after.append((each.task_id, alike.changed(attempt, {**each.changes, **since})))
    versions = eventlog.tell_many(connection, facts, at=at)
    if after:
        after, paid = charges.settle_all(connection, after, at=at)
        last = eventlog.tell_many(connection, then, at=at)
        _write(connection, after, {**versions, **paid, **last})
    return {task_id for task_id, _ in after}


def _read(connection: Connection, wanted: Sequence[Change]) -> dict[tuple[str, int], Attempt]:
    asked = {(each.task_id, each.n) for each in wanted}
    query = select(attempts.c.task_id, attempts.c.n, attempts.c.body, attempts.c.last_seen_at)
    rows = connection.execute(query.where(bulk.among(attempts.c.task_id, (each.task_id for each in wanted)))).all()
    found = {(task_id, n): attempt_of(body, seen) for task_id, n, body, seen in rows if (task_id, n) in asked}
    for _, _, body, _ in rows:
        forget(body)
    for task_id, n in asked - found.keys():
        raise unknown(f"{task_id} attempt {n}")
    return found


def _unwanted(connection: Connection, before: Mapping[tuple[str, int], Attempt]) -> bool:
    """Whether something of one of these is not to be sent now."""
    kept = tasks.c.held_by.is_not(None) | tasks.c.cancel_requested_by.is_not(None)
    theirs = bulk.among(tasks.c.id, (task_id for task_id, _ in before))
    asked = connection.execute(select(tasks.c.id).where(theirs & kept).limit(1)).first()
    return asked is not None or any(attempt.withdrawal is not None for attempt in before.values())


def _told(connection: Connection, wanted: Sequence[Change]) -> set[tuple[str, str]]:
    """The keys of these changes whose events were told before, each with its subject."""
    keyed = [each for each in wanted if each.dedup_key is not None]
    if not keyed:
        return set()
    query = select(events.c.subject, events.c.dedup_key).where(
        bulk.among(events.c.subject, (f"task:{each.task_id}" for each in keyed)),
        events.c.dedup_key.in_({each.dedup_key for each in keyed}),
    )
    return {(row.subject, row.dedup_key) for row in connection.execute(query)}


def _write(connection: Connection, changed: Sequence[tuple[str, Attempt]], versions: Mapping[str, int]) -> None:
    rows, mirrors = [], []
    for task_id, attempt in changed:
        same = {"the_task": task_id, "the_n": attempt.n}
        row = attempt_row(attempt)
        remember(row["body"], attempt if attempt.last_seen_at is None else attempt.but(last_seen_at=None))
        rows.append({**same, **row})
        mirrors.append({**same, "version": versions[task_id], **attempt_rows.mirrored(attempt)})
    _ATTEMPTS.run(connection, rows)
    if _MIRRORS.run(connection, mirrors) < len(mirrors):  # one of them is not its task's newest
        eventlog.mark(connection, versions)
