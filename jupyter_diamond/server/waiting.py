"""What may be asked while a task has not started: another plan, that it is held, that it goes on."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import DiamondHandler
from .forms import ReplanForm


class ReplanHandler(DiamondHandler):
    """Another place for what waits."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Plan it anew; where another place is better, its waiting job is taken back."""
        self.answer(await self.service.replan(ref, "you", unpin=self.form(ReplanForm).unpin))


class HoldHandler(DiamondHandler):
    """Nothing of it for now."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Hold it."""
        self.answer(await self.service.hold(ref, "you"))


class ReleaseHandler(DiamondHandler):
    """It may go on."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Release it."""
        self.answer(await self.service.release(ref, "you"))


WAITING_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/tasks/([^/]+)/replan", ReplanHandler),
    ("/tasks/([^/]+)/hold", HoldHandler),
    ("/tasks/([^/]+)/release", ReleaseHandler),
]
