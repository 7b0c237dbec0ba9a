"""Which sites stand in a scenario: drawn from a seed, from logs by path or generated, with loads a user would meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from .logs import DAY, generate, read
from .sites import Kind, SimSite, build

DAYS = 28.0
_HABITS = ((30, 0.0, 0.0), (60, 0.0, 0.0), (30, 1.0, 0.0), (60, 1.0, 0.3), (30, 2.0, 0.2))
"""(seconds between passes, weight of fair share, weight of size): first come first served, and multifactor ones."""


def of_logs(folder: Path, seed: int) -> list[SimSite]:
    """Up to five CPU and six GPU sites from the logs of a folder; a window of each drawn from the seed."""
    draw = np.random.default_rng([seed, 1])
    paths = sorted(path for path in folder.iterdir() if path.name.endswith((".csv.gz", ".csv", ".swf", ".swf.gz")))
    gpu = [path for path in paths if path.name.startswith("ph")]
    cpu = [path for path in paths if path not in gpu]
    sites = [_of_log(path, "nodes", draw) for path in _some(cpu, 4, draw)]
    return sites + [_of_log(path, "gpus", draw) for path in _some(gpu, 6, draw)]


def generated(seed: int) -> list[SimSite]:
    """Four CPU and five GPU sites from logs that are generated anew for every seed."""
    draw = np.random.default_rng([seed, 2])
    sites = []
    for number, kind in enumerate(("nodes", "nodes", "cores", "nodes", "gpus", "gpus", "gpus", "gpus", "gpus")):
        per_node = {"nodes": 1, "cores": 32, "gpus": 4 if number == 8 else 8}[kind]
        capacity = int(draw.choice({"nodes": (128, 192, 256), "cores": (2048, 4096), "gpus": (32, 64, 96, 128)}[kind]))
        table = generate(
            int(draw.integers(1 << 31)), days=int(DAYS) + 2, capacity=capacity, load=0.7,
            per_node=capacity if kind == "nodes" else per_node, gpus=kind == "gpus",
        )  # fmt: skip
        sites.append(_site(f"{kind}{number}", table, kind, per_node, draw))
    return sites


def _some(paths: list[Path], most: int, draw: np.random.Generator) -> list[Path]:
    chosen = sorted(draw.choice(len(paths), min(most, len(paths)), replace=False).tolist()) if paths else []
    return [paths[at] for at in chosen]


def _of_log(path: Path, kind: Kind, draw: np.random.Generator) -> SimSite:
    table = read(path)
    spare = float(table.submit.max()) - (DAYS + 0.5) * DAY
    begin = float(draw.uniform(0, spare)) if spare > 0 else 0.0
    table = table[table.submit >= begin]
    per_node = (4 if int(table.units.max()) <= 4 else 8) if kind == "gpus" else 1
    return _site(path.name.split(".")[0], table, kind, per_node, draw)


def _site(name: str, table: pd.DataFrame, kind: Kind, per_node: int, draw: np.random.Generator) -> SimSite:
    interval, fairshare, size = _HABITS[int(draw.integers(len(_HABITS)))]
    return build(
        name, table, kind=kind, per_node=per_node, load=float(draw.uniform(0.55, 0.9)), days=DAYS, fairshare=fairshare,
        size=size, interval=interval, depth=500, speed=float(draw.uniform(0.8, 1.25)),
        prepare_s=float(draw.uniform(10, 90)),
    )  # fmt: skip
