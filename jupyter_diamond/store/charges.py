"""What attempts are charged: reserved with the attempt, settled with its end, each in that very transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, case, func, insert, or_, select, update

from jupyter_diamond.errors import OverBudget
from jupyter_diamond.model.charge import AccountCharges, AttemptCharge, Charge, Held, SpendingCap, Spent, TaskCharges
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.task import Attempt
from jupyter_diamond.placement import budget
from jupyter_diamond.placement.charge import foreseen, settled

from . import eventlog
from .eventlog import Fact
from .loading import asked
from .rows import attempt_of
from .schema import attempts, charges, tasks

DAY_S = 86_400.0
"""The window of caps by the day: the last 24 hours, so that no midnight doubles what may be spent."""
MOST_TASKS = 1000

_LIVE = charges.c.settled_at.is_(None)
_DUE = case((_LIVE, charges.c.at_most), else_=func.coalesce(charges.c.actual, charges.c.at_most))
"""What an attempt counts for: its reservation until it is settled, and after that, too, where nobody knows better."""


def reserve(
    connection: Connection,
    task_id: str,
    attempt: Attempt,
    *,
    decision: Decision,
    at: datetime,
    caps: Collection[SpendingCap] = (),
) -> Attempt:
    """Reserve what a new attempt may cost, and give it back with its charge. Before its row is written.

    Raises OverBudget, and writes nothing, where a cap leaves less than that: what it reads stays true until the
    caller's transaction commits, so two submissions never pass one cap together.
    """
    charge = foreseen(decision, attempt)
    if charge is None:
        return attempt
    if caps:
        by = connection.execute(select(asked("$.by")).where(tasks.c.id == task_id)).scalar_one_or_none()
        against = [spent(connection, cap, at=at, task_id=task_id, by=by) for cap in caps]
        said = budget.over(against, attempt, charge, by=by, unknown=decision.envelope.unknown_charge)
        if said:
            raise OverBudget(f"{attempt.site}: {said} Nothing was submitted.")
    return attempt.model_copy(update={"charge": charge})


def write(connection: Connection, task_id: str, attempt: Attempt, *, at: datetime) -> None:
    """The row and the event of a reservation, once the attempt's own row is there."""
    charge = attempt.charge
    if charge is None:
        return
    by = select(asked("$.by")).where(tasks.c.id == task_id).scalar_subquery()
    connection.execute(insert(charges).values(**row(task_id, attempt, charge, at.timestamp()), by=by))
    if charge.unit:
        told, key = reservation(attempt), f"charge.reserved:{attempt.n}"
        eventlog.append(connection, "charge.reserved", f"task:{task_id}", told, at=at, dedup_key=key)


def row(task_id: str, attempt: Attempt, charge: Charge, moment: float) -> dict[str, Any]:
    """The row of a reservation, but for whose it is."""
    return {
        "task_id": task_id, "n": attempt.n, "site": attempt.site, "account": attempt.account, "unit": charge.unit,
        "predicted": charge.predicted, "at_most": charge.at_most, "reserved_at": moment,
    }  # fmt: skip


def reservation(attempt: Attempt) -> dict[str, object]:
    """What the event of a reservation says."""
    charge = attempt.charge
    assert charge is not None, "only what is charged is reserved"
    return {**_whose(attempt), "predicted": charge.predicted, "at_most": charge.at_most}


def settle(connection: Connection, task_id: str, attempt: Attempt, *, at: datetime) -> Attempt:
    """Settle an attempt that has ended, and give it back with what it is charged. Settled once, it stays so."""
    charge = settled(attempt, at)
    if charge is None or charge == attempt.charge:
        return attempt
    same = (charges.c.task_id == task_id) & (charges.c.n == attempt.n)
    connection.execute(update(charges).where(same, _LIVE).values(actual=charge.actual, settled_at=at.timestamp()))
    if charge.unit:
        told, key = settlement(attempt, charge), f"charge.settled:{attempt.n}"
        eventlog.append(connection, "charge.settled", f"task:{task_id}", told, at=at, dedup_key=key)
    return attempt.model_copy(update={"charge": charge})


def settle_all(
    connection: Connection, ended: Sequence[tuple[str, Attempt]], *, at: datetime
) -> tuple[list[tuple[str, Attempt]], dict[str, int]]:
    """As ``settle``, for many, in few statements; those that have not ended come back as they are.

    With the versions that their tasks have by that, which are still to be written.
    """
    after, rows, facts = list[tuple[str, Attempt]](), list[dict[str, Any]](), list[Fact]()
    for task_id, attempt in ended:
        charge = settled(attempt, at) if attempt.state.terminal else None
        if charge is None or charge == attempt.charge:
            after.append((task_id, attempt))
            continue
        after.append((task_id, attempt.model_copy(update={"charge": charge})))
        rows.append({"the_task": task_id, "the_n": attempt.n, "paid": charge.actual, "moment": at.timestamp()})
        if charge.unit:
            facts.append(Fact("charge.settled", task_id, settlement(attempt, charge), f"charge.settled:{attempt.n}"))
    if rows:
        same = (charges.c.task_id == bindparam("the_task")) & (charges.c.n == bindparam("the_n"))
        values: dict[str, Any] = {"actual": bindparam("paid"), "settled_at": bindparam("moment")}
        connection.execute(update(charges).where(same, _LIVE).values(values), rows)
    return after, eventlog.tell_many(connection, facts, at=at)


