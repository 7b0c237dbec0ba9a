"""How fast a transfer is and how long it will take, from what its mover tells now and then."""

from __future__ import annotations

from collections import deque

from jupyter_diamond.model.transfer import Progress

_WINDOW_S = 20.0
_LEAST_S = 0.5


class Meter:
    """Keeps the newest progress. ``tell`` may be called from any thread; ``read`` gives what is new."""

    def __init__(self, progress: Progress) -> None:
        self._newest, self._given = progress, progress
        self._faults = progress.faults
        self.stalls = False
        """It was said that nothing moves."""
        self._mark: tuple[int, float] | None = None
        self._seen: deque[tuple[float, int]] = deque()

    def tell(self, progress: Progress) -> None:
        """This is how far it is now."""
        self._newest = progress

    def still_s(self, now: float) -> float:
        """For how long nothing has moved. What has all come is being read, which is no standing still."""
        newest = self._newest
        if self._mark is None or self._mark[0] != newest.bytes_done or newest.bytes_done == newest.bytes_total:
            self._mark = (newest.bytes_done, now)
        return now - self._mark[1]

    def read(self, now: float) -> Progress | None:
        """How far it is, with rate and time left; None where nothing is new. ``now`` in seconds, growing."""
        newest = self._newest
        if newest is self._given:
            return None
        self._given = newest
        if newest.faults < self._faults:  # earlier tries had theirs
            newest = newest.model_copy(update={"faults": self._faults})
        if self._seen and newest.bytes_done < self._seen[-1][1]:
            self._seen.clear()  # it was begun again
        self._seen.append((now, newest.bytes_done))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        if newest.rate is not None:
            return newest
        (first, before), took = self._seen[0], now - self._seen[0][0]
        del first
        if took < _LEAST_S:
            return newest
        rate = (newest.bytes_done - before) / took
        left = None
        if rate > 0 and newest.bytes_total is not None:
            left = (newest.bytes_total - newest.bytes_done) / rate
        return newest.model_copy(update={"rate": rate, "eta_s": left})
