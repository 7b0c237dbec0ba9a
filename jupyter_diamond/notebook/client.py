"""The kernel's client of our REST API: typed answers, our own errors, tolerant of a server that restarts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from jupyter_diamond.errors import BY_CODE, DiamondError, ServerUnavailable, SubmitRefused, TransportError
from jupyter_diamond.model.charge import Charges
from jupyter_diamond.model.continuation import Continuation, Cursor, Registered, Registration
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.endpoint import Endpoints
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.forecast import Forecasts
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.login import Login, LoginStart, LoginWay
from jupyter_diamond.model.looks import Accounted, Executed, Idle, Preflight, PutFile, SiteEnv
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.task import Submitted, Task, TaskRequest, TaskSummary
from jupyter_diamond.model.views import ErrorView, EventPage, Interpreter, LogChunk, ResultView, Status

from .connect import ServerAddress, find_server

M = TypeVar("M", bound=BaseModel)
_SUMMARIES = TypeAdapter(tuple[TaskSummary, ...])

CONNECT_S = 5.0
ANSWER_S = 60.0
RETRY_AFTER_S = (0.0, 0.2, 0.8, 2.0)
"""A call is tried again after these pauses. All calls are idempotent: a submission carries its client_token."""


class DiamondClient:
    """One per kernel, used from any thread. The server is looked up again whenever it cannot be reached."""

    def __init__(self, find: Callable[[], ServerAddress] = find_server) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._address: ServerAddress | None = None
        self._http: httpx.Client | None = None

    def __enter__(self) -> DiamondClient:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        with self._lock:
            if self._http is not None:
                self._http.close()
            self._http, self._address = None, None

    @property
    def host(self) -> str:
        """The server's address, for sentences."""
        return self._address.host if self._address else "the Jupyter server"

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
        return _parsed(Snapshot, self._once("GET", "sites", timeout=wait_s + 20.0, params=asked))

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

    def interpreter(self, site: str, modules: tuple[str, ...], python: str | None = None) -> Interpreter:
        """What would run the cell at a site, and which of the modules cannot be imported there."""
        return self._post(Interpreter, f"sites/{_part(site)}/interpreter", {"python": python, "modules": list(modules)})

    def plan(self, envelope: Envelope) -> Decision:
        """Where it would go now; nothing is started."""
        return self._post(Decision, "plan", {"envelope": envelope.model_dump(mode="json")})

    def idle(self, envelope: Envelope) -> Idle:
        """Where such a job could start now."""
        return self._post(Idle, "idle", {"envelope": envelope.model_dump(mode="json")})

    def site_env(self, site: str) -> SiteEnv:
        """Facts of a site's login node, read now."""
        return self._get(SiteEnv, f"sites/{_part(site)}/env")

    def execute(self, site: str, command: str) -> Executed:
        """Look around at a site with one program that only reads."""
        return self._post(Executed, f"sites/{_part(site)}/exec", {"command": command})

    def put_file(self, site: str, name: str, data: bytes, *, replace: bool = False) -> PutFile:
        """Put one small file into a site's work folder. Not retried: it may be there already."""
        path = f"sites/{_part(site)}/files/{_part(name)}"
        headers = {"Content-Type": "application/octet-stream"}
        asked = {"replace": str(replace).lower()}
        return _parsed(PutFile, self._once("PUT", path, content=data, headers=headers, params=asked))

    def preflight(self, site: str) -> Preflight:
        """Try a site for real; takes as long as the site does."""
        return _parsed(Preflight, self._call("POST", f"sites/{_part(site)}/preflight", json={}, timeout=200.0))

    def endpoints(self) -> Endpoints:
        """The user's Globus Compute endpoints: two requests for each, of a few in ten seconds."""
        return _parsed(Endpoints, self._call("GET", "endpoints", timeout=90.0))

    def smoke(self, site: str, client_token: str) -> Submitted:
        """Send the smallest real job there. Safe to repeat with the same token."""
        return self._post(Submitted, f"sites/{_part(site)}/smoke", {"client_token": client_token})

    def accounted(self, ref: str) -> Accounted:
        """What the site's accounting says of a task's newest job, asked now."""
        return self._get(Accounted, f"tasks/{_part(ref)}/accounting")

    def submit(self, request: TaskRequest, bundle: bytes) -> Submitted:
        """Hand over a task. Safe to repeat: the same client_token always gives the same task."""
        answer = self._call(
            "POST",
            "tasks",
            data={"request": request.model_dump_json()},
            files={"bundle": ("bundle.tar", bundle, "application/x-tar")},
        )
        return _parsed(Submitted, answer)

    def tasks(
        self, *, name: str | None = None, phase: str | None = None, notebook: str | None = None, limit: int = 100
    ) -> tuple[TaskSummary, ...]:
        """Newest first. ``phase`` is ``active`` or ``ended``."""
        asked = {"name": name, "phase": phase, "notebook": notebook, "limit": limit}
        answer = self._call("GET", "tasks", params={k: v for k, v in asked.items() if v is not None})
        try:
            return _SUMMARIES.validate_python(answer.json()["tasks"])
        except (ValueError, KeyError, TypeError) as fault:
            raise _unreadable(answer, fault) from fault

    def task(self, ref: str) -> Task:
        """A task by id, or the newest of that name."""
        return self._get(Task, f"tasks/{_part(ref)}")

    def cancel(self, ref: str) -> Task:
        """Ask for its end. Returns at once; the task says ``cancelled`` when its site does."""
        return self._post(Task, f"tasks/{_part(ref)}/cancel", {})

    def replan(self, ref: str, *, unpin: bool = False) -> Task:
        """Plan it anew; its waiting job is taken back where another place is better."""
        return self._post(Task, f"tasks/{_part(ref)}/replan", {"unpin": unpin})

    def hold(self, ref: str) -> Task:
        """Submit nothing of it for now."""
        return self._post(Task, f"tasks/{_part(ref)}/hold", {})

    def release(self, ref: str) -> Task:
        """Let a held one go on."""
        return self._post(Task, f"tasks/{_part(ref)}/release", {})

    def decision(self, ref: str) -> Decision:
        """The stored decision."""
        return self._get(Decision, f"tasks/{_part(ref)}/decision")

    def task_events(self, ref: str, after: int = 0, limit: int = 500) -> EventPage:
        """What happened to one task, oldest first."""
        return self._get(EventPage, f"tasks/{_part(ref)}/events", {"after": after, "limit": limit})

    def logs(self, ref: str, offset: int = 0, *, limit: int | None = None, tail: int | None = None) -> LogChunk:
        """A piece of the job's log; ``tail`` asks for the last bytes."""
        asked: dict[str, Any] = {"offset": offset}
        if limit is not None:
            asked["limit"] = limit
        if tail is not None:
            asked["tail"] = tail
        return self._get(LogChunk, f"tasks/{_part(ref)}/logs", asked)

    def result(self, ref: str) -> ResultView:
        """The receipt with its small values. Raises ResultUnavailable while it is not there."""
        return self._get(ResultView, f"tasks/{_part(ref)}/result")

    def file(self, ref: str, path: str) -> bytes:
        """One file of a finished attempt, e.g. ``result/model.pickle``."""
        return self._call("GET", f"tasks/{_part(ref)}/files/{quote(path)}").content

    def events(self, after: int, *, wait_s: float = 0, limit: int = 500) -> EventPage:
        """Events of all tasks after a cursor; waits up to ``wait_s`` for the first. Not retried: the caller loops."""
        asked = {"after": after, "wait": wait_s, "limit": limit}
        return _parsed(EventPage, self._once("GET", "events", timeout=wait_s + 20.0, params=asked))

    def register(self, asked: Registration) -> Registered:
        """Wake a consumer when something happens to a task. Safe to repeat: the same id is the same registration."""
        return self._post(Registered, "continuations", asked.model_dump(mode="json"))

    def wait_for_news(
        self, consumer: str, after: int | None = None, *, wait_s: float = 0, limit: int = 100
    ) -> EventPage:
        """A consumer's news after its cursor; waits up to ``wait_s`` for the first. Not retried: the caller loops."""
        asked = {"consumer": consumer, "wait": wait_s, "limit": limit} | ({} if after is None else {"after": after})
        return _parsed(EventPage, self._once("GET", "continuations/wait", timeout=wait_s + 20.0, params=asked))

    def acknowledge(self, consumer: str, seq: int) -> Cursor:
        """The consumer has read its news up to a number."""
        return self._post(Cursor, "continuations/ack", {"consumer": consumer, "seq": seq})

    def withdraw(self, continuation_id: str) -> Continuation:
        """Take a registration back."""
        return _parsed(Continuation, self._call("DELETE", f"continuations/{_part(continuation_id)}"))

    def login(self) -> Login:
        """Who the server is to Globus."""
        return self._get(Login, "login")

    def begin_login(self, way: LoginWay = "code") -> LoginStart:
        """A link to open. Safe to repeat: the same question has the same link."""
        return self._post(LoginStart, "login", {"way": way})

    def finish_login(self, code: str) -> Login:
        """Hand in the code that the link's page showed. Not retried: a code is good for one time."""
        return _parsed(Login, self._once("POST", "login/code", json={"code": code}))

    def logout(self) -> Login:
        """Revoke the login at Globus and forget it."""
        return _parsed(Login, self._call("DELETE", "login"))

    # -- how it is asked ---------------------------------------------------------------------------------------

    def _get(self, model: type[M], path: str, params: Mapping[str, Any] | None = None) -> M:
        return _parsed(model, self._call("GET", path, params=params or {}))

    def _post(self, model: type[M], path: str, body: Mapping[str, Any]) -> M:
        return _parsed(model, self._call("POST", path, json=body))

    def _call(self, method: str, path: str, **how: Any) -> httpx.Response:
        fault: ServerUnavailable | None = None
        for pause in RETRY_AFTER_S:
            time.sleep(pause)
            try:
                return self._once(method, path, **how)
            except ServerUnavailable as gone:
                if not gone.transient:
                    raise
                fault = gone
        assert fault is not None
        raise fault

    def _once(self, method: str, path: str, *, timeout: float = ANSWER_S, **how: Any) -> httpx.Response:
        http, address = self._connection()
        try:
            answer = http.request(method, address.api + path, timeout=httpx.Timeout(timeout, connect=CONNECT_S), **how)
        except httpx.TransportError as fault:
            self._forget(address)
            raise _unreachable(address, fault) from fault
        except RuntimeError as fault:  # another thread met an outage and closed this connection pool
            if "closed" not in str(fault):
                raise
            raise ServerUnavailable(
                f"The connection to {address.host} was reset; try again.", transient=True
            ) from fault
        if answer.status_code >= 400:
            if answer.status_code in (401, 403):
                self._forget(address)
            raise _refusal(answer, address)
        return answer

    def _connection(self) -> tuple[httpx.Client, ServerAddress]:
        with self._lock:
            if self._http is None or self._address is None:
                self._address = self._find()
                self._http = httpx.Client(
                    headers={"Authorization": f"token {self._address.token}"} if self._address.token else {},
                    trust_env=not self._address.loopback,
                    verify=self._address.url.startswith("https:"),  # certificates take 0.1 s to load: only where used
                    limits=httpx.Limits(max_connections=16, max_keepalive_connections=8, keepalive_expiry=60),
                )
            return self._http, self._address

    def _forget(self, address: ServerAddress) -> None:
        """Look the server up again before the next call: after a restart its port and token are new."""
        with self._lock:
            if self._address == address and self._find_changed(address):
                if self._http is not None:
                    self._http.close()
                self._http, self._address = None, None

    def _find_changed(self, address: ServerAddress) -> bool:
        try:
            return self._find() != address
        except ServerUnavailable:
            return True


