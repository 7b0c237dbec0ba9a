"""The live state of every site: probed in parallel, each with its own deadline, tick and breaker, kept with its age.

A probe is half a dozen commands, so the tick is for somebody: a wall, a sidebar, a user who places tasks. While nobody
looks a site is probed now and then, for its history and so that no record is too old to place with; whoever looks
again, or decides, has it probed at once (``freshen``).
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from jupyter_diamond.engine.breaker import Breaker
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.pace import end, rest
from jupyter_diamond.engine.reading import Heard, read
from jupyter_diamond.engine.trials import Trials
from jupyter_diamond.errors import DiamondError, GlobusProblem, StoreError, TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.policy import Drift
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading, Snapshot
from jupyter_diamond.settings import DiamondEngine
from jupyter_diamond.transport.base import Completed

_LARGE_BYTES = 64 << 10
"""A larger answer takes more than some milliseconds to read, so it is read beside the loop."""
_RETRY_LIMITS_S = 600.0
_LOOKS_TICKS, _LOOKS_S = 3, 60.0
"""So many ticks after a look, and so long at least, a site is still somebody's: walls and sidebars look again whenever
a probe has ended, and a site may have a longer tick of its own."""


@dataclass
class _Site:
    """One site as it is followed."""

    link: SiteLink
    breaker: Breaker
    reading: SiteReading
    running: asyncio.Task[None] | None = None
    begun: float = 0.0
    answered: bool = True
    """The probe that runs has its answer, and only writes it down: who asks now wants another."""
    limits_asked: float = -math.inf
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Collector:
    """Probes sites and holds the newest reading of each. With ``writes`` it keeps their past and tells of changes."""

    def __init__(
        self,
        links: SiteLinks,
        ledger: Ledger,
        settings: DiamondEngine,
        log: logging.Logger,
        *,
        learn: Callable[[str, SiteQueue | None], Awaitable[None]] | None = None,
    ) -> None:
        """``learn`` is given every answer's queue, None where an answer tells of none."""
        self._ledger, self._settings, self._log = ledger, settings, log
        self._sites = {
            name: _Site(link, Breaker(max(settings.probe_tick_s, link.poll_floor_s)), _unread(link))
            for name, link in links.items()
        }
        self._links, self._learn = links, learn
        self._trials = Trials(ledger, log, timeout_s=settings.command_timeout_s)
        self._owned: set[asyncio.Task[Any]] = set()
        self._trying: set[str] = set()
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="diamond-read")
        self._number = 0
        self._looked_at = time.monotonic()
        self._told: set[str] = set()
        self.writes = False
        ledger.listen(self._hear)

    def snapshot(self) -> Snapshot:
        """Every site's newest reading, now."""
        readings = tuple(site.reading for site in self._sites.values())
        return Snapshot(id=self._number, taken_at=from_epoch(time.time()), sites=readings)

    def look(self) -> None:
        """Somebody wants to know how sites are, and goes on to for a while: sites are probed at their tick."""
        rested = time.monotonic() > self._looks_until()
        self._looked_at = time.monotonic()
        for site in self._sites.values() if rested else ():
            site.wake.set()

    async def refresh(self, names: Iterable[str], *, older_than_s: float = 0.0, wait_s: float | None = None) -> None:
        """Probe the named sites whose reading is older; probes that are under way already are joined, not repeated.

        Who wants to know how it is *now* (``older_than_s`` 0) is not told what was asked before: another probe follows
        the one that is under way.
        """
        sites = [self._sites[self._links[name].name] for name in names]
        asked_at = time.monotonic()
        probes = [
            self._probe_once(site)
            if older_than_s > 0
            else self._spawn(f"refresh-{site.link.name}", self._anew(site, asked_at))
            for site in sites
            if _age(site) >= older_than_s
        ]
        if probes:
            await asyncio.wait(probes, timeout=wait_s)

    async def _anew(self, site: _Site, asked_at: float) -> None:
        """Until a probe has ended that began when it was asked for, or later."""
        probe = self._probe_once(site)
        await asyncio.wait({probe})
        if site.begun < asked_at:
            await asyncio.wait({self._probe_once(site)})

    async def freshen(self, *, older_than_s: float, patience_s: float) -> None:
        """Have fresh readings of all sites that answer. One that fails, or takes its time, is not waited for."""
        now = time.monotonic()
        due = [site for site in self._sites.values() if _age(site) >= older_than_s]
        well = [site for site in due if not site.breaker.failures]
        for site in due:
            if not site.breaker.failures or now >= site.breaker.next_at:
                self._probe_once(site)
        if well:
            left = max(patience_s - (now - site.begun) for site in well)
            await asyncio.wait([self._probe_once(site) for site in well], timeout=max(0.0, left))

    async def run(self) -> None:
        """Probe every site at its tick until cancelled; one slow site never delays another."""
        await asyncio.gather(*(self._run_site(site) for site in self._sites.values()))

    async def stop(self, *, within_s: float = 5.0) -> None:
        """Cancel what is under way."""
        await end(self._owned, within_s=within_s)
        self._reader.shutdown(wait=False, cancel_futures=True)

    def _hear(self, event: Event) -> None:
        """The user has logged in, or out: sites that waited for it are due, wherever that was done."""
        if event.subject != "login":
            return
        self.look()
        for site in self._sites.values():
            if site.reading.health == "needs_login":
                site.breaker.resume(time.monotonic())
                site.wake.set()

    async def _run_site(self, site: _Site) -> None:
        while True:
            site.wake.clear()
            left_s = self._next_at(site) - time.monotonic()
            if left_s > 0:
                await rest(site.wake, left_s)
            else:
                await asyncio.wait({self._probe_once(site)})

    def _next_at(self, site: _Site) -> float:
        """When it is probed next: at its tick while somebody looks, else when it has rested."""
        tick_at = site.breaker.next_at
        if tick_at <= self._looks_until() or site.reading.read_at is None:
            return tick_at
        return max(tick_at, site.begun + self._settings.probe_rest_s)

    def _looks_until(self) -> float:
        return self._looked_at + max(_LOOKS_S, _LOOKS_TICKS * self._settings.probe_tick_s)

    def _probe_once(self, site: _Site) -> asyncio.Task[None]:
        """Begin a probe, or join the one that waits for its answer."""
        if site.running is None or site.running.done() or site.answered:
            site.begun, site.answered = time.monotonic(), False
            site.running = self._spawn(f"probe-{site.link.name}", self._probe(site))
        return site.running

    async def _probe(self, site: _Site) -> None:
        tried_at = from_epoch(time.time())
        site.breaker.begun()
        heard: Heard | None = None
        try:
            heard = await self._read(site, await self._ask(site), tried_at)
        except DiamondError as problem:
            reading = self._failed(site, problem, tried_at)
        except Exception as problem:  # noqa: BLE001 - a defect of ours must neither end this nor look like fresh numbers
            self._log.exception("%s: reading its answer failed", site.link.name)
            said = f"Its answer could not be read ({type(problem).__name__}); the Jupyter server's log has the details."
            reading = self._failed(site, DiamondError(said), tried_at)
        else:
            site.breaker.succeeded(site.begun, time.monotonic())
            seconds = round(time.monotonic() - site.begun, 3)
            reading = heard.reading.model_copy(update={"probe_s": seconds})
        finally:
            site.answered = True
            site.wake.set()
        try:
            await self._keep(site, reading)
            if heard is not None:
                await self._tell(heard.drifts)
                if self._learn is not None:
                    await self._learn(reading.site, heard.queue)
        except StoreError as problem:  # the numbers are shown, if not kept
            self._log.warning("%s", problem.message)

    async def _ask(self, site: _Site) -> Completed:
        """The probe's answer. One that hangs is left behind at its deadline, whatever its transport does about it."""
        link, limit_s = site.link, self._settings.probe_timeout_s
        script = link.scheduler.probe_script(limits=self._limits_are_due(site))
        asking = self._spawn(f"ask-{link.name}", link.run(script, timeout_s=limit_s))
        await asyncio.wait({asking}, timeout=limit_s + link.patience_s)
        if not asking.done():
            asking.cancel()
            said = f"{link.name} did not answer a probe within {limit_s + link.patience_s:.3g} s."
            raise TransportError(said, outcome="unknown")
        answer: Completed = asking.result()
        return answer

    async def _read(self, site: _Site, done: Completed, sent: datetime) -> Heard:
        reading_it = partial(read, site.link, done, site.reading.limits, sent=sent, heard=from_epoch(time.time()))
        if len(done.stdout) < _LARGE_BYTES:
            return reading_it()
        return await asyncio.get_running_loop().run_in_executor(self._reader, reading_it)

    def _limits_are_due(self, site: _Site) -> bool:
        """Once an hour; where they are not known, every ten minutes: every asking costs a site's database."""
        tick_s = self._settings.limits_tick_s
        wait_s = tick_s if site.reading.limits is not None else min(_RETRY_LIMITS_S, tick_s)
        due = time.monotonic() - site.limits_asked >= wait_s
        if due:
            site.limits_asked = time.monotonic()
        return due

    def _failed(self, site: _Site, problem: DiamondError, tried_at: datetime) -> SiteReading:
        """The last good reading, with what is wrong and since when."""
        now = time.monotonic()
        health = site.breaker.failed(now, problem.message, needs_login=_needs_login(problem))
        self._log.info("%s: probe failed: %s", site.link.name, problem.message)
        changes = {
            "health": health, "tried_at": tried_at, "problem": problem.message,
            "failing_since": site.reading.failing_since or tried_at,
            "next_try_at": from_epoch(time.time() + site.breaker.next_at - now),
        }  # fmt: skip
        return site.reading.model_copy(update=changes)

    async def _keep(self, site: _Site, reading: SiteReading) -> None:
        old, site.reading = site.reading, reading
        self._number += 1
        subject, at = f"site:{reading.site}", from_epoch(time.time())
        changed = {"from": old.health, "to": reading.health, "why": reading.problem[:500]}
        try:
            if self.writes and old.health != reading.health:
                await self._ledger.write(self._ledger.store.append_event, "site.health_changed", subject, changed, at)
        finally:
            self._ledger.tell(Event(seq=0, at=at, type="snapshot.refreshed", subject=subject))
        if self.writes and not reading.problem and not reading.simulated:
            await self._ledger.do(self._ledger.store.put_reading, reading)
            if reading.site not in self._trying and self._trials.due(site.link, reading):
                self._trying.add(reading.site)
                self._spawn(f"trial-{reading.site}", self._try_commands(site.link, reading))

    async def _try_commands(self, link: SiteLink, reading: SiteReading) -> None:
        try:
            await self._trials.learn(link, reading)
        except DiamondError as problem:  # the older ways of asking stay in use
            self._log.info("%s: what its commands can do is not known: %s", link.name, problem.message)
        finally:
            self._trying.discard(link.name)

    def _spawn(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task of ours, held until it has ended."""
        task = asyncio.create_task(work, name=f"diamond-{name}")
        self._owned.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._owned.discard(task)
        if not task.cancelled():
            task.exception()  # one that was left behind at its deadline has nobody to raise to

    async def _tell(self, drifts: tuple[Drift, ...]) -> None:
        """One event for each thing that a profile and its site say differently, ever."""
        for drift in drifts if self.writes else ():
            if f"{drift.site}:{drift.key}" not in self._told:
                self._told.add(f"{drift.site}:{drift.key}")
                await self._ledger.write(
                    self._ledger.store.append_event, "site.profile_drift", f"site:{drift.site}",
                    drift.model_dump(mode="json", exclude={"site"}), from_epoch(time.time()), drift.key,
                )  # fmt: skip


def _age(site: _Site) -> float:
    read_at = site.reading.read_at
    return float("inf") if read_at is None else time.time() - read_at.timestamp()


def _needs_login(problem: DiamondError) -> bool:
    if isinstance(problem, GlobusProblem):
        return problem.outcome == "needs_login"
    return isinstance(problem, TransportError) and problem.needs_login


def _unread(link: SiteLink) -> SiteReading:
    return SiteReading(
        site=link.name, transport=link.site.transport, scheduler=link.site.scheduler, simulated=link.site.simulated
    )
