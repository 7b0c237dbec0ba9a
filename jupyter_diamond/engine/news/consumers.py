"""What consumers of news ask for: to be woken, what is new for them, and that they have read it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.news.groups import check_subject
from jupyter_diamond.engine.news.webhooks import Webhook
from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.continuation import WEBHOOK, Continuation, Cursor, Milestone, Registered, Registration
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.views import EventPage
from jupyter_diamond.parsing.patterns import Pattern
from jupyter_diamond.settings import DiamondNews

LONGEST_S = 30.0


class Consumers:
    """Any server of the user takes what is asked; the one that advances work wakes."""

    def __init__(self, ledger: Ledger, settings: DiamondNews, log: logging.Logger) -> None:
        self._ledger = ledger
        self.webhook = Webhook(ledger, settings, log)

    async def register(self, asked: Registration) -> Registered:
        """Wake a consumer when something happens to a task or a group. The same id is the same continuation.

        What has happened already wakes at once. Raises NotFound, Conflict, InvalidRequest.
        """
        store = self._ledger.store
        known = await self._ledger.do(store.continuations.known, asked.id)
        if known is None:
            if isinstance(asked.condition, Milestone):
                Pattern(asked.condition.pattern)
            if asked.consumer == WEBHOOK and self.webhook.problem:
                raise InvalidRequest(self.webhook.problem)
            subject = await self._ledger.do(self._subject, asked.subject)
            check_subject(asked.condition, group=subject.startswith("group:"))
            subject = subject.partition(":")[2]
        else:
            subject = known.continuation.task_id
        now = from_epoch(time.time())
        return await self._ledger.write(store.continuations.register, asked, subject, now)

    def _subject(self, ref: str) -> str:
        """In the store's thread: whom a reference means, ``task:ID`` or ``group:ID``. Raises NotFound."""
        store, (kind, _, rest) = self._ledger.store, ref.partition(":")
        if kind == "group" and rest:
            return f"group:{store.groups.get(rest).id}"
        try:
            return f"task:{store.task(ref.removeprefix('task:')).id}"
        except NotFound as no_task:
            try:
                return f"group:{store.groups.get(ref).id}"
            except NotFound:
                raise no_task from None

    async def withdraw(self, continuation_id: str) -> Continuation:
        """Wake nobody for it. Raises NotFound."""
        return await self._ledger.write(
            self._ledger.store.continuations.withdraw, continuation_id, from_epoch(time.time())
        )

    async def waiting(self, consumer: str | None = None, ref: str | None = None) -> tuple[Continuation, ...]:
        """What is waited for, oldest first; by one consumer, or of one task or group. Raises NotFound."""
        store = self._ledger.store
        subject = await self._ledger.do(self._subject, ref) if ref is not None else None
        return await self._ledger.do(store.continuations.waiting, consumer, subject)

    async def wait(self, consumer: str, after: int | None = None, wait: float = 0.0, limit: int = 100) -> EventPage:
        """News of a consumer after a number, by default after its cursor; waits up to ``wait`` seconds for the first.

        It is told again until it is acknowledged: at least once, and never out of order.
        """
        deadline = time.monotonic() + min(wait, LONGEST_S)
        while True:
            newest = self._ledger.newest
            events, cursor = await self._ledger.do(self._pending, consumer, after, limit)
            left = deadline - time.monotonic()
            if events or left <= 0:
                return EventPage(events=tuple(events), cursor=cursor)
            await self._ledger.wait(newest, left)

    def _pending(self, consumer: str, after: int | None, limit: int) -> tuple[Sequence[Event], int]:
        """In the store's thread."""
        store = self._ledger.store.continuations
        since = store.cursor(consumer) if after is None else after
        events = store.pending(consumer, since, limit)
        return events, events[-1].seq if events else since

    async def ack(self, consumer: str, seq: int) -> Cursor:
        """All news up to a number were read; they are not told again. Raises InvalidRequest."""
        return await self._ledger.write(self._ledger.store.continuations.ack, consumer, seq, from_epoch(time.time()))
