"""Where everything of the agent hangs together: made with the service, started after it, stopped before it."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .chat.chats import Chats

if TYPE_CHECKING:
    from jupyter_diamond.agent.tools.registry import Toolbox
    from jupyter_diamond.service import DiamondService


class AgentDesk:
    """One of a server. Its parts import what is heavy only when they are first used: without agents nothing is paid."""

    def __init__(self, service: DiamondService, *, log: logging.Logger, serverapp: Any = None) -> None:
        self.service = service
        self.log = log
        self.chats = Chats(self, serverapp, log)

    @cached_property
    def tools(self) -> Toolbox:
        """What agents can call."""
        from jupyter_diamond.agent.tools.registry import Toolbox

        return Toolbox(self)

    async def start(self) -> None:
        """Start what works by itself. The service has started."""
        await self.chats.start()

    async def stop(self) -> None:
        """Stop it; the service still answers."""
        await self.chats.stop()
