"""The Jupyter server extension: starts the service with the server, serves its API, stops it with the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from jupyter_server.extension.application import ExtensionApp

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.event import Event
from jupyter_diamond.settings import (
    DiamondAgent,
    DiamondApprovals,
    DiamondBudget,
    DiamondData,
    DiamondEngine,
    DiamondGlobus,
    DiamondLimits,
    DiamondMcp,
    DiamondNews,
    DiamondSites,
    DiamondStore,
)

from .base import starting
from .handlers import ROUTES
from .news import SCHEMA, SCHEMA_ID, news

if TYPE_CHECKING:
    from jupyter_events import EventLogger

    from jupyter_diamond.agent.desk import AgentDesk
    from jupyter_diamond.service import DiamondService


class DiamondApp(ExtensionApp):
    """One pool of all your cluster allocations. Its settings: c.DiamondStore, c.DiamondSites, c.DiamondEngine,
    c.DiamondLimits, c.DiamondGlobus, c.DiamondBudget, c.DiamondNews, c.DiamondData, c.DiamondApprovals, c.DiamondMcp,
    c.DiamondAgent.
    """

    name = "jupyter_diamond"
    description = __doc__
    extension_url = "/lab"
    load_other_extensions = True
    classes = [  # noqa: RUF012 - as traitlets has it
        DiamondStore, DiamondSites, DiamondEngine, DiamondLimits, DiamondGlobus, DiamondBudget, DiamondNews,
        DiamondData,
        DiamondApprovals,
        DiamondMcp,
        DiamondAgent,
    ]  # fmt: skip

    service: DiamondService | None = None
    """None when its settings cannot be used; ``diamond_problem`` then says why."""
    agent: AgentDesk | None = None
    """None where there is no service."""
    _start_tried = False

    def initialize_settings(self) -> None:
        """Make the service. What keeps it from working is told to every request, and never stops Jupyter itself."""
        self._events.register_event_schema(SCHEMA)
        problem: DiamondError = starting()
        try:
            self.service = self.make_service()
            self.service.on_change(self._tell_browser)
            self.agent = self.make_agent(self.service)
            self.settings["diamond_open_tools"] = DiamondMcp(parent=self).tools_without_token
        except DiamondError as error:
            problem = error
            self.log.error("Diamond does not work: %s", error.message)  # noqa: TRY400 - the sentence says it all
        self.settings.update(
            diamond_service=self.service, diamond_agent=self.agent, diamond_problem=problem, diamond_polls=set()
        )  # fmt: skip

    def make_service(self) -> DiamondService:
        """The service with this server's settings."""
        from jupyter_diamond.service import DiamondService

        return DiamondService(
            store=DiamondStore(parent=self),
            sites=DiamondSites(parent=self),
            engine=DiamondEngine(parent=self),
            limits=DiamondLimits(parent=self),
            globus=DiamondGlobus(parent=self),
            budget=DiamondBudget(parent=self),
            news=DiamondNews(parent=self),
            data=DiamondData(parent=self),
            log=self.log,
        )

    def make_agent(self, service: DiamondService) -> AgentDesk:
        """What serves agents, with this server's settings."""
        from jupyter_diamond.agent.desk import AgentDesk

        return AgentDesk(
            service, log=self.log, settings=DiamondAgent(parent=self), approvals=DiamondApprovals(parent=self),
            serverapp=self.serverapp,
        )  # fmt: skip

    def initialize_handlers(self) -> None:
        """Serve the API."""
        self.handlers.extend(ROUTES)

    async def _start_jupyter_server_extension(self, _serverapp: Any) -> None:
        if self.service is None:
            return
        self._start_tried = True
        try:
            await self.service.start()
            if self.agent is not None:
                await self.agent.start()
        except DiamondError as error:
            self._set_problem(error)
            self.log.error("Diamond does not work: %s", error.message)  # noqa: TRY400 - the sentence says it all
        else:
            self._set_problem(None)

    async def stop_extension(self) -> None:
        """Answer open polls, then stop the service; jobs run on at their sites."""
        self._set_problem(starting())
        polls: set[asyncio.Task[Any]] = self._web_settings.get("diamond_polls", set())
        for poll in tuple(polls):
            poll.cancel()
        if self._start_tried and self.service is not None:
            self._start_tried = False
            if self.agent is not None:
                await self.agent.stop()
            await self.service.stop()

    def _set_problem(self, problem: DiamondError | None) -> None:
        self._web_settings["diamond_problem"] = problem

    @property
    def _web_settings(self) -> dict[str, Any]:
        """Where handlers look; the extension's own settings were copied there when it was loaded."""
        assert self.serverapp is not None, "an extension has its server"
        settings: dict[str, Any] = self.serverapp.web_app.settings
        return settings

    @property
    def _events(self) -> EventLogger:
        assert self.serverapp is not None, "an extension has its server"
        events: EventLogger | None = self.serverapp.event_logger
        assert events is not None, "a server that loads extensions has its event bus"
        return events

    def _tell_browser(self, event: Event) -> None:
        data = news(event)
        if data is not None:
            self._events.emit(schema_id=SCHEMA_ID, data=data)
