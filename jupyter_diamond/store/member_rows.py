"""Lines of a group's members inside the caller's transaction: what each is given, is charged, and came through."""

from __future__ import annotations

from collections import defaultdict

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, func, select

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.group import MemberSummary
from jupyter_diamond.model.states import State

from . import loading
from .rows import summaries, summary_of
from .schema import attempts, charges, tasks

_MEMBERS = TypeAdapter(tuple[MemberSummary, ...])


def lines(connection: Connection, group_id: str, where: ColumnElement[bool], limit: int) -> tuple[MemberSummary, ...]:
    """The members of a group that have begun, by index: three statements, however many they are."""
    mine = (tasks.c.group_id == group_id) & where
    rows = connection.execute(summaries().where(mine).order_by(tasks.c.member).limit(limit)).all()
    params = {member.index: member.params for member in loading.whole(connection, group_id).asked.members}
    before, paid = _before(connection, mine), _charges(connection, mine)
    return _MEMBERS.validate_python([
        {**line, "params": params.get(line["index"], {}), "before": before[line["id"]], "charges": paid[line["id"]]}
        for line in map(summary_of, rows)
    ])  # fmt: skip


def _before(connection: Connection, mine: ColumnElement[bool]) -> dict[str, list[State]]:
    """How the attempts ended that another one followed."""
    query = (
        select(attempts.c.task_id, attempts.c.state)
        .select_from(attempts.join(tasks, tasks.c.id == attempts.c.task_id))
        .where(mine, tasks.c.attempts > 1, attempts.c.n < tasks.c.attempts)
        .order_by(attempts.c.task_id, attempts.c.n)
    )
    found: dict[str, list[State]] = defaultdict(list)
    for task_id, state in connection.execute(query):
        found[task_id].append(State(state))
    return found


def _charges(connection: Connection, mine: ColumnElement[bool]) -> dict[str, list[Charge]]:
    """What all attempts of each are charged, one a unit. A sum with something unknown in it is unknown."""
    own = charges.c
    query = (
        select(
            own.task_id, own.unit, func.count().label("number"), func.count(own.settled_at).label("settled"),
            func.count(own.predicted).label("predictable"), func.sum(own.predicted).label("predicted"),
            func.count(own.actual).label("told"), func.sum(own.actual).label("actual"),
            func.max(own.settled_at).label("settled_at"),
        )
        .select_from(charges.join(tasks, tasks.c.id == own.task_id))
        .where(mine)
        .group_by(own.task_id, own.unit)
        .order_by(own.unit)
    )  # fmt: skip
    found: dict[str, list[Charge]] = defaultdict(list)
    for row in connection.execute(query):
        done = row.settled == row.number
        found[row.task_id].append(Charge(
            unit=row.unit, predicted=row.predicted if row.predictable == row.number else None,
            actual=row.actual if row.told == row.number else None,
            settled_at=from_epoch(row.settled_at) if done else None,
        ))  # fmt: skip
    return found
