"""The model of placement.forecast.replay, one size at a time and every waiting job looked at: slow, and plain to read."""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from jupyter_diamond.placement.forecast.pool import Pool
from jupyter_diamond.placement.forecast.replay import Board, Start, Waiting

HORIZON_S = 2 * 86400.0
"""Later than this is *beyond*: what is known of the queue says nothing about it."""
CYCLE_S = 60.0
DEPTH = 500
"""How many waiting jobs a backfill pass looks at."""


class _Running(NamedTuple):
    limit_end: float
    order: int
    units: int
    nodes: Sequence[int]
    id: str


_OURS = "\x00"


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
    if sum(1 for units in board.whole if units >= ask.units) < ask.nodes:
        return Start(horizon_s, beyond=True)
    queue = list(board.waiting)
    queue.insert(len(queue) if rank is None else rank, ask._replace(id=_OURS))
    return _Replay(board, queue, cycle_s=cycle_s, depth=depth).until_ours_starts(horizon_s)


class _Replay:
    """One run of the model."""

    def __init__(self, board: Board, queue: list[Waiting], *, cycle_s: float, depth: int) -> None:
        self._whole = board.whole
        self._pool = Pool(board.free, board.whole)
        self._queue = queue
        self._shapes = Counter((job.nodes, job.units) for job in queue)
        self._cycle_s, self._depth = cycle_s, depth
        self._now = 0.0
        self._ends: list[tuple[float, int]] = []
        self._running: dict[int, _Running] = {}
        self._by_limit: list[tuple[float, int]] = []
        self._order = 0
        self._started = 0
        self._freed_by = ""
        for job in board.running:
            self._run(job.nodes, job.units, max(job.end_s, 1.0), max(job.limit_end_s, 1.0), job.id)

    def until_ours_starts(self, horizon_s: float) -> Start:
        while True:
            if self._serve():
                return Start(self._now, freed_by=self._freed_by, behind=self._started)
            if not self._ends:
                return Start(horizon_s, beyond=True)
            self._now = max(self._ends[0][0], self._now + self._cycle_s)
            if self._now > horizon_s:
                return Start(horizon_s, beyond=True)
            while self._ends and self._ends[0][0] <= self._now:
                ended = self._running.pop(heapq.heappop(self._ends)[1])
                self._pool.take(ended.nodes, -ended.units)
                self._freed_by = ended.id

    def _run(self, nodes: Sequence[int], units: int, end: float, limit_end: float, id_: str) -> None:
        self._order += 1
        self._running[self._order] = _Running(limit_end, self._order, units, nodes, id_)
        heapq.heappush(self._ends, (end, self._order))
        insort(self._by_limit, (limit_end, self._order))

    def _start(self, job: Waiting, nodes: Sequence[int]) -> None:
        self._pool.take(nodes, job.units)
        now = self._now
        self._run(nodes, job.units, now + max(1.0, min(job.run_s, job.limit_s)), now + job.limit_s, job.id)
        self._shapes[job.nodes, job.units] -= 1
        self._started += 1

    def _serve(self) -> bool:
        """One pass of the scheduler; True when our job starts in it."""
        queue, pool = self._queue, self._pool
        at = 0
        for job in queue:  # in order, up to the first that does not fit
            nodes = pool.best(job.nodes, job.units) if pool.total else None
            if nodes is None:
                break
            if job.id == _OURS:
                return True
            self._start(job, nodes)
            at += 1
        if at:
            del queue[:at]
        return bool(pool.total and len(queue) > 1) and self._backfill()

    def _backfill(self) -> bool:
        pool, queue = self._pool, self._queue
        fitting = {
            shape for shape, number in self._shapes.items() if number and pool.fitting(shape[1]) >= shape[0]
        }  # fmt: skip
        if not fitting:
            return False
        reserved_at, shadow = self._reservation(queue[0])
        latest = math.inf if reserved_at is None else reserved_at - self._now
        gone: list[int] = []
        for at in range(1, min(len(queue), self._depth + 1)):
            job = queue[at]
            if (job.nodes, job.units) not in fitting:
                continue
            in_time = job.limit_s <= latest
            nodes = pool.best(job.nodes, job.units, None if in_time else shadow)
            if nodes is None:
                if in_time:
                    fitting.discard((job.nodes, job.units))
                continue
            if job.id == _OURS:
                return True
            if not in_time:
                for node in nodes:
                    shadow[node] -= job.units
            self._start(job, nodes)
            gone.append(at)
        for at in reversed(gone):
            del queue[at]
        return False

    def _reservation(self, head: Waiting) -> tuple[float | None, list[int]]:
        """When the first blocked job can start at the latest, and what is free then beside it."""
        shadow = list(self._pool.free)
        enough = self._pool.fitting(head.units)
        reserved_at = None
        stale = 0
        for limit_end, order in self._by_limit:
            job = self._running.get(order)
            if job is None:
                stale += 1
                continue
            for node in job.nodes:
                before = shadow[node]
                shadow[node] = after = min(before + job.units, self._whole[node])
                if before < head.units <= after:
                    enough += 1
            if enough >= head.nodes:
                reserved_at = max(limit_end, self._now + 1.0)
                break
        if stale > 64:
            self._by_limit = [each for each in self._by_limit if each[1] in self._running]
        if reserved_at is not None:
            able = sorted((units, node) for node, units in enumerate(shadow) if units >= head.units)
            for _, node in able[: head.nodes]:
                shadow[node] -= head.units
        return reserved_at, shadow
