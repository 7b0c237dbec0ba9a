"""What follows from a login: it is told, and the sites that waited for it are asked at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timezone

from jupyter_diamond.engine.engine import Engine
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.login import Login

SUBJECT = "login"


class LoginNews:
    """Hears of changes on the loop. Where another server advances work, the log is not ours to write."""

    def __init__(self, ledger: Ledger, links: SiteLinks, engine: Callable[[], Engine | None]) -> None:
        self._ledger, self._links, self._engine = ledger, links, engine
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, login: Login) -> None:
        """Tell of it, in the background."""
        engine = self._engine()
        if engine is not None:
            task = asyncio.create_task(self._tell(engine, login), name="diamond-login-news")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Tell nothing more."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tell(self, engine: Engine, login: Login) -> None:
        data, now = {"health": login.health, "mode": login.mode}, datetime.now(timezone.utc)
        if engine.advances:
            await self._ledger.write(self._ledger.store.append_event, "login.changed", SUBJECT, data, now)
        else:
            self._ledger.tell(Event(seq=0, at=now, type="login.changed", subject=SUBJECT, data=data))
        if login.health == "signed_in":
            await engine.way_opened(
                [name for name, link in self._links.items() if link.site.transport == "globus-compute"]
            )
