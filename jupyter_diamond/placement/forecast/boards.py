"""From a site's queue to the pool of nodes that decides about one partition, counted in one kind of unit.

On nodes with GPUs the unit is a GPU, and a job that asks for cores alone counts the whole GPUs whose cores it keeps
from others, often none; elsewhere it is a core, and memory beyond the node's share per core counts as the cores that it
keeps. Where a partition gives whole nodes, every job has all of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.queue import QueuedJob, QueueNode, SiteQueue

from .replay import Board, Holding, Waiting
from .runtimes import Group, Runtimes

_NO_LIMIT_S = 7 * 86400.0
"""What a job without a limit is taken to have."""
_RIVAL = 0.5
"""Jobs of another partition compete for these nodes where at least this part of its nodes are among them."""


class Unit(NamedTuple):
    """What is counted on one node: how many units it has, and what one keeps of cores and memory."""

    whole: int
    cpus: float
    memory_bytes: float | None
    gpus: bool

    def of(self, *, cpus: int, gpus: int, memory_bytes: int | None) -> int:
        """Units of a node that a request takes; none for a little work beside GPUs."""
        share = cpus / self.cpus
        if memory_bytes is not None and self.memory_bytes:
            share = max(share, memory_bytes / self.memory_bytes)
        units = max(gpus, math.floor(share + 1e-9)) if self.gpus else max(1, math.ceil(share - 1e-9))
        return min(self.whole, units)


class Pool(NamedTuple):
    """A board with what is needed to place a request on it. ``ids`` names the nodes."""

    board: Board
    unit: Unit
    ids: tuple[str, ...]
    ranks: tuple[float | None, ...]
    """The priority of each waiting job; None where it is not shown."""

    def ask(self, size: Size, *, whole_node: bool = False) -> Waiting:
        """Our job in this pool's units."""
        units = self.unit.of(cpus=size.cpus, gpus=size.gpus, memory_bytes=size.memory_bytes)
        return Waiting(size.nodes, self.unit.whole if whole_node else max(1, units), 0.0, float(size.walltime_s))

    def without(self, job_id: str) -> tuple[Pool, int, Waiting] | None:
        """The pool without one waiting job, its place in the queue, and the job; None when it does not wait here."""
        at = next((at for at, job in enumerate(self.board.waiting) if job.id == job_id), None)
        if at is None:
            return None
        waiting = self.board.waiting
        board = self.board._replace(waiting=waiting[:at] + waiting[at + 1 :])
        return self._replace(board=board, ranks=self.ranks[:at] + self.ranks[at + 1 :]), at, waiting[at]

    def poured_s(self, rank: int | None) -> float:
        """How long all nodes would need for what runs, and for what waits before that place, if it were poured."""
        board = self.board
        ahead = board.waiting if rank is None else board.waiting[:rank]
        work = sum([job.nodes * job.units * min(job.run_s, job.limit_s) for job in ahead])
        work += sum([len(held.nodes) * held.units * held.end_s for held in board.running])
        return work / max(sum(board.whole), 1)

    def rank(self, own: float | None) -> int | None:
        """Before which waiting job ours enters the queue; None: at the end."""
        if own is None or any(each is None for each in self.ranks):
            return None
        return next((at for at, each in enumerate(self.ranks) if each is not None and each < own), None)


class Floor:
    """A site's queue sorted by partition, with what its jobs are expected to take: once for all of its pools.

    ``now`` is seconds since the epoch. ``groups`` has the like of each waiting job, in the queue's order. ``left_s`` is
    by id how long a running one still will run.
    """

    def __init__(self, queue: SiteQueue, runtimes: Runtimes, *, now: float) -> None:
        self.queue, self.now = queue, now
        held = [(job, max(now - job.started_at, 0.0)) for job in queue.running if job.started_at is not None]
        likes, gone_s = [_group(job) for job, _ in held], [gone for _, gone in held]
        self._runtimes = runtimes = runtimes.beside(likes, gone_s)
        totals = runtimes.totals(likes, gone_s).tolist()
        self.left_s = {job.id: total - gone for (job, gone), total in zip(held, totals, strict=True)}
        self.groups = [_group(job) for job in queue.pending]
        self._whole_s = runtimes.wholes(self.groups)
        self.nodes: dict[str, list[QueueNode]] = defaultdict(list)
        self.running: dict[str, list[QueuedJob]] = defaultdict(list)
        self._waiting: dict[str, list[int]] = defaultdict(list)
        for node in queue.nodes:
            for name in node.partitions:
                self.nodes[name].append(node)
        for job in queue.running:
            for name in job.nodes_held:
                self.running[name].append(job)
        for at, job in enumerate(queue.pending):
            if not job.held:
                for name in job.partitions:
                    self._waiting[name].append(at)

    def wholes(self, places: Sequence[int], every: int | None) -> list[float]:
        """How long these waiting jobs will run; where only whole nodes are given, by their likes that have such."""
        if every is None:
            return [self._whole_s[at] for at in places]
        return self._runtimes.wholes([_group(self.queue.pending[at], every) for at in places])

    def drain_s(self, partition: str) -> float | None:
        """How long all of its nodes would need for what runs and waits, if it were poured; None where it has none."""
        nodes = self.nodes.get(partition)
        if not nodes:
            return None
        there = sum([node.gpus or 0 for node in nodes]) or sum([node.cpus for node in nodes])
        work: float = sum([self._whole_s[at] * self.groups[at][2] for at in self._waiting.get(partition, ())])
        work += sum([self.left_s.get(job.id, 0.0) * job.units for job in self.on(nodes)])
        return work / max(there, 1)

    def on(self, nodes: Sequence[QueueNode]) -> list[QueuedJob]:
        """The jobs that run on these nodes, each once."""
        found: dict[str, QueuedJob] = {}
        for node in nodes:
            for job in self.running.get(node.name, ()):
                found[job.id] = job
        return list(found.values())

    def rivals(self, nodes: Sequence[QueueNode], partition: str) -> list[int]:
        """Where the waiting jobs stand that may take these nodes: those of partitions that have enough of them."""
        inside: dict[str, int] = {}
        for node in nodes:
            for name in node.partitions:
                inside[name] = inside.get(name, 0) + 1
        names = {name for name, number in inside.items() if number >= _RIVAL * len(self.nodes[name])} | {partition}
        if len(names) == 1:
            return self._waiting.get(partition, [])
        return sorted({at for name in names for at in self._waiting.get(name, ())})


