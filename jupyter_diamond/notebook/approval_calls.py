"""What the server can be asked about proposals of agents, standing budgets, the switch and the audit."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import TypeAdapter

from jupyter_diamond.model.proposal import (
    AgentSwitch,
    Allowance,
    AuditCheck,
    Audited,
    BudgetScope,
    Proposal,
    StandingBudget,
)

from .calls import Calls, parsed, part

_PROPOSALS: TypeAdapter[tuple[Proposal, ...]] = TypeAdapter(tuple[Proposal, ...])
_BUDGETS: TypeAdapter[tuple[StandingBudget, ...]] = TypeAdapter(tuple[StandingBudget, ...])
_PERFORM_S = 120.0
"""A site's numbers may have to be read anew before an act is done."""


class ApprovalCalls(Calls):
    """The part of the client with which a person lets agents act, or not."""

    def proposals(self, *, standing: str | None = None, limit: int = 100) -> tuple[Proposal, ...]:
        """Newest first. ``standing`` names some, with commas between them."""
        return self._list(_PROPOSALS, "proposals", {"standing": standing, "limit": limit})

    def proposal(self, proposal_id: str) -> Proposal:
        """One, with what is different now from what was proposed."""
        return self._get(Proposal, f"proposals/{part(proposal_id)}")

    def approve(self, proposal_id: str, hash_: str) -> Proposal:
        """Approve what has this hash, and have it done. Safe to repeat: it is done once."""
        path = f"proposals/{part(proposal_id)}/approve"
        return parsed(Proposal, self._call("POST", path, json={"hash": hash_}, timeout=_PERFORM_S))

    def deny(self, proposal_id: str, reason: str = "") -> Proposal:
        """Not now."""
        return self._post(Proposal, f"proposals/{part(proposal_id)}/deny", {"reason": reason})

    def budgets(self) -> tuple[StandingBudget, ...]:
        """Those in force, oldest first."""
        return self._list(_BUDGETS, "budgets", {})

    def set_budget(self, scope: BudgetScope, allowance: Allowance, *, lasts_s: float) -> StandingBudget:
        """Let agents do so much without being asked. Not retried: it would be set twice."""
        body = {"scope": scope.model_dump(), "allowance": allowance.model_dump(), "lasts_s": lasts_s}
        return parsed(StandingBudget, self._once("POST", "budgets", json=body))

    def revoke_budget(self, budget_id: str) -> StandingBudget:
        """Let it allow nothing more."""
        return parsed(StandingBudget, self._call("DELETE", f"budgets/{part(budget_id)}"))

    def agents(self) -> AgentSwitch:
        """Whether agents may act."""
        return self._get(AgentSwitch, "agents/switch")

    def switch_agents(self, *, on: bool) -> AgentSwitch:
        """Let them, or not."""
        return self._post(AgentSwitch, "agents/switch", {"on": on})

    def audit(self) -> Iterator[Audited]:
        """All lines, oldest first."""
        for line in self._call("GET", "audit/export").text.splitlines():
            yield Audited.model_validate_json(line)

    def verify_audit(self) -> AuditCheck:
        """Whether a line was changed, removed or put in."""
        return self._get(AuditCheck, "audit/verify")
