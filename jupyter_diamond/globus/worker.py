"""One thread that does what it is given, in turn: an app of the Globus SDK is not to be used from several."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """Started at the first use. It is a daemon: a request that hangs never keeps Jupyter from ending."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._todo: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, act: Callable[[], T]) -> T:
        """Do it in the thread, after whatever was given before. What is cancelled before its turn is left out."""
        if self._closed:
            raise RuntimeError(f"{self._name} was closed")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._todo.put((future, act))
        return await asyncio.wrap_future(future)

    async def close(self, patience_s: float = 0.5) -> None:
        """End the thread; what it is at goes on for as long as its own time-out, and nobody waits for that."""
        self._closed = True
        self._todo.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, patience_s)

    def _work(self) -> None:
        while (given := self._todo.get()) is not None:
            future, act = given
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = act()
            except BaseException as problem:  # noqa: BLE001 - whatever it is belongs to the one who asked
                future.set_exception(problem)
            else:
                future.set_result(result)
            del given, future, act  # an idle thread holds on to nobody's data
