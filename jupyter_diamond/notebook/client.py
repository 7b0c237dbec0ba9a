"""The kernel's client of our REST API: typed answers, our own errors, tolerant of a server that restarts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from jupyter_diamond.model.charge import Charges
from jupyter_diamond.model.continuation import Continuation, Cursor, Registered, Registration
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.endpoint import Endpoints
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import Environment, SiteEnvironments
from jupyter_diamond.model.forecast import Forecasts
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.login import Login, LoginStart, LoginWay
from jupyter_diamond.model.looks import Accounted, Executed, Idle, Preflight, PutFile, SiteEnv
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.task import Submitted, Task, TaskRequest, TaskSummary
from jupyter_diamond.model.tool import ToolAnswer, ToolList
from jupyter_diamond.model.verdict import TaskVerdict
from jupyter_diamond.model.views import EventPage, Interpreter, LogChunk, ResultView, Status

from .approval_calls import ApprovalCalls
from .calls import parsed, part
from .data_calls import DataCalls
from .group_calls import GroupCalls
from .receipt_calls import ReceiptCalls

_SUMMARIES = TypeAdapter(tuple[TaskSummary, ...])


class DiamondClient(GroupCalls, ApprovalCalls, DataCalls, ReceiptCalls):
    """One per kernel, used from any thread."""

    def __enter__(self) -> DiamondClient:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what the server can be asked --------------------------------------------------------------------------

    def status(self) -> Status:
        """The handshake."""
        return self._get(Status, "status")

    def sites(self) -> Snapshot:
        """Every site's newest reading."""
        return self._get(Snapshot, "sites")

    def sites_after(self, after: int, *, wait_s: float) -> Snapshot:
        """The first snapshot that is not that one; waits up to ``wait_s``. Not retried: the caller loops."""
        asked = {"after": after, "wait": wait_s}
        return parsed(Snapshot, self._once("GET", "sites", timeout=wait_s + 20.0, params=asked))

    def refresh(self, site: str | None = None) -> Snapshot:
        """Probe one site, or all, now."""
        return self._post(Snapshot, "sites/refresh", {"site": site})

    def history(self, site: str, hours: float = 24.0) -> SiteHistory:
        """What was free at a site, and who waited."""
        return self._get(SiteHistory, "sites/history", {"site": site, "hours": hours})

    def forecasts(self) -> Forecasts:
        """How near forecasts were to what then happened, site by site."""
        return self._get(Forecasts, "forecasts")

    def charges(self, days: float = 7.0, *, tasks: bool = False) -> Charges:
        """What tasks cost in the last days, what is reserved, and what stands against the caps."""
        return self._get(Charges, "charges", {"days": days, "tasks": str(tasks).lower()})

    def interpreter(
        self, site: str, modules: tuple[str, ...], python: str | None = None, env: Environment | None = None,
        packages: tuple[str, ...] = (),
    ) -> Interpreter:  # fmt: skip
        """What would run the cell at a site, which of the modules it lacks there, and its versions of packages."""
        asked: dict[str, Any] = {"python": python, "modules": list(modules), "packages": list(packages)}
        if env is not None:
            asked["env"] = env.model_dump(mode="json")
        return self._post(Interpreter, f"sites/{part(site)}/interpreter", asked)

    def plan(self, envelope: Envelope, *, members: int = 1, at_once: int | None = None) -> Decision:
        """Where it would go now, or how a round of so many would be shared out; nothing is started."""
        asked = {"envelope": envelope.model_dump(mode="json"), "members": members, "at_once": at_once}
        return self._post(Decision, "plan", asked)

    def draft(self, request: DraftRequest) -> Draft:
        """A proposed envelope, planned; a language model may take its time."""
        answer = self._call("POST", "draft", json=request.model_dump(mode="json"), timeout=180.0)
        return parsed(Draft, answer)

    def idle(self, envelope: Envelope) -> Idle:
        """Where such a job could start now."""
        return self._post(Idle, "idle", {"envelope": envelope.model_dump(mode="json")})

    def site_env(self, site: str) -> SiteEnv:
        """Facts of a site's login node, read now."""
        return self._get(SiteEnv, f"sites/{part(site)}/env")

    def environments(self, site: str) -> SiteEnvironments:
        """What cells can run in at a site: what is configured there, and what was built."""
        return self._get(SiteEnvironments, f"sites/{part(site)}/environments")

    def execute(self, site: str, command: str) -> Executed:
        """Look around at a site with one program that only reads."""
        return self._post(Executed, f"sites/{part(site)}/exec", {"command": command})

    def put_file(self, site: str, name: str, data: bytes, *, replace: bool = False) -> PutFile:
        """Put one small file into a site's work folder. Not retried: it may be there already."""
        path = f"sites/{part(site)}/files/{part(name)}"
        headers = {"Content-Type": "application/octet-stream"}
        asked = {"replace": str(replace).lower()}
        return parsed(PutFile, self._once("PUT", path, content=data, headers=headers, params=asked))

    def preflight(self, site: str) -> Preflight:
        """Try a site for real; takes as long as the site does."""
        return parsed(Preflight, self._call("POST", f"sites/{part(site)}/preflight", json={}, timeout=200.0))

    def endpoints(self) -> Endpoints:
        """The user's Globus Compute endpoints: two requests for each, of a few in ten seconds."""
        return parsed(Endpoints, self._call("GET", "endpoints", timeout=90.0))

    def smoke(self, site: str, client_token: str) -> Submitted:
        """Send the smallest real job there. Safe to repeat with the same token."""
        return self._post(Submitted, f"sites/{part(site)}/smoke", {"client_token": client_token})

    def accounted(self, ref: str) -> Accounted:
        """What the site's accounting says of a task's newest job, asked now."""
        return self._get(Accounted, f"tasks/{part(ref)}/accounting")

    def submit(self, request: TaskRequest, bundle: bytes) -> Submitted:
        """Hand over a task. Safe to repeat: the same client_token always gives the same task."""
        answer = self._call(
            "POST",
            "tasks",
            data={"request": request.model_dump_json()},
            files={"bundle": ("bundle.tar", bundle, "application/x-tar")},
        )
        return parsed(Submitted, answer)

    def tasks(
        self, *, name: str | None = None, phase: str | None = None, notebook: str | None = None, limit: int = 100
    ) -> tuple[TaskSummary, ...]:
        """Newest first. ``phase`` is ``active`` or ``ended``."""
        asked = {"name": name, "phase": phase, "notebook": notebook, "limit": limit}
        return self._list(_SUMMARIES, "tasks", asked)

    def task(self, ref: str) -> Task:
        """A task by id, or the newest of that name."""
        return self._get(Task, f"tasks/{part(ref)}")

    def cancel(self, ref: str) -> Task:
        """Ask for its end. Returns at once; the task says ``cancelled`` when its site does."""
        return self._post(Task, f"tasks/{part(ref)}/cancel", {})

    def replan(self, ref: str, *, unpin: bool = False) -> Task:
        """Plan it anew; its waiting job is taken back where another place is better."""
        return self._post(Task, f"tasks/{part(ref)}/replan", {"unpin": unpin})

    def hold(self, ref: str) -> Task:
        """Submit nothing of it for now."""
        return self._post(Task, f"tasks/{part(ref)}/hold", {})

    def release(self, ref: str) -> Task:
        """Let a held one go on."""
        return self._post(Task, f"tasks/{part(ref)}/release", {})

    def decision(self, ref: str) -> Decision:
        """The stored decision."""
        return self._get(Decision, f"tasks/{part(ref)}/decision")

    def verdict(self, ref: str) -> TaskVerdict:
        """Whether its newest attempt did what was asked; reads its log, receipt and accounting now."""
        return self._get(TaskVerdict, f"tasks/{part(ref)}/verdict")

    def task_events(self, ref: str, after: int = 0, limit: int = 500) -> EventPage:
        """What happened to one task, oldest first."""
        return self._get(EventPage, f"tasks/{part(ref)}/events", {"after": after, "limit": limit})

    def logs(self, ref: str, offset: int = 0, *, limit: int | None = None, tail: int | None = None) -> LogChunk:
        """A piece of the job's log; ``tail`` asks for the last bytes."""
        asked: dict[str, Any] = {"offset": offset}
        if limit is not None:
            asked["limit"] = limit
        if tail is not None:
            asked["tail"] = tail
        return self._get(LogChunk, f"tasks/{part(ref)}/logs", asked)

    def result(self, ref: str) -> ResultView:
        """The receipt with its small values. Raises ResultUnavailable while it is not there."""
        return self._get(ResultView, f"tasks/{part(ref)}/result")

    def file(self, ref: str, path: str) -> bytes:
        """One file of a finished attempt, e.g. ``result/model.pickle``."""
        return self._call("GET", f"tasks/{part(ref)}/files/{quote(path)}").content

    def events(self, after: int, *, wait_s: float = 0, limit: int = 500) -> EventPage:
        """Events of all tasks after a cursor; waits up to ``wait_s`` for the first. Not retried: the caller loops."""
        asked = {"after": after, "wait": wait_s, "limit": limit}
        return parsed(EventPage, self._once("GET", "events", timeout=wait_s + 20.0, params=asked))

    def register(self, asked: Registration) -> Registered:
        """Wake a consumer when something happens to a task. Safe to repeat: the same id is the same registration."""
        return self._post(Registered, "continuations", asked.model_dump(mode="json"))

    def wait_for_news(
        self, consumer: str, after: int | None = None, *, wait_s: float = 0, limit: int = 100
    ) -> EventPage:
        """A consumer's news after its cursor; waits up to ``wait_s`` for the first. Not retried: the caller loops."""
        asked = {"consumer": consumer, "wait": wait_s, "limit": limit} | ({} if after is None else {"after": after})
        return parsed(EventPage, self._once("GET", "continuations/wait", timeout=wait_s + 20.0, params=asked))

    def acknowledge(self, consumer: str, seq: int) -> Cursor:
        """The consumer has read its news up to a number."""
        return self._post(Cursor, "continuations/ack", {"consumer": consumer, "seq": seq})

    def withdraw(self, continuation_id: str) -> Continuation:
        """Take a registration back."""
        return parsed(Continuation, self._call("DELETE", f"continuations/{part(continuation_id)}"))

    def tools(self) -> ToolList:
        """The tools that agents have."""
        return self._get(ToolList, "tools")

    def call_tool(self, name: str, arguments: Mapping[str, Any], *, agent: str = "cli") -> ToolAnswer:
        """Call one as an agent. Not retried: what it does is safe to ask again, and whoever asks should know."""
        asked = {"arguments": dict(arguments), "agent": agent}
        return parsed(ToolAnswer, self._once("POST", f"tools/{part(name)}", json=asked, timeout=200.0))

    def login(self) -> Login:
        """Who the server is to Globus."""
        return self._get(Login, "login")

    def begin_login(self, way: LoginWay = "code") -> LoginStart:
        """A link to open. Safe to repeat: the same question has the same link."""
        return self._post(LoginStart, "login", {"way": way})

    def finish_login(self, code: str) -> Login:
        """Hand in the code that the link's page showed. Not retried: a code is good for one time."""
        return parsed(Login, self._once("POST", "login/code", json={"code": code}))

    def logout(self) -> Login:
        """Revoke the login at Globus and forget it."""
        return parsed(Login, self._call("DELETE", "login"))
