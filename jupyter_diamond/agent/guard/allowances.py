"""What the user allows beforehand, and the switch that allows nothing; with the audit of both."""

from __future__ import annotations

import logging
import secrets
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.errors import PolicyBlocked
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.proposal import (
    LASTS_S,
    LONGEST_S,
    OFF,
    AgentSwitch,
    Allowance,
    AuditCheck,
    Audited,
    BudgetScope,
    Speaker,
    StandingBudget,
)
from jupyter_diamond.parsing.spending import read_caps
from jupyter_diamond.placement.words import charge
from jupyter_diamond.store import Store

from .speakers import person_only

if TYPE_CHECKING:
    from jupyter_diamond.service import DiamondService


class Allowances:
    """Standing budgets, the switch and the audit of one service."""

    def __init__(self, service: DiamondService, log: logging.Logger) -> None:
        self._service, self._log = service, log

    @property
    def _ledger(self) -> Ledger:
        return self._service.ledger

    @property
    def _store(self) -> Store:
        """For naming its methods; the service has started."""
        return self._ledger.store

    # ---- standing budgets

    async def set_budget(
        self, scope: BudgetScope, allowance: Allowance, by: Speaker, *, lasts_s: float = LASTS_S
    ) -> StandingBudget:
        """Let agents do so much without being asked each time. Raises InvalidRequest, PolicyBlocked."""
        await self._only_a_person(by, "set a standing budget")
        if scope.site is not None:
            self._service.links[scope.site]
        now = from_epoch(time.time())
        budget = StandingBudget(
            id=f"b{secrets.token_hex(5)}", scope=scope, set_by=by.user, created_at=now,
            allowance=allowance.model_copy(update={"amounts": self._amounts(allowance, scope.site)}),
            expires_at=now + timedelta(seconds=min(max(60.0, lasts_s), LONGEST_S)),
        )  # fmt: skip
        return await self._ledger.write(self._store.budgets.put, budget, by, now)

    def _amounts(self, allowance: Allowance, site: str | None) -> tuple[str, ...]:
        """As sites spell their units. Raises InvalidRequest for one that nobody charges in."""
        links = self._service.links
        units = {
            name: frozenset(each.unit for each in link.machine.charges) if link.machine is not None else frozenset()
            for name, link in links.items()
            if link.site.scheduler != "process" and site in (None, name)
        }
        caps = read_caps("day", allowance.amounts, units, setting="A standing budget")
        return tuple(charge(cap.amount, cap.unit) for cap in caps)

    async def revoke(self, budget_id: str, by: Speaker) -> StandingBudget:
        """Let it allow nothing more. Raises NotFound, PolicyBlocked."""
        await self._only_a_person(by, "revoke a standing budget")
        return await self._ledger.write(self._store.budgets.revoke, budget_id, by, from_epoch(time.time()))

    async def budgets(self) -> tuple[StandingBudget, ...]:
        """Those in force, with what was taken of each."""
        return await self._ledger.do(self._store.budgets.in_force, from_epoch(time.time()))

    # ---- the switch

    async def switched(self) -> AgentSwitch:
        """Whether agents may act."""
        return await self._ledger.do(self._store.switches.agents)

    async def switch(self, by: Speaker, *, on: bool) -> AgentSwitch:
        """Let agents act, or not: from this moment no proposal is done and no model is asked. Jobs that run go on."""
        await self._only_a_person(by, f"switch agents {'on' if on else 'off'}")
        return await self._ledger.write(self._store.switches.switch_agents, on=on, by=by, at=from_epoch(time.time()))

    async def may_propose(self) -> None:
        """Raises PolicyBlocked while agents are switched off."""
        if not (await self.switched()).on:
            raise PolicyBlocked(OFF)

    async def may_ask_model(self, speaker: Speaker) -> None:
        """Whether a model may be asked now, for this speaker. Raises PolicyBlocked; ask before each call."""
        await self.may_propose()
        found = await self._ledger.do(self._store.budgets.tokens_left, speaker, from_epoch(time.time()))
        if found is not None and found[1] <= 0:
            budget, _ = found
            raise PolicyBlocked(
                f"The {budget.allowance.model_tokens:,} model tokens of the standing budget {budget.id} are used: no "
                "model is asked until you set another one. All commands work without a model."
            )

    # ---- the audit

    async def audit(self, after: int = 0, limit: int = 200) -> tuple[Audited, ...]:
        """Lines with a number above ``after``, oldest first."""
        return await self._ledger.do(self._store.audit.lines, after, limit)

    async def verify_audit(self) -> AuditCheck:
        """Whether the audit is as it was written."""
        return await self._ledger.do(self._store.audit.verify)

    async def _only_a_person(self, by: Speaker, what: str) -> None:
        if said := person_only(by, what):
            await self._ledger.write(self._store.proposals.blocked, None, by, said, from_epoch(time.time()))
            raise PolicyBlocked(said)
