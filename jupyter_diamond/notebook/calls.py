"""How the server is asked: one connection, tries again after an outage, our own errors for every refusal."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from jupyter_diamond.errors import BY_CODE, DiamondError, ServerUnavailable, SubmitRefused, TransportError
from jupyter_diamond.model.views import ErrorView

from .connect import ServerAddress, find_server

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

CONNECT_S = 5.0
ANSWER_S = 60.0
RETRY_AFTER_S = (0.0, 0.2, 0.8, 2.0)
"""A call is tried again after these pauses. All calls are idempotent: a submission carries its client_token."""


class Line:
    """The connections to one address, and how many calls are using them."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self.users = 0
        self.retired = False
        self.http = httpx.Client(
            headers={"Authorization": f"token {address.token}"} if address.token else {},
            trust_env=not address.loopback,
            verify=address.url.startswith("https:"),  # certificates take 0.1 s to load: only where used
            limits=httpx.Limits(max_connections=16, max_keepalive_connections=8, keepalive_expiry=60),
        )

    def close_if_done(self) -> None:
        """Close them when nothing new is asked here and the last answer has come."""
        if self.retired and not self.users:
            self.http.close()


class Calls:
    """Used from any thread. The server is looked up again whenever it cannot be reached."""

    def __init__(self, find: Callable[[], ServerAddress] = find_server) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._line: Line | None = None
        self._closed = False

    def close(self) -> None:
        """Let go of the connections, for good: what other threads still ask is answered, nothing new is asked."""
        with self._lock:
            self._closed = True
            self._retire()

    @property
    def host(self) -> str:
        """The server's address, for sentences."""
        line = self._line
        return line.address.host if line else "the Jupyter server"

    # -- how it is asked ---------------------------------------------------------------------------------------

    def _get(self, model: type[M], path: str, params: Mapping[str, Any] | None = None) -> M:
        return parsed(model, self._call("GET", path, params=params or {}))

    def _post(self, model: type[M], path: str, body: Mapping[str, Any]) -> M:
        return parsed(model, self._call("POST", path, json=body))

    def _list(self, kind: TypeAdapter[tuple[T, ...]], path: str, params: Mapping[str, Any]) -> tuple[T, ...]:
        """A list, which the answer has under the path's last word; what is None is not asked for."""
        answer = self._call("GET", path, params={name: value for name, value in params.items() if value is not None})
        try:
            return kind.validate_python(answer.json()[path.rpartition("/")[2]])
        except (ValueError, KeyError, TypeError) as fault:
            raise _unreadable(answer, fault) from fault

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
        with self._on_the_line() as line:
            address, within = line.address, httpx.Timeout(timeout, connect=CONNECT_S)
            try:
                answer = line.http.request(method, address.api + path, timeout=within, **how)
            except httpx.TransportError as fault:
                self._forget(address)
                raise _unreachable(address, fault) from fault
        if answer.status_code >= 400:
            if answer.status_code in (401, 403):
                self._forget(address)
            raise _refusal(answer, address)
        return answer

    @contextmanager
    def _on_the_line(self) -> Iterator[Line]:
        """The connections for one call. They are closed by whoever uses them last, never under another thread."""
        with self._lock:
            if self._closed:
                raise ServerUnavailable("This client was closed: its kernel's session has ended.")
            if self._line is None:
                self._line = Line(self._find())
            line = self._line
            line.users += 1
        try:
            yield line
        finally:
            with self._lock:
                line.users -= 1
                line.close_if_done()

    def _forget(self, address: ServerAddress) -> None:
        """Look the server up again before the next call: after a restart its port and token are new."""
        with self._lock:
            if self._line is not None and self._line.address == address and self._find_changed(address):
                self._retire()

    def _retire(self) -> None:
        if self._line is not None:
            self._line.retired = True
            self._line.close_if_done()
        self._line = None

    def _find_changed(self, address: ServerAddress) -> bool:
        try:
            return self._find() != address
        except ServerUnavailable:
            return True


def part(ref: str) -> str:
    """One path segment, whatever it holds."""
    return quote(ref, safe="") or "-"


def parsed(model: type[M], answer: httpx.Response) -> M:
    """The answer as what it should be. Raises ServerUnavailable where it is not."""
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
