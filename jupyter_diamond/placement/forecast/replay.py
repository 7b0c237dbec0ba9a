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

import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from copy import copy
from heapq import heapify, heappop, heappush
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


_Running = tuple[float, int, int, Sequence[int], str]
"""A job that runs: its end by its limit, its number, units, nodes, id. Plain, as every pass looks at most of them."""


class _Class:
    """Waiting jobs that are the same to a pass: ``first`` is the place in the queue of the first that still waits.

    The last of ``places`` is beyond the queue, and never gone.
    """

    __slots__ = ("_at", "_places", "first", "limit_s", "nodes", "units")

    def __init__(self, nodes: int, units: int, limit_s: float, places: Sequence[int], at: int = 0) -> None:
        self.nodes, self.units, self.limit_s = nodes, units, limit_s
        self._places, self._at, self.first = places, at, places[at]

    def move_on(self, gone: bytearray) -> int:
        """The first one that is not gone."""
        places, at = self._places, self._at
        while gone[places[at]]:
            at += 1
        self._at, self.first = at, places[at]
        return self.first

    def copy(self) -> _Class:
        """Another one that may move on by itself."""
        return _Class(self.nodes, self.units, self.limit_s, self._places, self._at)


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
        by_units = _classes(board.waiting)
        self._units, self._classes = tuple(by_units), list(by_units.values())
        self._cycle_s = cycle_s
        self._now = 0.0
        self._ends: list[tuple[float, int, _Running]] = []
        self._by_limit: list[_Running] = []
        self._order = len(board.running)
        self._started = 0
        self._freed_by = ""
        for order, held in enumerate(board.running, start=1):
            running = (max(held.limit_end_s, 1.0), order, held.units, held.nodes, held.id)
            self._ends.append((max(held.end_s, 1.0), order, running))
            self._by_limit.append(running)
        heapify(self._ends)
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
        vars(other).update(
            _pool=self._pool.copy(), _gone=bytearray(self._gone), _ends=list(self._ends),
            _by_limit=list(self._by_limit),
            _classes=[[(nodes, limit_s, each.copy()) for nodes, limit_s, each in same] for same in self._classes],
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
            ended = heappop(self._ends)[2]
            _, _, units, nodes, self._freed_by = ended
            self._pool.take(nodes, -units)
            del self._by_limit[bisect_left(self._by_limit, ended)]
        return True

    def _start(self, at: int, nodes: Sequence[int]) -> None:
        _, units, run_s, limit_s, id_ = self._queue[at]
        self._gone[at] = 1
        self._pool.take(nodes, units)
        self._order += 1
        running = (self._now + limit_s, self._order, units, nodes, id_)
        heappush(self._ends, (self._now + max(1.0, min(run_s, limit_s)), self._order, running))
        insort(self._by_limit, running)
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

    def _somebody_fits(self, rooms: Sequence[int]) -> bool:
        """A job that a pass looks at fits without the reservation; ``rooms`` are on how many nodes each unit does."""
        gone, edge = self._gone, self._edge
        for room, same in zip(rooms, self._classes, strict=False):
            for nodes, _, each in same:
                if nodes > room:
                    break
                if (each.move_on(gone) if gone[each.first] else each.first) < edge:
                    return True
        return False

    def _beside(self, rooms: Sequence[int], latest: float, shadow: list[int]) -> list[tuple[int, _Class]]:
        """The first job of every class that fits beside the reservation, or ends before it; the first stands last.

        Places in the queue are negative here, so that plain tuples sort.
        """
        found: list[tuple[int, _Class]] = []
        gone, edge = self._gone, self._edge
        there = self._pool.beside(shadow)
        for units, room, same in zip(self._units, rooms, self._classes, strict=False):
            beside = len(there) - bisect_left(there, units)
            for nodes, limit_s, each in same:
                if nodes > beside:
                    if nodes > room:
                        break
                    if limit_s > latest:
                        continue
                first = each.first
                if gone[first]:
                    first = each.move_on(gone)
                if first < edge:
                    found.append((-first, each))
        found.sort()
        return found

    def _backfill(self, asks: dict[int, Waiting], found: dict[int, Start]) -> None:
        pool = self._pool
        if not pool.total:
            return
        ours_first = self._head >= self._ours_at
        looked_at = not ours_first and self._ours_at <= self._edge
        rooms = pool.rooms(self._units)
        if not self._somebody_fits(rooms) and not (
            looked_at and any(pool.fitting(ask.units) >= ask.nodes for ask in asks.values())
        ):
            return
        head = next(iter(asks.values())) if ours_first else self._queue[self._head]
        reserved_at, shadow = self._reservation(head)
        latest = math.inf if reserved_at is None else reserved_at - self._now
        firsts = self._beside(rooms, latest, shadow)
        if looked_at:
            if firsts:
                self._fill(firsts, latest, shadow, until=self._ours_at)
            self._start_ours(asks, found, latest, shadow)
            if not asks:
                return
        if firsts:
            self._fill(firsts, latest, shadow, until=len(self._queue))

    def _start_ours(self, asks: dict[int, Waiting], found: dict[int, Start], latest: float, shadow: list[int]) -> None:
        """Whoever of ours fits beside the reservation, or ends before it, is found."""
        failed: Waiting | None = None
        for at, ask in list(asks.items()):
            if failed is not None and _no_smaller(ask, failed):
                continue
            if self._pool.best(ask.nodes, ask.units, None if ask.limit_s <= latest else shadow) is None:
                failed = ask
            else:
                found[at] = self._ours()
                del asks[at]

    def _fill(self, firsts: list[tuple[int, _Class]], latest: float, shadow: list[int], *, until: int) -> None:
        """Start those that fit beside the reservation, in order, of the jobs before ``until``.

        ``firsts`` are those of ``_beside``; what was looked at is taken from them.
        """
        left, edge = 0, self._edge
        pool, best, gone = self._pool, self._pool.best, self._gone
        failed: set[tuple[int, int, bool]] = set()  # what is free only shrinks in a pass
        while firsts and pool.total and -firsts[-1][0] < until:
            place, each = firsts.pop()
            units, in_time = each.units, each.limit_s <= latest
            asked = (each.nodes, units, in_time)
            if asked in failed:
                continue
            nodes = best(each.nodes, units, None if in_time else shadow)
            if nodes is None:
                failed.add(asked)
                continue
            if not in_time:
                for node in nodes:
                    shadow[node] -= units
            self._start(-place, nodes)
            left += 1
            after = each.move_on(gone)
            if after < edge:
                insort(firsts, (-after, each))
        self._move_edge(left)

    def _reservation(self, head: Waiting) -> tuple[float | None, list[int]]:
        """When the first blocked job can start at the latest, and what is free then beside it."""
        shadow, whole, needed = list(self._pool.free), self._whole, head.units
        able = self._pool.having(needed)
        reserved_at = None
        for limit_end, _, units, nodes, _ in self._by_limit:
            for node in nodes:
                before = shadow[node]
                after = before + units
                if after > whole[node]:  # noqa: PLR1730 - half the time of min(), in every pass
                    after = whole[node]
                shadow[node] = after
                if before < needed <= after:
                    able.append(node)
            if len(able) >= head.nodes:
                reserved_at = max(limit_end, self._now + 1.0)
                break
        if reserved_at is not None:
            for _, node in sorted([(shadow[node], node) for node in able])[: head.nodes]:
                shadow[node] -= needed
        return reserved_at, shadow


def _classes(waiting: Sequence[Waiting]) -> dict[int, list[tuple[int, float, _Class]]]:
    """The classes of a queue by the units that they take of a node, ascending, and among those by nodes and limit."""
    places: dict[tuple[int, int, float], list[int]] = {}
    for at, (nodes, units, _, limit_s, _) in enumerate(waiting):
        same = places.get((units, nodes, limit_s))
        if same is None:
            same = places[units, nodes, limit_s] = []
        same.append(at)
    found: dict[int, list[tuple[int, float, _Class]]] = {}
    for (units, nodes, limit_s), same in sorted(places.items()):
        each = _Class(nodes, units, limit_s, (*same, len(waiting)))
        found.setdefault(units, []).append((nodes, limit_s, each))
    return found
