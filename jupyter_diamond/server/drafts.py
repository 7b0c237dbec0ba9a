"""A proposed envelope, from words and code."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.agent.guard.speakers import speaker
from jupyter_diamond.model.draft import DraftRequest

from .base import DiamondHandler, PollHandler


class DraftHandler(PollHandler):
    """What a task would need, as far as words and code tell."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Draft it and plan it; nothing is started."""
        asked = self.form(DraftRequest)
        by = speaker(self.current_user.username)
        self.answer(await self.poll(self.agent.drafter.draft(asked, by)))


DRAFT_ROUTES: list[tuple[str, type[DiamondHandler]]] = [("/draft", DraftHandler)]
