"""The past of the sites in the store: what one reading costs, and how large half a year is.

Run: python -m tests.benchmarks.bench_history [DAYS]   (default 200). Ten sites of nine partitions, a reading a minute.
The days are filled by the store's own roll-up: a reading an hour at first, one in ten minutes in the last two weeks, one
a minute in the last day, which gives as many rows as minutes all the time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

from jupyter_diamond.model.snapshot import Record, SiteReading
from jupyter_diamond.store import Store
from tests.benchmarks.table import load, median, p95, verdict

SITES, PARTITIONS = 10, 9
TARGET_MS = 20
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def reading(site: int, at: datetime) -> SiteReading:
    """Nine partitions with numbers that move."""
    number = int(at.timestamp() // 60) + site
    records = tuple(
        Record(
            site=f"s{site}", partition=f"p{part}", read_at=at, gpus_total=400, gpus_free=(number * (part + 3)) % 400,
            pending=number % 900, running=number % 300, mine_pending=number % 3, mine_running=number % 2,
        )
        for part in range(PARTITIONS)
    )  # fmt: skip
    return SiteReading(site=f"s{site}", transport="ssh", scheduler="slurm", read_at=at, records=records)


def timed(store: Store, at: datetime) -> list[float]:
    """Milliseconds of one write a site."""
    taken = []
    for site in range(SITES):
        one = reading(site, at)
        begun = time.perf_counter()
        store.put_reading(one)
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


def main() -> None:
    days = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    try:
        store = Store(base / "diamond" / "store.sqlite")
        first = [ms for minute in range(30) for ms in timed(store, START - timedelta(days=2, minutes=minute))]
        at, end = START, START + timedelta(days=days)
        while at < end:
            timed(store, at)
            left = end - at
            at += timedelta(minutes=60 if left > timedelta(days=15) else 10 if left > timedelta(days=1) else 1)
        last = [ms for minute in range(60) for ms in timed(store, end + timedelta(minutes=minute))]
        print(f"{SITES} sites of {PARTITIONS} partitions; {load()}\n{'ms':44}{'median':>8}{'p95':>8}{'largest':>9}")
        for what, found in (("one reading, a new store", first), (f"one reading, after {days} days", last)):
            print(
                f"{what:44}{median(found):8.1f}{p95(found):8.1f}{max(found):9.1f}   {verdict(median(found), TARGET_MS)}"
            )
        print(f"  (after / new: {median(last) / median(first):.2f} x; the largest ones roll ten minutes up)")
        now = end + timedelta(hours=1)
        for hours in (24, 14 * 24, 180 * 24):
            taken, points = [], 0
            for _ in range(5):
                begun = time.perf_counter()
                answer = store.history("s3", now - timedelta(hours=hours), now)
                taken.append((time.perf_counter() - begun) * 1000)
                points = sum(len(each.at) for each in answer.series)
            print(f"history of a site, {hours} h: {points} points{'':12}{median(taken):8.1f}{p95(taken):8.1f}")
        store.close()
        print(f"the file: {(base / 'diamond' / 'store.sqlite').stat().st_size / 1e6:.1f} MB")
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
