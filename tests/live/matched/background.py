"""Other people's work: jobs of several habits that arrive over time and keep every cluster loaded."""

from __future__ import annotations

import asyncio
import random
from typing import NamedTuple

from .federation import Federation, Sleep


class Habit(NamedTuple):
    """What one user runs again and again: how large, up to which limit, and which part of it is used."""

    weight: float
    nodes: int
    cpus: int
    minutes: int
    usual_s: float
    spread: float
    early: float
    """How often it ends at once: a wrong path, a missing file."""


HABITS: dict[str, tuple[Habit, ...]] = {
    "delta": (
        Habit(4, 1, 64, 1, 5, 0.3, 0.1), Habit(3, 1, 128, 2, 8, 0.4, 0.1), Habit(2, 2, 96, 3, 10, 0.3, 0.2),
        Habit(2, 1, 96, 5, 6, 0.8, 0.2),
    ),
    "anvil": (
        Habit(4, 1, 96, 1, 6, 0.3, 0.1), Habit(4, 1, 128, 2, 10, 0.3, 0.1), Habit(2, 1, 48, 4, 9, 0.9, 0.3),
    ),
    "vista": (
        Habit(4, 1, 144, 1, 5, 0.3, 0.1), Habit(3, 2, 144, 2, 9, 0.4, 0.1), Habit(1, 3, 144, 5, 7, 0.5, 0.2),
    ),
}  # fmt: skip
CORES = {"delta": 256, "anvil": 512, "vista": 432}
LOAD = (0.9, 1.4)
"""Of what a site can do; drawn anew every SPELL_S, so that no site stays the best one."""
SPELL_S = (8.0, 25.0)
MOST_WAITING = 4
"""People who see a longer queue come back later."""


class Background:
    """Arrivals at all sites, from one seed. What the clusters make of them is not repeatable, what is asked is."""

    def __init__(self, federation: Federation, seed: int) -> None:
        self._federation, self._seed = federation, seed
        self._arriving: list[asyncio.Task[None]] = []
        self.submitted = dict.fromkeys(HABITS, 0)

    async def __aenter__(self) -> None:
        """Fill the sites, then let jobs arrive."""
        await asyncio.gather(*map(self._fill, HABITS))
        self._arriving = [asyncio.create_task(self._arrive(site)) for site in HABITS]

    async def __aexit__(self, *_: object) -> None:
        """No more arrivals, and no job is left."""
        for task in self._arriving:
            task.cancel()
        ended = await asyncio.gather(*self._arriving, return_exceptions=True)
        jobs = self._federation.jobs
        await asyncio.gather(*(self._federation.cancel(site, ids) for site, ids in jobs.items()))
        problems = [each for each in ended if isinstance(each, Exception)]
        if problems:
            raise problems[0]

    async def _fill(self, site: str) -> None:
        lot = random.Random(f"{self._seed} {site} fill")
        cores = 0.0
        while cores < 1.25 * CORES[site]:
            job = _drawn(lot, site)
            cores += job.nodes * job.cpus
            await self._submit(site, job._replace(seconds=max(1.0, job.seconds * lot.random())))

    async def _arrive(self, site: str) -> None:
        lot = random.Random(f"{self._seed} {site}")
        each = _work(site)
        left, load = 0.0, 1.0
        while True:
            if left <= 0:
                left, load = lot.uniform(*SPELL_S), lot.uniform(*LOAD)
            pause, job = lot.expovariate(load * CORES[site] / each), _drawn(lot, site)
            left -= pause
            await asyncio.sleep(pause)
            if await self._federation.waiting(site) < MOST_WAITING:
                await self._submit(site, job)

    async def _submit(self, site: str, job: Sleep) -> None:
        await self._federation.submit(site, job, name="background")
        self.submitted[site] += 1


def _drawn(lot: random.Random, site: str) -> Sleep:
    habits = HABITS[site]
    (habit,) = lot.choices(habits, [each.weight for each in habits])
    seconds = lot.lognormvariate(0.0, habit.spread) * habit.usual_s
    if lot.random() < habit.early:
        seconds = lot.uniform(0.5, 1.5)
    return Sleep(min(seconds, 50.0 * habit.minutes), habit.nodes, habit.cpus, habit.minutes)


def _work(site: str) -> float:
    """Core seconds of one job, on average; a second of each is Slurm's own."""
    habits = HABITS[site]
    return sum(each.weight * each.nodes * each.cpus * (each.usual_s * (1 - each.early) + 1) for each in habits) / sum(
        each.weight for each in habits
    )
