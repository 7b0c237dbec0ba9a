"""What a decision costs: the rules alone over many candidates, and whole decisions over many queues.

Run: python -m tests.benchmarks.bench_decide   (ROUNDS=5 SEED=7). Every record and every queue is its own: nothing is
decided twice, and what a decision keeps for itself is made anew in each round. Beside the product, in the same run, a
textbook EASY planner in plain Python answers the one question *when would this job start* for each queue:
no rules, no sizes, no words.
"""

from __future__ import annotations

import bisect
import gc
import os
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy, RequiredOption
from jupyter_diamond.model.queue import QueuedJob, QueueNode, SiteQueue
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.placement.caps import for_envelope
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.judging import Bench
from jupyter_diamond.placement.place import Clock, Place
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World
from tests.benchmarks.table import load, median, p95, verdict

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SEED = int(os.environ.get("SEED", "7"))
NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
GIB = 1 << 30
H = 3600
SHAPES = ((10, 1000), (100, 100), (1000, 10))
RULES_MS, DECISION_MS = 20.0, 200.0
GPUS, CPUS = 4, 64
PER_SITE = 10

ASKED = Envelope(
    gpus=Span(min=1, max=4), cpus=Span(min=4, max=16), walltime_s=Span(min=H, max=4 * H), gpu_model="a100|h100",
    gpu_memory_bytes=40 * GIB, arch="x86_64", memory_bytes=Span.exactly(32 * GIB),
    runtime=Runtime(seconds=2 * H, units=1, serial=0.1),
)  # fmt: skip


class Pool(NamedTuple):
    """Sites with what is known of them and their queues."""

    sites: tuple[Site, ...]
    snapshot: Snapshot
    queues: dict[str, SiteQueue]


