"""When a job of a size would start at a place, how sure that is, and why."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import UtcTime, Value
from .envelope import Size

ForecastMethod = Literal["fits_now", "replay", "test_only", "depth", "unknown"]
"""``fits_now``: enough is free and nobody is ahead of it; ``replay``: the visible queue, simulated forward;
``test_only``: a quarter of what the scheduler's own estimate says; ``depth``: a constant for each job that waits."""


class Forecast(Value):
    """The wait for a start, in seconds. ``low_s`` to ``high_s`` holds 8 of 10 recorded outcomes like it, if there are
    any to say so.

    ``beyond``: not within the horizon that was looked at; ``wait_s`` is what is ahead, poured over all nodes, or more.
    ``because`` is one clause, such as *behind job 812, whose 4 nodes free at 14:20*.
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
    speed: float | None = None
    """The run time there over that at a site of mean speed, as work of yours ran; it is in ``run_s`` already."""
    prepare_s: float | None = None
    transfer_s: float | None = None
    total_s: float | None = None
    charge: float | None = None
    """For the run time where one is said, else for the time limit."""
    charge_at_most: float | None = None
    """For the time limit: what has to be on the account."""
    charge_unit: str = ""
    charge_why: str = ""
    """Why ``charge`` is not known."""
    charge_per_hour: float | None = None
    charge_least_s: int = 0
    """Less is charged as if it had run so long."""
    charged: bool = True
    """False: nobody pays for it there."""

    @property
    def in_all_s(self) -> float | None:
        """How long until it would be done; None where it is not known how long it runs: the wait alone is not all."""
        return None if self.run_s is None else self.total_s


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
    starts_now: bool | None = None
    queue_ahead: int | None = None
    total_s: float | None = None
    """What the choice was estimated to take in all."""
    best_rival_s: float | None = None
    """What the best of the alternatives was estimated to take in all; None where there was none."""

    @property
    def waited_s(self) -> float | None:
        """How long it really waited; None while that is not known."""
        if self.submitted_at is None or self.started_at is None:
            return None
        return (self.started_at - self.submitted_at).total_seconds()

    @property
    def error_s(self) -> float | None:
        """How much longer it waited than was forecast; negative where it started earlier."""
        if self.waited_s is None or self.forecast.wait_s is None:
            return None
        return self.waited_s - self.forecast.wait_s

    @property
    def regret_s(self) -> float | None:
        """How much sooner the best alternative would have been over, by its own estimate; 0 where the choice was."""
        if self.error_s is None or self.total_s is None:
            return None
        return 0.0 if self.best_rival_s is None else max(0.0, self.total_s + self.error_s - self.best_rival_s)


class SiteForecasts(Value):
    """How good the forecasts of one site were, over its newest starts; times are in seconds.

    ``n`` of them had a forecast. ``bias_s`` is the median of (real - forecast) wait, ``error_s`` that of its size.
    ``coverage`` is the part of the ``banded`` ones whose wait was inside the band; the band is meant to hold 0.8.
    ``regret_s`` is the mean time that the best alternative would have saved, by its own estimate: what would have
    happened elsewhere is not known. ``methods`` counts how they were made. ``trusts_replay`` False: the simulated queue
    was further off here than the constant per waiting job, so it is not used. ``learnt``: jobs of this site that run
    times were learnt from; ``queue``: what is seen of it now. ``prepare_s``: from a job's start to that of its cell;
    ``speed``: the run time of the same work there over that at a site of mean speed; None while too little has run.
    """

    site: str
    n: int = 0
    bias_s: float | None = None
    error_s: float | None = None
    banded: int = 0
    coverage: float | None = None
    regret_s: float | None = None
    methods: dict[ForecastMethod, int] = Field(default_factory=dict)
    trusts_replay: bool = True
    learnt: int = 0
    prepare_s: float | None = None
    speed: float | None = None
    queue: Literal["visible", "hidden", "cut", "none"] = "none"


class Forecasts(Value):
    """How good forecasts were, site by site."""

    made_at: UtcTime
    sites: tuple[SiteForecasts, ...] = ()
