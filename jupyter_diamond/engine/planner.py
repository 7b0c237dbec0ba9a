"""From an envelope to a decision: fresh numbers, the world as it is known, and a question where too little is."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple

from jupyter_diamond.engine.budget import Budget
from jupyter_diamond.engine.collector import Collector
from jupyter_diamond.engine.forecasts import Forecasts
from jupyter_diamond.engine.heal.steps import begins_with, mismatched
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.errors import DiamondError, TransportError
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.forecast import Forecast
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.jobs import Dialect, JobRequest
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World
from jupyter_diamond.schedulers.base import Estimating
from jupyter_diamond.settings import DiamondEngine
from jupyter_diamond.transport.base import Completed

MOST_ASKED = 3
"""So many of the best candidates are worth a question to their scheduler."""
_ASK_S = 10.0
_KEEP_S = 60.0
"""An estimate is as old as that at most; asking again for each cell of a notebook would be no better."""
_NOBODY = "dmd-00000000"
"""The token of no attempt."""
_BASELINES = frozenset({"shortest_queue", "best_feasible", "random"})


class Planned(NamedTuple):
    """A decision with what it was made of."""

    decision: Decision
    snapshot: Snapshot
    world: World


_Place = tuple[str, str]
_Asked = tuple[str, str, Size, str | None, str | None]


class Planner:
    """Decides for a service. It never blocks the loop, and starts nothing."""

    def __init__(
        self,
        *,
        links: SiteLinks,
        collector: Collector,
        forecasts: Forecasts,
        budget: Budget,
        settings: DiamondEngine,
        log: logging.Logger,
    ) -> None:
        self._links, self._collector, self._forecasts = links, collector, forecasts
        self._budget, self._settings, self._log = budget, settings, log
        self._said: dict[_Asked, tuple[float, float | None]] = {}
        self.environments: Callable[[Envelope, World], Awaitable[World]] | None = None
        """Set by the service: what is known of the environment that a task names, site by site."""
        self.data: Callable[[Envelope, World], Awaitable[World]] | None = None
        """Set by the service: what is known of the data that it needs."""

    @property
    def caps(self) -> tuple[SpendingCap, ...]:
        """What the store is to hold a new attempt against."""
        return self._budget.caps

    async def plan(
        self,
        envelope: Envelope,
        *,
        asks: bool = True,
        follows: Task | None = None,
        by: str | None = None,
        healing: Healing | None = None,
    ) -> Decision:
        """Where a task with this envelope would go now. Raises StoreError, NotFound.

        ``asks``: schedulers may be asked for their own estimate where nothing better is known. ``follows``: the task
        that another attempt is planned for, with its newest one as it has ended, or waits to be taken back; ``by``: the
        agent that asks for a new task. Both matter where a cap of theirs is to be kept. ``healing``: what a new task
        may do by itself; it begins with less memory where more can follow.
        """
        return (await self.planned(envelope, asks=asks, follows=follows, by=by, healing=healing)).decision

    async def planned(
        self,
        envelope: Envelope,
        *,
        asks: bool = True,
        follows: Task | None = None,
        by: str | None = None,
        healing: Healing | None = None,
    ) -> Planned:
        """As ``plan``, with the numbers that it was planned on."""
        fresh_s = self._settings.fresh_s
        if follows is None:
            self._collector.look()
        if envelope.objective == "random" and envelope.seed is None:  # drawn here, recorded with the decision
            envelope = envelope.model_copy(update={"seed": secrets.randbelow(1 << 31)})
        if envelope.site:
            await self._collector.refresh([self._links[envelope.site].name], older_than_s=fresh_s, wait_s=10.0)
        else:
            await self._collector.freshen(older_than_s=fresh_s, patience_s=10.0)
        snapshot, world = self._collector.snapshot(), await self._forecasts.world()
        world = await self._budget.world(world, task=follows, by=by)
        if envelope.env is not None and self.environments is not None:
            world = await self.environments(envelope, world)
        if envelope.stage_in and self.data is not None:
            world = await self.data(envelope, world)
        if follows is not None and (wrong := mismatched(follows)):
            world = replace(world, mismatched=wrong)
        healing = follows.healing if follows is not None else healing or Healing()
        sized = begins_with(envelope, healing.retries, () if follows is None else follows.attempts)
        decision = await self._decided(sized, snapshot, world)
        asked = self._worth_asking(decision, snapshot, world) if asks else []
        if asked and (said := await self._asked(asked, envelope)):
            decision = await self._decided(sized, snapshot, replace(world, test_only_s=said))
        if sized is not envelope:
            decision = decision.model_copy(update={"envelope": envelope})
        return Planned(decision, snapshot, world)

    async def remaining(self, attempt: Attempt) -> Forecast | None:
        """When the waiting job of an attempt would start, by its own place in the queue; None: it is not seen there."""
        if attempt.native is None:
            return None
        place, job_id = (attempt.site, attempt.partition or ""), attempt.native.id
        records = (record for reading in self._collector.snapshot().sites for record in reading.records)
        whole_node = any(record.whole_node for record in records if (record.site, record.partition) == place)
        forecaster = (await self._forecasts.world()).forecaster
        return await self._forecasts.run(partial(forecaster.remaining, *place, job_id, whole_node=whole_node))

    async def _decided(self, envelope: Envelope, snapshot: Snapshot, world: World) -> Decision:
        now = datetime.fromtimestamp(world.forecaster.now, timezone.utc)
        return await self._forecasts.run(
            partial(decide, envelope, snapshot, self._links.sites, now=now, stale_s=self._settings.stale_s, world=world)
        )

    def _worth_asking(self, decision: Decision, snapshot: Snapshot, world: World) -> list[Candidate]:
        """The best that may be chosen, have no better forecast than a constant, and whose scheduler may know more."""
        if decision.objective in _BASELINES:
            return []
        well = {reading.site for reading in snapshot.sites if not reading.problem}
        ranked = sorted((each for each in decision.candidates if each.rank), key=lambda each: each.rank or 0)
        return [
            each
            for each in ranked
            if each.site in well
            and not each.simulated
            and each.size is not None
            and each.estimate is not None
            and each.estimate.forecast.method in ("depth", "unknown")
            and not world.forecaster.sees(each.site)
            and isinstance(self._links[each.site].scheduler, Estimating)
        ][:MOST_ASKED]

    async def _asked(self, candidates: list[Candidate], envelope: Envelope) -> dict[_Place, float]:
        """The schedulers' own estimates of the wait; what one does not say is left out."""
        by_site: dict[str, list[Candidate]] = defaultdict(list)
        for each in candidates:
            by_site[each.site].append(each)
        answers = await asyncio.gather(
            *(self._ask(self._links[site], mine, envelope) for site, mine in by_site.items())
        )
        return {place: wait for found in answers for place, wait in found.items()}

    async def _ask(self, link: SiteLink, candidates: list[Candidate], envelope: Envelope) -> dict[_Place, float]:
        now = time.monotonic()
        self._said = {key: kept for key, kept in self._said.items() if now - kept[0] < _KEEP_S}
        keys = {_key(each, envelope): each for each in candidates}
        new = [key for key in keys if key not in self._said]
        scheduler = link.scheduler
        if new and isinstance(scheduler, Estimating):
            jobs = [_job(link, keys[key], envelope) for key in new]
            try:
                waits = scheduler.parse_estimate(await self._answer(link, scheduler.estimate_script(jobs)))
            except DiamondError as problem:  # a decision does without
                self._log.info("%s: no estimate of its own: %s", link.name, problem.message)
                waits = (None,) * len(new)
            self._said.update({key: (now, wait) for key, wait in zip(new, waits, strict=False)})
        said = {key[:2]: self._said[key][1] for key in keys if key in self._said}
        return {place: wait for place, wait in said.items() if wait is not None}

    @staticmethod
    async def _answer(link: SiteLink, script: str) -> Completed:
        """The answer, if it comes in time: a way there may be slow, and a cell waits for the decision."""
        asking = asyncio.create_task(link.run(script, timeout_s=_ASK_S), name=f"diamond-estimate-{link.name}")
        try:
            await asyncio.wait({asking}, timeout=_ASK_S)
            if not asking.done():
                raise TransportError(f"it did not answer within {_ASK_S:.0f} s", outcome="unknown")
            return asking.result()
        finally:
            asking.cancel()


def _key(candidate: Candidate, envelope: Envelope) -> _Asked:
    assert candidate.size is not None, "only a sized candidate is asked for"
    return candidate.site, candidate.partition, candidate.size, candidate.account, envelope.qos


def _job(link: SiteLink, candidate: Candidate, envelope: Envelope) -> JobRequest:
    """What would be submitted, but for what it runs."""
    assert candidate.size is not None, "only a sized candidate is asked for"
    partition, qos, dialect = candidate.partition or None, envelope.qos, Dialect()
    if link.machine is not None:
        partition, qos, dialect = link.machine.ask_for(partition, qos)
    return JobRequest(
        token=_NOBODY, name="estimate", folder="/", size=candidate.size, command=("true",),
        partition=partition, account=candidate.account, qos=qos,
        dialect=dialect.model_copy(update={"options": link.site.options}),
    )  # fmt: skip
