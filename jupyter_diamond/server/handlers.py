"""The REST API: each handler reads, asks the service, and answers. ``openapi.yaml`` beside this file says the same."""

from __future__ import annotations

from pathlib import Path

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.model.task import TaskRequest, TaskSummary

from .approvals import APPROVAL_ROUTES
from .base import DiamondHandler, PollHandler
from .charges import CHARGE_ROUTES
from .consumers import CONSUMER_ROUTES
from .data import DATA_ROUTES
from .drafts import DRAFT_ROUTES
from .forms import (
    EventsQuery,
    ExecForm,
    HistoryQuery,
    IdleForm,
    InterpreterForm,
    LogsQuery,
    PlanForm,
    PutQuery,
    RefreshForm,
    SitesQuery,
    SmokeForm,
    TaskEventsQuery,
    TaskList,
    TasksQuery,
)
from .groups import GROUP_ROUTES
from .launches import LAUNCH_ROUTES
from .logins import LOGIN_ROUTES
from .receipts import RECEIPT_ROUTES
from .tools import TOOL_ROUTES
from .verdicts import VERDICT_ROUTES
from .waiting import WAITING_ROUTES

OPENAPI = Path(__file__).with_name("openapi.yaml")


class StatusHandler(DiamondHandler):
    """Who answers."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """The handshake."""
        self.answer(await self.service.status())


class SitesHandler(PollHandler):
    """The pool."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Every site's newest reading; with ``after`` it waits for another one."""
        asked = self.query(SitesQuery)
        self.answer(await self.poll(self.service.sites(asked.after, asked.wait)))


class RefreshHandler(DiamondHandler):
    """Fresh readings."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Probe one site, or all, now."""
        self.answer(await self.service.refresh(self.form(RefreshForm).site))


class HistoryHandler(DiamondHandler):
    """A site's past."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """What was free and who waited, partition by partition."""
        asked = self.query(HistoryQuery)
        self.answer(await self.service.history(asked.site, asked.hours))


class ForecastsHandler(DiamondHandler):
    """Forecasts against what happened."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Errors, bands and regret of each site."""
        self.answer(await self.service.forecasts())


class InterpreterHandler(DiamondHandler):
    """What runs cells at a site."""

    @web.authenticated
    @authorized
    async def post(self, site: str) -> None:
        """Its version, and which modules it lacks."""
        form = self.form(InterpreterForm)
        self.answer(await self.service.interpreter(site, form.python, form.modules, form.env, form.packages))


class PlanHandler(DiamondHandler):
    """Where a task would go."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Decide, and start nothing."""
        form = self.form(PlanForm)
        self.answer(await self.service.plan(form.envelope, members=form.members, at_once=form.at_once))


class IdleHandler(DiamondHandler):
    """Where a job could start now."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Look, and start nothing."""
        self.answer(await self.service.idle(self.form(IdleForm).envelope))


class OutlookHandler(DiamondHandler):
    """The wait everywhere."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """When one GPU, or one core, for an hour would start at each partition."""
        self.answer(await self.service.outlook())


class SiteEnvHandler(DiamondHandler):
    """A site's login node."""

    @web.authenticated
    @authorized
    async def get(self, site: str) -> None:
        """Its facts, read now."""
        self.answer(await self.service.site_env(site))


class EnvironmentsHandler(DiamondHandler):
    """What cells can run in at a site."""

    @web.authenticated
    @authorized
    async def get(self, site: str) -> None:
        """What is configured for it, and what was built there."""
        self.answer(await self.service.environments.list(site))


class ExecHandler(DiamondHandler):
    """A look around at a site."""

    @web.authenticated
    @authorized
    async def post(self, site: str) -> None:
        """Run one program of the allow-list, bounded in time and output."""
        self.answer(await self.service.execute(site, self.form(ExecForm).command))


class PutFileHandler(DiamondHandler):
    """A site's work folder."""

    @web.authenticated
    @authorized
    async def put(self, site: str, name: str) -> None:
        """Put one small file there: the request's body."""
        asked = self.query(PutQuery)
        put = await self.service.put_file(site, name, self.request.body or b"", replace=asked.replace)
        self.answer(put, 200 if put.replaced else 201)


class PreflightHandler(DiamondHandler):
    """A real try of a site."""

    @web.authenticated
    @authorized
    async def post(self, site: str) -> None:
        """Probe it with a clock, look at its work folder and its interpreter."""
        self.answer(await self.service.preflight(site))


