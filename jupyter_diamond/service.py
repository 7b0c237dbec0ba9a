"""The one facade: every face calls it and nothing beneath it."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from jupyter_diamond import __version__, settings
from jupyter_diamond.engine import lookaround
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.budget import caps_of
from jupyter_diamond.engine.endpoints import endpoints as list_endpoints
from jupyter_diamond.engine.engine import Engine
from jupyter_diamond.engine.environments.desk import EnvironmentDesk, Names
from jupyter_diamond.engine.groups.desk import GroupDesk
from jupyter_diamond.engine.intake import Agreed, check_bundle, twin_of
from jupyter_diamond.engine.launches import Launches
from jupyter_diamond.engine.ledger import Ledger, Listener
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.engine.login_news import LoginNews
from jupyter_diamond.engine.login_node import site_env
from jupyter_diamond.engine.news.consumers import Consumers
from jupyter_diamond.engine.pace import rest
from jupyter_diamond.engine.preflights import tried
from jupyter_diamond.engine.receipts.desk import Receipts
from jupyter_diamond.engine.results import read_log, read_result
from jupyter_diamond.engine.smoke import accounted, smoke_job
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.engine.staging.desk import DataDesk
from jupyter_diamond.engine.taking import take
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.engine.verdicts import Verdicts
from jupyter_diamond.errors import Infeasible, InvalidRequest, OverBudget
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import Charges
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.endpoint import Endpoints
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.forecast import Forecasts
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.looks import Accounted, Executed, Idle, Outlook, Preflight, PutFile, SiteEnv
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import Attempt, Submitted, Task, TaskRequest, TaskSummary
from jupyter_diamond.model.verdict import TaskVerdict
from jupyter_diamond.model.views import EventPage, Interpreter, Limits, LogChunk, ResultView, Status
from jupyter_diamond.placement.budget import too_dear
from jupyter_diamond.placement.idle import idle
from jupyter_diamond.sites.catalogue import load_catalogue, this_machine
from jupyter_diamond.sites.gpus import gpus_of


class DiamondService:
    """Sites, tasks and their results, for one user."""

    _engine: Engine | None = None
    reorder: Callable[[Decision], Awaitable[Decision]] | None = None
    """Set by whoever lets a model order the feasible places of a plan. What is submitted is planned without it."""

    def __init__(
        self,
        *,
        store: settings.DiamondStore,
        sites: settings.DiamondSites,
        engine: settings.DiamondEngine,
        limits: settings.DiamondLimits,
        log: logging.Logger,
        globus: settings.DiamondGlobus | None = None,
        budget: settings.DiamondBudget | None = None,
        news: settings.DiamondNews | None = None,
        data: settings.DiamondData | None = None,
    ) -> None:
        self._settings, self._limits, self._log = engine, limits, log
        path = Path(store.path).expanduser()
        here = this_machine(sites.this_machine_workdir or str(path.parent / "here")) if sites.this_machine else None
        globus = globus or settings.DiamondGlobus()
        self.globus = Globus(globus, log)
        """Who we are to Globus. It imports nothing and asks nobody until a site, or the user, needs it."""
        catalogue = load_catalogue(Path(sites.path).expanduser(), this_machine=here)
        self.links = SiteLinks(catalogue, self.globus, answer_s=globus.answer_s)
        self._caps = caps_of(budget or settings.DiamondBudget(), self.links)
        self._ledger = ledger = Ledger(path)
        self.consumers = Consumers(ledger, news or settings.DiamondNews(), log)
        """Who wants to be woken, and by what."""
        self.groups = GroupDesk(ledger, self.links, limits, engine=lambda: self.engine, spool=lambda: self._spool)
        """Groups of tasks: to take one, to look at it, to ask something of it."""
        self.verdicts = Verdicts(self._ledger, self.links, command_s=engine.command_timeout_s)
        """Whether tasks and groups did what was asked."""
        self.transfers = TransferDesk(ledger, self.links, self.globus, data or settings.DiamondData(), log)
        self.data = DataDesk(ledger, self.links, self.transfers, log)
        self._spool_folder, self._lease_s = path.parent / "spool", store.lease_s
        self.environments = EnvironmentDesk(self._ledger, self.links, log, engine.command_timeout_s)
        self.launches = Launches(self.links, lambda: gpus_of(self.engine.collector.snapshot()), self.submit)
        self._read_anew = asyncio.Event()
        ledger.listen(self._hear)
        self._login_news = LoginNews(ledger, self.links, lambda: self._engine)
        self.globus.on_change(self._login_news.hear)

    async def start(self) -> None:
        """Open the store, take the lease if it is free, and go on with what was active. Raises StoreError."""
        await self._ledger.open()
        self._spool = await asyncio.to_thread(Spool, self._spool_folder)
        self._engine = Engine(
            ledger=self._ledger, links=self.links, spool=self._spool, settings=self._settings,
            lease_s=self._lease_s, log=self._log, caps=self._caps, webhook=self.consumers.webhook,
            transfers=self.transfers.driver,
        )  # fmt: skip
        self.data.serve(self._engine)
        self.environments.serve(self._engine)
        await self._engine.start()

    async def stop(self) -> None:
        """Stop background work; jobs run on."""
        await asyncio.gather(self._login_news.stop(), self.environments.stop(), self.data.stop())
        if self._engine is not None:
            await self._engine.stop()
        await asyncio.gather(self.links.close(), self.globus.close(), self.transfers.close())
        await self._ledger.close()

    @property
    def engine(self) -> Engine:
        """The engine of a started service."""
        assert self._engine is not None, "the service was not started"
        return self._engine

    @cached_property
    def receipts(self) -> Receipts:
        """What attempts left: receipts, lists of files, pieces of them, exports."""
        return Receipts(self._ledger, self.links, transfers=lambda: self.transfers, data=lambda: self.data)

    @property
    def ledger(self) -> Ledger:
        """The way to the store, for what the rooms above keep in it."""
        return self._ledger

    def on_change(self, listener: Listener) -> None:
        """Call ``listener`` on the loop for every new event."""
        self._ledger.listen(listener)

    async def status(self) -> Status:
        """Who answers, and what a kernel must keep to."""
        lease = await self._ledger.do(self._ledger.store.lease)
        active = await self._ledger.do(self._ledger.store.count_active)
        limits = self._limits
        return Status(
            version=__version__, advances_work=self.engine.advances, lease_holder=lease[0] if lease else "",
            store_path=str(self._ledger.path), active_tasks=active,
            newest_event=await self._ledger.do(self._ledger.store.newest_event),
            limits=Limits(
                value_bytes=limits.value_bytes, bundle_bytes=limits.bundle_bytes,
                inline_result_bytes=limits.inline_result_bytes,
            ),
        )  # fmt: skip

    def _hear(self, event: Event) -> None:
        if event.type == "snapshot.refreshed":
            self._read_anew.set()
            self._read_anew = asyncio.Event()

    async def sites(self, after: int | None = None, wait: float = 0.0) -> Snapshot:
        """Every site's newest reading; the first call waits for the first answers.

        With ``after``, the id of a snapshot, it waits up to ``wait`` seconds until there is another one.
        """
        collector = self.engine.collector
        collector.look()
        await collector.freshen(older_than_s=self._settings.fresh_s, patience_s=3.0)
        deadline = time.monotonic() + min(wait, 30.0)
        while True:
            news = self._read_anew
            snapshot = collector.snapshot()
            left = deadline - time.monotonic()
            if after is None or snapshot.id != after or left <= 0:
                return snapshot
            await rest(news, left)

    async def refresh(self, site: str | None) -> Snapshot:
        """Probe one site, or all, now."""
        names = [self.links[site].name] if site is not None else list(self.links)
        self.engine.collector.look()
        await self.engine.collector.refresh(names, wait_s=self._settings.probe_timeout_s)
        return self.engine.collector.snapshot()

    async def history(self, site: str, hours: float = 24.0) -> SiteHistory:
        """What was free at a site, and who waited. Raises InvalidRequest where there is only a recording."""
        link, now = self._real(site), from_epoch(time.time())
        return await self._ledger.do(self._ledger.store.history, link.name, now - timedelta(hours=hours), now)

    async def interpreter(
        self, site: str, python: str | None, modules: Names, env: Environment | None = None, packages: Names = ()
    ) -> Interpreter:
        """What would run a cell at a site, and which modules it lacks there. Answers are kept for ten minutes."""
        return await self.environments.interpreter(site, python, modules, env, packages)

    async def plan(self, envelope: Envelope, *, members: int = 1, at_once: int | None = None) -> Decision:
        """Where a task with this envelope would go now, or how a round of so many is shared out; nothing is started."""
        if members > 1:
            return await self.groups.plan(envelope, members, at_once=at_once)
        return await self._ordered(await self.engine.planner.plan(envelope))

    async def _ordered(self, decision: Decision) -> Decision:
        """In the order that a language model gives the places that passed every rule, where the user lets it."""
        return decision if self.reorder is None else await self.reorder(decision)

    async def forecasts(self) -> Forecasts:
        """How near forecasts were to what then happened, site by site."""
        return await self.engine.forecasts.judged(self.links)

    async def outlook(self) -> Outlook:
        """When a job of the smallest kind would start at each partition; asks no site and no model."""
        return await self.engine.outlooks.look()

    async def charges(self, days: float = 7.0, *, tasks: bool = False) -> Charges:
        """What was charged in the last days, what is reserved, and what is left, by site, account and unit."""
        return await self.engine.budget.report(days, tasks=tasks)

    async def idle(self, envelope: Envelope) -> Idle:
        """Where a job of this envelope could start now; what is not known stands apart."""
        decision = await self.engine.planner.plan(envelope, asks=False)
        return idle(decision, self.engine.collector.snapshot())

    def _real(self, site: str) -> SiteLink:
        """A site's link. Raises InvalidRequest where there is only a recording, which has no login node."""
        link = self.links[site]
        if link.site.simulated:
            raise InvalidRequest(f"{site} is simulated: it shows recorded numbers, and there is nothing to look at.")
        return link

    async def site_env(self, site: str) -> SiteEnv:
        """Facts of a site's login node, read there now."""
        link = self._real(site)
        python = link.site.python or (sys.executable if link.transport.shares_files else "python3")
        return await site_env(link, python=python, timeout_s=self._settings.command_timeout_s)

    async def execute(self, site: str, command: str) -> Executed:
        """Run one program that only looks. Raises InvalidRequest with those that may be run."""
        return await lookaround.execute(self._real(site), command)

    async def put_file(self, site: str, name: str, data: bytes, *, replace: bool = False) -> PutFile:
        """Put one small file into a site's work folder. Raises Conflict when it is there and shall not be replaced."""
        return await lookaround.put_file(self._real(site), name, data, replace=replace)

    async def preflight(self, site: str) -> Preflight:
        """Try one site for real. Works on a service that was not started, too."""
        if self.links[site].site.simulated:
            return Preflight(site=site, checks=(lookaround.SIMULATED,))
        link = self._real(site)
        python = sys.executable if link.transport.shares_files else None
        return await tried(link, self.globus, lambda: self.interpreter(site, python, ()), lambda: self.site_env(site))

    async def endpoints(self) -> Endpoints:
        """The user's Globus Compute endpoints, and the known machines that have none."""
        return await list_endpoints(self.globus, self.links.sites)

    async def smoke(self, site: str, client_token: str) -> Submitted:
        """Send the smallest real job there, as any other task."""
        link = self._real(site)
        await self.refresh(site)  # a site that has just come back is tried, not judged by what was
        request, bundle = await asyncio.to_thread(smoke_job, link, client_token)
        return await self.submit(request, bundle)

    async def accounted(self, ref: str) -> Accounted:
        """What the site's accounting says of the newest attempt's job, asked now."""
        task = await self.task(ref)
        link = self.links[newest(task).site]
        return await accounted(task.id, newest(task), link, timeout_s=self._settings.command_timeout_s)

    async def submit(self, request: TaskRequest, bundle: bytes, agreed: Agreed | None = None) -> Submitted:
        """Take a task. The same client token gives the same task. ``agreed`` raises to refuse a decision as it is."""
        known, namesakes = await self._ledger.do(self._known, request)
        if known:
            return Submitted(task=known, created=False)
        check_bundle(request, bundle, at_most=self._limits.bundle_bytes)
        if not request.again and (twin := twin_of(request, namesakes)):
            return Submitted(task=twin, attached=True, created=False)
        await self.groups.refuse_namesakes(request)
        planner = self.engine.planner
        decision = await self._ordered(await planner.plan(request.envelope, by=request.by, healing=request.healing))
        choice = decision.choice
        if choice is None or choice.size is None:
            raise OverBudget(decision.sentence) if too_dear(decision) else Infeasible(decision.sentence)
        if choice.simulated:
            raise Infeasible(f"{choice.site} is simulated: nothing was submitted. Choose another site.")
        if agreed is not None:
            agreed(decision)
        return await take(
            request, bundle, decision, engine=self.engine, ledger=self._ledger, spool=self._spool, caps=self._caps
        )

    def _known(self, request: TaskRequest) -> tuple[Task | None, tuple[Task, ...]]:
        """In the store's thread: the task of this very request, and the active ones of its name."""
        store = self._ledger.store
        return store.find_token(request.client_token), store.active_same_name(request.name, request.notebook.path)

    async def tasks(
        self, name: str | None = None, phase: str | None = None, notebook: str | None = None, limit: int = 100,
        *, before: str | None = None, newer: int | None = None,
    ) -> tuple[TaskSummary, ...]:  # fmt: skip
        """Tasks, newest first; ``phase`` is ``active`` or ``ended``. ``before`` and ``newer``: see ``Store.tasks``."""
        return await self._ledger.do(
            self._ledger.store.tasks, name, phase, notebook, limit, before=before, newer=newer
        )  # fmt: skip

    async def task(self, ref: str) -> Task:
        """A task by id, or the newest of that name. Raises NotFound."""
        return await self._ledger.do(self._ledger.store.task, ref)

    async def cancel(self, ref: str, by: str) -> Task:
        """Ask for a task's end. Cancelling what has ended changes nothing."""
        task = await self.task(ref)
        if task.phase is Phase.ENDED:
            return task
        task = await self._ledger.write(self._ledger.store.request_cancel, task.id, by, from_epoch(time.time()))
        self.engine.adopt(task)
        return task

    async def replan(self, ref: str, by: str, *, unpin: bool = False, agreed: Agreed | None = None) -> Task:
        """Plan a task anew that has not started; where another place is better, its waiting job is taken back for it.

        Raises Conflict when it has started, Infeasible when no place can take it: nothing has changed then.
        """
        task = await self.engine.asked.replan(await self.task(ref), by, unpin=unpin, agreed=agreed)
        self.engine.adopt(task)
        return task

    async def report_mismatch(self, ref: str, reason: str, by: str, agreed: Agreed | None = None) -> Task:
        """Its site is wrong for it, and left out from now on. Raises Conflict, Infeasible: nothing has changed then."""
        task = await self.engine.mismatches.report(await self.task(ref), reason, by, agreed)
        self.engine.adopt(task)
        return task

    async def hold(self, ref: str, by: str) -> Task:
        """Submit nothing of a task for now; a job that waits is taken back. Raises Conflict when it has started."""
        task = await self.engine.asked.hold(await self.task(ref), by)
        self.engine.adopt(task)
        return task

    async def release(self, ref: str, by: str) -> Task:
        """Let a held task go on."""
        task = await self.engine.asked.release(await self.task(ref), by)
        self.engine.adopt(task)
        return task

    async def decision(self, ref: str) -> Decision:
        """The stored answer to *why here*."""
        task = await self.task(ref)
        return await self._ledger.do(self._ledger.store.decision, task.id)

    async def task_events(self, ref: str, after: int = 0, limit: int = 200) -> EventPage:
        """What happened to a task, oldest first."""
        task = await self.task(ref)
        events = await self._ledger.do(self._ledger.store.events, after, limit, f"task:{task.id}")
        return EventPage(events=events, cursor=events[-1].seq if events else after)

    async def logs(self, ref: str, offset: int = 0, limit: int = 65_536, tail: int | None = None) -> LogChunk:
        """A piece of the newest attempt's log."""
        attempt, link = await self._where(ref)
        return await read_log(attempt, link, offset=offset, limit=limit, tail=tail)

    async def result(self, ref: str) -> ResultView:
        """The receipt of a finished attempt, with its small values inline. Raises ResultUnavailable."""
        store = self._ledger.store

        def find() -> tuple[Task, Attempt, str]:
            task = store.task(ref)
            attempt = newest(task)
            return task, attempt, store.key(task.id, attempt.n)

        task, attempt, key = await self._ledger.do(find)
        return await read_result(
            task, attempt, self.links[attempt.site], key=key, inline_bytes=self._limits.inline_result_bytes
        )

    async def verdict(self, ref: str) -> TaskVerdict:
        """Whether a task's newest attempt did what was asked, with the evidence."""
        return await self.verdicts.task(ref)

    async def _where(self, ref: str) -> tuple[Attempt, SiteLink]:
        attempt = newest(await self.task(ref))
        return attempt, self.links[attempt.site]

    async def events(self, after: int, wait: float = 0.0, limit: int = 500) -> EventPage:
        """Events after a cursor; waits up to ``wait`` seconds for one. ``after=-1`` tells the newest cursor only."""
        if after < 0:
            return EventPage(events=(), cursor=await self._ledger.do(self._ledger.store.newest_event))
        if wait > 0:
            await self._ledger.wait(after, min(wait, 30.0))
        events = await self._ledger.do(self._ledger.store.events, after, limit)
        return EventPage(events=events, cursor=events[-1].seq if events else after)
