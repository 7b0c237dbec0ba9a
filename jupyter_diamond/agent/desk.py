"""Where everything of the agent hangs together: made with the service, started after it, stopped before it."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jupyter_diamond.engine.secrets import Secrets
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.settings import DiamondAgent, DiamondApprovals

from .chat.chats import Chats
from .drafting.drafter import Drafter
from .guard.guard import Guard
from .models.access import Models
from .ranking import Ranker

if TYPE_CHECKING:
    from jupyter_diamond.agent.tools.registry import Toolbox
    from jupyter_diamond.service import DiamondService


class AgentDesk:
    """One of a server. Its parts import what is heavy only when they are first used: without agents nothing is paid."""

    def __init__(
        self,
        service: DiamondService,
        *,
        log: logging.Logger,
        settings: DiamondAgent | None = None,
        approvals: DiamondApprovals | None = None,
        serverapp: Any = None,
    ) -> None:
        self.service = service
        self.log = log
        self._serverapp = serverapp
        self.guard = Guard(service, approvals or DiamondApprovals(), log)
        """Proposals, approvals, standing budgets, the switch, the audit."""
        self.secrets = Secrets()
        """What is left out of all that an agent is shown."""
        self.models = Models(settings or DiamondAgent(), log, service.ledger, warden=self.guard, secrets=self.secrets)
        """The language model, where one is set up; the guard says whether it may be asked."""
        self.drafter = Drafter(service, self.models)
        """From words and code to a proposed envelope."""
        if self.models.settings.ranking and self.models.configured:
            ranker = Ranker(self.models)
            service.reorder = lambda decision: ranker(decision, Speaker(user="", agent="ranking", channel="rest"))
        self.chats = Chats(self, serverapp, log)
        """Jupyter AI's chats, where this server has them."""

    @cached_property
    def tools(self) -> Toolbox:
        """What agents can call."""
        from jupyter_diamond.agent.tools.registry import Toolbox

        return Toolbox(self)

    async def start(self) -> None:
        """Start what works by itself. The service has started."""
        provider = getattr(self._serverapp, "identity_provider", None)
        self.secrets.know(getattr(provider, "token", None))
        await self.guard.start()
        await self.chats.start()

    async def stop(self) -> None:
        """Stop it; the service still answers."""
        await self.chats.stop()
        await self.models.close()
