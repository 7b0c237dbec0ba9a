"""Posts the news of the consumer ``webhook`` to an address of the user's, signed, until each is acknowledged.

One after the other, in their order, each at least once: the cursor moves when the other side has answered 2xx, so a
server that dies in between posts the same news again, the same to the byte. Its number is in ``Diamond-Sequence`` and
grows from each to the next: who keeps the last one that was worked on drops what comes again. The secret is read from
the environment and is nowhere else.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx

from jupyter_diamond import __version__
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.pace import Pace, rest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.continuation import WEBHOOK
from jupyter_diamond.model.event import Event
from jupyter_diamond.settings import DiamondNews

SECRET = "JUPYTER_DIAMOND_WEBHOOK_SECRET"  # noqa: S105 - the variable's name
SHORTEST_SECRET = 16
_FIRST_S, _LAST_S = 1.0, 300.0
"""Between two tries."""


class Webhook:
    """``problem`` says why nothing can be posted; it is empty when all is well."""

    def __init__(self, ledger: Ledger, settings: DiamondNews, log: logging.Logger) -> None:
        self._ledger, self._settings, self._log = ledger, settings, log
        self._secret = os.environ.get(SECRET, "").encode()
        self.problem = problem_of(settings.webhook_url, self._secret)
        self._news = asyncio.Event()
        ledger.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.subject == f"consumer:{WEBHOOK}":
            self._news.set()

    async def run(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Post until cancelled, while ``holds`` says that this server advances work; over at once without address."""
        if self.problem:
            if self._settings.webhook_url:
                self._log.error("%s", self.problem)
            return
        pace = Pace(_FIRST_S, _LAST_S)
        timeout = httpx.Timeout(self._settings.webhook_timeout_s)
        here = _loopback(urlsplit(self._settings.webhook_url).hostname or "")
        async with httpx.AsyncClient(follow_redirects=False, timeout=timeout, trust_env=not here) as client:
            while True:
                self._news.clear()
                pending = await self._ledger.do(self._ledger.store.continuations.pending, WEBHOOK, None, 1)
                if not pending:
                    await rest(self._news, None)
                elif await holds() and await self._deliver(client, pending[0]):
                    pace.reset()
                else:
                    await asyncio.sleep(pace.next() * random.uniform(0.8, 1.2))  # noqa: S311 - spreads retries

    async def _deliver(self, client: httpx.AsyncClient, event: Event) -> bool:
        """Post one; True when it is over with, acknowledged or given up."""
        why = await self._post(client, event)
        if why and time.time() - event.at.timestamp() < self._settings.webhook_for_s:
            self._log.warning("webhook: news %s is posted again: %s", event.data["id"], why)
            return False
        now = from_epoch(time.time())
        if why:
            self._log.error("webhook: news %s was not taken in time and is given up: %s", event.data["id"], why)
            told = {"consumer": WEBHOOK, "news": event.data["id"], "why": why[:500]}
            given_up = f"undelivered:{event.data['id']}"
            append = self._ledger.store.append_event
            await self._ledger.write(append, "continuation.expired", event.data["subject"], told, now, given_up)
        await self._taken(event)
        return True

    async def _taken(self, event: Event) -> None:
        """Note that it is over with: it is not posted again."""
        now = from_epoch(time.time())
        await self._ledger.do(self._ledger.store.continuations.ack, WEBHOOK, event.seq, now)

    async def _post(self, client: httpx.AsyncClient, event: Event) -> str:
        """Why it was not taken; empty when it was."""
        body = event.model_dump_json().encode()
        stamp = str(int(time.time()))
        headers = {
            "Content-Type": "application/json", "User-Agent": f"jupyter_diamond/{__version__}",
            "Idempotency-Key": str(event.data["id"]), "Diamond-Sequence": str(event.seq), "Diamond-Timestamp": stamp,
            "Diamond-Signature": f"sha256={signature(self._secret, stamp, body)}",
        }  # fmt: skip
        try:
            # its body is not read: it may be of any length, and says nothing that is used
            async with client.stream("POST", self._settings.webhook_url, content=body, headers=headers) as answer:
                return _refusal(answer)
        except httpx.HTTPError as problem:
            return f"{type(problem).__name__}: {problem}"


def _refusal(answer: httpx.Response) -> str:
    if answer.is_redirect:
        return f"it answered {answer.status_code}: redirects are not followed; set the final address"
    return "" if answer.is_success else f"it answered {answer.status_code}"


def signature(secret: bytes, stamp: str, body: bytes) -> str:
    """HMAC-SHA256 over the time stamp, a dot and the body, in hex. The receiver makes the same and compares."""
    return hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def problem_of(url: str, secret: bytes) -> str:
    """Why news cannot be posted there; empty when they can."""
    if not url:
        return "There is no webhook: set c.DiamondNews.webhook_url to its address, then restart the server."
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.port != 0 else None
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("https", "http") or not host:
        return "c.DiamondNews.webhook_url is not an address; write https://host/path."
    if parts.username is not None or parts.password is not None:
        return "c.DiamondNews.webhook_url holds a user or password; news are signed instead, write it without."
    if parts.scheme == "http" and not _loopback(host):
        return "c.DiamondNews.webhook_url is http: news leave this machine by https only."
    if len(secret) < SHORTEST_SECRET:
        return f"News are signed before they are posted: set {SECRET} to {SHORTEST_SECRET} characters or more."
    return ""


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
