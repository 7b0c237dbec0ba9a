"""What advances work: the lease, the watchers of all sites, recovery at start, and news from other processes."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from jupyter_diamond.engine.balances import BalanceBook
from jupyter_diamond.engine.batch import Inputs, newest, unwanted
from jupyter_diamond.engine.budget import Budget
from jupyter_diamond.engine.collector import Collector
from jupyter_diamond.engine.forecasts import Forecasts
from jupyter_diamond.engine.groups.anew import Anew
from jupyter_diamond.engine.groups.driver import Groups
from jupyter_diamond.engine.heal.asked import Asked
from jupyter_diamond.engine.heal.healer import Healer
from jupyter_diamond.engine.heal.mismatch import Mismatches
from jupyter_diamond.engine.heal.overrun import Overruns
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.news.continuations import Continuations
from jupyter_diamond.engine.news.webhooks import Webhook
from jupyter_diamond.engine.outlooks import Outlooks
from jupyter_diamond.engine.pace import end
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.engine.readiness import Readying
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.engine.transfers.driver import TransferDriver
from jupyter_diamond.engine.watch import SiteWatcher
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.errors import DiamondError, StoreError, TransportError
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.settings import DiamondEngine

_FOREIGN_NEWS_S = 0.5
"""How often the store is asked whether another process wrote: 20 microseconds each."""
_STOP_S = 1.0
"""How long ends are waited for: JupyterLab is closed by people, who do not wait either."""
_OWN_FIRST_S = 0.05
"""A task that this very server has made is adopted with its making; one of another server's is read from the store."""

_ASKED_ELSEWHERE = (
    "task.created",
    "task.cancel_requested",
    "task.withdrawal",
    "task.held",
    "task.released",
    "task.mismatch",
)
"""What another server of the same user may have been asked for, and this one has to act on."""


