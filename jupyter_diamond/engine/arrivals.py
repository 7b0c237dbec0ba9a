"""What is on its way into a site's queue: one work for each batch, whoever of it was heard of first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from jupyter_diamond.engine.batch import Batch, Inputs, batches, newest
from jupyter_diamond.engine.submit import Submitter
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.model.task import Task

_AGAIN_S = 5.0

Reread = Callable[[Sequence[str]], Awaitable[tuple[Task, ...]]]


@dataclass
class Arrivals:
    """The submissions of one site. ``out`` has each task that needs no more of it."""

    submitter: Submitter
    log: logging.Logger
    out: Callable[[Task], None]
    reread: Reread
    """Gives tasks as the store has them now."""
    _under_way: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _hurry: dict[str, asyncio.Event] = field(default_factory=dict)

    def begin(self, waiting: Iterable[Watched], inputs: Inputs | None = None) -> None:
        """Bring in those that have no job yet. One whose batch is on its way already goes along with it."""
        known = {each.task.id: each for each in waiting if _waits(each)}
        for batch in batches([each.task for each in known.values()]):
            token = batch.token
            if token not in self._under_way:
                self._hurry[token] = asyncio.Event()
                work = asyncio.create_task(self._bring_in(batch, inputs), name=f"diamond-submit-{batch.lead.id}")
                self._under_way[token] = work
                work.add_done_callback(lambda _, token=token: self._gone(token))  # type: ignore[misc]
            for task in batch.tasks:
                known[task.id].submission, known[task.id].hurry = self._under_way[token], self._hurry[token]

    def _gone(self, token: str) -> None:
        self._under_way.pop(token, None)
        self._hurry.pop(token, None)

    async def _bring_in(self, batch: Batch, inputs: Inputs | None) -> None:
        hurry, left = self._hurry[batch.token], {task.id for task in batch.tasks}

        def out(task: Task) -> None:
            left.discard(task.id)
            self.out(task)

        tasks = batch.tasks
        while True:
            try:
                return await self.submitter.bring_in(tasks, inputs, hurry=hurry, out=out)
            except Exception:
                # a defect of ours must not leave the other jobs of this site unwatched
                self.log.exception("submission of %s failed unexpectedly; it will be tried again", batch.name)
            inputs = None
            await asyncio.sleep(_AGAIN_S)
            tasks = await self.reread([task.id for task in batch.tasks if task.id in left])

    @property
    def works(self) -> tuple[asyncio.Task[None], ...]:
        """All that is under way. Whoever ends it leaves what it was at to the store, which says how far each is."""
        return tuple(self._under_way.values())


def _waits(known: Watched) -> bool:
    return known.native is None and known.submission is None and not newest(known.task).state.terminal
