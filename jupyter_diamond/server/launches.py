"""What the launch sheet asks: how its fields read, and a file or a command to run."""

from __future__ import annotations

import asyncio

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.agent.tools.drafting import gpus_of
from jupyter_diamond.engine.launches import read_line, text_task
from jupyter_diamond.model.launch import LaunchForm, LineForm

from .base import DiamondHandler


class LineHandler(DiamondHandler):
    """A line from fields."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Read them; nothing is started, and no site is asked."""
        snapshot = self.service.engine.collector.snapshot
        self.answer(read_line(self.form(LineForm), lambda: gpus_of(snapshot()), self.service.links.__getitem__))


class LaunchHandler(DiamondHandler):
    """A task from source text."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Take it, as a submission from a kernel is taken."""
        request, bundle = await asyncio.to_thread(text_task, self.form(LaunchForm))
        submitted = await self.service.submit(request, bundle)
        self.answer(submitted, 201 if submitted.created and not submitted.attached else 200)


LAUNCH_ROUTES: list[tuple[str, type[DiamondHandler]]] = [("/launch/line", LineHandler), ("/launch", LaunchHandler)]
