"""What our own work that ended well tells of sites: how long it takes to get ready there, and how fast they are.

Where little is known, little is said: nothing at all of a site with fewer than three jobs, or three works in common
with other sites, and few of them are taken for less than they say. What is said is coarse on purpose: a second, or one
part in a hundred, must not outweigh what the user prefers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from statistics import fmean, median

from jupyter_diamond.model.queue import OwnRun

_FEWEST = 3
_NEWEST = 15
"""So many jobs of a site are looked at: an environment changes."""
_STEP_S = 5.0
"""As exact as a preparation is said."""
_CLOCKS_S = 1.0
"""A cell that began so long before its job did so by a clock that is coarser; one that began sooner, by a wrong one."""
_SHORTEST_S = 5.0
"""A cell that ran shorter tells of the clocks, which tick seconds, rather than of the site."""
_PRIOR = 3.0
"""So many works that say *as fast as any* are added to what is known."""
_MOST = 4.0
"""No site is taken for faster or slower than that: so much is another program, not another machine."""
_STEPS = 20
"""As exact as a speed is said: twentieths."""
_ROUNDS = 8

_Logs = Mapping[Hashable, Mapping[str, float]]


def preparations(runs: Iterable[OwnRun]) -> dict[str, float]:
    """Seconds from a job's start to that of its cell, by site: the median of the newest, with which ``runs`` end."""
    known: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        if run.prepare_s is not None and run.prepare_s >= -_CLOCKS_S:
            known[run.site].append(max(run.prepare_s, 0.0))
    return {
        site: _STEP_S * round(median(found[-_NEWEST:]) / _STEP_S)
        for site, found in known.items()
        if len(found) >= _FEWEST
    }


def speeds(runs: Iterable[OwnRun]) -> dict[str, float]:
    """The run time of the same work there over that at a site as fast as the mean of them, by site.

    A site's factor is the median over the works that it has in common with others; what a work would take at the mean
    of all sites, and not of those alone where it ran, is found by turns with the factors.
    """
    logs = _in_common(runs)
    factors = {site: 0.0 for ran in logs.values() for site in ran}
    for _ in range(_ROUNDS):
        plain = {work: fmean(log - factors[site] for site, log in ran.items()) for work, ran in logs.items()}
        factors = {site: median(_apart(site, logs, plain)) for site in factors}
    numbers = {site: sum(site in ran for ran in logs.values()) for site in factors}
    return {
        site: _coarse(factor * numbers[site] / (numbers[site] + _PRIOR))
        for site, factor in factors.items()
        if numbers[site] >= _FEWEST
    }


def _in_common(runs: Iterable[OwnRun]) -> _Logs:
    """The works that ran at two sites or more: of each the median logarithm of its run time there."""
    times: dict[Hashable, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.run_s is not None and run.run_s >= _SHORTEST_S:
            times[run.work][run.site].append(math.log(run.run_s))
    return {
        work: {site: median(logs[-_NEWEST:]) for site, logs in sorted(ran.items())}
        for work, ran in times.items()
        if len(ran) > 1
    }


def _apart(site: str, logs: _Logs, plain: Mapping[Hashable, float]) -> list[float]:
    return [ran[site] - plain[work] for work, ran in logs.items() if site in ran]


def _coarse(factor: float) -> float:
    bounded = min(max(math.exp(factor), 1 / _MOST), _MOST)
    return round(bounded * _STEPS) / _STEPS
