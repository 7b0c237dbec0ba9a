"""The tables: per policy, with bootstrap intervals, and the gates against best feasible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .play import Outcome

DAY = 86400.0
BASE = "best feasible"
_DRAWS = 1000

Table = Mapping[str, Sequence[Outcome]]


def act(outcomes: Sequence[Outcome], *, capped: bool = False) -> np.ndarray:
    """How much later than the best site, in seconds."""
    found = np.array([outcome.act_s for outcome in outcomes])
    return np.minimum(found, DAY) if capped else found


def interval(values: np.ndarray, statistic: str, seed: int = 1) -> tuple[float, float]:
    """95 % of the bootstrap over rounds."""
    draw = np.random.default_rng(seed)
    picks = values[draw.integers(0, len(values), (_DRAWS, len(values)))]
    found = picks.mean(axis=1) if statistic == "mean" else np.percentile(picks, 95, axis=1)
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def policies(table: Table) -> str:
    """One line per policy."""
    base = act(table[BASE], capped=True).mean()
    lines = [
        (
            f"{'policy':34} {'n':>5} {'median':>7} {'mean':>8} {'m24 [95 %]':>22} {'of bf':>6} "
            f"{'p95 [95 %]':>24} {'hit':>6} {'copies':>6} {'moves':>6} {'ms':>6}"
        )
    ]
    for name, outcomes in table.items():
        raw, capped = act(outcomes), act(outcomes, capped=True)
        low, high = interval(capped, "mean")
        p_low, p_high = interval(raw, "p95")
        hits = np.mean([outcome.hit for outcome in outcomes])
        copies, moves = (100 * np.mean([getattr(each, what) for each in outcomes]) for what in ("copies", "moves"))
        took = np.mean([outcome.decision_ms for outcome in outcomes])
        m24 = f"{capped.mean():.0f} [{low:.0f}, {high:.0f}]"
        p95 = f"{np.percentile(raw, 95):.0f} [{p_low:.0f}, {p_high:.0f}]"
        lines.append(
            f"{name:34} {len(raw):5} {np.median(raw):7.0f} {raw.mean():8.0f} {m24:>22} {capped.mean() / base:6.1%} "
            f"{p95:>24} {hits:6.1%} {copies:6.1f} {moves:6.1f} {took:6.1f}"
        )
    return "\n".join(lines)


def classes(table: Table, kinds: Sequence[str]) -> str:
    """Mean and 95th percentile per class of task."""
    lines = [f"{'class':10} {'n':>5}  " + "  ".join(f"{name[:22]:>22}" for name in table)]
    for kind in dict.fromkeys(sorted(kinds)):
        at = np.array([each == kind for each in kinds])
        cells = []
        for outcomes in table.values():
            values = act(outcomes, capped=True)[at]
            cells.append(f"{values.mean():.0f} ({np.percentile(values, 95):.0f})")
        lines.append(f"{kind:10} {at.sum():5}  " + "  ".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def gate(name: str, value: float, limit: float, *, unit: str = "%") -> str:
    """One gate: printed, never asserted."""
    shown = f"{value:.1%}" if unit == "%" else f"{value:.1f}"
    wanted = f"{limit:.0%}" if unit == "%" else f"{limit:.0f}"
    return f"{'met   ' if value <= limit else 'MISSED'}  {name}: {shown} (at most {wanted})"


def gates(table: Table, sizing: Table, *, crowded: bool) -> str:
    """All gates, relative to best feasible with its constant tuned in its favour."""
    base, base_capped = act(table[BASE]), act(table[BASE], capped=True)

    def ratio(name: str, what: str) -> float:
        if what == "m24":
            return float(act(table[name], capped=True).mean() / base_capped.mean())
        if what == "mean":
            return float(act(table[name]).mean() / base.mean())
        return float(np.percentile(act(table[name]), 95) / np.percentile(base, 95))

    copies = 100 * float(np.mean([outcome.copies for outcome in table["second copy"]]))
    lines = [
        gate("one live submission, m24", ratio("moving", "m24"), 0.35),
        gate("one live submission, mean", ratio("moving", "mean"), 0.20),
        gate("second copy, m24", ratio("second copy", "m24"), 0.12),
        gate("second copy, p95", ratio("second copy", "p95"), 0.45),
        gate("second copy, copies per 100", copies, 15 if crowded else 8, unit=""),
        gate("half of the queues hidden, m24", ratio("half hidden, moving", "m24"), 0.40),
    ]
    if sizing.get("joint"):
        joint = act(sizing["joint"]).mean() / act(sizing["most useful that fits"]).mean()
        lines.append(gate("joint sizing, mean over 'most useful that fits now'", float(joint), 0.55))
    return "\n".join(lines)
