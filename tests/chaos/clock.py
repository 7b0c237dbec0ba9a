"""Virtual time: a clock, an event loop that never waits, and the one seam through which the product reads time."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import random
import secrets
import selectors
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from jupyter_diamond.engine import engine

EPOCH = 1_800_000_000.0


class Stuck(RuntimeError):
    """Nothing is due and nothing ever will be."""


class Clock:
    """Seconds since the world began, and what happens at which of them, whichever server lives then."""

    def __init__(self) -> None:
        self.now = 0.0
        self.shift = 0.0
        """How far the server's clock was set from the true time."""
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def wall(self) -> float:
        """Seconds since 1970 as the server believes."""
        return EPOCH + self.now + self.shift

    def monotonic(self) -> float:
        """Seconds that nobody can set."""
        return self.now + 1000.0

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Have something happen at a moment."""
        heapq.heappush(self._agenda, (max(when, self.now), next(self._number), act))

    @property
    def next(self) -> float | None:
        """When the next thing happens."""
        return self._agenda[0][0] if self._agenda else None

    def step(self, limit: float) -> None:
        """Go on to the next thing that happens, have it happen, or go on to ``limit`` if there is none before."""
        if self._agenda and self._agenda[0][0] <= limit:
            when, _, act = heapq.heappop(self._agenda)
            self.now = max(self.now, when)
            act()
        else:
            self.now = max(self.now, limit)

    def run_until(self, when: float) -> None:
        """Let time pass with no server alive."""
        while self.now < when:
            self.step(when)


class _NoFiles(selectors.SelectSelector):
    """Nothing real is waited for: where nothing is ready, time goes on to the next thing that is due."""

    loop: ChaosLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        self.loop.pass_time(timeout)
        return []


class ChaosLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time. Threads are lanes in it: their work is done later, in order, and never at once.

    ``done`` hears of each piece of work that was done in a lane, before its caller does.
    """

    def __init__(self, clock: Clock, rng: random.Random, done: Callable[[], None] = lambda: None) -> None:
        selector = _NoFiles()
        selector.loop = self
        self.clock, self._rng, self._done = clock, rng, done
        self.dead = False
        self._beyond = 0.0
        self._lanes: dict[int, float] = {}
        self.complaints: list[str] = []
        super().__init__(selector)
        self.set_exception_handler(self._complain)

    def time(self) -> float:
        return self.clock.now + self._beyond

    def pass_time(self, timeout: float | None) -> None:
        if self.dead:  # the world goes on without it; it only has to come to its end
            self._beyond += timeout or 0.0
            return
        self.clock.step(self.clock.now + 1e-6)  # to think takes time, too
        if timeout is None:
            due = self.clock.next
            if due is None:
                raise Stuck("nothing is due and nothing ever will be")
            self.clock.step(due)
        elif timeout > 0:
            self.clock.step(self.clock.now + timeout)

    def die(self) -> None:
        """Kill -9, as far as store and sites can tell: from now on nothing reaches either."""
        self.dead = True
        self.stop()

    def bury(self) -> None:
        """Let what was under way come to its end, unheard, and close."""
        self.dead = True
        while tasks := asyncio.all_tasks(self):
            for task in tasks:
                task.cancel()
            self.run_until_complete(asyncio.wait(tasks, timeout=60.0))
        self.close()

    def _write_to_self(self) -> None:
        """There is one thread: it need not be woken."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        future = self.create_future()
        if self.dead:
            future.cancel()
            return future
        lane, after = id(executor), self.clock.now + self._rng.choice((1e-6, 1e-6, 0.001, 0.005))
        if executor is not None:
            after = self._lanes[lane] = max(after, self._lanes.get(lane, 0.0) + 1e-6)
        begun = self._rng.random() < 0.5  # whoever gives up waiting may be too late to stop it
        self.call_at(after, self._work, future, begun, func, args)
        return future

    def _work(self, future: asyncio.Future[Any], begun: bool, func: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if self.dead or (future.cancelled() and not begun):
            future.cancel()
            return
        result, problem = None, None
        try:
            result = func(*args)
        except BaseException as raised:
            problem = raised
        if not self.dead:
            self._done()
        if self.dead or future.cancelled():
            future.cancel()
        elif problem is not None:
            future.set_exception(problem)
        else:
            future.set_result(result)

    def _complain(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.dead:
            self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")


@contextlib.contextmanager
def virtual(clock: Clock, rng: random.Random) -> Iterator[None]:
    """The product reads this clock, and draws its ids from the seed."""

    def token_hex(size: int = 32) -> str:
        return rng.randbytes(size).hex()

    with (
        mock.patch.object(time, "time", clock.wall),
        mock.patch.object(time, "monotonic", clock.monotonic),
        mock.patch.object(secrets, "token_hex", token_hex),
        # hours pass in which nothing but this happens
        mock.patch.object(engine, "_FOREIGN_NEWS_S", 30.0),
    ):
        yield
