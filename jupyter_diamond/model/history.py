"""What was free and who waited, over time. None always means *unknown*, never zero."""

from __future__ import annotations

from typing import Literal

from .base import UtcTime, Value

Mean = float | None


class HistorySeries(Value):
    """One partition over time: columns of equal length, one place a span of time, oldest first.

    ``unit`` is the resource that gates it (GPUs where there are any, else cores), which ``free`` and ``total`` count. A
    span is one reading, or the mean of ``readings`` of them; each mean is over those that knew the number.
    """

    partition: str
    unit: Literal["GPU", "CPU"]
    at: tuple[UtcTime, ...] = ()
    """When each span begins."""
    readings: tuple[int, ...] = ()
    free: tuple[Mean, ...] = ()
    total: tuple[Mean, ...] = ()
    pending: tuple[Mean, ...] = ()
    running: tuple[Mean, ...] = ()
    mine_pending: tuple[Mean, ...] = ()
    mine_running: tuple[Mean, ...] = ()


class SiteHistory(Value):
    """The kept past of one site. ``span_s`` is 0 where each place is one reading, else the length of a span."""

    site: str
    since: UtcTime
    span_s: int
    series: tuple[HistorySeries, ...] = ()