def settlement(attempt: Attempt, charge: Charge) -> dict[str, object]:
    """What the event of a settlement says."""
    return {**_whose(attempt), "actual": charge.actual, "predicted": charge.predicted, "ran_s": attempt.ran_s}


def _whose(attempt: Attempt) -> dict[str, object]:
    unit = attempt.charge.unit if attempt.charge is not None else ""
    return {"attempt": attempt.n, "site": attempt.site, "account": attempt.account, "unit": unit}


def spent(connection: Connection, cap: SpendingCap, *, at: datetime, task_id: str = "", by: str | None = None) -> Spent:
    """What stands against a cap. ``task_id`` and ``by`` say whose it is where it is a task's or an agent's."""
    where: list[ColumnElement[bool]] = [charges.c.unit.in_((cap.unit, ""))]
    if cap.site is not None:
        where.append(charges.c.site == cap.site)
    if cap.account is not None:
        # nobody says which the site's default account is: what it pays counts against the cap of each
        where.append(or_(charges.c.account.is_(None), func.lower(charges.c.account) == cap.account.lower()))
    if cap.scope == "task":
        where.append(charges.c.task_id == task_id)
    if cap.scope in ("day", "agent"):
        where.append(or_(_LIVE, charges.c.settled_at > at.timestamp() - DAY_S))
    if cap.scope == "agent":
        where.append(charges.c.by == by)
    sums = select(
        func.total(case((~_LIVE, _DUE))), func.total(case((_LIVE, _DUE))), func.count(case((_DUE.is_(None), 1)))
    ).where(*where)
    over, open_, unknown = connection.execute(sums).one()
    return Spent(cap=cap, spent=over, reserved=open_, unknown=unknown)


def held(connection: Connection, since: Mapping[str, datetime]) -> dict[str, tuple[Held, ...]]:
    """By site, what a balance that was read at ``since`` does not show: reservations, and what was settled after it."""
    found: dict[str, tuple[Held, ...]] = {}
    for site, read_at in since.items():
        recent = or_(_LIVE, charges.c.settled_at > read_at.timestamp())
        query = (
            select(charges.c.account, charges.c.unit, func.total(_DUE), func.count(case((_DUE.is_(None), 1))))
            .where(charges.c.site == site, recent)
            .group_by(charges.c.account, charges.c.unit)
        )
        rows = connection.execute(query).all()
        if rows:
            found[site] = tuple(
                Held(account=account, unit=unit, amount=amount, unknown=unknown)
                for account, unit, amount, unknown in rows
            )
    return found


def _since(since: datetime) -> ColumnElement[bool]:
    return or_(_LIVE, charges.c.settled_at >= since.timestamp())


def by_account(connection: Connection, since: datetime) -> tuple[AccountCharges, ...]:
    """Sums of what is live, and of what was settled since then: one for each site, account and unit."""
    own = charges.c
    lacks = or_(own.predicted.is_(None), ~_LIVE & own.actual.is_(None))
    query = (
        select(
            own.site, own.account, own.unit, func.count().label("attempts"), func.count(case((_LIVE, 1))).label("live"),
            func.count(case((lacks, 1))).label("unknown"), func.sum(own.predicted).label("predicted"),
            func.sum(case((_LIVE, own.at_most))).label("reserved"), func.sum(own.actual).label("actual"),
        )
        .where(_since(since))
        .group_by(own.site, own.account, own.unit)
        .order_by(own.site, own.account, own.unit)
    )  # fmt: skip
    return tuple(AccountCharges.model_validate(row._asdict()) for row in connection.execute(query))


def by_task(connection: Connection, since: datetime, limit: int = MOST_TASKS) -> tuple[TaskCharges, ...]:
    """The tasks with an attempt that is live, or was settled since then: newest first, with all their attempts."""
    recent = select(charges.c.task_id).where(_since(since))
    newest = select(tasks.c.id, tasks.c.name).where(tasks.c.id.in_(recent)).order_by(tasks.c.row.desc()).limit(limit)
    named = {row.id: row.name for row in connection.execute(newest)}
    return _with_attempts(connection, named)


def _with_attempts(connection: Connection, named: Mapping[str, str]) -> tuple[TaskCharges, ...]:
    theirs: dict[str, list[AttemptCharge]] = {}
    query = select(attempts.c.task_id, attempts.c.body).where(attempts.c.task_id.in_(list(named)))
    for task_id, body in connection.execute(query.order_by(attempts.c.n)):
        attempt = attempt_of(body, None)
        if attempt.charge is not None:
            one = AttemptCharge(n=attempt.n, site=attempt.site, account=attempt.account, charge=attempt.charge)
            theirs.setdefault(task_id, []).append(one)
    return tuple(
        TaskCharges(task_id=task_id, name=name, attempts=tuple(theirs.get(task_id, ())))
        for task_id, name in named.items()
    )
