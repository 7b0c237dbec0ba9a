"""The main job against submitit, on one real Slurm cluster, in one run, in random order.

Run: python -m tests.benchmarks.bench_main_job   (N=10 rounds; COMMANDS=0 leaves the two minutes of counting out).
``accepted`` is the moment when sbatch has answered: for ours when the answer is recorded in the attempt's folder (a
file's time may be one tick of the kernel, 1-4 ms, early), for submitit when ``submit`` returns. The cell returns the
time of its own end; all clocks are this machine's. On a busy machine look at the fastest of both, too.
"""

from __future__ import annotations

import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.benchmarks.stage import CLUSTER, Stage, call, is_probe, stage
from tests.benchmarks.table import load, median, p95, verdict
from tests.live.kernel import Kernel

Round = dict[str, float]
OURS, DEFAULT, FASTEST = "ours", "default", "fastest"
NAMES = {OURS: "jupyter_diamond", DEFAULT: "submitit", FASTEST: "submitit, no srun, polls every 50 ms"}
MEASURES = (
    ("cell run -> accepted by Slurm", "start", "accepted"),
    ("cell run -> cell has returned", "start", "returned"),
    ("function end -> name bound", "end", "bound"),
    ("function end -> result() returns", "end", "here"),
    ("total: cell run -> value", "start", "here"),
)


def latencies(played: Stage, rounds: int) -> dict[str, list[Round]]:
    """Each way once a round, in an order of its own, with pauses so that Slurm's own ticks average out."""
    ours, theirs = played.ours(), played.submitit()
    print("first cell of a kernel, ms:", _first(ours))
    for which in (DEFAULT, FASTEST):
        call(theirs, f"await once({which!r})")
    taken: dict[str, list[Round]] = {OURS: [], DEFAULT: [], FASTEST: []}
    for number in range(rounds):
        order = list(taken)
        random.shuffle(order)
        for which in order:
            time.sleep(random.uniform(0.5, 2.0))  # waits for nothing: without it every round meets the same tick
            taken[which].append(
                our_round(ours, f"fit{number}") if which == OURS else call(theirs, f"await once({which!r})")
            )
    for kernel in (ours, theirs):
        kernel.shutdown()
    return taken


def our_round(kernel: Kernel, name: str) -> Round:
    """One cell, with the moment at which sbatch had answered."""
    times = call(kernel, f"once({name!r})")
    times["accepted"] = (Path(times.pop("folder")) / "submit.1.rc").stat().st_mtime
    return dict(times)


def _first(kernel: Kernel) -> str:
    times = our_round(kernel, "first")
    return ", ".join(f"{what} {(times[b] - times[a]) * 1000:.0f}" for what, a, b in MEASURES[:2])


def show(taken: dict[str, list[Round]]) -> None:
    """The table, and what the targets say of it."""
    found = {
        (which, what): [(times[b] - times[a]) * 1000 for times in rounds]
        for which, rounds in taken.items() for what, a, b in MEASURES
    }  # fmt: skip
    print(
        f"\n{'milliseconds, median / p95 / least':34}"
        + "".join(f"{NAMES[which][:24]:>26}" for which in taken)
        + "   ratio"
    )
    for what, _, _ in MEASURES:
        line = "".join(
            f"{median(found[w, what]):>10.0f} / {p95(found[w, what]):>4.0f} / {min(found[w, what]):>4.0f}"
            for w in taken
        )
        ratios = [median(found[OURS, what]) / max(median(found[w, what]), 0.1) for w in (DEFAULT, FASTEST)]
        print(f"{what:34}{line}   {ratios[0]:.2f} {ratios[1]:.2f}")
    accept, end = MEASURES[0][0], MEASURES[3][0]
    extra = median(found[OURS, accept]) - median(found[DEFAULT, accept])
    ratio = median(found[OURS, end]) / median(found[DEFAULT, end])
    least = min(found[OURS, accept]) - min(found[DEFAULT, accept])
    print(
        f"accepted {extra:+.0f} ms after submitit's submit (target: at most +30): {verdict(extra, 30)}; "
        f"{least:+.0f} ms between the fastest of both, which a busy machine disturbs least"
    )
    print(f"function end -> value: {ratio:.2f}x submitit's default (target: at most 0.2x): {verdict(ratio, 0.2)}")


def commands(played: Stage, jobs: int, seconds: int) -> None:
    """Both at once, each with ``jobs`` sleeping jobs: what they ask of the scheduler in the minute after submission."""
    ours, theirs = played.ours(f"ours{jobs}.ipynb"), played.submitit(f"submitit{jobs}.ipynb")
    begun = {"ours": time.time(), "submitit": time.time()}
    ours.execute(
        f"tasks = [submit(f'nap{jobs}_{{i}}', 'import time; time.sleep({seconds}); x = {{}}'.format(i), '--out x')"
        f" for i in range({jobs})]"
    )
    theirs.execute(f"import time\njobs = [default.submit(time.sleep, {seconds}) for i in range({jobs})]")
    sent = time.time()
    with ThreadPoolExecutor(2) as waiting:
        ends = [
            waiting.submit(call, ours, "[task.wait() for task in tasks] and time.time()"),
            waiting.submit(call, theirs, "[job.result() for job in jobs] and time.time()"),
        ]
        done = [end.result() for end in ends]
    for whose, end in zip(begun, done, strict=True):
        seen = [(at, line) for at, line in played.commands(whose) if begun[whose] <= at]
        asked = [(at, line) for at, line in seen if not line.startswith("sbatch")]
        minute = [line for at, line in asked if sent <= at < sent + 60]
        print(
            f"{whose:9} {jobs:3} jobs of {seconds} s: {len(seen) - len(asked)} sbatch; in the minute after the last "
            f"submission {_counted([line for line in minute if not is_probe(line)])}; until the last word was known "
            f"({end - sent:.0f} s) {_counted([line for at, line in asked if at <= end and not is_probe(line)])}"
            + (f"; site probe {_counted([line for line in minute if is_probe(line)])}" if whose == "ours" else "")
        )
    for kernel in (ours, theirs):
        kernel.shutdown()


def _counted(lines: list[str]) -> str:
    names = sorted({line.split()[0] for line in lines})
    return " + ".join(f"{sum(line.split()[0] == name for line in lines)} {name}" for name in names) or "none"


def main() -> None:
    rounds = int(os.environ.get("N", "10"))
    with stage() as played:
        print(f"Slurm {'.'.join(map(str, played.testbed.slurm_version))}, cluster {CLUSTER}, n={rounds}; {load()}")
        show(latencies(played, rounds))
        print(load())
    if os.environ.get("COMMANDS", "1") != "0":
        print("\nscheduler commands", flush=True)
        with stage(counts=True) as played:
            for jobs in (1, 10):
                commands(played, jobs, 70)


if __name__ == "__main__":
    sys.exit(main())
