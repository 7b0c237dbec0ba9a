"""The rounds: a task, an instant, the sites that may run it, and what each would really have taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jupyter_diamond.model.envelope import Envelope, Runtime, Span

from .logs import DAY
from .sites import CORES_PER_GPU, GPU_COUNTS, SimSite

CLASSES = {"cpu-small": 0.2, "cpu-multi": 0.15, "gpu-1": 0.25, "gpu-4": 0.25, "gpu-16": 0.15}
_MEDIAN_S = {"cpu-small": 1200, "cpu-multi": 5400, "gpu-1": 3600, "gpu-4": 7200, "gpu-16": 10800}
_SPREAD = {"cpu-small": 1.0, "cpu-multi": 0.9, "gpu-1": 1.0, "gpu-4": 0.9, "gpu-16": 0.8}
_WARM_UP_DAYS, _LAST_DAY = 5.0, 25.0
SIZES = GPU_COUNTS


@dataclass
class Option:
    """One site for one round: the job's shape in its units, and what it would really take there."""

    nodes: int
    units: int
    limit_s: float
    run_s: float
    prepare_s: float
    wait_s: float = 0.0

    @property
    def takes_s(self) -> float:
        """From submission to completion."""
        return self.wait_s + self.run_s + self.prepare_s


@dataclass
class Round:
    """One task at one instant. ``seen_at``: when the sites were last probed."""

    number: int
    kind: str
    at: float
    seen_at: float
    envelope: Envelope
    options: dict[str, Option] = field(default_factory=dict)
    sizing: SizingRound | None = None

    @property
    def best_s(self) -> float:
        """What the fastest site would have taken."""
        return min(option.takes_s for option in self.options.values())


@dataclass
class SizingRound:
    """The same instant, for a task that may have 1 to 8 GPUs. Options by (site, GPUs)."""

    envelope: Envelope
    options: dict[tuple[str, int], Option] = field(default_factory=dict)

    @property
    def best_s(self) -> float:
        """What the fastest site and size would have taken."""
        return min(option.takes_s for option in self.options.values())


def draw_rounds(sites: Sequence[SimSite], number: int, seed: int) -> list[Round]:
    """Rounds at random instants, in order; each with two to four sites that could ever run it."""
    draw = np.random.default_rng([seed, 3])
    instants = np.sort(draw.uniform(_WARM_UP_DAYS * DAY, _LAST_DAY * DAY, number))
    for at in range(1, number):
        instants[at] = max(instants[at], instants[at - 1] + 130)
    found = []
    for at, instant in enumerate(instants.tolist()):
        each = _draw(sites, at, instant, draw)
        if each is not None:
            found.append(each)
    return found


def _draw(sites: Sequence[SimSite], number: int, at: float, draw: np.random.Generator) -> Round | None:
    kind = str(draw.choice(list(CLASSES), p=list(CLASSES.values())))
    base = float(np.clip(draw.lognormal(np.log(_MEDIAN_S[kind]), _SPREAD[kind]), 180, 43200))
    guess = base * draw.lognormal(0, 0.2)
    nodes = int(draw.choice([8, 16, 32]))
    limit = float(np.ceil(max(2.5 * guess, 600) / 1800) * 1800)
    seen_at = float(np.floor((at - draw.uniform(2, 30)) / 60) * 60)
    shapes = {site.name: shape for site in sites if (shape := _shape(kind, site, nodes)) is not None}
    if len(shapes) < 2:
        return None
    wanted = min(len(shapes), int(draw.choice([2, 3, 4], p=[0.3, 0.35, 0.35])))
    names = sorted(draw.choice(sorted(shapes), wanted, replace=False).tolist())
    by_name = {site.name: site for site in sites}
    options = {
        name: Option(
            *shapes[name], limit_s=limit, run_s=float(min(base * by_name[name].speed * draw.lognormal(0, 0.1), limit)),
            prepare_s=float(by_name[name].prepare_s * draw.lognormal(0, 0.5)),
        )
        for name in names
    }  # fmt: skip
    envelope = _envelope(kind, nodes, limit, guess, names)
    return Round(
        number, kind, at, seen_at, envelope, options, _sizing(kind, [by_name[name] for name in names], limit, draw)
    )


def _shape(kind: str, site: SimSite, nodes: int) -> tuple[int, int] | None:
    """(nodes, units per node) of the job there; None where it could never run."""
    per_node, number = int(site.caps[0]), len(site.caps)
    if kind.startswith("gpu"):
        if site.kind != "gpus":
            return None
        gpus = int(kind.removeprefix("gpu-"))
        shape = (gpus // 8, 8) if gpus > 8 else (1, gpus)
        return (
            shape
            if shape[1] <= per_node and shape[0] <= number and shape[0] * shape[1] <= 0.4 * site.capacity
            else None
        )
    if site.kind == "gpus":
        return None
    if kind == "cpu-small":
        return (1, 1) if site.kind == "nodes" else (1, 8)
    return (nodes, per_node) if nodes <= 0.4 * number else None


def _envelope(kind: str, nodes: int, limit: float, guess: float, names: list[str]) -> Envelope:
    common = {
        "walltime_s": Span.exactly(int(limit)), "runtime": Runtime(seconds=guess), "sites": tuple(names),
    }  # fmt: skip
    if kind.startswith("gpu"):
        gpus = int(kind.removeprefix("gpu-"))
        each = min(gpus, 8)
        return Envelope(
            nodes=Span.exactly(max(1, gpus // 8)), gpus=Span.exactly(each),
            cpus=Span.exactly(each * CORES_PER_GPU), **common,
        )  # fmt: skip
    if kind == "cpu-small":
        return Envelope(cpus=Span.exactly(8), **common)
    return Envelope(nodes=Span.exactly(nodes), cpus=Span.exactly(32), **common)


def _sizing(kind: str, sites: list[SimSite], limit: float, draw: np.random.Generator) -> SizingRound | None:
    if not kind.startswith("gpu") or kind == "gpu-16":
        return None
    base = float(np.clip(draw.lognormal(np.log(14400), 0.8), 1800, 86400))
    parallel, talk, error = draw.uniform(0.85, 0.99), draw.uniform(0, 0.02), draw.lognormal(0, 0.1)
    times = {g: base * ((1 - parallel) + parallel / g + talk * (g - 1)) for g in SIZES}
    limit = float(np.ceil(max(2.5 * times[1] * error, 600) / 1800) * 1800)
    envelope = Envelope(
        gpus=Span(min=1, max=8), cpus=Span.exactly(CORES_PER_GPU), walltime_s=Span.exactly(int(limit)),
        sites=tuple(site.name for site in sites),
        runtime=Runtime(seconds=times[1] * error, units=1, curve=tuple((g, times[g] * error) for g in SIZES)),
    )  # fmt: skip
    options = {
        (site.name, g): Option(
            1, g, limit_s=limit, run_s=float(min(times[g] * site.speed * draw.lognormal(0, 0.05), limit)),
            prepare_s=site.prepare_s,
        )
        for site in sites
        for g in SIZES
        if g <= site.caps[0] and g <= 0.5 * site.capacity
    }  # fmt: skip
    return SizingRound(envelope, options)
