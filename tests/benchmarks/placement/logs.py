"""Job logs: Standard Workload Format, tables, and generated ones. Seconds from the start; units are cores or GPUs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = ["submit", "run", "limit", "nodes", "units", "user"]
"""Of a log: ``units`` is per node."""
_LIMITS = np.array([900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800])
DAY = 86400.0


def read(path: Path) -> pd.DataFrame:
    """A log by its name: ``*.swf``, ``*.swf.gz``, or a table ``submit,run,limit,m,c,user`` as ``*.csv``, ``*.csv.gz``."""
    return read_swf(path) if ".swf" in path.name else read_table(path)


def read_table(path: Path) -> pd.DataFrame:
    """A table of jobs."""
    table = pd.read_csv(path).rename(columns={"m": "nodes", "c": "units"})
    return table[COLUMNS].sort_values("submit", kind="stable").reset_index(drop=True)


def read_swf(path: Path) -> pd.DataFrame:
    """A Standard Workload Format file; jobs without a run time or processors are left out. One unit is one node."""
    opened = gzip.open if path.name.endswith(".gz") else open
    rows = []
    with opened(path, "rt", encoding="latin-1") as file:
        for line in file:
            field = line.split()
            if not field or field[0].startswith(";") or len(field) < 12:
                continue
            submit, run, used, asked, limit, user = (float(field[at]) for at in (1, 3, 4, 7, 8, 11))
            number = asked if asked > 0 else used
            if run > 0 and number > 0:
                rows.append((submit, run, limit if limit >= run else run * 2, int(number), 1, int(user)))
    return pd.DataFrame(rows, columns=COLUMNS).sort_values("submit", kind="stable").reset_index(drop=True)


def generate(seed: int, *, days: int, capacity: int, load: float, per_node: int, gpus: bool = False) -> pd.DataFrame:
    """A log of sessions: a few users with habits, working days, bursts, limits asked for too long, failures at once.

    ``per_node`` is the units of a node; jobs larger than that take whole nodes. ``capacity`` is in units.
    """
    draw = np.random.default_rng(seed)
    users = 30 if gpus else 50
    weights = 1 / np.arange(1, users + 1) ** 1.1
    weights /= weights.sum()
    habits = [_habits(draw, capacity, per_node, gpus=gpus) for _ in range(users)]
    rows: list[tuple[float, ...]] = []
    area, goal = 0.0, load * capacity * days * DAY
    while area < goal:
        user = int(draw.choice(users, p=weights))
        size, middle, over, usual = habits[user][int(draw.integers(len(habits[user])))]
        number = 1 + draw.geometric(0.25) if draw.random() < 0.85 else draw.integers(20, 120)
        hour = draw.normal(14, 4) % 24 if draw.random() < 0.8 else draw.uniform(0, 24)
        at = draw.integers(days) * DAY + hour * 3600
        for _ in range(int(number)):
            well = draw.random() > 0.12
            run = float(np.clip(middle * draw.lognormal(0, 0.5) if well else draw.uniform(5, 60), 5, 172800))
            wanted = min(run * max(1.02, over * draw.lognormal(0, 0.3)), 172800)
            limit = max(float(_LIMITS[min(np.searchsorted(_LIMITS, wanted), len(_LIMITS) - 1)]), usual)
            nodes, units = (1, size) if size <= per_node else (size // per_node, per_node)
            rows.append((at, run, limit, nodes, units, user))
            area += run * nodes * units
            at += draw.exponential(40 if number < 20 else 4)
    return pd.DataFrame(rows, columns=COLUMNS).sort_values("submit", kind="stable").reset_index(drop=True)


def _habits(
    draw: np.random.Generator, capacity: int, per_node: int, *, gpus: bool
) -> list[tuple[int, float, float, float]]:
    """What a user runs: (units, usual run time, how much too long the limit is, a limit that is always asked)."""
    most = int(np.log2(max(2, capacity // (4 if gpus else 2))))
    found = []
    for _ in range(int(draw.integers(1, 4))):
        large = draw.random() < (0.25 if gpus else 0.6)
        size = int(2 ** draw.integers(0, most + 1 if large else 4))
        if size > per_node:
            size -= size % per_node
        usual = float(draw.choice(_LIMITS[4:])) if draw.random() < 0.45 else 0.0
        found.append((size, float(draw.lognormal(np.log(2400), 1.6)), float(draw.lognormal(0.9, 0.7)), usual))
    return found