class EndpointsHandler(DiamondHandler):
    """The user's Globus Compute endpoints."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List them, with the machine that each is on."""
        self.answer(await self.service.endpoints())


class SmokeHandler(DiamondHandler):
    """The smallest real job."""

    @web.authenticated
    @authorized
    async def post(self, site: str) -> None:
        """Send it."""
        submitted = await self.service.smoke(site, self.form(SmokeForm).client_token)
        self.answer(submitted, 201 if submitted.created and not submitted.attached else 200)


class AccountedHandler(DiamondHandler):
    """A job in its site's accounting."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """What it says now."""
        self.answer(await self.service.accounted(ref))


class TasksHandler(DiamondHandler):
    """All tasks."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Task lines, newest first; those of a group by their number."""
        asked = self.query(TasksQuery)
        lines: tuple[TaskSummary, ...]
        if asked.group is not None:
            lines = await self.service.groups.tasks(asked.group, limit=asked.limit)
        else:
            lines = await self.service.tasks(
                asked.name, asked.phase, asked.notebook, asked.limit, before=asked.before, newer=asked.newer
            )
        # the lines come from the store as they are: a long list is not validated a second time
        self.answer(TaskList.model_construct(tasks=tuple(lines)))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Take a task: the field ``request`` (JSON) and the file ``bundle``."""
        request, bundle = self.submission(TaskRequest)
        submitted = await self.service.submit(request, bundle)
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


class EventsHandler(PollHandler):
    """What happened to all tasks and sites."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Events after a cursor, waiting for the first."""
        asked = self.query(EventsQuery)
        self.answer(await self.poll(self.service.events(asked.after, asked.wait, asked.limit)))


class OpenapiHandler(DiamondHandler):
    """The API's own description."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """It as YAML."""
        self.finish(OPENAPI.read_bytes(), set_content_type="application/yaml; charset=utf-8")


_API = "/jupyter_diamond/api"
_ELSEWHERE = (
    *WAITING_ROUTES,
    *GROUP_ROUTES,
    *LOGIN_ROUTES,
    *CHARGE_ROUTES,
    *CONSUMER_ROUTES,
    *APPROVAL_ROUTES,
    *TOOL_ROUTES,
    *VERDICT_ROUTES,
    *DRAFT_ROUTES,
    *LAUNCH_ROUTES,
    *RECEIPT_ROUTES,
    *DATA_ROUTES,
)
ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    (rf"{_API}/status", StatusHandler),
    (rf"{_API}/sites", SitesHandler),
    (rf"{_API}/sites/refresh", RefreshHandler),
    (rf"{_API}/sites/history", HistoryHandler),
    (rf"{_API}/forecasts", ForecastsHandler),
    (rf"{_API}/sites/([^/]+)/interpreter", InterpreterHandler),
    (rf"{_API}/sites/([^/]+)/env", SiteEnvHandler),
    (rf"{_API}/sites/([^/]+)/environments", EnvironmentsHandler),
    (rf"{_API}/sites/([^/]+)/exec", ExecHandler),
    (rf"{_API}/sites/([^/]+)/files/([^/]+)", PutFileHandler),
    (rf"{_API}/sites/([^/]+)/preflight", PreflightHandler),
    (rf"{_API}/endpoints", EndpointsHandler),
    (rf"{_API}/sites/([^/]+)/smoke", SmokeHandler),
    (rf"{_API}/plan", PlanHandler),
    (rf"{_API}/idle", IdleHandler),
    (rf"{_API}/outlook", OutlookHandler),
    (rf"{_API}/tasks", TasksHandler),
    (rf"{_API}/tasks/([^/]+)", TaskHandler),
    (rf"{_API}/tasks/([^/]+)/cancel", CancelHandler),
    (rf"{_API}/tasks/([^/]+)/decision", DecisionHandler),
    (rf"{_API}/tasks/([^/]+)/events", TaskEventsHandler),
    (rf"{_API}/tasks/([^/]+)/logs", LogsHandler),
    (rf"{_API}/tasks/([^/]+)/accounting", AccountedHandler),
    (rf"{_API}/tasks/([^/]+)/result", ResultHandler),
    (rf"{_API}/events", EventsHandler),
    (rf"{_API}/openapi\.yaml", OpenapiHandler),
    *((_API + path, handler) for path, handler in _ELSEWHERE),
]