def pool_of(floor: Floor, partition: str, *, whole_node: bool) -> Pool | None:
    """The nodes of a partition and the jobs that compete for them; None where it has no node that takes jobs."""
    nodes = floor.nodes.get(partition)
    if not nodes:
        return None
    unit = unit_of(nodes)
    index = {node.name: at for at, node in enumerate(nodes)}
    count = _Count(unit, unit.whole if whole_node else None, {})
    pending, groups = floor.queue.pending, floor.groups
    counted = [(at, count.units(pending[at])) for at in floor.rivals(nodes, partition)]
    there = [at for at, units in counted if units]
    expected = floor.wholes(there, count.every)
    board = Board(
        whole=tuple([_whole(node, unit) for node in nodes]),
        free=tuple([_free(node, unit, whole=whole_node) for node in nodes]),
        running=_holding(floor, nodes, index, count),
        waiting=tuple(
            [
                Waiting(pending[at].nodes, units, seconds, groups[at][1], pending[at].id)
                for (at, units), seconds in zip([each for each in counted if each[1]], expected, strict=True)
            ]
        ),
    )
    return Pool(board, unit, tuple(index), tuple([pending[at].priority for at in there]))


class _Count(NamedTuple):
    """How jobs are counted here. ``every`` is what each job takes of a node, where only whole nodes are given."""

    unit: Unit
    every: int | None
    known: dict[tuple[int, int, int | None], int]

    def units(self, job: QueuedJob) -> int:
        if self.every:
            return self.every
        key = (job.cpus, job.gpus, job.memory_bytes)
        units = self.known.get(key)
        if units is None:
            units = self.known[key] = self.unit.of(cpus=job.cpus, gpus=job.gpus, memory_bytes=job.memory_bytes)
        return units


def _group(job: QueuedJob, every: int | None = None) -> Group:
    """Its like. One that waits for whole nodes (of ``every`` units) tells only the least that it asked for of them."""
    limit = job.limit_s  # as ``limit_of`` has it, and ``units``: there may be ten thousand of them
    units = job.nodes * (every if every and job.started_at is None else job.gpus or job.cpus)
    return (job.user, limit if limit is not None and limit > 0 else _NO_LIMIT_S, units)


def unit_of(nodes: Sequence[QueueNode]) -> Unit:
    """The unit of a pool, after its largest node."""
    largest = max(nodes, key=lambda node: (node.gpus or 0, node.cpus))
    whole = largest.gpus or largest.cpus
    memory = None if largest.memory_bytes is None else largest.memory_bytes / whole
    return Unit(whole, largest.cpus / whole, memory, gpus=bool(largest.gpus))


def _whole(node: QueueNode, unit: Unit) -> int:
    return max(1, (node.gpus or 0) if unit.gpus else min(unit.whole, math.floor(node.cpus / unit.cpus + 1e-9)))


def _free(node: QueueNode, unit: Unit, *, whole: bool) -> int:
    if whole:
        return _whole(node, unit) if node.cpus_free == node.cpus else 0
    share = node.cpus_free / unit.cpus
    if unit.memory_bytes and node.memory_free_bytes is not None:
        share = min(share, node.memory_free_bytes / unit.memory_bytes)
    if unit.gpus:
        return min(node.gpus_free or 0, math.ceil(share - 1e-9))
    return max(0, math.floor(share + 1e-9))


def limit_of(job: QueuedJob) -> float:
    """A job's limit in seconds; where it has none, a week."""
    return job.limit_s if job.limit_s is not None and job.limit_s > 0 else _NO_LIMIT_S


def _holding(floor: Floor, nodes: Sequence[QueueNode], index: Mapping[str, int], count: _Count) -> tuple[Holding, ...]:
    found = []
    for job in floor.on(nodes):
        units = count.units(job) if job.started_at is not None else 0
        if units and job.started_at is not None:
            limit_end = limit_of(job) - max(floor.now - job.started_at, 0.0)
            there = tuple([index[name] for name in job.nodes_held if name in index])
            found.append(Holding(max(floor.left_s[job.id], 1.0), max(limit_end, 1.0), units, there, job.id))
    return tuple(found)
