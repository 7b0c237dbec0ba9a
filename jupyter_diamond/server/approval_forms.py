"""What is read from requests about approvals, and wrapped around their answers."""

from __future__ import annotations

from typing import get_args

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.proposal import (
    LASTS_S,
    LONGEST_S,
    Allowance,
    Audited,
    BudgetScope,
    Channel,
    Proposal,
    Standing,
    StandingBudget,
)


class ProposalsQuery(Value):
    """Which proposals: of some standings, with commas between them, and of one channel."""

    standing: str | None = None
    channel: Channel | None = None
    limit: int = Field(default=100, ge=1, le=1000)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The standings; all where none is named. Raises InvalidRequest."""
        known = {each: each for each in get_args(Standing)}
        words = [word.strip() for word in (self.standing or "").split(",") if word.strip()]
        wrong = next((word for word in words if word not in known), None)
        if wrong is not None:
            raise InvalidRequest(f"No proposal is {wrong[:40]!r}; they are: {', '.join(known)}.")
        return tuple(known[word] for word in words)


class ProposalList(Value):
    """Proposals, newest first."""

    proposals: tuple[Proposal, ...]


class ApproveForm(Value):
    """The hash of the terms that were looked at: what has another one is not approved."""

    hash: str = Field(pattern=r"^[0-9a-f]{64}$")


class DenyForm(Value):
    """Why not, for whoever proposed it."""

    reason: str = Field(default="", max_length=500)


class BudgetForm(Value):
    """What agents may do without being asked each time, where, and for how long."""

    scope: BudgetScope = BudgetScope()
    allowance: Allowance = Allowance()
    lasts_s: float = Field(default=LASTS_S, ge=60, le=LONGEST_S)


class BudgetList(Value):
    """The standing budgets in force, oldest first, with what was taken of each."""

    budgets: tuple[StandingBudget, ...]


class SwitchForm(Value):
    """Whether agents may act."""

    on: bool


class AuditQuery(Value):
    """Which lines: those after a number."""

    after: int = Field(default=0, ge=0)
    limit: int = Field(default=200, ge=1, le=1000)


class AuditPage(Value):
    """Lines of the audit, oldest first. ``cursor`` is what to ask for next."""

    lines: tuple[Audited, ...]
    cursor: int
