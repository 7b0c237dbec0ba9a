"""Rows to values and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from sqlalchemy import Row, Select, and_, select

from jupyter_diamond.errors import NotFound, StoreError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Membership, Task, TaskRequest, TaskSummary

from .schema import attempts, tasks

V = TypeVar("V", bound=BaseModel)

_SUMMARIES = TypeAdapter(tuple[TaskSummary, ...])
_STATES = {state.value: (state, state.phase, state.outcome) for state in State}


_READ: dict[str, Attempt] = {}
_MOST_READ = 12_000
"""As many as a group has at most, with some of what they were; their values are in use elsewhere, too."""


class Whole:
    """What was asked for as a group: parsed once, for all of its members."""

    def __init__(self, asked: GroupRequest) -> None:
        self.asked, self.request = asked, asked.request
        self.members: dict[int, Member] = {member.index: member for member in asked.members}
        self._told: dict[int, Membership] = {}
        self._alike: Task | None = None

    def membership(self, group_id: str, index: int) -> Membership:
        """What one of its tasks is told of it."""
        found = self._told.get(index)
        if found is None:
            params = self.members[index].params
            found = self._told[index] = Membership(group=group_id, name=self.request.name, index=index, params=params)
        return found

    def task(self, **own: Any) -> Task:
        """One of its tasks, from what is its own; what all share is looked at once."""
        if self._alike is None:
            self._alike = Task(**own, **_of_request(self.request))
            return self._alike
        return self._alike.but(**own)


def member_name(name: str, index: int) -> str:
    """``fit[17]``."""
    return f"{name}[{index}]"


def stored(model: type[V], text: str) -> V:
    """A value from its stored JSON."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise StoreError(
            f"A stored {model.__name__} cannot be read, probably because a newer jupyter_diamond wrote it; "
            "upgrade jupyter_diamond and restart the server.",
            evidence=(str(error)[:2000],),
        ) from error


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    """The columns that mirror an attempt; the only place that fills them."""
    return {
        "token": attempt.token,
        "site": attempt.site,
        "partition": attempt.partition,
        "native_id": attempt.native.id if attempt.native else None,
        "state": attempt.state.value,
        "started_at": _seconds(attempt.started_at),
        "walltime_s": attempt.size.walltime_s,
        "reason_class": attempt.reason_class.value if attempt.reason_class else None,
        "cause": attempt.cause,
        "trouble": attempt.trouble,
        "last_seen_at": _seconds(attempt.last_seen_at),
        "body": attempt.model_dump_json(exclude={"last_seen_at"}),
    }


def remember(body: str, attempt: Attempt) -> None:
    """What a text reads as: a value never changes, and those of an array are read again at each of its steps."""
    _READ[body] = attempt
    if len(_READ) > _MOST_READ:
        for old in list(_READ)[: _MOST_READ // 4]:
            del _READ[old]


def forget(body: str) -> None:
    """What nobody will read again, as it is about to change."""
    _READ.pop(body, None)


def attempt_of(body: str, last_seen_at: float | None) -> Attempt:
    """An attempt from its row."""
    attempt = _READ.get(body)
    if attempt is None:
        attempt = stored(Attempt, body)
        remember(body, attempt)
    return attempt if last_seen_at is None else attempt.but(last_seen_at=from_epoch(last_seen_at))


def task_of(row: Any, its_attempts: Sequence[Attempt], whole: Whole | None = None) -> Task:
    """A task from its row, or what has its names, and its attempts; ``whole`` is what its group was asked for as."""
    state, phase, outcome = _STATES[row.state]
    newest = its_attempts[-1] if its_attempts else None
    own = {
        "id": row.id, "name": row.name, "state": state, "phase": phase, "outcome": outcome,
        "cause": newest.cause if newest else "", "next": newest.next if newest else "",
        "created_at": from_epoch(row.created_at), "ended_at": _moment(row.ended_at),
        "cancel_requested_by": row.cancel_requested_by, "held_by": row.held_by, "why_here": row.why_here,
        "attempts": tuple(its_attempts), "version": row.version,
    }  # fmt: skip
    if whole is None:
        return Task(**own, **_of_request(stored(TaskRequest, row.request)))
    return whole.task(**own, member=whole.membership(row.group_id, row.member))


def _of_request(request: TaskRequest) -> dict[str, Any]:
    return {
        "language": request.language, "by": request.by, "healing": request.healing, "source": request.source,
        "digest": request.digest, "outputs": request.outputs, "envelope": request.envelope,
        "captured": request.captured, "notebook": request.notebook,
    }  # fmt: skip


def summaries() -> Select[Any]:
    """The query behind ``summaries_of``: tasks with their newest attempt."""
    newest = and_(attempts.c.task_id == tasks.c.id, attempts.c.n == tasks.c.attempts)
    return select(
        tasks.c.id, tasks.c.name, tasks.c.state, tasks.c.created_at, tasks.c.ended_at, tasks.c.attempts,
        tasks.c.version, tasks.c.notebook, tasks.c.group_id, tasks.c.member,
        attempts.c.site, attempts.c.partition, attempts.c.native_id, attempts.c.started_at,
        attempts.c.walltime_s, attempts.c.reason_class, attempts.c.cause, attempts.c.trouble,
    ).select_from(tasks.outerjoin(attempts, newest))  # fmt: skip


def summaries_of(rows: Iterable[Row[Any]]) -> tuple[TaskSummary, ...]:
    """Lines of a task list. Made in one go by pydantic's core: lists are long, and asked for at every change."""
    return _SUMMARIES.validate_python([summary_of(row) for row in rows])


def summary_of(row: Sequence[Any]) -> dict[str, Any]:
    """One line of a task list, before it is a model."""
    (
        task_id, name, state, created_at, ended_at, attempts_made, version, notebook, group, index,
        site, partition, native_id, started_at, walltime_s, reason_class, cause, trouble,
    ) = row  # fmt: skip
    state, phase, outcome = _STATES[state]
    return {
        "id": task_id, "name": name, "group": group, "index": index, "state": state, "phase": phase, "outcome": outcome,
        "site": site, "partition": partition, "native_id": native_id,
        "created_at": from_epoch(created_at),
        "started_at": None if started_at is None else from_epoch(started_at),
        "ended_at": None if ended_at is None else from_epoch(ended_at),
        "walltime_s": walltime_s, "reason_class": reason_class, "cause": cause or "", "trouble": trouble or "",
        "attempts": attempts_made, "version": version, "notebook": notebook,
    }  # fmt: skip


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else from_epoch(seconds)


def unknown(ref: str) -> NotFound:
    """What to raise where there is no such task."""
    shown = ref if len(ref) <= 80 else ref[:80] + "…"
    return NotFound(f"There is no task {shown!r}; %diamond tasks lists those that there are.")