def _part(ref: str) -> str:
    """One path segment, whatever it holds."""
    return quote(ref, safe="") or "-"


def _parsed(model: type[M], answer: httpx.Response) -> M:
    try:
        return model.model_validate_json(answer.content)
    except ValidationError as fault:
        raise _unreadable(answer, fault) from fault


def _unreadable(answer: httpx.Response, fault: Exception) -> ServerUnavailable:
    return ServerUnavailable(
        f"The Jupyter server answered {answer.request.url.path} in a form that this kernel's jupyter_diamond does not "
        "know: the two are of different versions. Restart JupyterLab and the kernel after an upgrade.",
        evidence=(str(fault)[:500],),
    )


def _unreachable(address: ServerAddress, fault: httpx.TransportError) -> ServerUnavailable:
    what = "did not answer in time" if isinstance(fault, httpx.TimeoutException) else "cannot be reached"
    return ServerUnavailable(
        f"The Jupyter server at {address.host} {what}. Tasks at their sites are not affected; "
        "try again when the server is back.",
        transient=True,
        evidence=(f"{type(fault).__name__}: {fault}",),
    )


def _refusal(answer: httpx.Response, address: ServerAddress) -> DiamondError:
    try:
        body = json.loads(answer.content)
        view = ErrorView.model_validate(body)
    except ValueError:
        return _foreign_refusal(answer, address)
    if view.code == TransportError.code:
        return TransportError(view.message, outcome="unknown", transient=view.transient, evidence=view.evidence)
    if view.code == SubmitRefused.code:
        return SubmitRefused(view.message, permanent=not view.transient, evidence=view.evidence)
    kind = BY_CODE.get(view.code, DiamondError)
    return kind(view.message, transient=view.transient, evidence=view.evidence)


def _foreign_refusal(answer: httpx.Response, address: ServerAddress) -> DiamondError:
    """An answer that is not ours: a proxy's, a login page's, or a server's without our extension."""
    evidence = (f"{answer.status_code} {answer.text[:200]}",)
    if answer.status_code in (401, 403):
        return ServerUnavailable(
            f"The Jupyter server at {address.host} does not accept this kernel's token. Restart the kernel, or set "
            "DIAMOND_SERVER_TOKEN to the server's token.",
            evidence=evidence,
        )
    if answer.status_code == 404:
        return ServerUnavailable(
            f"The Jupyter server at {address.host} runs without jupyter_diamond. Install it in the server's "
            "environment too, then restart JupyterLab: jupyter server extension enable jupyter_diamond.",
            evidence=evidence,
        )
    return ServerUnavailable(
        f"The Jupyter server at {address.host} answered {answer.status_code} instead of a task. "
        "Its log says more; try again.",
        transient=answer.status_code in (502, 503, 504),
        evidence=evidence,
    )
