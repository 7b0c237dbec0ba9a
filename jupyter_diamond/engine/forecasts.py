"""What is known for forecasting: every site's newest queue, what its jobs use of their limits, how far off we were, and
how long our own work took to get ready and to run where.

All of it is used in one thread of its own, learning and deciding alike: neither blocks the loop, and nothing changes
under a decision that is being made.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.forecast import ForecastRecord, SiteForecasts
from jupyter_diamond.model.forecast import Forecasts as Judged
from jupyter_diamond.model.queue import OwnRun, PastJob, SiteQueue
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.parsing.durations import up_to_minutes
from jupyter_diamond.placement.forecast.calibration import Bands, judged, trusts_replay
from jupyter_diamond.placement.forecast.observed import ended_between
from jupyter_diamond.placement.forecast.runtimes import Runtimes
from jupyter_diamond.placement.forecast.sites import preparations, speeds
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.world import World

_T = TypeVar("_T")
_MOST_LEARNT = 20_000
"""After so many jobs a predictor is made anew from those that are kept: it holds every group it ever saw."""
_MOST_OWN = 1000
_OUTCOMES_KEPT = 1000


class Forecasts:
    """Learns from what the collector hears; ``writes`` tells whether this server keeps what was learnt."""

    def __init__(self, ledger: Ledger, *, writes: Callable[[], bool]) -> None:
        self._ledger, self._writes = ledger, writes
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="diamond-forecast")
        self._queues: dict[str, SiteQueue] = {}
        self._runtimes: dict[str, Runtimes] = {}
        self._records: OrderedDict[tuple[str, int], ForecastRecord | None] = OrderedDict()
        self._bands, self._trusts = Bands(), dict[str, bool]()
        self._runs: OrderedDict[tuple[str, int], OwnRun] = OrderedDict()
        self._speeds, self._prepare_s = dict[str, float](), dict[str, float]()
        self._started = True
        """There may be outcomes that were not read yet."""
        self._ended: OrderedDict[str, None] = OrderedDict()
        """Tasks of ours that have ended and were not learnt from."""
        self._learnt: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Jobs of ours that were learnt from, by site and native id: they are seen in the queue, too."""
        ledger.listen(self._hear)

    def stop(self) -> None:
        """Let the thread go."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def run(self, act: Callable[[], _T]) -> _T:
        """Run something that uses a world, in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)

    def _hear(self, event: Event) -> None:
        if event.type in ("attempt.state_changed", "attempt.terminal", "attempt.result_ready"):
            self._started = True
        if event.type == "attempt.terminal":
            self._ended[event.subject.partition(":")[2]] = None
            if len(self._ended) > _MOST_OWN:
                self._ended.popitem(last=False)

    # ---- learning

    async def learn(self, site: str, queue: SiteQueue | None) -> None:
        """Take a site's newest queue, and what its jobs that are gone tell. Raises StoreError."""
        if queue is None:
            self._queues.pop(site, None)
            return
        await self._known(site)
        before = self._queues.get(site)
        self._queues[site] = queue
        gone = [] if before is None else await self.run(lambda: ended_between(before, queue))
        own = await self._own(site, queue.me)
        past = [*own, *(past for job, past in gone if not (job.mine and self._is_learnt(site, job.id)))]
        if not past:
            return
        await self.run(lambda: self._take(site, past))
        if self._writes():
            await self._ledger.do(self._ledger.store.put_past_jobs, site, past)

    def _take(self, site: str, past: Iterable[PastJob]) -> None:
        runtimes = self._runtimes[site]
        for job in past:
            runtimes.learn(job)

    async def _known(self, site: str) -> None:
        known = self._runtimes.get(site)
        if known is None or known.learnt > _MOST_LEARNT:
            kept = await self._ledger.do(self._ledger.store.past_jobs, site)
            self._runtimes[site] = await self.run(lambda: Runtimes(kept))

    async def _own(self, site: str, me: str) -> list[PastJob]:
        """What is exactly known of our own jobs there that have ended since it was asked last."""
        store, ended = self._ledger.store, list(self._ended)
        if not ended:
            return []
        tasks = await self._ledger.do(lambda: [store.task(task_id) for task_id in ended])
        found = []
        for task in tasks:
            attempt = task.attempt
            if attempt is None or attempt.site != site:
                continue
            self._ended.pop(task.id, None)
            past = _past(task, attempt, me)
            if past is not None and attempt.native is not None and not self._is_learnt(site, attempt.native.id):
                found.append(past)
        return sorted(found, key=lambda job: job.ended_at)

    def _is_learnt(self, site: str, job_id: str) -> bool:
        """Whether a job of ours was learnt from already; from now on it was."""
        known = (site, job_id) in self._learnt
        self._learnt[site, job_id] = None
        if len(self._learnt) > _MOST_OWN:
            self._learnt.popitem(last=False)
        return known

    # ---- using

    async def world(self) -> World:
        """What a decision may use now; to be used by ``run`` alone. Raises StoreError."""
        await self._read_outcomes()
        return World(
            forecaster=Forecaster(
                now=time.time(), queues=dict(self._queues), runtimes=dict(self._runtimes), bands=self._bands,
                trusts_replay=self._trusts,
            ),
            speeds=self._speeds, prepare_s=self._prepare_s,
        )  # fmt: skip

    async def judged(self, sites: Iterable[str]) -> Judged:
        """How good the forecasts of these sites were, and of those that are no longer configured."""
        await self._read_outcomes()
        by_site: dict[str, list[ForecastRecord]] = defaultdict(list)
        for record in self._outcomes():
            by_site[record.site].append(record)
        names = dict.fromkeys([*sites, *by_site])
        return Judged(
            made_at=from_epoch(time.time()), sites=tuple(self._of(name, by_site.get(name, [])) for name in names)
        )

    def _of(self, site: str, records: list[ForecastRecord]) -> SiteForecasts:
        queue, runtimes = self._queues.get(site), self._runtimes.get(site)
        seen = "none" if queue is None else "hidden" if queue.hides_others else "cut" if queue.cut else "visible"
        return judged(site, records).model_copy(
            update={
                "trusts_replay": self._trusts.get(site, True), "queue": seen,
                "learnt": 0 if runtimes is None else runtimes.learnt,
                "prepare_s": self._prepare_s.get(site), "speed": self._speeds.get(site),
            }
        )  # fmt: skip

    def _outcomes(self) -> tuple[ForecastRecord, ...]:
        return tuple(record for record in self._records.values() if record is not None)

    async def _read_outcomes(self) -> None:
        """Bands and trust, from attempts whose start has become known."""
        if not self._started:
            return
        self._started = False
        new = await self._ledger.do(self._ledger.store.outcomes, frozenset(self._records))
        self._records.update(new)
        while len(self._records) > _OUTCOMES_KEPT:
            self._records.popitem(last=False)
        if new:
            records = self._outcomes()
            self._bands = await self.run(lambda: Bands.learnt(records))
            self._trusts = trusts_replay(records, now=time.time())
        await self._read_runs()

    async def _read_runs(self) -> None:
        """How long sites take to get ready, and how fast they are, from attempts of ours that ended well."""
        new = await self._ledger.do(self._ledger.store.own_runs, frozenset(self._runs))
        self._runs.update(new)
        while len(self._runs) > _OUTCOMES_KEPT:
            self._runs.popitem(last=False)
        if new:
            runs = tuple(self._runs.values())
            self._prepare_s, self._speeds = await self.run(lambda: (preparations(runs), speeds(runs)))


def _past(task: Task, attempt: Attempt, me: str) -> PastJob | None:
    """How long an attempt ran; None where that is not known, or a user cut it short."""
    if attempt.started_at is None or attempt.ended_at is None or task.cancel_requested_by is not None:
        return None
    size = attempt.size
    used = max((attempt.ended_at - attempt.started_at).total_seconds(), 0.0)
    units = size.nodes * (size.gpus or size.cpus)
    limit = float(up_to_minutes(size.walltime_s))
    return PastJob(me, limit, units, min(used, limit), attempt.ended_at.timestamp())
