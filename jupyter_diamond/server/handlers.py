"""The REST API: each handler reads, asks the service, and answers. ``openapi.yaml`` beside this file says the same."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.parse import quote

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.task import TaskRequest
from jupyter_diamond.model.views import EventPage

from .base import DiamondHandler, read_json, starting
from .forms import (
    EventsQuery,
    InterpreterForm,
    LogsQuery,
    PlanForm,
    RefreshForm,
    TaskEventsQuery,
    TaskList,
    TasksQuery,
)

OPENAPI = Path(__file__).with_name("openapi.yaml")

_FETCHABLE = re.compile(r"job\.out|outputs\.jsonl|result/(?!\.)[\w.-]+")
"""What can be fetched of a task; names of variables may have any letters. Never the attempt's key, bundle or script."""


class StatusHandler(DiamondHandler):
    """Who answers."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """The handshake."""
        self.answer(await self.service.status())


class SitesHandler(DiamondHandler):
    """The pool."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Every site's newest reading."""
        self.answer(await self.service.sites())


class RefreshHandler(DiamondHandler):
    """Fresh readings."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Probe one site, or all, now."""
        self.answer(await self.service.refresh(self.form(RefreshForm).site))


class InterpreterHandler(DiamondHandler):
    """What runs cells at a site."""

    @web.authenticated
    @authorized
    async def post(self, site: str) -> None:
        """Its version, and which modules it lacks."""
        form = self.form(InterpreterForm)
        self.answer(await self.service.interpreter(site, form.python, form.modules))


class PlanHandler(DiamondHandler):
    """Where a task would go."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Decide, and start nothing."""
        self.answer(await self.service.plan(self.form(PlanForm).envelope))


class TasksHandler(DiamondHandler):
    """All tasks."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Task lines, newest first."""
        asked = self.query(TasksQuery)
        lines = await self.service.tasks(asked.name, asked.phase, asked.notebook, asked.limit)
        # the lines come from the store as they are: a long list is not validated a second time
        self.answer(TaskList.model_construct(tasks=tuple(lines)))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Take a task: the field ``request`` (JSON) and the file ``bundle``."""
        requests = self.request.body_arguments.get("request", [])
        bundles = self.request.files.get("bundle", [])
        if len(requests) != 1 or len(bundles) != 1:
            raise InvalidRequest(
                "A submission is multipart/form-data with one field `request` and one file `bundle`; "
                f"this one has {len(requests)} and {len(bundles)}."
            )
        request = read_json(TaskRequest, requests[0])
        submitted = await self.service.submit(request, bundles[0].body)
        self.answer(submitted, 201 if submitted.created and not submitted.attached else 200)


class TaskHandler(DiamondHandler):
    """One task."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """A task by id, or the newest of that name."""
        self.answer(await self.service.task(ref))


class CancelHandler(DiamondHandler):
    """The end of a task, on request."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Ask for it."""
        self.answer(await self.service.cancel(ref, "you"))


class DecisionHandler(DiamondHandler):
    """Why here."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """The stored decision."""
        self.answer(await self.service.decision(ref))


class TaskEventsHandler(DiamondHandler):
    """What happened to one task."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Its events, oldest first."""
        asked = self.query(TaskEventsQuery)
        self.answer(await self.service.task_events(ref, asked.after, asked.limit))


class LogsHandler(DiamondHandler):
    """A job's log."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """A piece of it."""
        asked = self.query(LogsQuery)
        self.answer(await self.service.logs(ref, asked.offset, asked.limit, asked.tail))


class ResultHandler(DiamondHandler):
    """What a task brought back."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """The receipt with its small values."""
        self.answer(await self.service.result(ref))


class FileHandler(DiamondHandler):
    """One file of a task."""

    @web.authenticated
    @authorized
    async def get(self, ref: str, path: str) -> None:
        """Its bytes, as a download: a browser must never show what a job wrote as a page of this server."""
        if not _FETCHABLE.fullmatch(path):
            raise NotFound("Of a task's files only job.out, outputs.jsonl and those in result/ can be fetched.")
        content = await self.service.file(ref, path)
        self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(path.rsplit('/', 1)[-1])}")
        self.finish(content, set_content_type="application/octet-stream")


class EventsHandler(DiamondHandler):
    """What happened to all tasks and sites."""

    _track_activity = False
    """An open card asks all the time; it must not keep an idle server from being culled."""
    _poll: asyncio.Task[EventPage] | None = None

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Events after a cursor, waiting for the first. Ends early when the client or the server goes away."""
        asked = self.query(EventsQuery)
        asking = asyncio.create_task(
            self.service.events(asked.after, asked.wait, asked.limit), name="diamond: long poll"
        )
        self._poll = asking
        self.settings["diamond_polls"].add(asking)
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
            self.settings["diamond_polls"].discard(asking)
        if asking.cancelled():
            raise starting()
        self.answer(asking.result())

    def on_connection_close(self) -> None:
        """Stop waiting for nobody."""
        if self._poll is not None:
            self._poll.cancel()
        super().on_connection_close()


class OpenapiHandler(DiamondHandler):
    """The API's own description."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """It as YAML."""
        self.finish(OPENAPI.read_bytes(), set_content_type="application/yaml; charset=utf-8")


_API = "/jupyter_diamond/api"
ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    (rf"{_API}/status", StatusHandler),
    (rf"{_API}/sites", SitesHandler),
    (rf"{_API}/sites/refresh", RefreshHandler),
    (rf"{_API}/sites/([^/]+)/interpreter", InterpreterHandler),
    (rf"{_API}/plan", PlanHandler),
    (rf"{_API}/tasks", TasksHandler),
    (rf"{_API}/tasks/([^/]+)", TaskHandler),
    (rf"{_API}/tasks/([^/]+)/cancel", CancelHandler),
    (rf"{_API}/tasks/([^/]+)/decision", DecisionHandler),
    (rf"{_API}/tasks/([^/]+)/events", TaskEventsHandler),
    (rf"{_API}/tasks/([^/]+)/logs", LogsHandler),
    (rf"{_API}/tasks/([^/]+)/result", ResultHandler),
    (rf"{_API}/tasks/([^/]+)/files/(.+)", FileHandler),
    (rf"{_API}/events", EventsHandler),
    (rf"{_API}/openapi\.yaml", OpenapiHandler),
]
