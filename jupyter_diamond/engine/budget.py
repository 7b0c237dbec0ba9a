"""The user's caps and what stands against them; what own tasks have taken of a balance; and the report of both.

The caps are the settings'. They are judged twice by the same rule: where a task is placed, so that a dearer place gives
way to one that is within them, and in the transaction that stores an attempt, so that no two pass one cap together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from jupyter_diamond.engine.balances import BalanceBook
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.model.balance import Balances
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import AccountCharges, Charges, SpendingCap, Spent
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.limits import SiteLimits
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.parsing.spending import read_account_caps, read_caps
from jupyter_diamond.placement.budget import as_ended, lowered, over, paying
from jupyter_diamond.placement.charge import foreseen
from jupyter_diamond.placement.world import World
from jupyter_diamond.settings import DiamondBudget


def caps_of(settings: DiamondBudget, links: SiteLinks) -> tuple[SpendingCap, ...]:
    """All caps that are set. Raises InvalidRequest where one could never hold."""
    units = {name: _units(links, name) for name in links if links[name].site.scheduler != "process"}
    name = "c.DiamondBudget."
    return (
        *read_caps("task", settings.per_task, units, setting=f"{name}per_task"),
        *read_caps("day", settings.per_day, units, setting=f"{name}per_day"),
        *read_account_caps(settings.per_account, units, setting=f"{name}per_account"),
        *read_caps("agent", settings.per_agent, units, setting=f"{name}per_agent"),
    )


def _units(links: SiteLinks, site: str) -> frozenset[str]:
    machine = links[site].machine
    return frozenset(charge.unit for charge in machine.charges) if machine is not None else frozenset()


class Budget:
    """What may be spent, asked of the store whenever it matters: nothing of it is kept in memory."""

    def __init__(
        self,
        *,
        caps: tuple[SpendingCap, ...],
        ledger: Ledger,
        links: SiteLinks,
        balances: BalanceBook,
        snapshot: Callable[[], Snapshot],
    ) -> None:
        self.caps = caps
        """What ``attempt_rows.put`` and ``create_task`` want to be given."""
        self._ledger, self._links, self._balances, self._snapshot = ledger, links, balances, snapshot

    async def world(self, world: World, *, task: Task | None = None, by: str | None = None) -> World:
        """With balances as the user's own tasks have lowered them, and with what stands against the caps.

        ``task``: the one that another attempt is planned for (see ``allows``); ``by``: the agent that asks for one.
        """
        now = from_epoch(world.forecaster.now)
        told, charges = self._balances.told(now), self._ledger.store.charges
        if not told and not self.caps:
            return world
        since = {site: each.read_at for site, each in told.items()}
        held = await self._ledger.do(charges.held, since) if since else {}
        limits = self._limits()
        balances = {site: lowered(each, held.get(site, ()), limits.get(site)) for site, each in told.items()}
        by = task.by if task is not None else by
        return replace(world, balances=balances, spent=await self._spent(now, task, by), by=by)

    async def allows(self, task: Task, attempt: Attempt, decision: Decision) -> str:
        """Why the caps do not let this attempt follow a task's others, in one sentence; empty where they do.

        Where ``task`` shows its newest attempt as ended, which the store may not know yet, what that cost counts in
        place of what is reserved for it; one that has not started is taken for given back. Nothing is reserved here:
        ``attempt_rows.put(…, caps=budget.caps)`` asks once more, in the transaction that does.
        """
        charge = foreseen(decision, attempt)
        if charge is None or not self.caps:
            return ""
        against = await self._spent(from_epoch(time.time()), task, task.by)
        return over(against, attempt, charge, by=task.by, unknown=decision.envelope.unknown_charge)

    async def _spent(self, now: datetime, task: Task | None, by: str | None) -> tuple[Spent, ...]:
        if not self.caps:
            return ()
        task_id = task.id if task is not None else ""
        found = await self._ledger.do(self._ledger.store.charges.spent, self.caps, now, task_id=task_id, by=by)
        before = task.attempt if task is not None else None
        return found if before is None else tuple(as_ended(each, before, by=by) for each in found)

    async def report(self, days: float, *, tasks: bool = False) -> Charges:
        """What was charged in the last days and what is reserved now, with what is left as far as sites tell."""
        now = from_epoch(time.time())
        since, charges = now - timedelta(days=days), self._ledger.store.charges
        shown = [cap for cap in self.caps if cap.scope in ("day", "account")]
        models = self._ledger.store.model_calls
        accounts, by_task, spent, asked = await self._ledger.do(
            lambda: (
                charges.accounts(since), charges.tasks(since) if tasks else (), charges.spent(shown, now),
                models.use(since),
            )
        )  # fmt: skip
        told, limits = self._balances.told(now), self._limits()
        return Charges(
            since=since, read_at=now, tasks=by_task, caps=spent, models=asked,
            accounts=tuple(_balanced(each, told.get(each.site), limits.get(each.site)) for each in accounts),
        )  # fmt: skip

    def _limits(self) -> dict[str, SiteLimits | None]:
        return {reading.site: reading.limits for reading in self._snapshot().sites}


def _balanced(row: AccountCharges, told: Balances | None, limits: SiteLimits | None) -> AccountCharges:
    payer = paying(told, row.account, limits) if told is not None else None
    balance = told.of(payer) if told is not None and payer is not None else None
    if told is None or balance is None:
        return row
    return row.model_copy(
        update={"balance": balance.left, "balance_unit": balance.unit, "balance_read_at": told.read_at}
    )
