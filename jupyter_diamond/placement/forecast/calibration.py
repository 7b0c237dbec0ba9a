"""How far off forecasts were: bands around new ones, and which method a site is to be trusted with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import fmean, median

from jupyter_diamond.model.forecast import Forecast, ForecastMethod, ForecastRecord, SiteForecasts

_FEWEST = 8
"""Fewer recorded outcomes say nothing about the next one."""
_NEWEST = 200
_LOW, _HIGH = 0.1, 0.9
_OFFSET_S = 60.0
"""Ratios are of (wait + a minute), so that waits of seconds do not make bands of hours."""

S_PER_QUEUED_JOB = 3600.0
"""What the simplest rule takes each waiting job for; tuned in favour of *best feasible* on replayed logs."""
_RECENT_S = 30 * 86_400.0
"""Older errors do not count against a method: a site and what is known of it change, and it is to be tried again."""

_Key = tuple[str, ForecastMethod]


@dataclass(slots=True)
class Bands:
    """The ratios of real to forecast waits, per site and method; of all sites where one has too few."""

    _ratios: dict[_Key, list[float]] = field(default_factory=dict)

    @classmethod
    def learnt(cls, records: Iterable[ForecastRecord]) -> Bands:
        """From recorded outcomes, oldest first."""
        bands = cls()
        for record in records:
            waited, said = record.waited_s, record.forecast.wait_s
            if waited is not None and said is not None:
                bands.note(record.site, record.forecast.method, said, waited)
        return bands

    def note(self, site: str, method: ForecastMethod, said_s: float, waited_s: float) -> None:
        """One more outcome."""
        ratio = (max(waited_s, 0.0) + _OFFSET_S) / (said_s + _OFFSET_S)
        for key in ((site, method), ("", method)):
            known = self._ratios.setdefault(key, [])
            known.append(ratio)
            del known[:-_NEWEST]

    def around(self, site: str, forecast: Forecast) -> tuple[float | None, float | None]:
        """The band that 8 of 10 outcomes like this one were in; (None, None) where too few are known."""
        if forecast.wait_s is None:
            return None, None
        for key in ((site, forecast.method), ("", forecast.method)):
            known = sorted(self._ratios.get(key, ()))
            if len(known) >= _FEWEST:
                low, high = (known[round(share * (len(known) - 1))] for share in (_LOW, _HIGH))
                wait = forecast.wait_s + _OFFSET_S
                return max(0.0, wait * min(low, 1.0) - _OFFSET_S), max(0.0, wait * max(high, 1.0) - _OFFSET_S)
        return None, None


def trusts_replay(records: Iterable[ForecastRecord], *, now: float) -> dict[str, bool]:
    """Sites of which enough replays have outcomes: whether they were nearer to them than the simplest rule.

    That rule is *starts now, or a constant for each job that waits*; what it would have said is in the same decision.
    """
    errors: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        waited, said = record.waited_s, record.forecast.wait_s
        plain = simplest(starts_now=record.starts_now, pending=record.queue_ahead)
        if record.forecast.method != "replay" or waited is None or said is None or plain is None:
            continue
        if now - record.made_at.timestamp() <= _RECENT_S:
            errors.setdefault(record.site, []).append((_off(waited, said), _off(waited, plain)))
    return {
        site: fmean(ours for ours, _ in pairs) <= fmean(plain for _, plain in pairs)
        for site, pairs in ((site, found[-_NEWEST:]) for site, found in errors.items())
        if len(pairs) >= _FEWEST
    }


def simplest(*, starts_now: bool | None, pending: int | None) -> float | None:
    """The wait by the simplest rule; None where even that is not known."""
    if starts_now:
        return 0.0
    return None if pending is None else S_PER_QUEUED_JOB * (1 + pending)


def _off(waited_s: float, said_s: float) -> float:
    """By which factor, as a logarithm: an hour for two is as wrong as two for one."""
    return abs(log((max(waited_s, 0.0) + _OFFSET_S) / (said_s + _OFFSET_S)))


def judged(site: str, records: Sequence[ForecastRecord]) -> SiteForecasts:
    """How good the forecasts of one site were."""
    errors = [record.error_s for record in records if record.error_s is not None]
    regrets = [record.regret_s for record in records if record.regret_s is not None]
    inside = [
        record.forecast.low_s <= record.waited_s <= record.forecast.high_s
        for record in records
        if record.waited_s is not None and record.forecast.low_s is not None and record.forecast.high_s is not None
    ]
    return SiteForecasts(
        site=site, n=len(errors), bias_s=median(errors) if errors else None,
        error_s=median(map(abs, errors)) if errors else None, banded=len(inside),
        coverage=fmean(inside) if inside else None, regret_s=fmean(regrets) if regrets else None,
        methods=dict(Counter(record.forecast.method for record in records if record.error_s is not None)),
    )  # fmt: skip
