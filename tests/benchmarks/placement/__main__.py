"""``make bench-placement SEED=7 ROUNDS=600 LOGS=folder``: every policy on every scenario, then the gates on all."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks.table import load

from . import play, report, scenarios
from .play import Instant, Outcome
from .rounds import SizingRound, draw_rounds
from .sites import SimSite

Tables = dict[str, list[Outcome]]


def main() -> None:
    """Play, print."""
    said = _arguments()
    names: dict[str, Callable[[], list[SimSite]]] = {"generated": lambda: scenarios.generated(said.seed)}
    if said.logs:
        folder = Path(said.logs)
        names = {f"logs of {folder.name}": lambda: scenarios.of_logs(folder, said.seed), **names}
    pooled: Tables = {}
    sizes: Tables = {}
    kinds: list[str] = []
    crowded = False
    for name, make in names.items():
        begun = time.perf_counter()
        sites = make()
        for site in sites:
            site.play()
        loads = ", ".join(f"{site.name} {site.load:.2f}" for site in sites)
        crowded = crowded or any(site.load > 1 for site in sites)
        table, sizing, of_kind = _scenario(sites, said.rounds, said.seed)
        print(f"\n== {name}, seed {said.seed}, {len(of_kind)} rounds; offered load: {loads}")
        print(report.policies(table))
        print(f"{time.perf_counter() - begun:.0f} s; {load()}")
        for pool, part in ((pooled, table), (sizes, sizing)):
            for policy, outcomes in part.items():
                pool.setdefault(policy, []).extend(outcomes)
        kinds += of_kind
    print(f"\n== all scenarios, {len(kinds)} rounds")
    print(report.policies(pooled))
    print(f"\nper class, m24 (p95), s\n{report.classes(pooled, kinds)}")
    if sizes.get("joint"):
        print("\nsizing, 1 to 8 GPUs: mean, p95 s")
        for policy, outcomes in sizes.items():
            late = report.act(outcomes)
            print(f"{policy:34} {len(late):5} {late.mean():8.0f} {np.percentile(late, 95):8.0f}")
    print(f"\n{report.gates(pooled, sizes, crowded=crowded)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-placement", description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=600, help="per scenario")
    parser.add_argument("--logs", default="", help="a folder of SWF files or tables; without it, generated logs alone")
    return parser.parse_args()


def _scenario(sites: Sequence[SimSite], number: int, seed: int) -> tuple[Tables, Tables, list[str]]:
    rounds = draw_rounds(sites, number, seed)
    draw = np.random.default_rng([seed, 4])
    order = [site.name for site in sites]
    table: Tables = {}
    sizing: Tables = {}
    for instant in play.instants(sites, rounds):
        half = frozenset(name for name in order if draw.random() < 0.5)
        for name, outcome in _policies(instant, order, half).items():
            table.setdefault(name, []).append(outcome)
        if instant.round.sizing is not None:
            for name, outcome in _sizing(instant, instant.round.sizing).items():
                sizing.setdefault(name, []).append(outcome)
    return table, sizing, [each.kind for each in rounds]


def _policies(instant: Instant, order: Sequence[str], half: frozenset[str]) -> Tables | dict[str, Outcome]:
    every = frozenset(order)
    blind = instant.world(hidden=every)
    return {
        "fixed site": play.fixed(instant, order),
        "random": play.single(instant, blind, "random", instant.round.number),
        "shortest queue": play.single(instant, blind, "shortest_queue"),
        report.BASE: play.single(instant, blind, "best_feasible"),
        "all queues hidden": play.single(instant, blind),
        "half hidden, moving": play.moving(instant, half),
        "decided once": play.single(instant, instant.world()),
        "moving": play.moving(instant),
        "second copy": play.with_copy(instant, instant.world()),
        "bound: true wait, guessed run time": play.bound(instant),
    }


def _sizing(instant: Instant, sizing: SizingRound) -> dict[str, Outcome]:
    return {
        "most useful that fits": play.sized(instant, sizing, "best_feasible"),
        "joint": play.sized(instant, sizing, "earliest_completion"),
    }


if __name__ == "__main__":
    main()
