"""The past of every partition: readings as they came, then means over ever longer spans.

A day of single readings shows what this morning was like, and is what a forecast of the next hours looks at. Two weeks
of ten-minute means hold each hour of each weekday twice, which is the rhythm of a queue. Half a year of hourly means
holds an allocation period with its deadlines. With ten sites of nine partitions each and a tick of a minute that is
0.7 million rows of some 30 bytes: 130,000 + 181,000 + 389,000. It does not grow further.

Unknown stays NULL: a mean is over the readings that knew the number, and is NULL when none did.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, text

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.history import HistorySeries, SiteHistory
from jupyter_diamond.model.snapshot import Record, SiteReading, gate

from .schema import history, series

_DAY_S = 86_400


class Level(NamedTuple):
    """How long a span of it is (0: one reading), and how long it is kept."""

    span_s: int
    keep_s: int


LEVELS = (Level(0, _DAY_S), Level(600, 14 * _DAY_S), Level(3600, 180 * _DAY_S))
LONGEST_HOURS = LEVELS[-1].keep_s // 3600
TIDY_S = LEVELS[1].span_s
"""How often readings are rolled up."""
_SETTLE_S = 120
"""A span is rolled up when it has been over for so long: sites are read, and written, at different moments."""
_NUMBERS = ("free", "total", "pending", "running", "mine_pending", "mine_running")


def _mean(column: str) -> str:
    known = f"SUM(CASE WHEN {column} IS NULL THEN 0 ELSE readings END)"
    return f"SUM({column} * readings) * 1.0 / NULLIF({known}, 0) AS {column}"


_MEANS = f"SUM(readings) AS readings, {', '.join(map(_mean, _NUMBERS))}"  # columns of ours, nothing from outside
_ROLL = text(
    f"INSERT OR IGNORE INTO history (series, span_s, at, readings, {', '.join(_NUMBERS)}) "  # noqa: S608 - as above
    f"SELECT series, :span, at / :span * :span AS start, {_MEANS} FROM history "
    "WHERE series IN (SELECT id FROM series) AND span_s = :finer AND at >= :after AND at < :before GROUP BY 1, 3"
)
_NEWEST = text(
    "SELECT MAX(newest) FROM (SELECT (SELECT MAX(at) FROM history WHERE series = series.id AND span_s = :span) "
    "AS newest FROM series)"
)
_FORGET = text(
    "DELETE FROM history WHERE series IN (SELECT id FROM series) AND span_s = :span AND at < :before"
)  # fmt: skip
_FORGET_SERIES = text("DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM history WHERE history.series = series.id)")
_KEPT = text(
    f"SELECT series, at, readings, {', '.join(_NUMBERS)} FROM history "  # noqa: S608 - as above
    "WHERE series IN (SELECT id FROM series WHERE site = :site) AND span_s = :span AND at >= :since "
    "ORDER BY series, at"
)
_NOT_YET_ROLLED = text(
    f"SELECT series, at / :span * :span AS start, {_MEANS} FROM history "  # noqa: S608 - as above
    "WHERE series IN (SELECT id FROM series WHERE site = :site) AND span_s = 0 AND at >= :since "
    "GROUP BY 1, 2 ORDER BY 1, 2"
)


def put(connection: Connection, reading: SiteReading) -> None:
    """Keep one reading, inside the caller's write transaction. A partition of which nothing is known has no row.

    Of two readings within a second the newer one counts.
    """
    assert reading.read_at is not None, "only a reading has a past"
    at = int(reading.read_at.timestamp())
    rows = [(record.partition, *_row(record)) for record in reading.records if not record.hidden]
    rows = [row for row in rows if any(row[2][name] is not None for name in ("free", "pending", "running"))]
    known = _series(connection, reading.site)
    for partition, unit, _ in rows:
        if (partition, unit) not in known:
            made = insert(series).values(site=reading.site, partition=partition, unit=unit).returning(series.c.id)
            known[partition, unit] = connection.execute(made).scalar_one()
    new = [
        {"series": known[partition, unit], "span_s": 0, "at": at, "readings": 1, **numbers}
        for partition, unit, numbers in rows
    ]
    if new:
        connection.execute(insert(history).prefix_with("OR REPLACE"), new)


def _row(record: Record) -> tuple[str, Mapping[str, int | None]]:
    gating = gate(record)
    numbers = (
        gating.free, gating.total, record.pending, record.running, record.mine_pending, record.mine_running,
    )  # fmt: skip
    return gating.unit, dict(zip(_NUMBERS, numbers, strict=True))


def _series(connection: Connection, site: str) -> dict[tuple[str, str], int]:
    rows = connection.execute(select(series.c.id, series.c.partition, series.c.unit).where(series.c.site == site))
    return {(row.partition, row.unit): row.id for row in rows}


def tidy(connection: Connection, now: float) -> None:
    """Roll up what is over and forget what is too old, of all sites: also of those that are no longer read."""
    for finer, level in pairwise(LEVELS):
        span = level.span_s
        before = int(now - _SETTLE_S) // span * span
        after = _after(connection, span)
        connection.execute(_ROLL, {"span": span, "finer": finer.span_s, "after": after, "before": before})
    for level in LEVELS:
        connection.execute(_FORGET, {"span": level.span_s, "before": int(now) - level.keep_s})
    connection.execute(_FORGET_SERIES)


def _after(connection: Connection, span: int) -> int:
    """Where the spans that are not rolled up yet begin."""
    newest = connection.execute(_NEWEST, {"span": span}).scalar()
    return 0 if newest is None else int(newest) + span


def read(connection: Connection, site: str, since: datetime, now: datetime) -> SiteHistory:
    """The site's past since then, at the finest level that reaches back so far, up to the newest reading."""
    asked_s = (now - since).total_seconds()
    level = next((level for level in LEVELS if level.keep_s >= asked_s), LEVELS[-1])
    span, start = level.span_s, int(since.timestamp())
    rows = list(connection.execute(_KEPT, {"site": site, "span": span, "since": start}).all())
    if span:
        after = max(start, _after(connection, span))
        rows += connection.execute(_NOT_YET_ROLLED, {"site": site, "span": span, "since": after}).all()
        rows.sort(key=lambda row: (row[0], row[1]))
    named = {number: name for name, number in _series(connection, site).items()}
    found = [_columns(*named[number], list(mine)) for number, mine in groupby(rows, key=lambda row: int(row[0]))]
    found.sort(key=lambda each: (each.partition, each.unit))
    return SiteHistory(site=site, since=since, span_s=span, series=tuple(found))


def _columns(partition: str, unit: str, rows: list[Any]) -> HistorySeries:
    """Not validated again: these are our own numbers, and a day of a site has 13,000 of each."""
    _, at, readings, *columns = zip(*rows, strict=True)
    numbers: dict[str, Any] = dict(zip(_NUMBERS, columns, strict=True))
    return HistorySeries.model_construct(
        partition=partition, unit=unit, at=tuple(map(from_epoch, at)), readings=readings, **numbers
    )
