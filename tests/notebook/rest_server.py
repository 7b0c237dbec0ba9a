"""A real HTTP server that implements the REST contract in memory; a test drives its tasks through their states."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import re
import threading
import time
from datetime import datetime, timedelta, timezone
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from jupyter_diamond.agent.drafting.pool import Pool as DraftPool
from jupyter_diamond.agent.drafting.rules import draft
from jupyter_diamond.errors import Conflict, DiamondError, Infeasible, NotFound, ResultUnavailable
from jupyter_diamond.model.charge import (
    AccountCharges,
    AttemptCharge,
    Charge,
    Charges,
    SpendingCap,
    Spent,
    TaskCharges,
)
from jupyter_diamond.model.decision import Candidate, Decision, Verdict
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.forecast import Forecasts, SiteForecasts
from jupyter_diamond.model.group import Group, MemberSummary
from jupyter_diamond.model.history import HistorySeries, SiteHistory
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.manifest import CellError, Manifest, MissingValue, ResultFile
from jupyter_diamond.model.snapshot import Record, SiteReading, Snapshot
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Submitted, Task, TaskRequest, TaskSummary
from jupyter_diamond.model.views import ErrorView, EventPage, Interpreter, Limits, LogChunk, ResultView, Status
from jupyter_diamond.placement.idle import idle

KEY = "ab" * 32
TOKEN = "notebook-test-token"


def now() -> datetime:
    return datetime.now(timezone.utc)


def charges(*, tasks: bool) -> Charges:
    """One account with a balance, one place whose charge nobody knows, one cap."""
    known = AccountCharges(
        site="delta", account="abcd", unit="GPU-hour", attempts=2, live=1, predicted=3.0, reserved=2.0, actual=0.5,
        balance=100.0, balance_read_at=now() - timedelta(minutes=5),
    )  # fmt: skip
    own = AttemptCharge(n=1, site="delta", account="abcd", charge=Charge(unit="GPU-hour", predicted=1.0, at_most=2.0))
    return Charges(
        since=now() - timedelta(days=7), read_at=now(),
        accounts=(known, AccountCharges(site="vista", attempts=1, unknown=1)),
        tasks=(TaskCharges(task_id="t1", name="fit", attempts=(own,)),) if tasks else (),
        caps=(Spent(cap=SpendingCap(scope="day", amount=10.0, unit="GPU-hour"), spent=0.5, reserved=2.0),),
    )  # fmt: skip


class Pool:
    """The state behind the server. Every change is an event."""

    def __init__(self, inline_bytes: int = 1 << 20) -> None:
        self.lock = threading.Condition()
        self.tasks: dict[str, Task] = {}
        self.groups: dict[str, tuple[Group, list[MemberSummary]]] = {}
        self.requests: dict[str, TaskRequest] = {}
        self.drafts: list[DraftRequest] = []
        self.tokens: dict[str, str] = {}
        self.bundles: dict[str, bytes] = {}
        self.events: list[Event] = []
        self.logs: dict[str, bytes] = {}
        self.results: dict[str, ResultView] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.missing_modules: tuple[str, ...] = ()
        self.inline_bytes = inline_bytes
        self.calls: list[str] = []
        self.snapshots = 1
        self.reading: dict[str, Any] = {}

    # -- what a test does ------------------------------------------------------------------------------------

    def named(self, name: str) -> Task:
        with self.lock:
            found = [t for t in self.tasks.values() if t.name == name]
            if not found:
                raise NotFound(f"You have no task named {name!r}.")
            return found[-1]

    def wait_for(self, name: str, deadline_s: float = 10.0) -> Task:
        with self.lock:
            arrived = self.lock.wait_for(lambda: any(t.name == name for t in self.tasks.values()), timeout=deadline_s)
        assert arrived, f"no task {name} arrived"
        return self.named(name)

    def change(
        self,
        name: str,
        state: State | None = None,
        *,
        kind: str = "attempt.state_changed",
        task: dict | None = None,
        **attempt: Any,
    ) -> Task:
        with self.lock:
            old = self.named(name)
            new_state = state or old.state
            if state is State.RUNNING and old.attempt and old.attempt.started_at is None:
                attempt.setdefault("started_at", now())
            if new_state.terminal:
                attempt.setdefault("ended_at", now())
            changed = old.attempt.model_copy(update={"state": new_state, "state_since": now(), **attempt})
            new = old.model_copy(
                update={
                    "state": new_state,
                    "phase": new_state.phase,
                    "outcome": new_state.outcome,
                    "attempts": (*old.attempts[:-1], changed),
                    "ended_at": changed.ended_at if new_state.terminal else None,
                    "cause": changed.cause,
                    "next": changed.next,
                    **(task or {}),
                }
            )
            return self._event(kind, new, {"state": new_state.value})

    def start(self, name: str, job: str = "812345") -> Task:
        self.change(name, State.PENDING, native=NativeJob(id=job), submitted_at=now(), raw_state="PENDING")
        return self.change(name, State.RUNNING, raw_state="RUNNING")

    def log(self, name: str, text: str) -> None:
        with self.lock:
            task = self.named(name)
            self.logs[task.id] = self.logs.get(task.id, b"") + text.encode()

    def return_result(
        self,
        name: str,
        values: dict[str, Any] | None = None,
        *,
        outputs: list[dict] = (),
        error: CellError | None = None,
        missing: dict[str, str] | None = None,
    ) -> Task:
        """end.json is there: kernels fetch now."""
        with self.lock:
            task = self.named(name)
            found, inline = [], {}
            for key, value in (values or {}).items():
                data = json.dumps(value).encode()
                path = f"result/{key}.json"
                found.append(
                    ResultFile(
                        name=key,
                        codec="json",
                        file=path,
                        bytes=len(data),
                        type=type(value).__name__,
                        sha256=hashlib.sha256(data).hexdigest(),
                        hmac=hmac.new(bytes.fromhex(KEY), data, hashlib.sha256).hexdigest(),
                    )
                )
                self.files.setdefault(task.id, {})[path] = data
                if len(data) <= self.inline_bytes:
                    inline[path] = base64.b64encode(data).decode()
            manifest = Manifest(
                format=1,
                token=task.attempt.token,
                outcome="FAILED" if error else "OK",
                error=error,
                values=tuple(found),
                missing=tuple(MissingValue(name=k, why=w) for k, w in (missing or {}).items()),
                started_at=time.time(),
                ended_at=time.time(),
                host="node1",
            )
            self.results[task.id] = ResultView(
                task_id=task.id,
                attempt=task.attempt.n,
                manifest=manifest,
                key=KEY,
                inline=inline,
                outputs=tuple(outputs),
            )
        return self.change(name, State.COMPLETING, kind="attempt.result_ready", result_ready=True)

    def end(self, name: str, state: State = State.COMPLETED, **attempt: Any) -> Task:
        return self.change(name, state, kind="attempt.terminal", **attempt)

    def follow(self, name: str, why: str, state: State = State.NODE_FAIL, **attempt: Any) -> Task:
        """The newest attempt is over, and another one has begun: one event, as the store tells it."""
        with self.lock:
            task = self.named(name)
            ended = task.attempt.model_copy(update={"state": state, "state_since": now(), "ended_at": now(), **attempt})
            fresh = {"n": ended.n + 1, "state": State.WAITING, "step": "retry", "why": why, "result_ready": False}
            fresh |= {"native": None, "started_at": None, "raw_state": "", "token": f"dmd-{ended.n + 1:016d}"}
            begun = task.attempt.model_copy(update=fresh)
            new = task.model_copy(
                update={
                    "state": begun.state, "phase": begun.state.phase, "outcome": None,
                    "attempts": (*task.attempts[:-1], ended, begun),
                }
            )  # fmt: skip
            self.results.pop(task.id, None)
            self.logs.pop(task.id, None)
            return self._event("task.retry", new, {"attempt": begun.n, "why": why})

    def finish(self, name: str, values: dict[str, Any] | None = None, **how: Any) -> Task:
        self.return_result(name, values, **how)
        return self.end(
            name,
            State.FAILED if how.get("error") else State.COMPLETED,
            cause="NameError: y is not defined." if how.get("error") else "",
        )

    # -- what the API does -----------------------------------------------------------------------------------

    def _event(self, kind: str, task: Task, data: dict[str, Any]) -> Task:
        seq = len(self.events) + 1
        task = task.model_copy(update={"version": seq})
        self.events.append(Event(seq=seq, at=now(), type=kind, subject=f"task:{task.id}", data=data))
        self.tasks[task.id] = task
        self.lock.notify_all()
        return task

    def submit(self, request: TaskRequest, bundle: bytes) -> tuple[int, Submitted]:
        with self.lock:
            if request.client_token in self.tokens:
                return 200, Submitted(task=self.tasks[self.tokens[request.client_token]])
            for task in self.tasks.values():
                if task.name == request.name and not task.state.terminal and not request.again:
                    if task.digest == request.digest:
                        return 200, Submitted(task=task, attached=True)
                    raise Conflict(f"{request.name} is running with other code; cancel it, or add --again.")
            decision = self.plan(request.envelope)
            if decision.choice is None:
                raise Infeasible(decision.sentence)
            task_id = f"t{len(self.tasks) + 1:06d}"
            attempt = Attempt(
                n=1,
                token=f"dmd-{task_id}aaaa",
                site=decision.choice.site,
                partition=decision.choice.partition,
                size=decision.choice.size,
                created_at=now(),
                state_since=now(),
                folder=f"/scratch/me/diamond/attempts/dmd-{task_id}",
            )
            task = Task(
                id=task_id,
                name=request.name,
                language=request.language,
                state=State.WAITING,
                phase=State.WAITING.phase,
                created_at=now(),
                source=request.source,
                digest=request.digest,
                outputs=request.outputs,
                envelope=request.envelope,
                captured=request.captured,
                notebook=request.notebook,
                why_here=decision.sentence,
                attempts=(attempt,),
            )
            self.requests[task_id], self.bundles[task_id] = request, bundle
            self.tokens[request.client_token] = task_id
            return 201, Submitted(task=self._event("task.created", task, {}))

    def draft(self, asked: DraftRequest) -> Draft:
        """By the real rules, over sites of these names."""
        found = draft(asked, pool=DraftPool(sites=("delta", "vista")), now=now())
        decision = self.plan(found.envelope)
        return found.model_copy(update={"feasible": decision.choice is not None, "where": decision.sentence})

    def plan(self, envelope: Envelope) -> Decision:
        memory = envelope.memory_bytes.max if envelope.memory_bytes else None
        size = Size(
            nodes=envelope.nodes.max,
            cpus=envelope.cpus.max,
            gpus=envelope.gpus.max,
            memory_bytes=memory,
            walltime_s=envelope.walltime_s.max,
        )
        good = Verdict(
            rule="capacity", answer="pass", observed="64", required="4", sentence="64 of 128 cores are free."
        )
        bad = Verdict(
            rule="walltime",
            answer="fail",
            observed="30 min",
            required="4 h",
            sentence="its limit is 30 min, and you asked for more.",
        )
        rows = (
            Candidate(
                site="delta",
                partition="gpuA100x4",
                size=size,
                verdicts=(good,),
                feasible=True,
                starts_now=True,
                record_age_s=12,
                rank=1,
            ),
            Candidate(
                site="delta",
                partition="cpu",
                size=size,
                verdicts=(good,),
                feasible=True,
                starts_now=False,
                queue_ahead=14,
                record_age_s=12,
                rank=2,
            ),
            Candidate(site="vista", partition="gh", verdicts=(bad,), feasible=False, record_age_s=41),
        )
        if envelope.cpus.min > 128:
            return Decision(
                made_at=now(),
                snapshot_id=1,
                mode="rules",
                envelope=envelope,
                candidates=rows[2:],
                chosen=None,
                sentence=f"No site has a node with {envelope.cpus.min} CPUs; the largest has 128, at delta.",
            )
        return Decision(
            made_at=now(),
            snapshot_id=1,
            mode="rules",
            envelope=envelope,
            candidates=rows,
            chosen=0,
            sentence="starts soonest of 2 feasible; vista would start now but allows only 30 min",
        )

    def by_ref(self, ref: str) -> Task:
        with self.lock:
            return self.tasks[ref] if ref in self.tasks else self.named(ref)

    def page(self, after: int, wait: float) -> EventPage:
        with self.lock:
            if after < 0:
                return EventPage(events=(), cursor=len(self.events))
            self.lock.wait_for(lambda: len(self.events) > after, timeout=wait)
            return EventPage(events=tuple(self.events[after:]), cursor=max(after, len(self.events)))

    def snapshot(self) -> Snapshot:
        record = Record(
            site="delta",
            partition="gpuA100x4",
            state="up",
            read_at=now() - timedelta(seconds=12),
            cpus_total=512,
            cpus_free=190,
            gpus_total=32,
            gpus_free=6,
            pending=14,
            running=40,
        )
        reading = SiteReading(
            site="delta",
            transport="local",
            scheduler="slurm",
            health="online",
            read_at=now() - timedelta(seconds=12),
            records=(record,),
            cpus_total=512,
            cpus_free=190,
            gpus_total=32,
            gpus_free=6,
            pending=14,
            running=40,
        )
        return Snapshot(
            id=self.snapshots,
            taken_at=now(),
            sites=(
                reading.model_copy(update=self.reading),
                SiteReading(site="vista", transport="local", scheduler="slurm", problem="vista does not answer."),
            ),
        )

    def read_anew(self, **reading: Any) -> None:
        """The next probe of delta gave this."""
        with self.lock:
            self.reading = {"read_at": now(), **reading}
            self.snapshots += 1
            self.lock.notify_all()

    def past(self, site: str) -> SiteHistory:
        if site != "delta":
            raise NotFound(f"There is no site {site!r}.")
        at = tuple(now() - timedelta(minutes=left) for left in (2, 1))
        series = HistorySeries(
            partition="gpuA100x4", unit="GPU", at=at, readings=(1, 1), free=(6, None), total=(8, 8), pending=(14, 0),
            running=(40, 40), mine_pending=(0, 0), mine_running=(1, 1),
        )  # fmt: skip
        return SiteHistory(site=site, since=now() - timedelta(hours=24), span_s=0, series=(series,))

    def snapshot_after(self, after: int, wait_s: float) -> Snapshot:
        with self.lock:
            self.lock.wait_for(lambda: self.snapshots != after, timeout=min(wait_s, 1.0))
            return self.snapshot()

    def summaries(self, query: dict[str, str]) -> dict[str, Any]:
        with self.lock:
            rows = [
                TaskSummary(
                    id=t.id,
                    name=t.name,
                    state=t.state,
                    phase=t.phase,
                    outcome=t.outcome,
                    site=t.attempt.site,
                    partition=t.attempt.partition,
                    native_id=t.attempt.native.id if t.attempt.native else None,
                    created_at=t.created_at,
                    started_at=t.attempt.started_at,
                    ended_at=t.ended_at,
                    walltime_s=t.attempt.size.walltime_s,
                    cause=t.cause,
                    attempts=1,
                    version=t.version,
                ).model_dump(mode="json")
                for t in reversed(self.tasks.values())
                if query.get("phase") in (None, "ended" if t.state.terminal else "active")
                and query.get("name") in (None, t.name)
            ]
        return {"tasks": rows[: int(query.get("limit", 100))]}

    def read_log(self, task: Task, query: dict[str, str]) -> LogChunk:
        data = self.logs.get(task.id)
        if data is None:
            return LogChunk(text="", offset=0, next_offset=0, size=None, exists=False)
        start = (
            max(0, len(data) - int(query["tail"])) if "tail" in query else min(int(query.get("offset", 0)), len(data))
        )
        piece = data[start : start + int(query.get("limit", 65536))]
        return LogChunk(text=piece.decode(), offset=start, next_offset=start + len(piece), size=len(data), exists=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # as in tornado; else every answer waits 40 ms for an acknowledgement
    base = "/user/me/jupyter_diamond/api"

    def log_message(self, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        pool: Pool = self.server.pool
        pool.calls.append(f"{self.command} {url.path.removeprefix(self.base)}")
        if self.headers.get("Authorization") != f"token {TOKEN}":
            return self._send(403, b'{"message": "Forbidden"}')
        if not url.path.startswith(self.base):
            return self._send(404, b"<html>404</html>", "text/html")
        query = {key: values[-1] for key, values in parse_qs(url.query).items()}
        try:
            status, answer = self._route(pool, url.path.removeprefix(self.base), query, body)
        except DiamondError as fault:
            view = ErrorView(code=fault.code, message=fault.message, transient=fault.transient, evidence=fault.evidence)
            return self._send(fault.http_status, view.model_dump_json().encode())
        if isinstance(answer, bytes):
            return self._send(status, answer, "application/octet-stream")
        return self._send(
            status, (json.dumps(answer) if isinstance(answer, dict) else answer.model_dump_json()).encode()
        )

    def _route(self, pool: Pool, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:  # noqa: PLR0911, PLR0912 - a route a line
        if path == "/status":
            limits = Limits(value_bytes=1 << 20, bundle_bytes=1 << 24, inline_result_bytes=pool.inline_bytes)
            return 200, Status(
                version="0.1.0",
                advances_work=True,
                lease_holder="x",
                store_path="s",
                limits=limits,
                active_tasks=0,
                newest_event=len(pool.events),
            )
        if path == "/sites" and "after" in query:
            return 200, pool.snapshot_after(int(query["after"]), float(query["wait"]))
        if path in ("/sites", "/sites/refresh"):
            return 200, pool.snapshot()
        if path == "/sites/history":
            return 200, pool.past(query["site"])
        if path == "/forecasts":
            found = SiteForecasts(site="delta", n=9, error_s=40.0, coverage=0.75, banded=8, methods={"replay": 9})
            return 200, Forecasts(made_at=now(), sites=(found, SiteForecasts(site="vista")))
        if path == "/charges":
            return 200, charges(tasks=query["tasks"] == "true")
        if path == "/idle":
            return 200, idle(pool.plan(Envelope.model_validate(json.loads(body)["envelope"])), pool.snapshot())
        if re.fullmatch(r"/sites/([^/]+)/interpreter", path):
            asked = json.loads(body)["modules"]
            return 200, Interpreter(
                executable="/usr/bin/python3",
                version=(3, 11, 2),
                missing=tuple(m for m in asked if m in pool.missing_modules),
                read_at=now(),
            )
        if path == "/plan":
            asked = json.loads(body)
            decision = pool.plan(Envelope.model_validate(asked["envelope"]))
            if asked["members"] > 1:
                shared = f"{asked['members']} at delta. Of the best: {decision.sentence}"
                decision = decision.model_copy(update={"sentence": shared})
            return 200, decision
        if path == "/draft":
            pool.drafts.append(DraftRequest.model_validate_json(body))
            return 200, pool.draft(pool.drafts[-1])
        if path == "/events":
            return 200, pool.page(int(query["after"]), float(query.get("wait", 0)))
        if path == "/tasks" and self.command == "POST":
            return pool.submit(*self._multipart(body))
        if path == "/tasks":
            return 200, pool.summaries(query)
        if path.startswith("/groups"):
            return 200, self._group(pool, *path.split("/")[2:])
        ref, _, what = path.removeprefix("/tasks/").partition("/")
        return 200, self._task(pool, pool.by_ref(unquote(ref)), what, query)

    def _group(self, pool: Pool, ref: str = "", what: str = "") -> Any:
        """Groups as they stand; a test with a real server moves them."""
        if ref == "":
            return {"groups": [group.model_dump(mode="json") for group, _ in pool.groups.values()]}
        if ref not in pool.groups:
            raise NotFound(f"There is no group {ref!r}.")
        group, members = pool.groups[ref]
        return {"tasks": [each.model_dump(mode="json") for each in members]} if what == "tasks" else group

    def _task(self, pool: Pool, task: Task, what: str, query: dict[str, str]) -> Any:  # noqa: PLR0911 - a route a line
        if what == "":
            return task
        if what == "cancel":
            pool.change(task.name, kind="task.cancel_requested", task={"cancel_requested_by": "you"})
            return pool.end(task.name, State.CANCELLED)
        if what in ("hold", "release"):
            held = "you" if what == "hold" else None
            return pool.change(task.name, kind="task.held" if held else "task.released", task={"held_by": held})
        if what == "decision":
            return pool.plan(task.envelope)
        if what == "events":
            return EventPage(
                events=tuple(e for e in pool.events if e.subject == f"task:{task.id}"), cursor=len(pool.events)
            )
        if what == "logs":
            return pool.read_log(task, query)
        if what == "result":
            if task.id not in pool.results:
                raise ResultUnavailable(f"`{task.name}` has no result yet.")
            return pool.results[task.id]
        if what.startswith("files/"):
            return pool.files[task.id][unquote(what.removeprefix("files/"))]
        raise NotFound(f"No {what}.")

    def _multipart(self, body: bytes) -> tuple[TaskRequest, bytes]:
        message = BytesParser().parsebytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body
        )
        parts = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in message.get_payload()
        }
        return TaskRequest.model_validate_json(parts["request"]), parts["bundle"]

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], pool: Pool) -> None:
        super().__init__(address, Handler)
        self.pool = pool
        self.open: set = set()

    def process_request(self, request, client_address) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address) -> None:
        """A connection that the test cut."""


class RestServer:
    """Starts, stops and restarts in front of one pool, as a Jupyter server does in front of its store."""

    def __init__(self, pool: Pool | None = None, port: int = 0) -> None:
        self.pool = pool or Pool()
        self.port = port
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/user/me/"

    def start(self) -> RestServer:
        self._server = _Server(("127.0.0.1", self.port), self.pool)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        import socket

        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown()
        server.server_close()
        for connection in list(server.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
