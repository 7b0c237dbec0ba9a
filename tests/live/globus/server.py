"""HTTP on loopback that several services share: routes, faults by rule before and after the act, and a log of it all."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

Json = Any  # what json.loads gives
Answer = tuple[int, Json] | tuple[int, Json, Mapping[str, str]]  # status, body, headers


class HttpError(Exception):
    """An answer that is no success; a handler raises it."""

    def __init__(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status} {body}")
        self.status, self.body, self.headers = status, body, dict(headers or {})


@dataclass
class Fault:
    """What happens to the next ``times`` requests whose "METHOD /path?query" matches; -1 is for ever.

    ``before``: the service never sees the request. ``after``: it does what was asked, and its answer is replaced or
    lost: the case that makes duplicates.
    """

    match: str
    status: int | None = None
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    when: Literal["before", "after"] = "before"
    delay: float = 0.0  # seconds, before anything else
    drop: bool = False  # close the connection without an answer
    hits: int = 0

    @property
    def replaces(self) -> bool:
        return self.drop or self.status is not None


@dataclass
class Request:
    """One request as a handler sees it."""

    method: str
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    raw: bytes

    def json(self) -> Json:
        try:
            return json.loads(self.raw)
        except ValueError as error:
            raise HttpError(400, {"code": "BAD_REQUEST", "message": f"The body is not JSON: {error}"}) from None

    def form(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(self.raw.decode()).items()}

    @property
    def bearer(self) -> str | None:
        """The token of the request."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme == "Bearer" else None


@dataclass
class Exchange:
    """One line of the log: what was asked, what was done, what was answered. The log of Globus Auth has tokens in it: they are the stand-in's own."""

    line: str  # METHOD /path?query
    at: float  # Unix time
    user_agent: str
    asked: Json = None
    status: int | None = None  # None: the connection was dropped
    done: int | None = (
        None  # the status that the service gave before a fault replaced it; None: it never saw the request
    )
    answered: Json = None


Handler = Callable[..., Answer]


class Router:
    """Routes with ``{names}`` in their paths."""

    def __init__(self) -> None:
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []

    def add(self, method: str, path: str, handler: Handler) -> None:
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + "/?")
        self._routes.append((method, pattern, handler))

    def answer(self, request: Request) -> Answer:
        for method, pattern, handler in self._routes:
            found = pattern.fullmatch(request.path)
            if found and method == request.method:
                return handler(request, **found.groupdict())
        raise HttpError(404, {"code": "NotFound", "message": f"No route {request.method} {request.path}"})


class _Http(ThreadingHTTPServer):
    """Knows its connections, so that a service that goes takes them along."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _handler(answer))

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        try:
            super().finish_request(request, client_address)
        except OSError:  # the client went, or we cut the line
            return
        finally:
            self.open.discard(request)

    def cut(self) -> None:
        for connection in list(self.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _handler(answer: Callable[[BaseHTTPRequestHandler], None]) -> type[BaseHTTPRequestHandler]:
    class Handle(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            """Keep quiet: the log is ours."""

        def go(self) -> None:
            answer(self)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = go  # noqa: N815 - names of http.server

    return Handle


class Server:
    """Routes on a port of its own, with faults and a log."""

    def __init__(self, port: int = 0) -> None:
        self.router = Router()
        self.faults: list[Fault] = []
        self.log: list[Exchange] = []
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self.port = port
        self._http: _Http | None = None
        self.up()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        """Listen, on the same port as before."""
        self._http = _Http(self.port, self._serve)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def down(self) -> None:
        """Be gone: nobody listens, and what was open is cut. ``up`` comes back with all that was known."""
        http, self._http = self._http, None
        if http is not None:
            http.shutdown()
            http.server_close()
            http.cut()

    def close(self) -> None:
        self.closing.set()
        self.down()

    def fault(self, match: str, **what: Any) -> Fault:
        """Add a rule; the fields are those of Fault. The first rule that matches and is not used up applies."""
        rule = Fault(match, **what)
        if rule.when not in ("before", "after"):
            raise ValueError(f"when is before or after, not {rule.when!r}")
        with self.lock:
            self.faults.append(rule)
        return rule

    def heal(self) -> None:
        """Forget every fault rule."""
        with self.lock:
            self.faults.clear()

    def requests(self, match: str = "") -> list[Exchange]:
        """The requests until now whose line matches."""
        with self.lock:
            return [exchange for exchange in self.log if re.search(match, exchange.line)]

    def _serve(self, http: BaseHTTPRequestHandler) -> None:
        request, exchange = _read(http)
        with self.lock:
            fault = next((rule for rule in self.faults if rule.times and re.search(rule.match, exchange.line)), None)
            if fault:
                fault.times -= 1
                fault.hits += 1
            self.log.append(exchange)
        if fault:
            self.closing.wait(fault.delay)
        status, body, headers = self._act(request, exchange, fault)
        if fault and fault.drop:
            http.close_connection = True
            with contextlib.suppress(OSError):
                http.connection.shutdown(socket.SHUT_RDWR)
            return
        exchange.status, exchange.answered = status, body
        _write(http, status, body, headers)

    def _act(self, request: Request, exchange: Exchange, fault: Fault | None) -> tuple[int, Json, Mapping[str, str]]:
        if fault is None or not fault.replaces or fault.when == "after":
            answer = self._answer(request)
            exchange.done = answer[0]
            if fault is None or not fault.replaces:
                return answer[0], answer[1], answer[2] if len(answer) > 2 else {}
        status = fault.status or 0
        body = {"code": "Injected", "message": f"injected {status}"} if fault.body is None else fault.body
        return status, body, fault.headers

    def _answer(self, request: Request) -> Answer:
        try:
            return self.router.answer(request)
        except HttpError as error:
            return error.status, error.body, error.headers
        except Exception as error:  # a bug of the stand-in: say so in the answer and on stderr, and keep serving
            traceback.print_exc()
            return 500, {"code": "STANDIN_BUG", "message": repr(error)}


def _read(http: BaseHTTPRequestHandler) -> tuple[Request, Exchange]:
    split = urlsplit(http.path)  # a client behind HTTP_PROXY sends the whole address
    raw = http.rfile.read(int(http.headers.get("Content-Length") or 0))
    query = {key: values[0] for key, values in parse_qs(split.query, keep_blank_values=True).items()}
    path = re.sub("//+", "/", split.path)  # a base address with a slash at its end doubles it
    request = Request(http.command, path, query, dict(http.headers), raw)
    line = f"{http.command} {path}" + (f"?{split.query}" if split.query else "")
    exchange = Exchange(line, time.time(), http.headers.get("User-Agent", ""), _readable(http, request))
    return request, exchange


def _readable(http: BaseHTTPRequestHandler, request: Request) -> Json:
    kind = http.headers.get("Content-Type", "")
    with contextlib.suppress(ValueError, HttpError):
        if "json" in kind:
            return request.json()
        if "form" in kind:
            return request.form()
    return request.raw.decode("utf-8", "backslashreplace") or None


def _write(http: BaseHTTPRequestHandler, status: int, body: Json, headers: Mapping[str, str]) -> None:
    text = isinstance(body, str) and (body.lstrip().startswith("<") or "Content-Type" in headers)
    data = body.encode() if text else json.dumps(body).encode()
    headers = {"Content-Type": "text/html" if text else "application/json", **headers, "Content-Length": str(len(data))}
    with contextlib.suppress(OSError):  # the client gave up waiting
        http.send_response(status)
        for name, value in headers.items():
            http.send_header(name, value)
        http.end_headers()
        http.wfile.write(data)
