"""One run: a world made from a seed, servers that live and die in it, and the time until nothing happens any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import shutil
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from sqlalchemy import event

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.site import Site as SiteModel
from jupyter_diamond.model.task import TaskRequest
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from jupyter_diamond.store import Store
from tests.engine import cells

from .clock import ChaosLoop, Clock, virtual
from .cluster import WALLTIME_S, Cluster
from .invariants import check
from .plan import HORIZON, Kill, Plan, draw
from .scheduler import ToyScheduler
from .shell import QuickShell, RealShell
from .transport import Site, ToyTransport

LEASE_S = 90.0
_SOURCE = "answer = 1"


class Died(BaseException):
    """The server was killed inside a transaction: nothing of it was written."""


@dataclass
class Report:
    """What a run met, and what did not hold."""

    seed: int
    injected: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    tasks: int = 0
    jobs: int = 0
    states: Counter[str] = field(default_factory=Counter)


@cache
def _empty_store() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store" / "store.sqlite"
        Store(path).close()
        return path.read_bytes()


@cache
def _cell(name: str) -> tuple[TaskRequest, bytes]:
    data = cells.bundle(_SOURCE, name=name)
    envelope = Envelope(walltime_s=Span.exactly(WALLTIME_S))
    token = f"chaos-token-of-{name}"
    return cells.request(_SOURCE, data, name=name, client_token=token, envelope=envelope, again=True), data


class Reader:
    """Reads the log page by page, in whichever server lives, and remembers where it was."""

    def __init__(self, name: str, wait_s: float, rest_s: float) -> None:
        self.name, self._wait_s, self._rest_s = name, wait_s, rest_s
        self.cursor = 0
        self.seen: list[int] = []

    async def read(self, service: DiamondService) -> None:
        """Until the server dies."""
        while True:
            try:
                await self._page(service, self._wait_s)
            except DiamondError:
                await asyncio.sleep(5.0)
            await asyncio.sleep(self._rest_s)

    async def catch_up(self, service: DiamondService) -> None:
        """What has happened by now."""
        while await self._page(service, 0.0):
            pass

    async def _page(self, service: DiamondService, wait_s: float) -> int:
        page = await service.events(self.cursor, wait_s, limit=7)
        self.seen += [each.seq for each in page.events]
        self.cursor = page.cursor
        return len(page.events)


class World:
    """All that outlives a server."""

    def __init__(self, plan: Plan, folder: Path, *, real_shell: bool) -> None:
        self.plan, self.folder, self.clock = plan, folder, Clock()
        self.rng = random.Random(f"{plan.seed} world")
        self.report = Report(plan.seed)
        self.store_path = folder / "diamond" / "store.sqlite"
        self.store_path.parent.mkdir(mode=0o700)
        self.store_path.write_bytes(_empty_store())
        self.store_path.chmod(0o600)
        self.sites = [self._site(f"toy{i}", real_shell) for i in range(plan.sites)]
        self.readers = [Reader("one that waits", 25.0, 10.0), Reader("one that looks", 0.0, 97.0)]
        self.kills = list(plan.kills)
        self.passed: Counter[str] = Counter()
        self.acts = list(plan.acts)
        self.stops = list(plan.stops)
        self.watched: dict[str, tuple[str, bool]] = {}
        for at, by in plan.jumps:
            self.clock.at(at, lambda by=by: self._jump(by))

    def _site(self, name: str, real_shell: bool) -> Site:
        folder = self.folder / name
        folder.mkdir()
        cluster = Cluster(name, self.clock, self.plan, self.rng, self.tell)
        shell = RealShell(folder / "shell") if real_shell else QuickShell()
        return Site(cluster, folder, shell, self.clock, self.plan, self.rng)

    def _jump(self, by: float) -> None:
        self.plan.count("clock_jump")
        self.clock.shift += by
        self.tell(f"the server's clock is set by {by:+.0f} s")

    def tell(self, line: str) -> None:
        """A line of the trace."""
        self.report.trace.append(f"{self.clock.now:9.2f}  {line}")

    def violated(self, what: str) -> None:
        """Something did not hold."""
        if what not in self.report.violations:
            self.report.violations.append(what)
            self.tell(f"VIOLATED: {what}")

    def deadly(self, boundary: str) -> Kill | None:
        """The kill that is planned for this passing of a boundary."""
        self.passed[boundary] += 1
        for kill in self.kills:
            if kill.boundary == boundary and kill.nth == self.passed[boundary]:
                return kill
        return None


class Life:
    """One server, from its start to its end."""

    def __init__(self, world: World) -> None:
        self.world, self.clock = world, world.clock
        self.loop = ChaosLoop(world.clock, world.rng, self._committed)
        self.killed: Kill | None = None
        self._written: tuple[str, ...] = ()
        self._newest = 0
        self.service: DiamondService | None = None

    def live(self) -> Kill | None:
        """Until it is killed (by what), or nothing happens any more."""
        asyncio.set_event_loop(self.loop)
        main = self.loop.create_task(self._main())
        main.add_done_callback(lambda _: self.loop.dead or self.loop.stop())
        try:
            self.loop.run_forever()
            if self.killed is None:
                main.result()
        finally:
            self._bury()
        return self.killed

    def _bury(self) -> None:
        for complaint in self.loop.complaints:
            self.world.violated(f"nobody handled this: {complaint}")
        self.loop.bury()
        asyncio.set_event_loop(None)
        if self.service is not None and self.service._ledger._store is not None:
            self.service._ledger._store._database.close()

    # ---- what it does

    async def _main(self) -> None:
        while not await self._starts():  # noqa: ASYNC110 - as whoever started it would try again
            await asyncio.sleep(5.0)
        service = self.service
        assert service is not None
        work = [asyncio.create_task(reader.read(service)) for reader in self.world.readers]
        work.append(asyncio.create_task(self._user(service)))
        await self._until_quiet()
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        if self.killed is None:
            for reader in self.world.readers:
                await reader.catch_up(service)
        with contextlib.suppress(DiamondError):  # a store that cannot be written now
            await service.stop()

    async def _starts(self) -> bool:
        world = self.world
        self.service = service = self._made()
        try:
            await service.start()
        except DiamondError as problem:
            world.tell(f"a server cannot start: {problem.message}")
            if service._ledger._store is not None:
                service._ledger._store._database.close()
                service._ledger._store = None
            return False
        world.tell(f"a server starts ({'it works' if service.engine.advances else 'it only reads'})")
        return True

    def _made(self) -> DiamondService:
        world = self.world
        service = DiamondService(
            store=DiamondStore(path=str(world.store_path), lease_s=LEASE_S),
            sites=DiamondSites(path=str(world.folder / "none.yaml"), this_machine=False),
            engine=DiamondEngine(probe_tick_s=900.0, fresh_s=3600.0, stale_s=86_400.0),
            limits=DiamondLimits(),
            log=_Log(self),  # type: ignore[arg-type]
        )
        for site in world.sites:
            name = site.cluster.name
            model = SiteModel(
                name=name, transport="ssh", host="toy", scheduler="slurm", workdir=str(site.folder), machine="none"
            )
            transport = ToyTransport(site, world.rng, self.passes, world.tell)
            service.links._links[name] = SiteLink(site=model, transport=transport, scheduler=ToyScheduler())
        ledger_open = service._ledger.open

        async def opened() -> None:
            await ledger_open()
            self._hook(service._ledger.store)

        service._ledger.open = opened  # type: ignore[method-assign]
        return service

    async def _user(self, service: DiamondService) -> None:
        world = self.world
        while world.acts:
            act = world.acts[0]
            await asyncio.sleep(max(0.0, act.at - self.clock.now))
            request, data = _cell(act.task)
            try:
                if act.what == "submit":
                    await service.submit(request, data)
                else:
                    await service.cancel(act.task, "you")
            except DiamondError as problem:
                world.tell(f"the user hears: {problem.message}")
                if self.clock.now < HORIZON:
                    await asyncio.sleep(20.0)
                    await service.refresh(None)
                    continue
            world.tell(f"the user has done: {act.what} {act.task}")
            world.acts.remove(act)

    async def _until_quiet(self) -> None:
        quiet_since = None
        while self.clock.now < HORIZON:
            await asyncio.sleep(20.0)
            if self.world.stops and self.world.stops[0] <= self.clock.now:
                self.world.stops.pop(0)
                self.killed = Kill("stopped as it should be", 0, 5.0)
                return
            busy = (
                self.world.acts
                or self._unended()
                or any(not job.over for site in self.world.sites for job in site.cluster.jobs)
            )
            quiet_since = None if busy else quiet_since or self.clock.now
            if (
                quiet_since is not None and self.clock.now - quiet_since > 420.0 + 100.0
            ):  # what is late has come by then
                return

    def _unended(self) -> int:
        service = self.service
        assert service is not None
        return int(
            service._ledger.store._database._raw.execute("SELECT count(*) FROM tasks WHERE NOT ended").fetchone()[0]
        )

    # ---- its boundaries

    def passes(self, boundary: str) -> None:
        """It passes a boundary, and may die there."""
        if self.loop.dead:
            return
        if (kill := self.world.deadly(boundary)) is not None:
            self.killed = kill
            self.world.kills.remove(kill)
            self.world.report.kills[boundary] += 1
            self.world.tell(f"KILLED at: {boundary}")
            self.loop.die()

    def _hook(self, store: Store) -> None:
        raw = store._database._raw
        self._newest = int(raw.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])
        event.listen(store._database._engine, "begin", self._begins)
        event.listen(store._database._engine, "commit", lambda _: self._commits(raw))

    def _begins(self, connection: object) -> None:
        writes = connection.get_execution_options().get("diamond_begin")  # type: ignore[attr-defined]
        if writes and self.world.plan.on("store_locked", self.clock.now):
            self.world.plan.count("store_locked")
            raise sqlite3.OperationalError("database is locked")

    def _commits(self, raw: sqlite3.Connection) -> None:
        rows = raw.execute(
            "SELECT seq, type, subject FROM events WHERE seq > ? ORDER BY seq", (self._newest,)
        ).fetchall()
        if self.world.plan.on("store_full", self.clock.now):
            self.world.plan.count("store_full")
            raise sqlite3.OperationalError("database or disk is full")
        kinds = tuple(dict.fromkeys(row[1] for row in rows))
        if any(self.world.plan.by_hand(f"commit {kind}") for kind in kinds):
            self.world.plan.count("store_locked")
            raise sqlite3.OperationalError("database is locked")
        for kind in kinds:
            self.passes(f"commit {kind} before")
            if self.loop.dead:
                raise Died
        if rows:
            self._written, self._newest = kinds, rows[-1][0]

    def _committed(self) -> None:
        """A piece of work in a lane is done: if it wrote, look at what is in the store now, and perhaps die."""
        if self._written:
            written, self._written = self._written, ()
            self._look_at_tasks()
            for kind in written:
                self.passes(f"commit {kind} after")

    def _look_at_tasks(self) -> None:
        world, service = self.world, self.service
        assert service is not None
        raw = service._ledger.store._database._raw
        for task, name, state, ended in raw.execute("SELECT id, name, state, ended FROM tasks").fetchall():
            before = world.watched.get(task)
            if before is not None and before[1] and before[0] != state:
                world.violated(f"{name} left its end: it was {before[0]}, and is {state}")
            if before != (state, bool(ended)):
                world.tell(f"{name} is {state}")
            world.watched[task] = (state, bool(ended))
        query = "SELECT task_id, count(*) FROM attempts WHERE state NOT IN (%s) GROUP BY task_id HAVING count(*) > 1"
        for task, live in raw.execute(query % _ENDED).fetchall():
            world.violated(f"{task} has {live} live attempts")


_ENDED = ",".join(
    f"'{state}'"
    for state in (
        "completed", "failed", "cancelled", "timeout", "out_of_memory", "node_fail", "preempted", "rejected", "deadline",
        "lost",
    )
)  # fmt: skip


class _Log(logging.Logger):
    """A server's log: lines of the trace; a defect that it tells of is a violation."""

    def __init__(self, life: Life) -> None:
        super().__init__("diamond.chaos")
        self._life = life

    def handle(self, record: logging.LogRecord) -> None:
        if self._life.loop.dead:
            return
        problem = record.exc_info[1] if record.exc_info else None
        self._life.world.tell(f"log: {record.getMessage()}{f' ({problem!r})' if problem else ''}")
        if problem is not None and not isinstance(problem, DiamondError):
            self._life.world.violated(f"a defect in the log: {record.getMessage()}: {problem!r}")


def run(seed: int, folder: Path, *, real_shell: bool | None = None) -> Report:
    """Make the run of a seed in an empty folder, which is gone afterwards."""
    return play(draw(seed), folder, real_shell=seed % 10 == 0 if real_shell is None else real_shell)


def play(plan: Plan, folder: Path, *, real_shell: bool = False) -> Report:
    """Make one run of a plan in an empty folder, which is gone afterwards."""
    world = World(plan, folder, real_shell=real_shell)
    try:
        with virtual(world.clock, random.Random(f"{plan.seed} ids")):
            while (kill := Life(world).live()) is not None:
                world.clock.run_until(world.clock.now + kill.down_s)
            check(world)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    world.report.injected.update(plan.injected)
    world.report.jobs = sum(len(site.cluster.jobs) for site in world.sites)
    return world.report
