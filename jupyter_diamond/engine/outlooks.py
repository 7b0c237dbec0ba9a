"""What a wall shows of the wait everywhere: planned again at most every few seconds, however many pages look at it."""

from __future__ import annotations

import asyncio
import time

from jupyter_diamond.model.looks import Outlook
from jupyter_diamond.placement.outlook import ONE_CORE, ONE_GPU, outlook

from .planner import Planner

_KEPT_S = 20.0


class Outlooks:
    """Looks, and starts nothing: no scheduler is asked for an estimate of its own."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._newest: tuple[float, Outlook] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def look(self) -> Outlook:
        """The outlook of now, or of a few seconds ago. Raises StoreError."""
        async with self._one_at_a_time:
            if self._newest is not None and time.monotonic() - self._newest[0] < _KEPT_S:
                return self._newest[1]
            gpu = await self._planner.planned(ONE_GPU, asks=False)
            core = await self._planner.planned(ONE_CORE, asks=False)
            made = outlook(gpu.decision, core.decision, core.snapshot)
            self._newest = (time.monotonic(), made)
            return made
