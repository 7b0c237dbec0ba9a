"""How every request to a Globus service is sent: within the limit, with a time-out, and never twice by itself."""

from __future__ import annotations

from typing import Any

import requests
from globus_sdk.transport import RequestsTransport, RetryCheckResult, RetryConfig, RetryContext
from requests.adapters import HTTPAdapter

from . import bucket
from .problems import NotGlobus

_HARMLESS = ("/v2/batch_status",)
"""POST requests that only read."""


class Wire(RequestsTransport):
    """The transport of all clients of one login."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(http_timeout=timeout_s)
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, _Metered())

    def request(self, *args: Any, **how: Any) -> requests.Response:
        """Send a request. Raises NotGlobus where a page comes back: that of a gateway which wants a login."""
        answer = super().request(*args, **how)
        kind = answer.headers.get("Content-Type", "")
        if answer.ok and answer.content and "json" not in kind:
            raise NotGlobus(answer.url.partition("?")[0], kind.partition(";")[0])
        return answer


class _Metered(HTTPAdapter):
    """Counts what is really sent, redirects and repetitions as well."""

    def send(self, *args: Any, **how: Any) -> requests.Response:
        """Send one request once there is a place for it."""
        bucket.PROCESS.take()
        return super().send(*args, **how)


def sparing() -> RetryConfig:
    """What the SDK may send again by itself.

    It repeats POST requests where an answer was lost, and so makes one job into three. Here it repeats what met an
    expired token, once it has another one, and a question whose connection broke. It never sleeps: there are others in
    the queue of its thread, and who asked for something knows better when to ask again.
    """
    config = RetryConfig(max_retries=2, max_sleep=0.1)
    config.checks.register_check(_again)
    return config


def _again(ctx: RetryContext) -> RetryCheckResult:
    if ctx.response is not None:
        refused = ctx.response.status_code in (401, 403)  # the SDK's own checks get a new token
        return RetryCheckResult.no_decision if refused else RetryCheckResult.do_not_retry
    request = getattr(ctx.exception, "request", None)
    broken = isinstance(ctx.exception, requests.ConnectionError) and not isinstance(ctx.exception, requests.Timeout)
    if ctx.attempt == 0 and broken and request is not None and _only_asks(request):
        return RetryCheckResult.do_retry
    return RetryCheckResult.do_not_retry


def _only_asks(request: requests.PreparedRequest) -> bool:
    path = str(request.url).partition("?")[0]
    return request.method in ("GET", "HEAD") or path.endswith(_HARMLESS)
