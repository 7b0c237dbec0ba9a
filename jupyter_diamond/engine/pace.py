"""When to ask again: soon after something changed, ever more seldom while nothing does. And an end to waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


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


async def end(tasks: Iterable[asyncio.Task[Any]], *, within_s: float | None = None) -> set[asyncio.Task[Any]]:
    """Cancel tasks and wait until they have ended, so that none of them finds the store closed under it.

    Those that have not let go ``within_s`` are given back.
    """
    ending = set(tasks)
    for task in ending:
        task.cancel()
    return (await asyncio.wait(ending, timeout=within_s))[1] if ending else set()
