"""Threads of our own for what blocks for hours: the server's others must not wait behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_THREADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="diamond-data")
"""As many as transfers may run at once between some twenty pairs of places; a thread begins when it is needed."""


async def in_thread(act: Callable[[], T], stop: Callable[[], None]) -> T:
    """What a function gives that blocks. A caller who is cancelled has it stopped, and waits until it has."""
    running = asyncio.get_running_loop().run_in_executor(_THREADS, act)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # of no interest any more
        raise
