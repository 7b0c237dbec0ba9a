"""Medians, 95th percentiles and ratios, as the benchmarks print them."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    """The nearest rank; with 20 values or fewer this is the largest."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def load() -> str:
    """How busy the machine is: benchmarks on a shared one are to be read with it."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (1 min), {five:.1f} (5 min) on {os.cpu_count()} cores"


def verdict(value: float, limit: float) -> str:
    """Whether a target was met; printed, never asserted."""
    return "met" if value <= limit else "MISSED"
