"""The REST API of what agents propose, of the user's word, of standing budgets, the switch and the audit.

Whoever asks here speaks as a person: agents have their tools, which go through the guard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.agent.guard.speakers import speaker
from jupyter_diamond.model.proposal import Speaker

from .approval_forms import (
    ApproveForm,
    AuditPage,
    AuditQuery,
    BudgetForm,
    BudgetList,
    DenyForm,
    ProposalList,
    ProposalsQuery,
    SwitchForm,
)
from .base import DiamondHandler

if TYPE_CHECKING:
    from jupyter_diamond.agent.guard.guard import Guard


class _Asking(DiamondHandler):
    """Asks the guard."""

    @property
    def guard(self) -> Guard:
        return self.agent.guard

    @property
    def by(self) -> Speaker:
        """The person whom the Jupyter server authenticated."""
        return speaker(self.current_user.username)


class ProposalsHandler(_Asking):
    """What agents proposed."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Proposals, newest first."""
        asked = self.query(ProposalsQuery)
        found = await self.guard.proposals(asked.standings, asked.channel, asked.limit)
        self.answer(ProposalList.model_construct(proposals=found))


class ProposalHandler(_Asking):
    """One proposal."""

    @web.authenticated
    @authorized
    async def get(self, proposal_id: str) -> None:
        """It, with what is different now."""
        self.answer(await self.guard.looked_at(proposal_id))


class ApproveHandler(_Asking):
    """A person says yes."""

    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Approve what has this hash, and do it."""
        await self.guard.approve(proposal_id, self.form(ApproveForm).hash, self.by)
        self.answer(await self.guard.perform(proposal_id, self.by))


class DenyHandler(_Asking):
    """A person says not now."""

    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Deny it."""
        self.answer(await self.guard.deny(proposal_id, self.by, self.form(DenyForm).reason))


class BudgetsHandler(_Asking):
    """What is allowed beforehand."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Those in force."""
        self.answer(BudgetList(budgets=await self.guard.budgets()))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Set one."""
        form = self.form(BudgetForm)
        self.answer(await self.guard.set_budget(form.scope, form.allowance, self.by, lasts_s=form.lasts_s), 201)


class BudgetHandler(_Asking):
    """One standing budget."""

    @web.authenticated
    @authorized
    async def delete(self, budget_id: str) -> None:
        """Revoke it."""
        self.answer(await self.guard.revoke(budget_id, self.by))


class SwitchHandler(_Asking):
    """Whether agents may act."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Whether they may."""
        self.answer(await self.guard.switched())

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Let them, or not."""
        self.answer(await self.guard.switch(self.by, on=self.form(SwitchForm).on))


class AuditHandler(_Asking):
    """What was done, by whom, allowed by what."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Lines, oldest first."""
        asked = self.query(AuditQuery)
        lines = await self.guard.audit(asked.after, asked.limit)
        self.answer(AuditPage(lines=lines, cursor=lines[-1].seq if lines else asked.after))


class AuditCheckHandler(_Asking):
    """Whether the audit is as it was written."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Go through the chain."""
        self.answer(await self.guard.verify_audit())


class AuditExportHandler(_Asking):
    """All of the audit."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """One line of JSON for each line of it."""
        self.set_header("Content-Type", "application/x-ndjson")
        self.set_header("Content-Disposition", 'attachment; filename="diamond-audit.jsonl"')
        after = 0
        while lines := await self.guard.audit(after, 1000):
            self.write("".join(f"{line.model_dump_json()}\n" for line in lines))
            after = lines[-1].seq
        self.finish(set_content_type="application/x-ndjson")


APPROVAL_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/proposals", ProposalsHandler),
    ("/proposals/([^/]+)", ProposalHandler),
    ("/proposals/([^/]+)/approve", ApproveHandler),
    ("/proposals/([^/]+)/deny", DenyHandler),
    ("/budgets", BudgetsHandler),
    ("/budgets/([^/]+)", BudgetHandler),
    ("/agents/switch", SwitchHandler),
    ("/audit", AuditHandler),
    ("/audit/verify", AuditCheckHandler),
    ("/audit/export", AuditExportHandler),
]
