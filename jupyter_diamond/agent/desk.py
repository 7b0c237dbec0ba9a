"""Where everything of the agent hangs together: made with the service, started after it, stopped before it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jupyter_diamond.settings import DiamondAgent

from .models.access import Models

if TYPE_CHECKING:
    from jupyter_diamond.service import DiamondService


class AgentDesk:
    """One of a server. Its parts import what is heavy only when they are first used: without agents nothing is paid."""

    def __init__(self, service: DiamondService, *, log: logging.Logger, settings: DiamondAgent | None = None) -> None:
        self.service = service
        self.log = log
        self.models = Models(settings or DiamondAgent(), log, service.ledger)
        """The language model, where one is set up. Its ``warden`` is the guard."""

    async def start(self) -> None:
        """Start what works by itself. The service has started."""

    async def stop(self) -> None:
        """Stop it; the service still answers."""
        await self.models.close()