class Engine:
    """Advances every active task while this server holds the lease; otherwise only follows the log."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        links: SiteLinks,
        spool: Spool,
        settings: DiamondEngine,
        lease_s: float,
        log: logging.Logger,
        webhook: Webhook,
        transfers: TransferDriver,
        caps: tuple[SpendingCap, ...] = (),
    ) -> None:
        self._ledger, self._links, self._spool, self._settings, self._log = ledger, links, spool, settings, log
        self._lease_s = lease_s
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.advances = False
        self.forecasts = Forecasts(ledger, writes=lambda: self.advances)
        self.collector = Collector(links, ledger, settings, log, learn=self.forecasts.learn)
        self.balances, self.readiness = BalanceBook(), Readying()
        self.budget = Budget(
            caps=caps, ledger=ledger, links=links, balances=self.balances, snapshot=self.collector.snapshot
        )
        self.planner = Planner(
            links=links, collector=self.collector, forecasts=self.forecasts, budget=self.budget, settings=settings,
            log=log,
        )  # fmt: skip
        self.outlooks = Outlooks(self.planner)
        together = Anew(ledger, self.planner).follow
        self.healer = Healer(ledger, links, self.collector, self.planner, log, together=together)
        self.asked, self.mismatches = Asked(ledger, self.planner), Mismatches(ledger, self.planner)
        self._overruns = Overruns(ledger, self.planner, log, tasks=self._watched, hand_on=self.adopt)
        self.continuations = Continuations(ledger, links, log, holds=self._hold, watched=self._find)
        self.groups = Groups(ledger, self.planner, spool, log, holds=self._hold, adopt=self.adopt_all)
        self._webhook, self._transfers = webhook, transfers
        self._granted_at = -math.inf
        self._watchers: dict[str, SiteWatcher] = {}
        self._owned, self._working = set[asyncio.Task[None]](), set[asyncio.Task[None]]()
        self._asked_for: dict[str, bool] = {}
        """Tasks to be picked up, and whether each is only new: those of this server come by themselves."""

    async def start(self) -> None:
        """Try for the lease, and go on in the background."""
        self._ledger.listen(self._hear)
        await self._try_lease()
        self._own(self._heart(), self._owned, "diamond-heart")
        self._own(self.balances.keep(self._links.values(), self._answers), self._owned, "diamond-balances")

    async def stop(self) -> None:
        """Stop all background work and give the lease back; jobs run on.

        What does not let go in time is left behind: whatever it was at is in the store, and is found again at the next
        start, as after a crash.
        """
        late, _ = await asyncio.gather(
            end([*self._owned, *self._working], within_s=_STOP_S), self.collector.stop(within_s=_STOP_S)
        )
        for task in late:
            self._log.warning("%s did not end in %.1f s; it is left behind", task.get_name(), _STOP_S)
        self.forecasts.stop()
        if self.advances:
            await self._ledger.do(self._ledger.store.release_lease, self.holder)
            self.advances = False

    def _answers(self, name: str) -> bool:
        """The site's last probe went well: only then is it asked for more."""
        return any(each.site == name and each.health == "online" for each in self.collector.snapshot().sites)

    async def folder_for(self, attempt: Attempt, envelope: Envelope) -> str | None:
        """Where a new attempt, or its array, would be staged by this server; None when it cannot do that right now.

        It cannot where something is to be made ready at the site first.
        """
        if self.readiness.concerns(envelope):
            return None
        if not self.advances or attempt.site not in self._watchers or not await self._hold():
            return None
        try:
            place = attempt.array
            return await self._links[attempt.site].folder(attempt.token if place is None else place.token)
        except TransportError:  # the submission meets it again, and says so
            return None

    def adopt(self, task: Task, inputs: Inputs | None = None) -> None:
        """Begin to advance a task, or hear that it was changed. Does nothing where another server advances work."""
        if newest(task).array is None or unwanted(task) or self._find(task.id) is not None:
            self.adopt_all((task,), inputs)
        elif self.advances:
            self.groups.again(task)  # it waits for its array's turn, with all others of it

    def adopt_all(self, tasks: Sequence[Task], inputs: Inputs | None = None) -> None:
        """As ``adopt``, for many; of a job array all that were made together. ``inputs`` are those of all of them."""
        by_site: dict[str, list[Task]] = {}
        for task in tasks if self.advances else ():
            if not task.state.terminal and not self._knows_better(task):
                by_site.setdefault(newest(task).site, []).append(task)
        for site, theirs in by_site.items():
            watcher = self._watchers.get(site)
            if watcher is not None:
                watcher.watch(theirs, inputs)
                continue
            for task in theirs:
                self._log.warning("task %s runs at %s, which is no longer in the catalogue", task.id, site)

    def _watched(self) -> list[Task]:
        """Every task that is being watched, as it is known here."""
        return [known.task for watcher in self._watchers.values() for known in watcher.watched.values()]

    def _knows_better(self, task: Task) -> bool:
        """The task has moved on to another site since it was read."""
        site = newest(task).site
        elsewhere = (watcher.watched.get(task.id) for name, watcher in self._watchers.items() if name != site)
        return any(known is not None and known.task.version > task.version for known in elsewhere)

    async def way_opened(self, names: Sequence[str]) -> None:
        """Somebody logged in: ask these sites at once, also where a probe is under way that met the closed door."""
        for name in names:
            if name in self._watchers:
                self._watchers[name].ask_soon()
        await self.collector.refresh(names)

    def _own(self, coroutine: object, group: set[asyncio.Task[None]], name: str) -> None:
        task: asyncio.Task[None] = asyncio.create_task(coroutine, name=name)  # type: ignore[arg-type]
        group.add(task)
        task.add_done_callback(lambda done: self._gone(done, group))

    def _gone(self, task: asyncio.Task[None], group: set[asyncio.Task[None]]) -> None:
        group.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._log.error("%s ended: %s", task.get_name(), problem, exc_info=problem)

    async def _heart(self) -> None:
        renew_at = time.monotonic() + self._lease_s / 3
        while True:
            await asyncio.sleep(_FOREIGN_NEWS_S)
            try:
                await self._ledger.foreign_news()
                if time.monotonic() >= renew_at:
                    renew_at = time.monotonic() + self._lease_s / 3
                    await self._try_lease()
            except DiamondError as problem:
                self._log.warning("%s", problem.message)

    async def _hold(self) -> bool:
        """Whether this server holds the lease: nobody can have taken it in the first half of its time.

        The heart renews it each third, so the store is asked here only after this server slept, or its clock was set.
        """
        return 0 <= time.time() - self._granted_at < self._lease_s / 2 or await self._renew()

    async def _renew(self) -> bool:
        now = time.time()
        mine = await self._ledger.write(self._ledger.store.take_lease, self.holder, at=now, ttl_s=self._lease_s)
        self._granted_at = now if mine else -math.inf
        return mine

    async def _try_lease(self) -> None:
        mine = await self._renew()
        if mine and not self.advances:
            await self._take_over()
        elif not mine and self.advances:
            self._log.error("another server took the lease; this one only reads from now on")
            self.advances = self.collector.writes = False
            for task in list(self._working):
                task.cancel()

    async def _take_over(self) -> None:
        """Start the watchers and rebind every active task to its site: recovery is the ordinary start."""
        self.advances = self.collector.writes = True
        self._watchers = {
            name: SiteWatcher(
                link=link,
                ledger=self._ledger,
                spool=self._spool,
                settings=self._settings,
                log=self._log,
                holds=self._hold,
                healer=self.healer,
                readiness=self.readiness,
                hand_on=self.adopt,
            )
            for name, link in self._links.items()
        }
        own = [task for task in await self._ledger.do(self._ledger.store.active) if task.member is None]
        self.adopt_all(own)  # whose turn it is of a group's members is its driver's business
        for name, watcher in self._watchers.items():
            self._own(self._keep(watcher.run, f"watching {name}"), self._working, f"diamond-watch-{name}")
        self._own(self._keep(self.groups.run, "advancing groups"), self._working, "diamond-groups")
        self._own(self._keep(self.continuations.run, "waking who waits"), self._working, "diamond-continuations")
        self._own(self._keep(partial(self._webhook.run, self._hold), "the webhook"), self._working, "diamond-webhook")
        self._own(self._keep(partial(self._transfers.run, self._hold), "moving data"), self._working, "diamond-data")
        self._own(self.collector.run(), self._working, "diamond-collector")
        self._own(self._overruns.keep(), self._working, "diamond-overruns")

    async def _keep(self, run: Callable[[], Awaitable[None]], what: str) -> None:
        while True:
            try:
                await run()
                return  # it has nothing to do
            except StoreError as problem:  # noqa: PERF203 - a store that is locked or full will be free again
                self._log.warning("%s waits 5 s: %s", what, problem.message)
                await asyncio.sleep(5.0)
            except Exception:  # noqa: BLE001 - a defect of ours must not end it for good
                self._log.exception("%s failed; it goes on in 5 s", what)
                await asyncio.sleep(5.0)

    def _find(self, task_id: str) -> Watched | None:
        """An active task as its site's watcher knows it; one that moves is known to two for a moment."""
        known = [each.watched[task_id] for each in self._watchers.values() if task_id in each.watched]
        return max(known, key=lambda each: each.task.version, default=None)

    def _hear(self, event: Event) -> None:
        kind, _, task_id = event.subject.partition(":")
        if self.advances and kind == "task" and event.type in _ASKED_ELSEWHERE and "group" not in event.data:
            new = event.type == "task.created"
            self._asked_for[task_id] = new and self._asked_for.get(task_id, True)
            if len(self._asked_for) == 1:
                self._own(self._pick_up(), self._working, "diamond-pick-up")

    async def _pick_up(self) -> None:
        """Adopt what was asked for, all with one look into the store: the members of a group come in hundreds."""
        if all(self._asked_for.values()):
            await asyncio.sleep(_OWN_FIRST_S)
        asked, self._asked_for = self._asked_for, {}
        wanted = [task_id for task_id, new in asked.items() if not new or self._find(task_id) is None]
        for task in await self._ledger.do(self._ledger.store.attempts.tasks, wanted):
            self.adopt(task)
