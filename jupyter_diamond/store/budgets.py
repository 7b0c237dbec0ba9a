"""Standing budgets: what the user lets agents do without being asked, and what was taken of it.

A use is reserved in the transaction that lets its act pass, at the most that it may cost. It is never written again:
what it counts for is read from the charges of the task that came of it, once that has ended and all of them are known.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.proposal import Need, Speaker, StandingBudget
from jupyter_diamond.placement.allowance import BYTES, JOBS, TOKENS, holds_for, lacks

from . import audit
from .database import Database
from .rows import stored
from .schema import budget_uses, charges, groups, model_calls, proposals, standing_budgets, tasks

DAY_S = 86_400.0
"""The window of budgets by the day: the last 24 hours, as that of caps."""
_COUNTED = (JOBS, BYTES)


class Budgets:
    """The standing budgets of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, budget: StandingBudget, by: Speaker, at: datetime) -> StandingBudget:
        """Keep a new one."""
        row = {"id": budget.id, "expires_at": budget.expires_at.timestamp(), "body": budget.model_dump_json()}
        with self._database.write() as connection:
            connection.execute(insert(standing_budgets).values(**row))
            told: dict[str, Any] = {
                **{name: value for name, value in budget.scope.model_dump().items() if value is not None},
                **{name: value for name, value in budget.allowance.model_dump().items() if isinstance(value, int)},
                "amounts": ", ".join(budget.allowance.amounts), "until": budget.expires_at.isoformat(),
            }  # fmt: skip
            audit.append(connection, "budget.set", by, subject=f"budget:{budget.id}", detail=told, at=at)
            return budget

    def revoke(self, budget_id: str, by: Speaker, at: datetime) -> StandingBudget:
        """Let it allow nothing more; what it has let pass goes on. Raises NotFound."""
        with self._database.write() as connection:
            body = connection.execute(
                select(standing_budgets.c.body).where(standing_budgets.c.id == budget_id)
            ).scalar()
            if body is None:
                raise NotFound(f"There is no standing budget {budget_id[:40]}.")
            budget = stored(StandingBudget, body)
            if budget.revoked_at is None:
                budget = budget.model_copy(update={"revoked_at": at})
                row = {"revoked_at": at.timestamp(), "body": budget.model_dump_json()}
                connection.execute(update(standing_budgets).where(standing_budgets.c.id == budget_id).values(**row))
                audit.append(connection, "budget.revoked", by, subject=f"budget:{budget_id}", at=at)
            return _with_use(connection, budget, at)

    def in_force(self, at: datetime) -> tuple[StandingBudget, ...]:
        """Those that allow something now, oldest first, with what was taken of each."""
        with self._database.read() as connection:
            return in_force(connection, at)

    def tokens_left(self, by: Speaker, at: datetime) -> tuple[StandingBudget, int] | None:
        """The tightest budget of model tokens that the speaker is under, and what it leaves; None: there is none."""
        with self._database.read() as connection:
            return tokens_left(connection, by, at)


def in_force(connection: Connection, at: datetime) -> tuple[StandingBudget, ...]:
    """The same inside the caller's transaction."""
    own = standing_budgets.c
    query = select(own.body).where(own.revoked_at.is_(None), own.expires_at > at.timestamp()).order_by(own.id)
    found = [stored(StandingBudget, body) for body in connection.execute(query).scalars()]
    return tuple(_with_use(connection, each, at) for each in sorted(found, key=lambda each: each.created_at))


def cover(
    connection: Connection, use: str, need: Need, by: Speaker, *, site: str | None, at: datetime
) -> tuple[StandingBudget | None, str]:
    """Reserve what an act takes of the first budget that lets it pass; else why none does, as a clause.

    What it reads stays true until the caller's transaction commits, so two acts never pass one budget together.
    """
    said = ""
    for budget in in_force(connection, at):
        if not holds_for(budget, by, site):
            continue
        why_not = lacks(budget, need)
        if not why_not:
            _reserve(connection, budget.id, use, need, at)
            return budget, ""
        said = f"the standing budget {budget.id} does not cover it: {why_not}"
    return None, said


def release(connection: Connection, use: str) -> None:
    """An act that was let pass was not done after all."""
    connection.execute(delete(budget_uses).where(budget_uses.c.use == use))


def tokens_left(connection: Connection, by: Speaker, at: datetime) -> tuple[StandingBudget, int] | None:
    """The tightest budget of model tokens that the speaker is under, and what it leaves; None: there is none."""
    found = [
        (each, each.allowance.model_tokens - int(each.used.get(TOKENS, 0)))
        for each in in_force(connection, at)
        if each.allowance.model_tokens is not None and each.scope.site is None and holds_for(each, by, None)
    ]
    return min(found, key=lambda each: each[1]) if found else None


def _reserve(connection: Connection, budget: str, use: str, need: Need, at: datetime) -> None:
    taken = {JOBS: float(need.jobs), BYTES: float(need.transferred_bytes), **need.amounts}
    rows = [
        {"budget": budget, "use": use, "unit": unit, "amount": amount, "at": at.timestamp()}
        for unit, amount in taken.items()
        if amount or unit == JOBS
    ]
    connection.execute(insert(budget_uses).prefix_with("OR IGNORE"), rows)


def _with_use(connection: Connection, budget: StandingBudget, at: datetime) -> StandingBudget:
    own = budget_uses.c
    query = (
        select(own.unit, own.amount, own.at, func.json_extract(proposals.c.body, "$.task").label("task"))
        .join(proposals, proposals.c.id == own.use, isouter=True)
        .where(own.budget == budget.id)
    )
    since = at.timestamp() - DAY_S if budget.scope.per == "day" else 0.0
    used: dict[str, float] = {}
    for row in connection.execute(query).all():
        live, amount = _settled(connection, row.task, row.unit, row.amount)
        if live or row.at > since:
            used[row.unit] = used.get(row.unit, 0.0) + amount
    if budget.allowance.model_tokens is not None:
        used[TOKENS] = _tokens(connection, budget, since)
    return budget.model_copy(update={"used": used})


def _settled(connection: Connection, task: str | None, unit: str, reserved: float) -> tuple[bool, float]:
    """Whether a use is still under way, and what it counts for: its reservation until its charges are all known."""
    if task is None or unit in _COUNTED:
        return False, reserved
    whole = select(tasks.c.ended).where(tasks.c.id == task).union_all(select(groups.c.ended).where(groups.c.id == task))
    if connection.execute(whole).scalar() is not True:
        return True, reserved
    mine = select(tasks.c.id).where(or_(tasks.c.id == task, tasks.c.group_id == task))
    due = func.coalesce(charges.c.actual, charges.c.at_most)
    sums = select(func.count() - func.count(due), func.total(due)).where(charges.c.task_id.in_(mine))
    missing, paid = connection.execute(sums.where(charges.c.unit.in_((unit, "")))).one()
    return False, reserved if missing else float(paid)


def _tokens(connection: Connection, budget: StandingBudget, since: float) -> float:
    own = model_calls.c
    after = max(since, budget.created_at.timestamp())
    query = select(func.total(func.coalesce(own.prompt_tokens, 0) + func.coalesce(own.answer_tokens, 0)))
    query = query.where(own.at >= after)
    if budget.scope.channel is not None:
        query = query.where(own.channel == budget.scope.channel)
    return float(connection.execute(query).scalar() or 0.0)
