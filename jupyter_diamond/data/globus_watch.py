"""Asking how transfers go: seldom, less often the longer one runs, and one question for all where there are several."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from .globus_calls import Calls

MOST = 500


@dataclass(frozen=True)
class Pace:
    """Seconds. The pause is a small part of how long it has run, so waiting never takes long beside moving."""

    first: float = 0.5
    least: float = 1.0
    most: float = 15.0
    part: float = 0.08
    ask_again: float = 60.0
    """A login that was asked for is tried again so often, if nobody says that it was given."""
    stalled: float = 180.0
    resumes: float = 60.0
    """What is suspended goes on by itself within this time, once the login is good; else it is begun anew."""
    fails: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 15.0)
    seen: float = 2.0
    """What Globus has written is seen by the site's own shell after so long, at each of several looks."""

    def pause(self, ran: float) -> float:
        """How long to wait after it has run for so long."""
        return self.first if ran < self.least else min(self.most, max(self.least, ran * self.part))

    def retry(self, failures: int) -> float:
        """How long to wait after the nth failure in a row, from 1."""
        return self.fails[min(failures, len(self.fails)) - 1]


class Watch:
    """The tasks that somebody waits for, and what was last seen of them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._wanted: dict[str, None] = {}
        self._seen: dict[str, tuple[float, dict[str, Any]]] = {}
        self._turn = asyncio.Lock()

    async def document(self, task_id: str, *, not_older_than: float) -> dict[str, Any]:
        """The task's document, at most so many seconds old. Raises GlobusProblem."""
        self._wanted[task_id] = None
        if len(self._wanted) > 1:
            async with self._turn:
                seen = self._fresh(task_id, not_older_than)
                if seen is None:
                    await self._all(task_id)
                    seen = self._fresh(task_id, not_older_than)
            if seen is not None:
                return seen
        return await self._calls.task(task_id)

    def leave(self, task_id: str | None) -> None:
        """Nobody waits for it any more."""
        self._wanted.pop(task_id or "", None)
        self._seen.pop(task_id or "", None)

    def _fresh(self, task_id: str, age: float) -> dict[str, Any] | None:
        at, document = self._seen.get(task_id, (float("-inf"), {}))
        return document if time.monotonic() - at <= age else None

    async def _all(self, task_id: str) -> None:
        others = [one for one in self._wanted if one != task_id][: MOST - 1]
        found = await self._calls.tasks((task_id, *others))
        now = time.monotonic()
        self._seen.update({one: (now, document) for one, document in found.items() if one in self._wanted})
