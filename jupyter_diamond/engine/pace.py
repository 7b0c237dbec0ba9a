"""When to ask again: soon after something changed, ever more seldom while nothing does."""

from __future__ import annotations

import asyncio


class Pace:
    """Growing waits, ``first`` doubling up to ``most``, never under ``floor``. All in seconds."""

    def __init__(self, first: float, most: float, *, floor: float = 0.0) -> None:
        self._first, self._most, self._floor = first, most, floor
        self._next = first

    def reset(self) -> None:
        """Something changed: ask soon."""
        self._next = self._first

    def next(self) -> float:
        """How long to wait now."""
        wait = max(self._next, self._floor)
        self._next = min(self._next * 2, self._most)
        return wait


async def rest(until: asyncio.Event, seconds: float | None) -> None:
    """Wait for an event, at most so long; for ever when ``seconds`` is None.

    Not by ``wait_for``: before Python 3.12 it swallows a cancellation that comes together with the event, and a loop
    that rests would never end.
    """
    waiting = asyncio.ensure_future(until.wait())
    try:
        await asyncio.wait({waiting}, timeout=None if seconds is None else max(0.0, seconds))
    finally:
        waiting.cancel()
