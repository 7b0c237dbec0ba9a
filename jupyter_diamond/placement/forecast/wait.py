"""The wait of one size at one place: which method, what it says, and why.

1. Enough is free on nodes now, and nobody waits before us: it starts at the next pass.
2. The queue is visible: it is replayed.
   Beyond the horizon of the replay it is the work that is ahead, poured over all nodes.
3. It is hidden, or too long to be read: a quarter of what the scheduler's own estimate says (``sbatch --test-only``
   adds all higher-priority work, at its full limits, to the earliest fit), where it was asked.
4. Else a constant for each job that waits, which is all that the published *best feasible* rule has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.forecast import Forecast
from jupyter_diamond.model.queue import SiteQueue

from .boards import Floor, Pool, pool_of
from .calibration import S_PER_QUEUED_JOB, Bands
from .replay import Start, Waiting, replay, replay_all
from .runtimes import Runtimes

TEST_ONLY_SHARE = 0.25
"""Of the scheduler's own estimate, which holds every job ahead for as long as its limit. Among hidden queues alone
anything from a tenth to one does nearly as well on replayed logs; beside queues that are replayed it must be no bolder
and no shyer than those, and is best from a fifth to a quarter."""

Place = tuple[str, str]
"""(site, partition)."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a forecast of one place may use, beside the queue. ``fits_now`` and ``pending`` come from its record."""

    fits_now: bool | None
    pending: int | None
    whole_node: bool = False
    test_only_s: float | None = None


