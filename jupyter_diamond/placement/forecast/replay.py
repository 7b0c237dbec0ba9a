"""The visible queue of one pool of nodes, simulated forward until a job like ours would start.

The model is the one that every batch scheduler approximates: jobs are served in the order shown; the first that does
not fit gets a reservation, made of the *limits* of what runs; later jobs may start before it if they do not delay that
reservation (EASY backfill). Jobs run as long as they are *predicted* to, not as long as their limits. Deliberately
simple where a site's own scheduler is not known: a pass every minute, no change of priorities, no new arrivals.

Several sizes of our job are asked at once. Until ours is the first in the queue it keeps nobody from anything, so one
run of the queue serves them all; from there on each size has a run of its own. Waiting jobs of the same nodes, units
and limit are one class: in one pass all of them fit or none, so the pass looks at the first of each class alone.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from .pool import Pool

HORIZON_S = 2 * 86400.0
"""Later than this is *beyond*: what is known of the queue says nothing about it."""
CYCLE_S = 60.0
DEPTH = 500
"""How many waiting jobs a backfill pass looks at."""


class Waiting(NamedTuple):
    """A job that waits: on ``nodes`` nodes, ``units`` of each; how long it will run, and may run."""

    nodes: int
    units: int
    run_s: float
    limit_s: float
    id: str = ""


class Holding(NamedTuple):
    """A job that runs: which nodes it holds, ``units`` of each; seconds from now to its predicted end and its limit."""

    end_s: float
    limit_end_s: float
    units: int
    nodes: tuple[int, ...]
    id: str = ""


class Board(NamedTuple):
    """A pool of nodes and its queue, now: how many units each node has, and how many of them are free."""

    whole: tuple[int, ...]
    free: tuple[int, ...]
    running: tuple[Holding, ...]
    waiting: tuple[Waiting, ...]


class Start(NamedTuple):
    """When our job would start. ``beyond``: not within the horizon. ``freed_by``: the job whose end lets it start.

    ``behind`` counts the waiting jobs that start before it.
    """

    wait_s: float
    beyond: bool = False
    freed_by: str = ""
    behind: int = 0


class _Running(NamedTuple):
    limit_end: float
    order: int
    units: int
    nodes: Sequence[int]
    id: str


class _Class:
    """Waiting jobs that are the same to a pass: their places in the queue, and the first that still waits."""

    __slots__ = ("at", "limit_s", "places")

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.places: list[int] = []
        self.at = 0

    def first(self, gone: bytearray) -> int | None:
        while self.at < len(self.places):
            if not gone[self.places[self.at]]:
                return self.places[self.at]
            self.at += 1
        return None


def replay(
    board: Board,
    ask: Waiting,
    *,
    rank: int | None = None,
    horizon_s: float = HORIZON_S,
    cycle_s: float = CYCLE_S,
    depth: int = DEPTH,
) -> Start:
    """When ``ask`` would start, entering the queue before the waiting job at ``rank`` (None: at the end)."""
    return replay_all(board, (ask,), rank=rank, horizon_s=horizon_s, cycle_s=cycle_s, depth=depth)[0]


def replay_all(
    board: Board,
    asks: Sequence[Waiting],
    *,
    rank: int | None = None,
    horizon_s: float = HORIZON_S,
    cycle_s: float = CYCLE_S,
    depth: int = DEPTH,
) -> list[Start]:
    """When each of ``asks`` would start if it alone entered the queue there."""
    found: list[Start | None] = [
        None if sum(units >= ask.units for units in board.whole) >= ask.nodes else Start(horizon_s, beyond=True)
        for ask in asks
    ]
    smallest_first = sorted(enumerate(asks), key=lambda each: each[1][:2])
    open_ = {at: ask for at, ask in smallest_first if found[at] is None}
    if open_:
        ours_at = len(board.waiting) if rank is None else rank
        run = _Replay(board, ours_at, cycle_s=cycle_s, depth=depth)
        for at, start in run.starts(open_, horizon_s).items():
            found[at] = start
    return [start for start in found if start is not None]


def _no_smaller(ask: Waiting, other: Waiting) -> bool:
    """It fits nowhere where the other does not."""
    return ask.nodes >= other.nodes and ask.units >= other.units and ask.limit_s >= other.limit_s


class _Replay:
    """One run of the model."""

    def __init__(self, board: Board, ours_at: int, *, cycle_s: float, depth: int) -> None:
        self._whole = board.whole
        self._pool = Pool(board.free, board.whole)
        self._queue, self._ours_at = board.waiting, ours_at
        self._gone = bytearray(len(board.waiting) + 1)
        self._head = 0
        self._edge = min(len(board.waiting), depth + 1)
        self._shapes: dict[tuple[int, int], dict[float, _Class]] = {}
        for at, job in enumerate(board.waiting):
            of_shape = self._shapes.setdefault((job.nodes, job.units), {})
            (of_shape.get(job.limit_s) or of_shape.setdefault(job.limit_s, _Class(job.limit_s))).places.append(at)
        self._cycle_s = cycle_s
        self._now = 0.0
        self._ends: list[tuple[float, int]] = []
        self._running: dict[int, _Running] = {}
        self._by_limit: list[tuple[float, int]] = []
        self._order = len(board.running)
        self._started = 0
        self._freed_by = ""
        for order, held in enumerate(board.running, start=1):
            limit_end = max(held.limit_end_s, 1.0)
            self._running[order] = _Running(limit_end, order, held.units, held.nodes, held.id)
            self._ends.append((max(held.end_s, 1.0), order))
            self._by_limit.append((limit_end, order))
        heapq.heapify(self._ends)
        self._by_limit.sort()

    def starts(self, asks: dict[int, Waiting], horizon_s: float) -> dict[int, Start]:
        """The start of each; several are told apart as soon as ours is the first that waits."""
        found: dict[int, Start] = {}
        waiting = dict(asks)
        while True:
            self._serve(waiting, found)
            if not waiting:
                return found
            if self._head >= self._ours_at and len(waiting) > 1:
                for at, ask in waiting.items():
                    found |= self._fork().go_on({at: ask}, horizon_s)
                return found
            if not self._on(horizon_s):
                return found | dict.fromkeys(waiting, Start(horizon_s, beyond=True))

    def go_on(self, asks: dict[int, Waiting], horizon_s: float) -> dict[int, Start]:
        """The rest of a run whose pass has been made for all of them but for the reservation of this one."""
        found: dict[int, Start] = {}
        self._backfill(asks, found)
        if asks and self._on(horizon_s):
            return found | self.starts(asks, horizon_s)
        return found | dict.fromkeys(asks, Start(horizon_s, beyond=True))

    def _fork(self) -> _Replay:
        other = copy(self)
        shapes = {shape: {limit: copy(each) for limit, each in of.items()} for shape, of in self._shapes.items()}
        vars(other).update(
            _pool=self._pool.copy(), _gone=bytearray(self._gone), _ends=list(self._ends),
            _running=dict(self._running), _by_limit=list(self._by_limit), _shapes=shapes,
        )  # fmt: skip
        return other

    def _on(self, horizon_s: float) -> bool:
        """To the next end of a job, but not sooner than the next pass; False where nothing ends, or too late."""
        if not self._ends:
            return False
        self._now = max(self._ends[0][0], self._now + self._cycle_s)
        if self._now > horizon_s:
            return False
        while self._ends and self._ends[0][0] <= self._now:
            ended = self._running.pop(heapq.heappop(self._ends)[1])
            self._pool.take(ended.nodes, -ended.units)
            del self._by_limit[bisect_left(self._by_limit, (ended.limit_end, ended.order))]
            self._freed_by = ended.id
        return True

    def _run(self, nodes: Sequence[int], units: int, end: float, limit_end: float, id_: str) -> None:
        self._order += 1
        self._running[self._order] = _Running(limit_end, self._order, units, nodes, id_)
        heapq.heappush(self._ends, (end, self._order))
        insort(self._by_limit, (limit_end, self._order))

    def _start(self, at: int, nodes: Sequence[int]) -> None:
        job = self._queue[at]
        self._gone[at] = 1
        self._pool.take(nodes, job.units)
        now = self._now
        self._run(nodes, job.units, now + max(1.0, min(job.run_s, job.limit_s)), now + job.limit_s, job.id)
        self._started += 1

    def _serve(self, asks: dict[int, Waiting], found: dict[int, Start]) -> None:
        """One pass of the scheduler: whoever of ours starts in it is found, and asks no more."""
        pool, queue = self._pool, self._queue
        left = 0
        while pool.total and self._head < self._ours_at:  # in order, up to the first that does not fit
            if not self._gone[self._head]:
                nodes = pool.best(queue[self._head].nodes, queue[self._head].units)
                if nodes is None:
                    break
                self._start(self._head, nodes)
                left += 1
            self._head += 1
        self._move_edge(left)
        while self._head < self._ours_at and self._gone[self._head]:
            self._head += 1
        if self._head < self._ours_at:
            self._backfill(asks, found)
            return
        for at, ask in list(asks.items()):  # ours is the first: what fits starts, what does not has a reservation
            if pool.total and pool.best(ask.nodes, ask.units) is not None:
                found[at] = self._ours()
                del asks[at]
        if len(asks) == 1:
            self._backfill(asks, found)

    def _ours(self) -> Start:
        return Start(self._now, freed_by=self._freed_by, behind=self._started)

    def _move_edge(self, left: int) -> None:
        """So many jobs have left the part of the queue that a pass looks at: as many others come into it."""
        while left and self._edge < len(self._queue):
            left -= not self._gone[self._edge]
            self._edge += 1

    def _fitting(self) -> list[tuple[int, tuple[int, int], _Class]]:
        """The first job of every class that fits without the reservation: the first of all stands last.

        Places in the queue are negative here, so that plain tuples sort.
        """
        found: list[tuple[int, tuple[int, int], _Class]] = []
        empty: list[tuple[dict[float, _Class], float]] = []
        gone, edge = self._gone, self._edge
        room: dict[int, int] = {}
        for shape, classes in self._shapes.items():
            number, units = shape
            if units not in room:
                room[units] = self._pool.fitting(units)
            if room[units] < number:
                continue
            for limit, each in classes.items():
                first = each.first(gone)
                if first is None:
                    empty.append((classes, limit))
                elif first < edge:
                    found.append((-first, shape, each))
        for classes, limit in empty:
            del classes[limit]
        found.sort()
        return found

    def _backfill(self, asks: dict[int, Waiting], found: dict[int, Start]) -> None:
        pool = self._pool
        if not pool.total:
            return
        ours_first = self._head >= self._ours_at
        fitting = self._fitting()
        looked_at = not ours_first and self._ours_at <= self._edge
        if not fitting and not (looked_at and any(pool.fitting(ask.units) >= ask.nodes for ask in asks.values())):
            return
        head = next(iter(asks.values())) if ours_first else self._queue[self._head]
        reserved_at, shadow = self._reservation(head)
        latest = math.inf if reserved_at is None else reserved_at - self._now
        if looked_at:
            if fitting:
                self._fill(fitting, latest, shadow, until=self._ours_at)
            failed: Waiting | None = None
            for at, ask in list(asks.items()):
                if failed is not None and _no_smaller(ask, failed):
                    continue
                if pool.best(ask.nodes, ask.units, None if ask.limit_s <= latest else shadow) is None:
                    failed = ask
                else:
                    found[at] = self._ours()
                    del asks[at]
            if not asks:
                return
        if fitting:
            self._fill(fitting, latest, shadow, until=len(self._queue))

    def _fill(
        self, firsts: list[tuple[int, tuple[int, int], _Class]], latest: float, shadow: list[int], *, until: int
    ) -> None:
        """Start those that fit beside the reservation, in order, of the jobs before ``until``.

        ``firsts`` are those of ``_fitting``; what was looked at is taken from them.
        """
        left, edge = 0, self._edge
        best, gone = self._pool.best, self._gone
        failed: set[tuple[tuple[int, int], bool]] = set()  # what is free only shrinks in a pass
        while firsts and -firsts[-1][0] < until:
            place, shape, each = firsts.pop()
            number, units = shape
            in_time = each.limit_s <= latest
            if (shape, in_time) in failed:
                continue
            nodes = best(number, units, None if in_time else shadow)
            if nodes is None:
                failed.add((shape, in_time))
                continue
            if not in_time:
                for node in nodes:
                    shadow[node] -= units
            self._start(-place, nodes)
            left += 1
            after = each.first(gone)
            if after is not None and after < edge:
                insort(firsts, (-after, shape, each))
        self._move_edge(left)

    def _reservation(self, head: Waiting) -> tuple[float | None, list[int]]:
        """When the first blocked job can start at the latest, and what is free then beside it."""
        shadow, whole, running, needed = list(self._pool.free), self._whole, self._running, head.units
        enough = self._pool.fitting(head.units)
        reserved_at = None
        for limit_end, order in self._by_limit:
            job = running[order]
            for node in job.nodes:
                before = shadow[node]
                shadow[node] = after = min(before + job.units, whole[node])
                if before < needed <= after:
                    enough += 1
            if enough >= head.nodes:
                reserved_at = max(limit_end, self._now + 1.0)
                break
        if reserved_at is not None:
            able = [(units, node) for node, units in enumerate(shadow) if units >= head.units]
            for _, node in sorted(able)[: head.nodes]:
                shadow[node] -= head.units
        return reserved_at, shadow
