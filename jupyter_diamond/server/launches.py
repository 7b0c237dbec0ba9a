"""What the launch sheet asks: how its fields read, and a file or a command to run."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.model.launch import LaunchForm, LineForm

from .base import DiamondHandler


class LineHandler(DiamondHandler):
    """A line from fields."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Read them; nothing is started, and no site is asked."""
        self.answer(await self.service.launches.read(self.form(LineForm)))


class LaunchHandler(DiamondHandler):
    """A task from source text."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Take it, as a submission from a kernel is taken."""
        submitted = await self.service.launches.launch(self.form(LaunchForm))
        self.answer(submitted, 201 if submitted.created and not submitted.attached else 200)


LAUNCH_ROUTES: list[tuple[str, type[DiamondHandler]]] = [("/launch/line", LineHandler), ("/launch", LaunchHandler)]
