"""The live state of every site: probed in parallel, each with its own deadline and back-off, kept with its age."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from datetime import datetime, timezone

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.pace import Pace
from jupyter_diamond.errors import DiamondError, InvalidRequest
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.limits import SiteLimits
from jupyter_diamond.model.policy import Drift
from jupyter_diamond.model.snapshot import SiteReading, Snapshot
from jupyter_diamond.placement.caps import with_caps
from jupyter_diamond.placement.gpu_memory import with_gpu_memory
from jupyter_diamond.placement.merge import merge
from jupyter_diamond.settings import DiamondEngine
from jupyter_diamond.sites import gpus
from jupyter_diamond.transport.base import Completed

_OFFLINE_AFTER = 3
_RETRY_LIMITS_S = 600.0


class Collector:
    """Probes sites and holds the newest reading of each."""

    def __init__(self, links: SiteLinks, ledger: Ledger, settings: DiamondEngine, log: logging.Logger) -> None:
        self._links, self._ledger, self._settings, self._log = links, ledger, settings, log
        self._readings = {name: _unread(link) for name, link in links.items()}
        self._failures = dict.fromkeys(links, 0)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._begun: dict[str, float] = {}
        self._number = 0
        self._told: set[str] = set()
        self._limits_asked: dict[str, float] = {}
        self.writes_events = False

    def snapshot(self) -> Snapshot:
        """Every site's newest reading, now."""
        return Snapshot(id=self._number, taken_at=datetime.now(timezone.utc), sites=tuple(self._readings.values()))

    async def refresh(self, names: Iterable[str], *, older_than_s: float = 0.0, wait_s: float | None = None) -> None:
        """Probe the named sites whose reading is older; probes that are under way already are joined, not repeated."""
        probes = [self._probe_once(self._links[name]) for name in names if self._age(name) >= older_than_s]
        if probes:
            await asyncio.wait(probes, timeout=wait_s)

    async def freshen(self, *, older_than_s: float, patience_s: float) -> None:
        """Have fresh readings of all sites that answer. One that fails, or takes its time, is not waited for."""
        due = [name for name in self._links if self._age(name) >= older_than_s and not self._failures[name]]
        probes = [self._probe_once(self._links[name]) for name in due]
        if probes:
            left = max(patience_s - (time.monotonic() - self._begun[name]) for name in due)
            await asyncio.wait(probes, timeout=max(0.0, left))

    async def run(self) -> None:
        """Probe every site at its tick until cancelled; one slow site never delays another."""
        await asyncio.gather(*(self._run_site(link) for link in self._links.values()))

    async def stop(self) -> None:
        """Cancel probes that are under way."""
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _run_site(self, link: SiteLink) -> None:
        pace = Pace(self._settings.probe_tick_s, max(600.0, self._settings.probe_tick_s))
        while True:
            await self.refresh([link.name])
            if self._failures[link.name] == 0:
                pace.reset()
            await asyncio.sleep(pace.next() if self._failures[link.name] else self._settings.probe_tick_s)

    def _age(self, name: str) -> float:
        read_at = self._readings[name].read_at
        return float("inf") if read_at is None else time.time() - read_at.timestamp()

    def _probe_once(self, link: SiteLink) -> asyncio.Task[None]:
        task = self._running.get(link.name)
        if task is None or task.done():
            task = asyncio.create_task(self._probe(link), name=f"diamond-probe-{link.name}")
            self._running[link.name] = task
            self._begun[link.name] = time.monotonic()
        return task

    async def _probe(self, link: SiteLink) -> None:
        started = time.monotonic()
        now = datetime.now(timezone.utc)
        try:
            script = link.scheduler.probe_script(limits=self._limits_are_due(link.name))
            done = await link.run(script, timeout_s=self._settings.probe_timeout_s)
            limits = self._readings[link.name].limits
            # a large site takes long to read: the server's loop must not wait for it
            reading, drifts = await asyncio.to_thread(read, link, done, limits)
        except InvalidRequest:
            raise
        except DiamondError as problem:
            await self._failed(link, problem, now)
            return
        self._failures[link.name] = 0
        await self._keep(
            reading.model_copy(
                update={
                    "transport": link.site.transport, "tried_at": now, "problem": "",
                    "health": "online" if reading.health == "unknown" else reading.health,
                    "probe_s": round(time.monotonic() - started, 3), "simulated": link.site.simulated,
                    "notes": (*reading.notes, *_noise(done.noise)),
                }
            )
        )  # fmt: skip

        await self._tell(drifts)

    def _limits_are_due(self, name: str) -> bool:
        """Once an hour; where they are not known, every ten minutes: every asking costs a site's database."""
        known = self._readings[name].limits is not None
        wait_s = self._settings.limits_tick_s if known else min(_RETRY_LIMITS_S, self._settings.limits_tick_s)
        due = time.monotonic() - self._limits_asked.get(name, float("-inf")) >= wait_s
        if due:
            self._limits_asked[name] = time.monotonic()
        return due

    async def _tell(self, drifts: tuple[Drift, ...]) -> None:
        """One event for each thing that a profile and its site say differently, ever."""
        for drift in drifts if self.writes_events else ():
            if f"{drift.site}:{drift.key}" not in self._told:
                self._told.add(f"{drift.site}:{drift.key}")
                await self._ledger.write(
                    self._ledger.store.append_event, "site.profile_drift", f"site:{drift.site}",
                    drift.model_dump(mode="json", exclude={"site"}), datetime.now(timezone.utc), drift.key,
                )  # fmt: skip

    async def _failed(self, link: SiteLink, problem: DiamondError, now: datetime) -> None:
        self._failures[link.name] += 1
        health = "offline" if self._failures[link.name] >= _OFFLINE_AFTER else "degraded"
        self._log.info("%s: probe failed: %s", link.name, problem.message)
        last = self._readings[link.name]
        await self._keep(last.model_copy(update={"health": health, "tried_at": now, "problem": problem.message}))

    async def _keep(self, reading: SiteReading) -> None:
        old = self._readings[reading.site]
        self._readings[reading.site] = reading
        self._number += 1
        subject = f"site:{reading.site}"
        if self.writes_events and old.health != reading.health:
            await self._ledger.write(
                self._ledger.store.append_event, "site.health_changed", subject,
                {"from": old.health, "to": reading.health, "why": reading.problem[:500]},
                datetime.now(timezone.utc),
            )  # fmt: skip
        self._ledger.tell(Event(seq=0, at=datetime.now(timezone.utc), type="snapshot.refreshed", subject=subject))


def read(link: SiteLink, done: Completed, limits: SiteLimits | None) -> tuple[SiteReading, tuple[Drift, ...]]:
    """An answer as a reading with all that is known of the machine, of its GPUs and of the user's limits.

    ``limits`` are those of before, for an answer that was not asked for them. Raises SchedulerError.
    """
    reading = link.scheduler.parse_probe(link.name, done, read_at=datetime.now(timezone.utc))
    drifts: tuple[Drift, ...] = ()
    if link.machine is not None:
        reading, drifts = merge(reading, link.machine)
    reading = with_gpu_memory(reading, gpus.table())
    if reading.limits is None:
        reading = reading.model_copy(update={"limits": limits})
    return with_caps(reading, link.site.account), drifts


def _noise(noise: bytes) -> tuple[str, ...]:
    """A warning about start-up files that print (B21): it is harmless to us, and breaks scp and rsync."""
    lines = [line.strip() for line in noise.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    if not lines:
        return ()
    return (f"Start-up files there print {lines[0][:100]!r}; make them silent for shells that are not interactive.",)


def _unread(link: SiteLink) -> SiteReading:
    return SiteReading(
        site=link.name, transport=link.site.transport, scheduler=link.site.scheduler, simulated=link.site.simulated
    )
