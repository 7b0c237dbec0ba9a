"""How far off forecasts were: bands around new ones, and which method a site is to be trusted with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jupyter_diamond.model.forecast import Forecast, ForecastMethod, ForecastRecord

_FEWEST = 8
"""Fewer recorded outcomes say nothing about the next one."""
_NEWEST = 200
_LOW, _HIGH = 0.1, 0.9
_OFFSET_S = 60.0
"""Ratios are of (wait + a minute), so that waits of seconds do not make bands of hours."""

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