@dataclass(slots=True)
class Forecaster:
    """Forecasts for one instant. ``now`` is seconds since the epoch; nothing here reads a clock."""

    now: float
    queues: Mapping[str, SiteQueue] = field(default_factory=dict)
    runtimes: Mapping[str, Runtimes] = field(default_factory=dict)
    bands: Bands = field(default_factory=Bands)
    trusts_replay: Mapping[str, bool] = field(default_factory=dict)
    """Sites at which recorded errors of the replay are worse than those of the simpler rule say False."""
    _unlearnt: Runtimes = field(default_factory=Runtimes)
    """For all sites of which nothing is learnt: what it works out for one of them holds for the others."""
    _floors: dict[str, Floor] = field(default_factory=dict)
    _pools: dict[tuple[str, str, bool], Pool | None] = field(default_factory=dict)
    _running: dict[str, frozenset[str]] = field(default_factory=dict)
    _starts: dict[tuple[tuple[str, str, bool], Waiting], Start] = field(default_factory=dict)

    def forecast(self, site: str, partition: str, size: Size, look: Look) -> Forecast:
        """When a job of this size would start there."""
        return self.forecasts(site, partition, ((size, look),))[0]

    def forecasts(self, site: str, partition: str, asked: Sequence[tuple[Size, Look]]) -> list[Forecast]:
        """The same for several sizes, which a visible queue is replayed for together."""
        queue = self.queues.get(site)
        whole_node = any(look.whole_node for _, look in asked)
        pool = self._pool(queue, partition, whole_node=whole_node) if queue is not None and self.sees(site) else None
        if queue is None or pool is None:
            return [self._banded(site, _without_queue(look)) for _, look in asked]
        asks = [pool.ask(size, whole_node=whole_node) for size, _ in asked]
        key = (site, partition, whole_node)
        new = [ask for ask in dict.fromkeys(asks) if (key, ask) not in self._starts]
        rank = pool.rank(queue.own_priority)
        started = [_far(start, pool, rank) for start in replay_all(pool.board, new, rank=rank)]
        self._starts.update(zip([(key, ask) for ask in new], started, strict=True))
        return [self._banded(site, self._from_replay(site, self._starts[key, ask])) for ask in asks]

    def sees(self, site: str) -> bool:
        """Whether its queue is there as a whole, and a replay of it is to be trusted."""
        queue = self.queues.get(site)
        whole = queue is not None and not queue.hides_others and not queue.cut
        return whole and self.trusts_replay.get(site, True)

    def drain_s(self, site: str, partition: str) -> float | None:
        """How long the place needs for all the work that is there, whatever its shape; None where it is not seen."""
        queue = self.queues.get(site)
        return None if queue is None else self._floor(queue).drain_s(partition)

    def remaining(self, site: str, partition: str, job_id: str, *, whole_node: bool = False) -> Forecast | None:
        """When a job of ours that waits there would start; None where it is not seen waiting."""
        queue = self.queues.get(site)
        pool = None if queue is None else self._pool(queue, partition, whole_node=whole_node)
        found = None if pool is None else pool.without(job_id)
        if found is None:
            return None
        others, rank, ours = found
        start = _far(replay(others.board, ours, rank=rank), others, rank)
        return self._banded(site, self._from_replay(site, start))

    def _pool(self, queue: SiteQueue, partition: str, *, whole_node: bool) -> Pool | None:
        key = (queue.site, partition, whole_node)
        if key not in self._pools:
            self._pools[key] = pool_of(self._floor(queue), partition, whole_node=whole_node)
        return self._pools[key]

    def _floor(self, queue: SiteQueue) -> Floor:
        floor = self._floors.get(queue.site)
        if floor is None:
            floor = Floor(queue, self.runtimes.get(queue.site) or self._unlearnt, now=self.now)
            self._floors[queue.site] = floor
        return floor

    def _from_replay(self, site: str, start: Start) -> Forecast:
        if start.wait_s < 1.0:
            return Forecast(wait_s=0.0, method="fits_now", because="enough is free")
        if start.beyond:
            because = f"what is visible keeps it busy for {start.wait_s / 86400:.0f} days"
            return Forecast(wait_s=start.wait_s, method="replay", beyond=True, because=because)
        when = datetime.fromtimestamp(self.now + start.wait_s, timezone.utc).strftime("%H:%M")
        return Forecast(wait_s=start.wait_s, method="replay", because=self._behind(site, start, when))

    def _behind(self, site: str, start: Start, when: str) -> str:
        """Who is ahead: the jobs that wait, and the one whose end lets ours start, which runs or is one of them."""
        jobs = f"{start.behind} waiting {'job' if start.behind == 1 else 'jobs'}" if start.behind else ""
        frees = f"should free its nodes about {when} UTC"
        if not start.freed_by:
            return f"behind {jobs}" if jobs else f"predicted for {when} UTC"
        if start.freed_by in self._running_at(site):
            return f"behind {f'{jobs} and ' if jobs else ''}job {start.freed_by} (runs now, {frees})"
        if start.behind > 1:
            return f"behind {jobs} (of which job {start.freed_by} {frees})"
        return f"behind job {start.freed_by} (waits as well, {frees})"

    def _running_at(self, site: str) -> frozenset[str]:
        if site not in self._running:
            queue = self.queues.get(site)
            self._running[site] = frozenset(job.id for job in queue.running) if queue is not None else frozenset()
        return self._running[site]

    def _banded(self, site: str, forecast: Forecast) -> Forecast:
        low, high = self.bands.around(site, forecast)
        if low is None and high is None:
            return forecast
        return forecast.model_copy(update={"low_s": low, "high_s": high})


def _far(start: Start, pool: Pool, rank: int | None) -> Start:
    """Two starts beyond the horizon are not the same: there, what is ahead of us tells which is sooner."""
    return start._replace(wait_s=max(start.wait_s, pool.poured_s(rank))) if start.beyond else start


def _without_queue(look: Look) -> Forecast:
    if look.fits_now:
        return Forecast(wait_s=0.0, method="fits_now", because="enough is free")
    if look.test_only_s is not None:
        return Forecast(
            wait_s=TEST_ONLY_SHARE * look.test_only_s, method="test_only",
            because="a quarter of the scheduler's own estimate; its queue is not shown",
        )  # fmt: skip
    if look.pending is not None and look.fits_now is not None:
        return Forecast(
            wait_s=S_PER_QUEUED_JOB * (1 + look.pending), method="depth",
            because=f"{look.pending} {'job waits' if look.pending == 1 else 'jobs wait'} there; nothing else is known",
        )  # fmt: skip
    return Forecast(wait_s=None, method="unknown", because="what is free there is not known")
