"""Reading tasks inside the caller's transaction; what the members of a group share is read with their group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Row, bindparam, case, func, select

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.group import GroupRequest
from jupyter_diamond.model.task import Attempt, Task, TaskRequest

from .rows import Whole, attempt_of, member_name, stored, task_of, unknown
from .schema import arrays, attempts, groups, tasks

_KEPT = "diamond groups"
_MOST_KEPT = 16
_FEW = 500
"""So many ids are handed over one by one; of more, the database finds the attempts itself."""
# made once: every change of a task reads it again
_THESE: BindParameter[Any] = bindparam("ids", expanding=True)
_TASKS = select(tasks).where(tasks.c.id.in_(_THESE)).order_by(tasks.c.row)
_ATTEMPTS = select(attempts.c.task_id, attempts.c.body, attempts.c.last_seen_at).order_by(attempts.c.n)
_THEIR_ATTEMPTS = _ATTEMPTS.where(attempts.c.task_id.in_(_THESE))


def whole(connection: Connection, group_id: str) -> Whole:
    """What was asked for as a group. Kept with the connection: it never changes, and is long."""
    found: Whole | None = connection.info.setdefault(_KEPT, {}).pop(group_id, None)
    if found is None:
        text = connection.execute(select(groups.c.request).where(groups.c.id == group_id)).scalar()
        if text is None:
            raise unknown(group_id)
        found = Whole(stored(GroupRequest, text))
    return keep(connection, group_id, found)


def keep(connection: Connection, group_id: str, asked: Whole) -> Whole:
    """Keep with the connection what was asked for."""
    kept: dict[str, Whole] = connection.info.setdefault(_KEPT, {})
    kept[group_id] = asked
    while len(kept) > _MOST_KEPT:  # the one that was not asked for for longest
        del kept[next(iter(kept))]
    return asked


def load(connection: Connection, where: ColumnElement[bool]) -> tuple[Task, ...]:
    """Tasks with all their attempts, oldest first."""
    rows = connection.execute(select(tasks).where(where).order_by(tasks.c.row)).all()
    return _with_attempts(connection, rows, where)


def of_ids(connection: Connection, ids: Collection[str]) -> tuple[Task, ...]:
    """The same of the tasks with these ids; what is not there is left out."""
    if len(ids) > _FEW:
        return load(connection, tasks.c.id.in_(ids))
    rows = connection.execute(_TASKS, {"ids": list(ids)}).all()
    return _with_attempts(connection, rows, None)


def _with_attempts(
    connection: Connection, rows: Sequence[Row[Any]], where: ColumnElement[bool] | None
) -> tuple[Task, ...]:
    if not rows:
        return ()
    theirs: dict[str, list[Attempt]] = {}
    if where is None:
        found = connection.execute(_THEIR_ATTEMPTS, {"ids": [row.id for row in rows]})
    else:
        found = connection.execute(_ATTEMPTS.where(attempts.c.task_id.in_(select(tasks.c.id).where(where))))
    for task_id, body, last_seen_at in found.all():
        theirs.setdefault(task_id, []).append(attempt_of(body, last_seen_at))
    return tuple(
        task_of(row, theirs.get(row.id, []), whole(connection, row.group_id) if row.group_id is not None else None)
        for row in rows
    )


def find(connection: Connection, where: ColumnElement[bool]) -> Task | None:
    """The first of these, if any."""
    found = load(connection, where)
    return found[0] if found else None


def get(connection: Connection, ref: str) -> Task:
    """A task by its id, or the newest one of that name. Raises NotFound, also where the newest so called is a group."""
    task = next(iter(of_ids(connection, (ref,))), None)
    if task is None:
        newest_row = select(tasks.c.row).where(tasks.c.name == ref).order_by(tasks.c.row.desc()).limit(1)
        task = find(connection, tasks.c.row == newest_row.scalar_subquery())
        since = task.created_at.timestamp() if task is not None else 0.0
        group = groups.c.name == ref, groups.c.created_at >= since
        group_id = connection.execute(select(groups.c.id).where(*group).limit(1)).scalar()
        if group_id is not None:
            members = whole(connection, group_id).asked.members
            raise NotFound(
                f"`{ref}` is a group of {len(members)} tasks: ask for the group, or for one of them by its number, "
                f"{member_name(ref, members[0].index)}."
            )
    if task is None:
        raise unknown(ref)
    return task


def newest(connection: Connection, task_id: str) -> Attempt:
    """A task's newest attempt."""
    attempt = get(connection, task_id).attempt
    assert attempt is not None, "a stored task has an attempt"
    return attempt


def request(connection: Connection, task_id: str) -> TaskRequest:
    """What the kernel asked for; of a member, what it asked for all of its group."""
    row = connection.execute(select(tasks.c.request, tasks.c.group_id).where(tasks.c.id == task_id)).first()
    if row is None:
        raise unknown(task_id)
    return stored(TaskRequest, row.request) if row.group_id is None else whole(connection, row.group_id).request


def of_attempt(
    connection: Connection, own: ColumnElement[str], shared: ColumnElement[str], task_id: str, n: int | None
) -> str:
    """A text of an attempt, of the newest one by default: its own, or the one that it shares with others."""
    text = case((arrays.c.token.is_not(None), shared), else_=own)
    where = attempts.c.task_id == task_id
    if n is not None:
        where &= attempts.c.n == n
    query = select(text).select_from(attempts.outerjoin(arrays, arrays.c.token == attempts.c.decision)).where(where)
    found = connection.execute(query.order_by(attempts.c.n.desc()).limit(1)).scalar()
    if found is None:
        raise unknown(task_id if n is None else f"{task_id} attempt {n}")
    return str(found)


def asked(path: str) -> ColumnElement[str]:
    """Of a row of ``tasks``, one field of what was asked for: ``$.by``. A member's is its group's."""
    of_group = select(func.json_extract(groups.c.request, f"$.request{path[1:]}")).where(
        groups.c.id == tasks.c.group_id
    )
    return case(
        (tasks.c.group_id.is_(None), func.json_extract(tasks.c.request, path)), else_=of_group.scalar_subquery()
    )
