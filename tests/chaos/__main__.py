"""``python -m tests.chaos --seed 1 --runs 500 [--trace]``: chaos by hand, with a report."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .run import run
from .world import Report


def base() -> Path:
    """A folder in memory where there is one: a run writes some hundred times."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="diamond-chaos-", dir=memory if memory.is_dir() else None))


def runs(seed: int, count: int, *, real_shell: bool | None = None) -> Iterator[Report]:
    """Runs of consecutive seeds."""
    folder = base()
    try:
        for each in range(seed, seed + count):
            where = folder / str(each)
            where.mkdir()
            yield run(each, where, real_shell=real_shell)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--trace", action="store_true", help="tell each run line by line")
    parser.add_argument(
        "--real", type=int, default=0, metavar="N", help="N rounds on three real Slurm clusters instead"
    )
    options = parser.parse_args()
    return _really(options.seed, options.real) if options.real else _virtually(options)


def _really(seed: int, rounds: int) -> int:
    """Rounds on real clusters."""
    from tests.live.slurm import Testbed
    from tests.live.slurm.testbed import sweep

    from .real import real

    sweep()
    clusters, folder = Testbed(), Path(tempfile.mkdtemp(prefix="diamond-real-"))
    os.environ["XDG_RUNTIME_DIR"] = str(folder)  # ssh's sockets
    try:
        clusters.up()
        with real(clusters, folder, seed) as chaos:
            for number in range(rounds):
                chaos.round(number)
                report = chaos.report
                print(f"round {number}: {report.last}, {report.seconds[-1]:.1f} s", flush=True)
    finally:
        clusters.down()
        shutil.rmtree(folder, ignore_errors=True)
    for violation in report.violations:
        print(f"VIOLATION {violation}")
    _print("tasks ended", report.states)
    _print("faults", report.faults)
    longest = max(report.seconds)
    print(
        f"rounds {report.done} in {sum(report.seconds):.0f} s (longest {longest:.1f} s), violations: {len(report.violations)}"
    )
    return 1 if report.violations else 0


def _print(title: str, found: Counter[str]) -> None:
    print(f"{title}: {sum(found.values())}")
    print("".join(f"  {name:<48}{number:>6}\n" for name, number in sorted(found.items())), end="")


def _virtually(options: argparse.Namespace) -> int:
    """Runs on virtual time."""
    injected, kills, states, tasks, jobs, bad = Counter[str](), Counter[str](), Counter[str](), 0, 0, 0
    begun = time.perf_counter()
    for report in runs(options.seed, options.runs):
        injected += report.injected
        kills += report.kills
        states += report.states
        tasks, jobs = tasks + report.tasks, jobs + report.jobs
        if report.violations or options.trace:
            print("\n".join([f"seed {report.seed}:", *report.trace]) if options.trace else "", end="")
            for violation in report.violations:
                bad += 1
                print(
                    f"VIOLATION seed {report.seed}: {violation}   (make chaos SEED={report.seed} RUNS=1 TRACE=1)",
                    flush=True,
                )
    seconds = time.perf_counter() - begun
    print(
        f"runs {options.runs} in {seconds:.1f} s ({1000 * seconds / options.runs:.0f} ms each), tasks {tasks}, jobs {jobs}"
    )
    for title, found in (("tasks ended", states), ("faults", injected), ("kills", kills)):
        _print(title, found)
    print(f"violations: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
