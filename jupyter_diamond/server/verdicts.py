"""Whether a task or a group did what was asked."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import DiamondHandler


class VerdictHandler(DiamondHandler):
    """A task's verdict."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """On its newest attempt, with the evidence."""
        self.answer(await self.service.verdict(ref))


class GroupVerdictHandler(DiamondHandler):
    """A group's verdict."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """Its members by answer, and the first that did not do what was asked."""
        self.answer(await self.service.verdicts.group(ref))


VERDICT_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/tasks/([^/]+)/verdict", VerdictHandler),
    ("/groups/([^/]+)/verdict", GroupVerdictHandler),
]
