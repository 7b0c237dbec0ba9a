"""Waiting for what comes back by itself, and for what only the user can give; and saying so, once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from typing import TypeVar

from jupyter_diamond.errors import DataProblem, GlobusProblem, TransportError
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.login import Login
from jupyter_diamond.model.transfer import TransferState

from .base import Move
from .globus_calls import SERVICE
from .globus_watch import Pace

T = TypeVar("T")


class Bell:
    """Wakes those who wait for a login."""

    def __init__(self, globus: Globus) -> None:
        self._waiting: set[asyncio.Event] = set()
        globus.on_change(self._ring)

    async def wait(self, seconds: float) -> None:
        """Until somebody has logged in, or so long."""
        rung = asyncio.Event()
        self._waiting.add(rung)
        try:
            await asyncio.wait_for(rung.wait(), seconds)
        except asyncio.TimeoutError:
            return
        finally:
            self._waiting.discard(rung)

    def _ring(self, login: Login) -> None:
        if login.health == "signed_in":
            for rung in self._waiting:
                rung.set()


class Patience:
    """That of one movement: until its deadline."""

    def __init__(self, move: Move, globus: Globus, bell: Bell, pace: Pace) -> None:
        self._move, self._globus, self._bell, self._pace = move, globus, bell, pace
        self._said: tuple[TransferState, str, str] | None = None
        self.log: list[str] = []

    async def say(self, state: TransferState, sentence: str = "", link: str = "") -> None:
        """Tell it, if it is news."""
        if (state, sentence, link) == self._said:
            return
        self._said = (state, sentence, link)
        if sentence:
            self.note(sentence)
        await self._move.say(state, sentence, link)

    def note(self, text: str) -> None:
        """A line for the log."""
        self.log.append(f"{datetime.now(timezone.utc):%H:%M:%S} {text}")

    @property
    def left_s(self) -> float:
        """Seconds until the deadline."""
        return (self._move.transfer.deadline - datetime.now(timezone.utc)).total_seconds()

    async def sleep(self, seconds: float) -> None:
        """Wait, at most until the deadline. Raises DataProblem (``late``) once it has passed."""
        self.check()
        await asyncio.sleep(min(seconds, max(0.0, self.left_s)))

    def check(self) -> None:
        """Raise DataProblem (``late``) once the deadline has passed."""
        if self.left_s <= 0:
            why = f" ({self._said[1]})" if self._said is not None and self._said[1] else ""
            raise DataProblem(
                f"The transfer did not end before its deadline{why}.", kind="late",
                advice="Give it more time: %diamond transfer again, with a longer deadline.",
            )  # fmt: skip

    async def get(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do it, again and again where that may help; a login that is wanted is asked for and waited for.

        Raises DataProblem: what Globus refuses, and what did not come before the deadline.
        """
        failures = 0
        began = time.monotonic()
        while True:
            try:
                found = await act()
            except (GlobusProblem, TransportError) as problem:  # noqa: PERF203 - each try is a question over a network
                failures += 1
                await self._bear(problem, failures, time.monotonic() - began)
            else:
                if failures:
                    await self.say("active")
                return found

    async def _bear(self, problem: GlobusProblem | TransportError, failures: int, lasted: float) -> None:
        """Wait until it is worth another try. Raises DataProblem where none is."""
        if problem.outcome == "needs_login" or (isinstance(problem, TransportError) and problem.needs_login):
            link = await self._globus.door(SERVICE) if isinstance(problem, GlobusProblem) else ""
            await self.say("needs_you", problem.message, link)
            self.check()
            await self._bell.wait(min(self._pace.ask_again, self.left_s))
            return
        if not problem.transient:
            raise DataProblem(problem.message, kind="refused", evidence=problem.evidence) from problem
        if failures == 1:
            self.note(problem.message)
        if problem.outcome == "offline" or lasted > self._pace.stalled:
            await self.say("stalled", problem.message)
        after = problem.retry_after_s if isinstance(problem, GlobusProblem) else None
        await self.sleep(max(self._pace.retry(failures), after or 0.0))
