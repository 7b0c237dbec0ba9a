"""Rounds: probe, let each policy choose, submit to all at once, see what starts when."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope, Objective, Span
from jupyter_diamond.model.forecast import Forecast
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.placement.forecast.calibration import Bands
from jupyter_diamond.placement.forecast.runtimes import Runtimes
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World

from .federation import SCALE, Federation, Sleep, Times, stretched

POLICIES: tuple[Objective, ...] = ("earliest_completion", "best_feasible", "shortest_queue", "random")
LOOK_S = 0.6


@dataclass(frozen=True)
class Round:
    """One round. Sites by name; forecasts in stretched seconds, times as Slurm gives them."""

    task: Sleep
    feasible: tuple[str, ...]
    ahead: Mapping[str, int]
    """How many jobs waited there when it was decided."""
    chosen: Mapping[str, str]
    forecasts: Mapping[str, Forecast]
    started: Mapping[str, Times]
    waited_s: float
    """How long it was looked: what has not started by then waits longer than this."""
    seconds: float

    @property
    def waits(self) -> dict[str, float]:
        """Each feasible site's wait in real seconds, at least."""
        seen = {site: times.started - times.submitted for site, times in self.started.items()}
        return {site: seen.get(site, max(self.waited_s, *seen.values(), 0.0)) for site in self.feasible}

    def late_s(self, policy: str) -> float:
        """How much later than at the best site the task starts where this policy sends it."""
        return self.waits[self.chosen[policy]] - min(self.waits.values())


@dataclass
class Rounds:
    """A run of rounds from one seed. What was learnt in one is known in the next."""

    federation: Federation
    seed: int
    bound_s: float
    played: list[Round] = field(default_factory=list)
    runtimes: dict[str, Runtimes] = field(default_factory=dict)
    bands: Bands = field(default_factory=Bands)
    _known: dict[str, set[str]] = field(default_factory=dict)
    """Jobs that were learnt from, by site."""

    async def play(self) -> Round:
        """One round."""
        began = time.monotonic()
        number = len(self.played)
        lot = random.Random(f"{self.seed} round {number}")
        task = Sleep(0.5, 1, lot.choice((32, 64, 96, 128)), lot.choice((1, 2, 3)))
        decisions = await self._decided(task, self.seed * 1000 + number)
        ranked = [each for each in decisions["earliest_completion"].candidates if each.rank is not None]
        feasible = tuple(each.site for each in ranked)
        assert len(set(feasible)) == len(feasible), (
            "one place per site: copies at one site would be in each other's way"
        )
        started, waited = await self._started(task, feasible)
        played = Round(
            task=task, feasible=feasible, started=started, waited_s=waited, seconds=time.monotonic() - began,
            ahead={each.site: each.queue_ahead or 0 for each in ranked},
            chosen={name: each.choice.site if each.choice else "" for name, each in decisions.items()},
            forecasts={each.site: each.estimate.forecast for each in ranked if each.estimate is not None},
        )  # fmt: skip
        self._learn_waits(played)
        self.played.append(played)
        return played

    async def _decided(self, task: Sleep, seed: int) -> dict[str, Decision]:
        names = list(self.federation.links)
        heard = await asyncio.gather(*map(self.federation.probe, names))
        queues = {name: stretched(each.queue) for name, each in zip(names, heard, strict=True) if each.queue}
        await asyncio.gather(*(self._learn(name, queue) for name, queue in queues.items()))
        now = datetime.now(timezone.utc)
        snapshot = Snapshot(id=len(self.played), taken_at=now, sites=tuple(each.reading for each in heard))
        read_at = max(queue.read_at for queue in queues.values())
        world = World(Forecaster(read_at, queues, self.runtimes, self.bands))
        asked = Envelope(cpus=Span.exactly(task.cpus), walltime_s=Span.exactly(int(60 * task.minutes * SCALE)))
        return {
            name: decide(
                asked.model_copy(update={"objective": name, "seed": seed if name == "random" else None}),
                snapshot, self.federation.links.sites, now=now, world=world,
            )
            for name in POLICIES
        }  # fmt: skip

    async def _learn(self, site: str, queue: SiteQueue) -> None:
        """What accounting says of jobs that have ended."""
        runtimes, known = self.runtimes.setdefault(site, Runtimes()), self._known.setdefault(site, set())
        ended = await self.federation.ended(site, queue.me)
        for job, past in ended.items():
            if job not in known:
                runtimes.learn(past)
        known.update(ended)

    async def _started(self, task: Sleep, feasible: tuple[str, ...]) -> tuple[dict[str, Times], float]:
        """The same task to every site at the same instant, until all have started it or the time is over."""
        submit = (self.federation.submit(site, task, name="matched") for site in feasible)
        jobs = dict(zip(feasible, await asyncio.gather(*submit), strict=True))
        begun = time.monotonic()
        try:
            while True:
                started = await self.federation.times(jobs)
                waited = time.monotonic() - begun
                if len(started) == len(jobs) or (waited > self.bound_s and started) or waited > 5 * self.bound_s:
                    return started, waited
                await asyncio.sleep(LOOK_S)
        finally:
            await asyncio.gather(*(self.federation.cancel(site, [job]) for site, job in jobs.items()))

    def _learn_waits(self, played: Round) -> None:
        for site, times in played.started.items():
            forecast = played.forecasts[site]
            if forecast.wait_s is not None:
                wait = times.started - times.submitted
                self.bands.note(site, forecast.method, forecast.wait_s, SCALE * wait)
