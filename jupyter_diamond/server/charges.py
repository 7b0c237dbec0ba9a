"""The REST API of charges."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import DiamondHandler
from .forms import ChargesQuery


class ChargesHandler(DiamondHandler):
    """What tasks cost."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Charges by site, account and unit, and what stands against the caps."""
        asked = self.query(ChargesQuery)
        self.answer(await self.service.charges(asked.days, tasks=asked.tasks))


CHARGE_ROUTES: list[tuple[str, type[DiamondHandler]]] = [("/charges", ChargesHandler)]
