"""At most so many requests in so many seconds: Globus Compute refuses a client that asks more often."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

REQUESTS, SECONDS = 20, 10.0
"""What the service's documentation allows one client."""


class Bucket:
    """No window of ``seconds``, wherever it starts, ever sees more than ``requests``. Used from any thread."""

    def __init__(
        self,
        requests: int = REQUESTS,
        seconds: float = SECONDS,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._seconds, self._clock, self._sleep = seconds, clock, sleep
        self._taken: deque[float] = deque(maxlen=requests)
        self._lock = threading.Lock()

    def take(self) -> float:
        """Take a place, waiting for it where none is free; the seconds that were waited."""
        with self._lock:
            now = self._clock()
            full = len(self._taken) == self._taken.maxlen
            due = max(now, self._taken[0] + self._seconds) if full else now
            self._taken.append(due)
        if due > now:
            self._sleep(due - now)
        return due - now


PROCESS = Bucket()
"""The one of this process: the service counts all that come from one client, whichever part of us asks."""
