"""What a task has saved at its site, asked for when an attempt of it has ended."""

from __future__ import annotations

import logging

from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.errors import DiamondError, SchedulerError
from jupyter_diamond.model.healing import Checkpoint, FailureClass
from jupyter_diamond.model.task import Task

from .segments import checkpoints, newest_script, read_newest

MOVED_OR_CUT: tuple[FailureClass, ...] = ("timeout", "oom", "node", "preempt")
"""After these the work may go on, and it matters what it has saved."""
_TIMEOUT_S = 30.0


class Saved:
    """Asks sites for checkpoints."""

    def __init__(self, links: SiteLinks, log: logging.Logger) -> None:
        self._links, self._log = links, log

    async def by(self, task: Task, *, sure: bool = True) -> Checkpoint | None:
        """The newest checkpoint at the site of the task's newest attempt; None where there is none.

        Raises TransportError and SchedulerError while the site does not say; without ``sure`` that counts as none.
        """
        attempt = task.attempts[-1]
        if attempt.folder is None:
            return None
        try:
            link = self._links[attempt.site]
            answer = await link.run(newest_script(checkpoints(task, attempt.folder)), timeout_s=_TIMEOUT_S)
            return read_newest(answer)
        except ValueError as problem:
            what = f"{attempt.site} does not say what checkpoints there are: {problem}"
            if sure:
                raise SchedulerError(f"{what}.", transient=True) from problem
        except DiamondError as problem:
            what = problem.message
            if sure:
                raise
        self._log.info("%s: its checkpoints are not known: %s", attempt.token, what)
        return None
