"""Who wants to be woken, what is new for them, and what they have read."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.model.continuation import Cursor, Registration

from .base import DiamondHandler, PollHandler
from .forms import ContinuationList, ContinuationsQuery, NewsQuery


class ContinuationsHandler(DiamondHandler):
    """What is waited for."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """All of it, of one consumer, or of one task."""
        asked = self.query(ContinuationsQuery)
        found = await self.service.consumers.waiting(asked.consumer, asked.task)
        self.answer(ContinuationList(continuations=found))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Register one."""
        registered = await self.service.consumers.register(self.form(Registration))
        self.answer(registered, 201 if registered.created else 200)


class ContinuationHandler(DiamondHandler):
    """One registration."""

    @web.authenticated
    @authorized
    async def delete(self, continuation_id: str) -> None:
        """Take it back."""
        self.answer(await self.service.consumers.withdraw(continuation_id))


class WaitHandler(PollHandler):
    """A consumer's news."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Those after its cursor, waiting for the first."""
        asked = self.query(NewsQuery)
        news = self.service.consumers.wait(asked.consumer, asked.after, asked.wait, asked.limit)
        self.answer(await self.poll(news))


class AckHandler(DiamondHandler):
    """A consumer's cursor."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Move it: what was read is not told again."""
        asked = self.form(Cursor)
        self.answer(await self.service.consumers.ack(asked.consumer, asked.seq))


CONSUMER_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/continuations", ContinuationsHandler),
    ("/continuations/wait", WaitHandler),
    ("/continuations/ack", AckHandler),
    ("/continuations/((?!wait$|ack$)[^/]+)", ContinuationHandler),
]
