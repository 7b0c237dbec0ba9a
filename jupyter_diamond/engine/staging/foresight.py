"""What bringing files away will ask for, asked when the task is taken: somebody is there then (B30).

Where a collection wants a consent or a fresh login, the login says so at once, with the page to open; else the job
would run all night, and its files would wait for a click in the morning.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.pace import end
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.task import Task
from jupyter_diamond.model.transfer import TransferNeed

from .stage_out import destination_of


class Foresight:
    """Looks ahead for every new task whose files go away by Globus; for a group once, by its first member."""

    def __init__(
        self,
        ledger: Ledger,
        links: SiteLinks,
        transfers: TransferDesk,
        log: logging.Logger,
        *,
        advances: Callable[[], bool],
    ) -> None:
        self._ledger, self._links, self._transfers, self._log = ledger, links, transfers, log
        self._advances = advances
        self._looking: set[asyncio.Task[None]] = set()
        self._group = ""
        ledger.listen(self._hear)

    async def stop(self) -> None:
        """Look no further."""
        await end(self._looking)

    def _hear(self, event: Event) -> None:
        if event.type != "task.created" or not self._advances():
            return
        group = event.data.get("group")
        if group is None or group != self._group:  # a group's members are made together, and have one envelope
            self._group = group or self._group
            looking = asyncio.create_task(self._look(event.subject.partition(":")[2]), name="diamond-foresight")
            self._looking.add(looking)
            looking.add_done_callback(self._looking.discard)

    async def _look(self, task_id: str) -> None:
        try:
            (task,) = await self._ledger.do(self._ledger.store.attempts.tasks, [task_id])
            for need in await self.needs(task):
                self._log.info("%s: before its files can be brought away: %s", task.name, need.sentence)
        except DiamondError as problem:  # it is met again, and told, when they are brought away
            self._log.info("%s: %s", task_id, problem.message)

    async def needs(self, task: Task) -> tuple[TransferNeed, ...]:
        """What Globus wants before the files of a task can go where they are to go. Raises DiamondError."""
        found: dict[str, TransferNeed] = {}
        for out in task.envelope.stage_out:
            if out.destination is None:
                continue
            link = self._links[newest(task).site]
            here = Location(kind="site", site=link.name, path=await link.transport.expand(link.site.workdir))
            there = destination_of(task, out)
            kind, _ = await self._transfers.mover(here, there, None)
            for need in await self._transfers.needs(here, there) if kind == "globus" else ():
                if need.kind in ("login", "session"):
                    found.setdefault(need.sentence, need)
        return tuple(found.values())
