"""The printed tables of a run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.benchmarks.table import load, p95

from .federation import SCALE
from .rounds import POLICIES, Round

RESOLUTION_S = 1.0
"""Slurm's times are whole seconds: starts that are no further apart are the same."""


def table(rounds: Sequence[Round]) -> str:
    """Policies against the best start, then forecasts against what happened."""
    return "\n".join([_head(rounds), "", *_policies(rounds), "", *_forecasts(rounds)])


def line(number: int, each: Round) -> str:
    """One round: cores and limit; per site the jobs ahead, the forecast and the real wait in seconds."""
    sites = (f"{site}: {each.ahead[site]}, {_said(each, site)} > {each.waits[site]:.0f}" for site in each.feasible)
    return f"{number:3}  {each.seconds:4.1f} s  {each.task.cpus:3} x {each.task.minutes} min  {'   '.join(sites)}"


def _said(each: Round, site: str) -> str:
    wait = each.forecasts[site].wait_s
    return "?" if wait is None else f"{wait / SCALE:.0f}"


def _head(rounds: Sequence[Round]) -> str:
    best = [min(each.waits.values()) for each in rounds]
    worst = [max(each.waits.values()) for each in rounds]
    open_ = sum(len(each.feasible) - len(each.started) for each in rounds)
    return (
        f"{len(rounds)} rounds, {statistics.mean(each.seconds for each in rounds):.1f} s each; wait at the best site "
        f"{statistics.mean(best):.1f} s, at the worst {statistics.mean(worst):.1f} s on average; {open_} of "
        f"{sum(len(each.feasible) for each in rounds)} starts not awaited (counted as the time waited); {load()}"
    )


def _policies(rounds: Sequence[Round]) -> list[str]:
    lines = [f"{'policy':22} {'n':>4} {'hit':>7} {'late: mean':>11} {'p95':>7} {'worst':>7} {'wait: mean':>11}"]
    for policy in POLICIES:
        late = [each.late_s(policy) for each in rounds]
        wait = [each.waits[each.chosen[policy]] for each in rounds]
        hits = statistics.mean(seconds <= RESOLUTION_S for seconds in late)
        lines.append(
            f"{policy:22} {len(late):4} {hits:7.0%} {statistics.mean(late):9.1f} s {p95(late):5.1f} s {max(late):5.1f} s "
            f"{statistics.mean(wait):9.1f} s"
        )
    return lines


def _forecasts(rounds: Sequence[Round]) -> list[str]:
    lines = [f"{'forecast':22} {'n':>4} {'error: median':>14} {'bias: median':>13} {'in band':>12}"]
    for site in ("all", *sorted({site for each in rounds for site in each.feasible})):
        pairs = [
            (each.forecasts[at], SCALE * (times.started - times.submitted))
            for each in rounds
            for at, times in each.started.items()
            if site in ("all", at)
        ]
        errors = [(said.wait_s - real) / SCALE for said, real in pairs if said.wait_s is not None]
        bands = [(said.low_s, real, said.high_s) for said, real in pairs]
        held = [
            low - RESOLUTION_S * SCALE <= real <= high + RESOLUTION_S * SCALE
            for low, real, high in bands
            if low is not None and high is not None
        ]
        inside = f"{sum(held)} of {len(held)}" if held else "no band yet"
        middle = statistics.median(map(abs, errors)) if errors else float("nan")
        bias = statistics.median(errors) if errors else float("nan")
        lines.append(f"{site:22} {len(pairs):4} {middle:12.1f} s {bias:+11.1f} s {inside:>12}")
    return lines
