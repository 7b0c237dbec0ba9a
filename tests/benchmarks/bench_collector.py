"""Refreshing 1, 4 and 16 sites at once and one after the other, and how old the numbers are with a dead site among four.

Run: python -m tests.benchmarks.bench_collector [--full]

The sites answer what a real cluster's probe printed, after a delay of their own (a transport that waits); everything
behind the transport is real: reading, merging, the store and its thread. The ages are followed for ten minutes at a
tick of 60 s, in which time runs SCALE times faster; ``--full`` follows them for ten real minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from tests.benchmarks.table import load, median, verdict
from tests.engine.scripted import Scripted, following

ROUNDS = 7
SLOWEST_S = 0.8
MINUTES = 10
TICK_S, TIMEOUT_S = 60.0, 30.0
SCALE = 20.0
PAPER_S = 183.3
TARGET_S = 40.0


def delays(count: int) -> list[float]:
    """From a fast site to the slowest."""
    return [SLOWEST_S * (0.25 + 0.75 * (at + 1) / count) for at in range(count)]


async def refreshes(count: int, folder: Path) -> None:
    """One line: the slowest site's own round trip, all at once, one after the other."""
    sites = {f"s{at:02}": Scripted(delay_s=delay) for at, delay in enumerate(delays(count))}
    names, slowest = list(sites), f"s{count - 1:02}"
    alone, together, in_turn = [], [], []
    async with following(folder, sites, background=False) as collector:
        await collector.refresh(names)  # the first one opens the store's tables
        for turn in range(ROUNDS):
            begun = time.perf_counter()
            await sites[slowest].run("", timeout_s=30)
            alone.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            await collector.refresh(names)
            together.append(time.perf_counter() - begun)
            if turn < 2:
                begun = time.perf_counter()
                for name in names:
                    await collector.refresh([name])
                in_turn.append(time.perf_counter() - begun)
    own, all_at_once, sequential = map(median, (alone, together, in_turn))
    more = 100 * (all_at_once / own - 1)
    print(
        f"{count:>5}{1000 * own:>14.0f}{1000 * all_at_once:>14.0f}{1000 * sequential:>16.0f}"
        f"{more:>9.1f} %{sequential / all_at_once:>9.1f} x   {verdict(more, 10)}"
    )


async def ages(folder: Path, scale: float) -> None:
    """Mean and largest age of each site's numbers, sampled every half second of the ten minutes."""
    sites = {"near": Scripted(delay_s=0.3 / scale), "far": Scripted(delay_s=2.0 / scale),
             "slow": Scripted(delay_s=8.0 / scale), "dead": Scripted()}  # fmt: skip
    seen: dict[str, list[float]] = {name: [] for name in sites}
    settings = {"probe_tick_s": TICK_S / scale, "probe_timeout_s": TIMEOUT_S / scale}
    async with following(folder, sites, **settings) as collector:
        await asyncio.sleep(TICK_S / scale / 2)  # all but the dead one have been read
        sites["dead"].hangs = True
        ends = time.monotonic() + 60 * MINUTES / scale
        while time.monotonic() < ends:
            await asyncio.sleep(0.5 / scale)
            for reading in collector.snapshot().sites:
                if reading.read_at is not None:
                    seen[reading.site].append((time.time() - reading.read_at.timestamp()) * scale)
        health = {reading.site: reading.health for reading in collector.snapshot().sites}
    for name, found in seen.items():
        tries = len([1 for _, script in sites[name].asked if script])
        print(f"{name:>8}{statistics.mean(found):>12.1f}{max(found):>10.1f}{tries:>8}   {health[name]}")
    living = [age for name, found in seen.items() if name != "dead" for age in found]
    print(
        f"  living{statistics.mean(living):>12.1f}{max(living):>10.1f}           target: mean under {TARGET_S:.0f} s: "
        f"{verdict(statistics.mean(living), TARGET_S)}; the source paper measured {PAPER_S} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="follow the ages for ten real minutes")
    scale = 1.0 if parser.parse_args().full else SCALE
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    try:
        print(f"refresh of N sites, ms, median of {ROUNDS}; {load()}")
        print(f"{'sites':>5}{'slowest alone':>14}{'all at once':>14}{'one by one':>16}{'more':>11}{'gain':>11}")
        for count in (1, 4, 16):
            asyncio.run(refreshes(count, base / str(count)))
        how = "real time" if scale == 1 else f"time runs {scale:.0f} times faster: our own costs count {scale:.0f} fold"
        print(
            f"\nage of numbers over {MINUTES} min at a tick of {TICK_S:.0f} s, one of four sites dead ({how}); {load()}"
        )
        print(f"{'site':>8}{'mean age, s':>12}{'max, s':>10}{'tries':>8}")
        asyncio.run(ages(base / "ages", scale))
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
