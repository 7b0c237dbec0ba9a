"""When a job of a size would start at a place, how sure that is, and why."""

from __future__ import annotations

from typing import Literal

from .base import UtcTime, Value
from .envelope import Size

ForecastMethod = Literal["fits_now", "replay", "test_only", "depth", "unknown"]
"""``fits_now``: enough is free and nobody is ahead of it; ``replay``: the visible queue, simulated forward;
``test_only``: half of what the scheduler's own estimate says; ``depth``: a constant for each job that waits."""


class Forecast(Value):
    """The wait for a start, in seconds. ``low_s`` to ``high_s`` holds 8 of 10 recorded outcomes like it, if there are
    any to say so.

    ``beyond``: not within the horizon that was looked at, so ``wait_s`` is a lower bound. ``because`` is one clause,
    such as *behind job 812, whose 4 nodes free at 14:20*.
    """

    wait_s: float | None
    low_s: float | None = None
    high_s: float | None = None
    method: ForecastMethod
    because: str = ""
    beyond: bool = False


class Estimate(Value):
    """What is minimised for one candidate, with its terms, in seconds. None is unknown; ``total_s`` sums what is known.

    ``charge`` is in the site's own ``unit``; charges of two sites are never added up.
    """

    forecast: Forecast
    run_s: float | None = None
    run_assumed: bool = False
    """Nobody said how long it runs: the ranges that are asked suggest that more of them is faster."""
    prepare_s: float | None = None
    transfer_s: float | None = None
    total_s: float | None = None
    charge: float | None = None
    """For the run time where one is said, else for the time limit."""
    charge_at_most: float | None = None
    """For the time limit: what has to be on the account."""
    charge_unit: str = ""


class ForecastRecord(Value):
    """A forecast that was made, and what then happened: the only real validation there is."""

    task_id: str
    attempt: int
    site: str
    partition: str
    size: Size
    made_at: UtcTime
    forecast: Forecast
    submitted_at: UtcTime | None = None
    started_at: UtcTime | None = None

    @property
    def waited_s(self) -> float | None:
        """How long it really waited; None while that is not known."""
        if self.submitted_at is None or self.started_at is None:
            return None
        return (self.started_at - self.submitted_at).total_seconds()
