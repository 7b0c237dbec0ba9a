"""What attempts are charged, and how much of it the user allows. Charges in two units are never added up."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import UtcTime, Value
from .model_call import ModelUse

HOUR_S = 3600.0


class Charge(Value):
    """What one attempt is charged, in its site's own ``unit``. None is unknown, never zero.

    ``predicted`` is for the run time that was foreseen. ``at_most`` is for the whole time limit: so much is reserved
    until the charge is settled. ``per_hour`` and ``least_s`` are the site's rule as it was when the attempt was placed;
    by it ``actual`` is worked out from the time that accounting says it ran. Settled without ``actual``: it has ended,
    and nobody can say how long it ran.
    """

    unit: str = ""
    predicted: float | None = None
    at_most: float | None = None
    per_hour: float | None = None
    least_s: int = 0
    actual: float | None = None
    settled_at: UtcTime | None = None

    def after(self, seconds: float) -> float | None:
        """What so many seconds of running are charged; None where the rule is not known."""
        return None if self.per_hour is None else max(seconds, float(self.least_s)) / HOUR_S * self.per_hour


class Held(Value):
    """What a user's own tasks have taken from one account without the site's balance showing it yet.

    ``unknown`` counts those whose charge is not known: they are not in ``amount``.
    """

    account: str | None = None
    unit: str = ""
    amount: float = 0.0
    unknown: int = 0


CapScope = Literal["task", "day", "account", "agent"]


class SpendingCap(Value):
    """The most that the user allows: for one task with all its attempts, in any 24 hours, at a site (on one account)
    in all, or for one agent in any 24 hours.
    """

    scope: CapScope
    amount: float = Field(ge=0, allow_inf_nan=False)
    unit: str
    site: str | None = None
    account: str | None = None
    """None: whatever account pays there."""


class Spent(Value):
    """What stands against a cap now. ``unknown`` counts attempts whose charge is not known and is not in the sums."""

    cap: SpendingCap
    spent: float = 0.0
    reserved: float = 0.0
    unknown: int = 0

    @property
    def left(self) -> float:
        """What may still be spent."""
        return max(0.0, self.cap.amount - self.spent - self.reserved)


class AccountCharges(Value):
    """The attempts of one account of a site in one unit. Sums are of those whose charge is known; None: of none.

    ``unknown`` counts the others. ``reserved`` is of the ``live`` ones, ``actual`` of those that are settled.
    """

    site: str
    account: str | None = None
    """None: the site's default account."""
    unit: str = ""
    """Empty: what is charged there is not known."""
    attempts: int = 0
    live: int = 0
    unknown: int = 0
    predicted: float | None = None
    reserved: float | None = None
    actual: float | None = None
    balance: float | None = None
    balance_unit: str = ""
    balance_read_at: UtcTime | None = None


class AttemptCharge(Value):
    """One attempt with its charge."""

    n: int
    site: str
    account: str | None = None
    charge: Charge


class TaskCharges(Value):
    """One task's charges, attempt by attempt: they may be in different units."""

    task_id: str
    name: str
    attempts: tuple[AttemptCharge, ...] = ()


class Charges(Value):
    """What was charged since a moment, and what is reserved now. ``caps`` are those that the user has set."""

    since: UtcTime
    read_at: UtcTime
    accounts: tuple[AccountCharges, ...] = ()
    tasks: tuple[TaskCharges, ...] = ()
    """Newest first; empty unless they were asked for."""
    caps: tuple[Spent, ...] = ()
    models: ModelUse = ModelUse()
    """What language models were asked since then, for whatever purpose."""