def pool(partitions: int, jobs: int, rng: random.Random) -> Pool:
    """So many partitions, ten a site, each with nodes of its own and so many jobs that wait."""
    sites, readings, queues = [], [], {}
    for number in range(-(-partitions // PER_SITE)):
        name = f"site{number}"
        parts = [partition(name, f"gpu{each}", jobs, rng) for each in range(min(PER_SITE, partitions))]
        sites.append(Site(name=name, scheduler="slurm", account="abcd"))
        readings.append(
            SiteReading(
                site=name, transport="local", scheduler="slurm", health="online", read_at=NOW - timedelta(seconds=9),
                records=tuple(record for record, *_ in parts),
            )
        )  # fmt: skip
        queues[name] = SiteQueue(
            name, NOW.timestamp(), *(tuple(each for part in parts for each in part[at]) for at in (1, 2, 3))
        )
    return Pool(tuple(sites), Snapshot(id=1, taken_at=NOW, sites=tuple(readings)), queues)


Part = tuple[Record, list[QueueNode], list[QueuedJob], list[QueuedJob]]


def partition(site: str, name: str, jobs: int, rng: random.Random) -> Part:
    """A record, its nodes, the jobs that wait and those that run: 97 of 100 GPUs are taken."""
    number = max(4, jobs // 20) + rng.randrange(8)
    nodes, running, free = [], [], []
    for at in range(number):
        left = GPUS if rng.random() < 0.03 else 0
        node = f"{name}-{at}"
        nodes.append(QueueNode(node, (name,), CPUS, left * 16, GPUS, left, 256 * GIB, left * 64 * GIB))
        if left:
            free.append(FreeNode(cpus=left * 16, gpus=left, gpu_model="a100", memory_bytes=left * 64 * GIB, whole=True))
        else:
            limit = rng.choice((2, 4, 12, 24, 48)) * H
            started = NOW.timestamp() - rng.random() * limit * 0.8
            running.append(
                job(f"{name}-r{at}", name, 1, GPUS, limit, rng)._replace(started_at=started, nodes_held=(node,))
            )
    waiting = [
        job(
            f"{name}-w{at}",
            name,
            rng.choice((1, 1, 1, 1, 2, 4)),
            rng.randint(1, GPUS),
            rng.choice((1, 2, 8, 24)) * H,
            rng,
        )
        for at in range(jobs)
    ]
    record = Record(
        site=site, partition=name, state="up", read_at=NOW - timedelta(seconds=9), nodes_total=number,
        shapes=(
            NodeShape(
                cpus=CPUS, memory_bytes=256 * GIB, gpus=GPUS, gpu_model="a100", gpu_memory_bytes=40 * GIB, arch="x86_64",
                nodes=number,
            ),
        ),
        free_nodes=tuple(free), cpus_free=sum(node.cpus for node in free), gpus_free=sum(node.gpus or 0 for node in free),
        pending=jobs, running=len(running), walltime_cap_s=rng.choice((24, 36, 48)) * H, max_nodes=NO_LIMIT, whole_node=False,
        policy=PartitionPolicy(
            machine=site, resource="gpu", min_walltime_s=300, account_pattern="abc*", containers=("apptainer",),
            required_options=(RequiredOption(option="account"),), fabric="InfiniBand NDR",
            charge=ChargeModel(resource="gpu", unit="GPU-hour", gpus_per_unit=1, cores_per_unit=16, factor=rng.random()),
        ),
    )  # fmt: skip
    return record, nodes, waiting, running


def job(id_: str, partition_: str, nodes: int, gpus: int, limit: float, rng: random.Random) -> QueuedJob:
    """Someone's job."""
    return QueuedJob(id_, f"u{rng.randrange(40)}", (partition_,), nodes, 16 * gpus, gpus, 64 * gpus * GIB, limit)


# -- the textbook -------------------------------------------------------------------------------------------------------


class Textbook:
    """EASY on the limits of jobs: first come first served, one reservation, whoever does not delay it may go before."""

    def __init__(self, queue: SiteQueue, part: str, gpus: int, limit: float) -> None:
        now = queue.read_at
        self.now = 0.0
        self.free = {node.name: node.gpus_free or 0 for node in queue.nodes if part in node.partitions}
        self.ends = sorted(
            ((job.started_at or now) + (job.limit_s or 0) - now, job.nodes_held, job.gpus)
            for job in queue.running
            if part in job.partitions
        )
        self.waiting = [(job.nodes, job.gpus, job.limit_s or 0.0) for job in queue.pending if part in job.partitions]
        self.ours = (1, gpus, limit)
        self.waiting.append(self.ours)

    def plan(self) -> float:
        """Seconds until our job starts; two days where it does not by then."""
        while self.now <= 2 * 86400:
            if self.serve():
                return self.now
            if not self.ends:
                break
            self.now = max(self.now + 60.0, self.ends[0][0])
            while self.ends and self.ends[0][0] <= self.now:
                _, names, gpus = self.ends.pop(0)
                for name in names:
                    self.free[name] += gpus
        return 2 * 86400.0

    def serve(self) -> bool:
        """One pass; True when our job starts in it."""
        while self.waiting and (names := fitting(self.waiting[0], self.free)):
            job = self.waiting.pop(0)
            if job is self.ours:
                return True
            self.start(job, names)
        if len(self.waiting) < 2 or not any(self.free.values()):
            return False
        shadow, reserved = self.reservation(self.waiting[0])
        at = 1
        while at < len(self.waiting):
            job = self.waiting[at]
            in_time = self.now + job[2] <= reserved
            names = fitting(job, self.free, None if in_time else shadow)
            if names is None:
                at += 1
            elif job is self.ours:
                return True
            else:
                for name in names if not in_time else ():
                    shadow[name] -= job[1]
                self.start(self.waiting.pop(at), names)
        return False

    def start(self, job: tuple[int, int, float], names: list[str]) -> None:
        """It runs until its limit."""
        for name in names:
            self.free[name] -= job[1]
        bisect.insort(self.ends, (self.now + job[2], tuple(names), job[1]))

    def reservation(self, head: tuple[int, int, float]) -> tuple[dict[str, int], float]:
        """What is free beside the first job when it starts, and when that is."""
        shadow = dict(self.free)
        for end, names, gpus in self.ends:
            for name in names:
                shadow[name] += gpus
            taken = fitting(head, shadow)
            if taken:
                for name in taken:
                    shadow[name] -= head[1]
                return shadow, end
        return shadow, float("inf")


def fitting(
    job: tuple[int, int, float], free: dict[str, int], shadow: dict[str, int] | None = None
) -> list[str] | None:
    """The first nodes that hold it, beside the reservation where it would outlast it."""
    found = []
    for name, left in free.items():
        if left >= job[1] and (shadow is None or shadow[name] >= job[1]):
            found.append(name)
            if len(found) == job[0]:
                return found
    return None


# -- the clock ----------------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Milliseconds of one round: of a core, and on the wall, which is more where others use the machine."""

    cpu: float
    wall: float


def timed(make: Callable[[int], Callable[[], object]]) -> list[Cost]:
    """Each round's cost; ``make`` prepares one outside of the clock."""
    found = []
    for round_ in range(ROUNDS):
        act = make(round_)
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        act()
        found.append(Cost(1000 * (time.process_time() - cpu), 1000 * (time.perf_counter() - wall)))
    return found


def rules_alone(round_: int) -> Callable[[], object]:
    """Every rule over 1,000 candidates that were never seen before."""
    given = pool(1000, 2, random.Random(SEED + round_))
    clock = Clock(NOW, 120.0, 600.0)
    places = [
        Place(site, record.partition, reading, for_envelope(record, reading, ASKED, site.account))
        for site, reading in zip(given.sites, given.snapshot.sites, strict=True)
        for record in reading.records
    ]

    def act() -> object:
        bench = Bench(ASKED, clock)
        return [bench.judge(place) for place in places]

    return act


def deciding(partitions: int, jobs: int) -> Callable[[int], Callable[[], object]]:
    """A whole decision, forecasts of visible queues included."""

    def make(round_: int) -> Callable[[], object]:
        given = pool(partitions, jobs, random.Random(SEED + round_))

        def act() -> object:
            world = World(forecaster=Forecaster(now=NOW.timestamp(), queues=given.queues))
            return decide(ASKED, given.snapshot, given.sites, now=NOW, world=world)

        return act

    return make


def cost_of_the_cap(partitions: int, jobs: int) -> list[float]:
    """By how many seconds the choice is later than that of simulating every place, as the full simulation sees it."""
    found = []
    for round_ in range(ROUNDS):
        given = pool(partitions, jobs, random.Random(SEED + round_))
        capped, full = (
            decide(
                ASKED, given.snapshot, given.sites, now=NOW,
                world=World(forecaster=Forecaster(now=NOW.timestamp(), queues=given.queues), **more),
            )
            for more in ({}, {"simulated": partitions})
        )  # fmt: skip
        totals = {(each.site, each.partition): each.estimate.total_s for each in full.candidates if each.estimate}
        best, chosen = full.choice, capped.choice
        if best is not None and chosen is not None:
            found.append((totals[chosen.site, chosen.partition] or 0.0) - (totals[best.site, best.partition] or 0.0))
    return found


def planning(partitions: int, jobs: int) -> Callable[[int], Callable[[], object]]:
    """The textbook planner over the same queues."""

    def make(round_: int) -> Callable[[], object]:
        given = pool(partitions, jobs, random.Random(SEED + round_))
        places = [
            (given.queues[each.site], record.partition) for each in given.snapshot.sites for record in each.records
        ]
        return lambda: [Textbook(queue, part, 1, 4.0 * H).plan() for queue, part in places]

    return make


def main() -> None:
    """The table."""
    print(f"{ROUNDS} rounds, seed {SEED}; {load()}", flush=True)
    print(f"{'milliseconds':34}{'core: min':>11}{'median':>10}{'p95':>10}{'wall: min':>12}   target")
    row("rules alone, 1,000 candidates", timed(rules_alone), RULES_MS)
    for partitions, jobs in SHAPES:
        what = f"{partitions:,} partitions x {jobs:,} jobs"
        row(what, timed(deciding(partitions, jobs)), DECISION_MS)
        row("   textbook planner, plain Python", timed(planning(partitions, jobs)), None)
        if partitions > World(forecaster=Forecaster(now=0.0)).simulated:
            later = cost_of_the_cap(partitions, jobs)
            print(
                f"   the likeliest places alone: choice later by {median(later):.0f} s (median), {max(later):.0f} s (worst)"
            )


def row(what: str, found: list[Cost], limit: float | None) -> None:
    """One line. What is held against the target is time of a core: the wall's is the machine's."""
    cpu = [each.cpu for each in found]
    said = "" if limit is None else f"   {limit:.0f} ms of a core, median: {verdict(median(cpu), limit)}"
    wall = min(each.wall for each in found)
    print(f"{what:34}{min(cpu):11.1f}{median(cpu):10.1f}{p95(cpu):10.1f}{wall:12.1f}{said}", flush=True)


if __name__ == "__main__":
    main()
