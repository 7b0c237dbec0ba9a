"""One run: a world made from a seed, servers that live and die in it, and the time until nothing happens any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any
from unittest import mock

from sqlalchemy import Engine, create_engine, event

from jupyter_diamond.engine.budget import caps_of
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import Conflict, DiamondError, OverBudget
from jupyter_diamond.model.site import Site as SiteModel
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondBudget, DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from jupyter_diamond.store import Store, database

from .clock import ChaosLoop, virtual
from .invariants import check
from .plan import HORIZON, Act, Kill, Plan, Wish, draw
from .scheduler import MACHINE, ToyScheduler
from .transport import ToyTransport
from .world import Report, World, cell, group

LEASE_S = 90.0


class Died(BaseException):
    """The server was killed inside a transaction: nothing of it was written."""


_FIRST: list[Engine] = []


def _engine(*args: Any, **options: Any) -> Engine:
    """An engine that has what the first one compiled: each start of a server would compile every statement anew."""
    engine = create_engine(*args, **options)
    if not _FIRST:
        _FIRST.append(engine)
    engine.dialect = engine.pool._dialect = _FIRST[0].dialect
    engine._compiled_cache = _FIRST[0]._compiled_cache
    return engine


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
            service.links._links[name] = SiteLink(
                site=model, transport=transport, scheduler=ToyScheduler(), machine=MACHINE
            )
        service._caps = caps_of(DiamondBudget(**world.plan.caps), service.links)
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
            try:
                if act.task not in world.refused:
                    await self._act(service, act)
            except (Conflict, OverBudget) as no:
                world.tell(f"the user is refused: {no.message}")
                if act.what == "submit":
                    world.refused.add(act.task)
            except DiamondError as problem:
                world.tell(f"the user hears: {problem.message}")
                if self.clock.now < HORIZON:
                    await asyncio.sleep(20.0)
                    await service.refresh(None)
                    continue
            world.tell(f"the user has done: {act.what} {act.task}")
            world.acts.remove(act)

    async def _act(self, service: DiamondService, act: Act) -> None:
        wish = self.world.plan.wishes.get(act.task, Wish())
        of_group = bool(wish.rounds)
        if act.what == "submit":
            await (service.groups.submit(*group(act.task, wish)) if of_group else service.submit(*cell(act.task, wish)))
            return
        desk: Any = service.groups if of_group else service
        if act.what == "unpin":
            await desk.replan(act.task, "you", unpin=True)
        else:
            await getattr(desk, act.what)(act.task, "you")

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
        return int(service._ledger.store._database._raw.execute(_UNENDED).fetchone()[0])

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
        refused = [kind for kind in kinds if self.world.plan.by_hand(f"commit {kind}")]
        if refused:
            self.world.plan.count(f"refused commit of {refused[0]}")
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


_UNENDED = "SELECT (SELECT count(*) FROM tasks WHERE NOT ended) + (SELECT count(*) FROM groups WHERE NOT ended)"
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
        with (
            virtual(world.clock, random.Random(f"{plan.seed} ids")),
            mock.patch.object(database, "create_engine", _engine),
        ):
            while (kill := Life(world).live()) is not None:
                world.clock.run_until(world.clock.now + kill.down_s)
            check(world)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    world.report.injected.update(plan.injected)
    world.report.jobs = sum(len(site.cluster.jobs) for site in world.sites)
    return world.report
