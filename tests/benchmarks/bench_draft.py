"""How long a draft without a model takes: a notebook of 500 lines, with words, over a pool of every documented machine.

Run: python -m tests.benchmarks.bench_draft   (REPEATS=30)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timezone

from jupyter_diamond.agent.drafting.pool import pool_of
from jupyter_diamond.agent.drafting.rules import draft
from jupyter_diamond.cell.reading.code import read_code
from jupyter_diamond.model.draft import DraftRequest
from tests.agent.drafting.pools import pool
from tests.agent.drafting.workloads import CPU_ONLY, DDP, INFERENCE
from tests.benchmarks.table import load, median, p95, verdict

TARGET_S = 0.050
WORDS = (
    "Fine-tune it on two A100s or H100s, at most 4 hours on delta, no more than 20 GPU-hours, cheapest, done by 18:00"
)


def notebook(lines: int) -> str:
    """Cells of real work, their functions named apart."""
    cells: list[str] = []
    while sum(cell.count("\n") + 1 for cell in cells) < lines:
        number = len(cells)
        body = (CPU_ONLY, INFERENCE, DDP)[number % 3].replace("\n", "\n    ")
        cells.append(f"def step_{number}(dataset, criterion, rate={number / 1000}):\n    {body}\n    return dataset\n")
    return "\n".join("\n".join(cells).split("\n")[:lines])


def timed(act: Callable[[], object], repeats: int) -> tuple[list[float], list[float]]:
    """Seconds by the clock, and of the processor: on a busy machine the second is what the work takes."""
    clock, cpu = [], []
    for _ in range(repeats):
        began, worked = time.perf_counter(), time.process_time()
        act()
        clock.append(time.perf_counter() - began)
        cpu.append(time.process_time() - worked)
    return clock, cpu


def main() -> None:
    repeats = int(os.environ.get("REPEATS", "30"))
    code = notebook(500)
    here, now = pool_of(pool()[0]), datetime.now(timezone.utc)
    request = DraftRequest(words=WORDS, code=code)
    print(f"{code.count(chr(10)) + 1} lines, {len(code):,} characters, {len(here.partitions)} partitions; {load()}")
    first = timed(lambda: draft(request, pool=here, now=now), 1)
    whole = timed(lambda: draft(request, pool=here, now=now), repeats)
    reading = timed(lambda: read_code(code), repeats)
    print(f"{'ms':<34}{'clock':>10}{'p95':>10}{'processor':>12}")
    for what, (clock, cpu) in (("first draft of a process", first), ("draft", whole), ("of it: reading code", reading)):
        print(f"{what:<34}{median(clock) * 1e3:>10.1f}{p95(clock) * 1e3:>10.1f}{median(cpu) * 1e3:>12.1f}")
    print(f"target {TARGET_S * 1e3:.0f} ms of processor: {verdict(median(whole[1]), TARGET_S)}")


if __name__ == "__main__":
    main()
