"""One watcher a site: one query for all its jobs, its files where they are in reach, accounting for the final word."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from jupyter_diamond.engine.arrivals import Arrivals
from jupyter_diamond.engine.attempt_folder import Seen
from jupyter_diamond.engine.batch import Inputs, newest
from jupyter_diamond.engine.claims import Claims, claims_of
from jupyter_diamond.engine.far_look import FarLooks
from jupyter_diamond.engine.heal.away import read_end
from jupyter_diamond.engine.heal.endings import End, Endings
from jupyter_diamond.engine.heal.healer import Healer
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.near_look import NearLook
from jupyter_diamond.engine.noting import Tells, by_folder, by_queue, note
from jupyter_diamond.engine.pace import end, rest
from jupyter_diamond.engine.questions import QueueClock, accounting_allowance
from jupyter_diamond.engine.readiness import Readying
from jupyter_diamond.engine.reconcile import Rows, final, lost, never_started, row_of
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.engine.submit import Submitter
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.errors import SchedulerError, TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.settings import DiamondEngine

_SILENT_S = 15.0
"""So long neither queue nor accounting may know a job before that is said."""
_TOGETHER_S = 1.0
"""Accounting is asked along for whoever would be asked for so soon after."""


@dataclass
class SiteWatcher:
    """Watches the attempts of one site until each has ended."""

    link: SiteLink
    ledger: Ledger
    spool: Spool
    settings: DiamondEngine
    log: logging.Logger
    holds: Callable[[], Awaitable[bool]]
    healer: Healer
    readiness: Readying
    hand_on: Callable[[Task], None]
    """Takes a task whose next attempt has begun; it may be for another site."""
    watched: dict[str, Watched] = field(default_factory=dict)

    def __post_init__(self) -> None:
        submitter = Submitter(
            self.link, self.ledger, self.spool, self.settings, self.log,
            holds=self.holds, healer=self.healer, readiness=self.readiness,
        )  # fmt: skip
        self._arrivals = Arrivals(submitter, self.log, out=self._brought, reread=self._reread)
        self._endings = Endings(
            self.link, self.ledger, self.settings, self.log, healer=self.healer, wake=self._wake, pass_on=self._pass_on
        )
        self._near = NearLook(self.link.scheduler.end_notice)
        self._queue = QueueClock(self.link.poll_floor_s)
        shared = self.link.scheduler.kind != "process"
        self._accounting = accounting_allowance(self.link.poll_floor_s, shared=shared)
        self._asks = asyncio.Event()
        self._looks = asyncio.Event()

    def watch(self, tasks: Sequence[Task], inputs: Inputs | None = None) -> None:
        """Take on tasks, new or found again, or hear that something about them changed (a cancel request)."""
        for task in tasks:
            known = self.watched.get(task.id)
            if known is None:
                known = self.watched[task.id] = Watched(task=task)
                if known.native is not None:  # found again: what became of it meanwhile is not known
                    self._queue.wanted(time.monotonic())
            elif task.version >= known.task.version:
                known.task = task
                known.hurry.set()
        taken = [self.watched[task.id] for task in tasks]
        self._arrivals.begin(taken, inputs)
        self._endings.resume(taken)
        self._wake()

    def _brought(self, task: Task) -> None:
        """A task has a job, has ended, is followed or goes on alone."""
        known = self.watched.get(task.id)
        if known is None:
            known = self.watched[task.id] = Watched(task=task)
        known.brought = task
        self._wake()

    def ask_soon(self) -> None:
        """The way to the site is open again: what its silence earned is not waited out."""
        self._queue.opened(time.monotonic())
        for known in self.watched.values():
            known.hurry.set()
        self._wake()

    async def _reread(self, ids: Sequence[str]) -> tuple[Task, ...]:
        return await self.ledger.do(self.ledger.store.attempts.tasks, ids)

    def _wake(self) -> None:
        self._asks.set()
        self._looks.set()

    async def run(self) -> None:
        """Work until cancelled. Files and questions have a loop each: a hanging scheduler never delays a result."""
        self._arrivals.begin(self.watched.values())  # it may have been interrupted
        self._endings.resume(self.watched.values())
        look_loop = self._look_loop if self.link.transport.shares_files else self._far_looks().run
        loops = [
            asyncio.create_task(self._ask_loop(), name=f"diamond-ask-{self.link.name}"),
            asyncio.create_task(look_loop(), name=f"diamond-look-{self.link.name}"),
        ]
        try:
            await asyncio.gather(*loops)
        finally:
            works = [*self._arrivals.works, *(known.healing for known in self.watched.values())]
            for known in self.watched.values():
                known.submission = None
            await end([*loops, *(work for work in works if work is not None)])

    def _far_looks(self) -> FarLooks:
        return FarLooks(
            self.link,
            self.log,
            unfinished=self._unfinished,
            note=self._note_folders,
            every_s=lambda: max(0.2, 5.0 * self._file_wait()),  # a look costs a site more than it costs this machine
            changed=self._looks,
        )

    async def _look_loop(self) -> None:
        while True:
            self._looks.clear()
            await self._look_into_folders()
            await rest(self._looks, self._file_wait() if self._unfinished() else None)

    async def _ask_loop(self) -> None:
        while True:
            self._asks.clear()
            self._collect_submissions()
            now = time.monotonic()
            try:
                await self._send_cancels(now)
                if self._jobs() and now >= self._queue.due_at(now):
                    await self._ask_queue(now)
                await self._ask_accounting(time.monotonic())
            except (TransportError, SchedulerError) as problem:
                await self._trouble(problem)
            await self._forget_ended()
            await rest(self._asks, self._until_next(time.monotonic()))

    def _until_next(self, now: float) -> float | None:
        """How long until there is something to ask; None when there is nothing to ask about."""
        settling = [known.settle_at for known in self.watched.values() if known.settle is not None]
        wakes = [max(min(settling), self._accounting.ready_at(now))] if settling else []
        if self._jobs():
            wakes.append(self._queue.due_at(now))
        else:
            self._queue.idle()
        return min(wakes) - now if wakes else None

    async def _forget_ended(self) -> None:
        for task_id in [task_id for task_id, known in self.watched.items() if newest(known.task).state.terminal]:
            if self.watched.pop(task_id).task.member is None:  # else its inputs are its group's
                await asyncio.to_thread(self.spool.drop, task_id)

    def _unfinished(self) -> list[Watched]:
        return [known for known in self._jobs() if known.end is None]

    def _jobs(self) -> list[Watched]:
        return [known for known in self.watched.values() if known.native is not None and not known.job_over]

    def _file_wait(self) -> float:
        """How long until the next look: short while something is about to happen, longer for long waits."""
        attempts = [newest(known.task) for known in self._jobs()]
        fine = max(self.settings.file_watch_s, self._near.rest_s)
        youngest = max((attempt.state_since for attempt in attempts), default=None)
        if youngest is None or time.time() - youngest.timestamp() < 120:
            return fine
        return fine * 2.5 if any(attempt.state is State.RUNNING for attempt in attempts) else fine * 12.5

    def _collect_submissions(self) -> None:
        for known in [known for known in self.watched.values() if known.brought is not None]:
            brought, n, place = known.brought, newest(known.task).n, newest(known.task).array
            assert brought is not None, "only what was brought in is collected"
            known.submission = known.brought = None
            if brought.version >= known.task.version:  # else it was changed since
                known.task = brought
            if newest(known.task).n != n:
                self._pass_on(known)
                continue
            if newest(known.task).array != place:  # it was held, and the array goes on without it
                self._arrivals.begin([known])
            self._queue.stirred(time.monotonic())

    def _pass_on(self, known: Watched) -> None:
        """Its task goes on in another attempt, at this site or at another."""
        known.over = True
        self.watched.pop(known.task.id, None)
        self.hand_on(known.task)

    async def _send_cancels(self, now: float) -> None:
        due = [
            known for known in self._jobs()
            if known.task.cancel_requested_by is not None and known.end is None and now >= known.cancel_at
        ]  # fmt: skip
        if await self._endings.take_back(self._jobs(), now):
            self._queue.wanted(now + 1.0)
        jobs = [known.native for known in due if known.native is not None]
        if not jobs:
            return
        for known in due:
            known.cancel_at = now + 30.0
        done = await self.link.run(self.link.scheduler.cancel_script(jobs), timeout_s=self.settings.command_timeout_s)
        for sentence in self.link.scheduler.parse_cancel(done):
            self.log.warning("%s: %s", self.link.name, sentence)
        for known in due:
            known.ask_accounting(now, self.link.poll_floor_s)

    async def _look_into_folders(self) -> None:
        jobs = self._unfinished()
        if not jobs:
            return
        await self._note_folders(await asyncio.to_thread(self._near.at, jobs))

    async def _note_folders(self, sights: Sequence[tuple[Watched, Seen]]) -> bool:
        """Store what was seen; whether it changed anything."""
        for known, seen in sights:
            self._hear_log(known, seen)
            if not known.over:
                known.end, known.manifest = seen.end, seen.manifest
        told = [(known, by_folder(seen)) for known, seen in sights if seen.started is not None or seen.end is not None]
        noted = await note(self.ledger, self._endings, told)
        for known, _ in noted:
            if known.end is not None:
                known.ask_accounting(time.monotonic(), self.link.poll_floor_s)
                self._asks.set()
        return bool(noted)

    def _hear_log(self, known: Watched, seen: Seen) -> None:
        known.log_bytes = seen.log_bytes
        if known.ear is not None and seen.log:
            known.ear.take(newest(known.task).n, seen.log_offset, seen.log)
        if seen.noticed and not known.noticed:  # a hint that is taken once: the cell itself may print such words
            known.noticed = True
            self._queue.wanted(time.monotonic())
            self._asks.set()

    async def _ask_queue(self, now: float) -> None:
        jobs = self._jobs()
        tells = self.link.transport.shares_files or self.link.transport.longest_wait_s > 0
        self._queue.asked(now, [newest(known.task) for known in jobs], at=time.time(), tells=tells)
        script = self.link.scheduler.queue_script([known.native for known in jobs if known.native is not None])
        reading = self.link.scheduler.parse_queue(
            await self.link.run(script, timeout_s=self.settings.command_timeout_s)
        )
        rows, heard = Rows(reading.rows), list[tuple[Watched, Tells]]()
        for known in jobs:
            row = row_of(newest(known.task), rows)
            known.queue_row = row
            if row is None or row.state.terminal or row.state is State.COMPLETING:
                # B07: absence is not an end; ask the sources that know
                known.ask_accounting(now, self.link.poll_floor_s)
            if row is not None:
                known.silent_since = None
                heard.append((known, by_queue(row, time.time(), known.native)))
        noted = await note(self.ledger, self._endings, heard)
        if any("state" in news.changes for _, news in noted):
            self._queue.stirred(time.monotonic())

    async def _ask_accounting(self, now: float) -> None:
        """The last word on all who wait for it: one question for those that are due, and soon will be."""
        due = [known for known in self._jobs() if known.settle is not None and now >= known.settle_at - _TOGETHER_S]
        if not any(now >= known.settle_at for known in due) or self._accounting.ready_at(now) > now:
            return
        self._accounting.take(now)
        for known in due:
            if known.settle is not None and now >= known.settle_at:
                known.settle_at = now + known.settle.next()
        since = min(known.task.created_at for known in due)
        asked = [known.native for known in due]
        jobs = [job for job in asked if job is not None]
        script = self.link.scheduler.accounting_script(jobs, since=since)
        reading = self.link.scheduler.parse_accounting(
            await self.link.run(script, timeout_s=self.settings.command_timeout_s)
        )
        rows = Rows(reading.rows)
        found = [(known, row_of(newest(known.task), rows)) for known in due]
        if not reading.complete:
            found = [(known, row or _queue_row(known)) for known, row in found]
        idle = [known for known, row in found if row is not None and _never_ran(newest(known.task), row)]
        claims = await self._claims(idle)
        ends: list[End] = []
        for (known, row), job in zip(found, asked, strict=True):
            async with known.lock:
                # two jobs may carry its token, and its claim may have said meanwhile that it is the other one's
                end = await self._settle(known, row, now, claims) if known.native == job else None
            ends += [] if end is None else [end]
        self._endings.begin(ends)

    async def _settle(self, known: Watched, row: JobRow | None, now: float, claims: Claims) -> End | None:
        """The attempt's end when accounting says that it is over; else note what is known."""
        attempt = newest(known.task)
        begun = row is not None and row.places is not None and known.task.id in claims.own  # the row is of the others
        if known.over or known.healing is not None or begun:
            return None
        if row is not None and row.state.terminal:
            if _never_ran(attempt, row) and await self._follows(known, claims.others.get(known.task.id)):
                return None
            await read_end(known, self.link)
            changes = final(
                row, known.end, known.manifest, attempt=attempt, cancelled_by=known.task.cancel_requested_by
            )
            if not changes["state"].terminal:
                return None  # the rows contradict themselves: ask again
            if known.manifest is not None:
                changes["result_ready"] = True
            changes.setdefault("ended_at", from_epoch(time.time()))
            return End(known, changes, row.cancelled_by)
        if row is not None:
            known.silent_since = None
            leaving = known.queue_row is not None and known.queue_row.state is State.COMPLETING
            wanted_back = known.task.cancel_requested_by is not None or attempt.withdrawal is not None
            if known.end is None and not wanted_back and not leaving:
                known.settle = None
            return None
        return await self._silent(known, now)

    async def _claims(self, idle: Sequence[Watched]) -> Claims:
        """Of those whose job is over and has not run the cell: who has their claims; nobody can make one any more."""
        attempts = {known.task.id: newest(known.task) for known in idle if not known.over and known.healing is None}
        return await claims_of(self.link, attempts, timeout_s=self.settings.command_timeout_s)

    async def _follows(self, known: Watched, job: NativeJob | None) -> bool:
        """Another job of the attempt's token is followed from now on, where there is one."""
        if job is None:
            return False
        known.settle, known.queue_row, known.silent_since, known.cancel_at = None, None, None, 0.0
        self._queue.wanted(time.monotonic())
        told = {"job": str(job), "found": True}
        known.task = await self.ledger.update(known.task, "attempt.submitted", told, native=job)
        return True

    async def _silent(self, known: Watched, now: float) -> End | None:
        if known.queue_row is not None and not known.queue_row.state.terminal:
            return None  # accounting lags behind the queue, which still has the job
        known.silent_since = known.silent_since or now
        silent_s = now - known.silent_since
        attempt = newest(known.task)
        unwanted = known.task.cancel_requested_by is not None or attempt.withdrawal is not None
        gone = silent_s > _SILENT_S and unwanted and attempt.started_at is None
        if silent_s >= self.settings.lost_after_s or gone:
            claims = Claims()
            if attempt.started_at is None:
                claims = await self._claims([known])
                if await self._follows(known, claims.others.get(known.task.id)):
                    return None
            now_at = from_epoch(time.time())
            if gone and known.task.id not in claims.own:
                return End(known, never_started(known.task.cancel_requested_by, now=now_at))
            if silent_s >= self.settings.lost_after_s:
                await read_end(known, self.link)
                return End(known, lost(known.end, now=now_at, silent_s=silent_s))
        if silent_s > _SILENT_S and known.end is None and attempt.state is not State.UNKNOWN:
            known.task = await self.ledger.update(
                known.task, "attempt.state_changed", {"from": "silence"}, state=State.UNKNOWN,
                trouble=f"Neither queue nor accounting of {self.link.name} knows this job; asking again.",
            )  # fmt: skip
        return None

    async def _trouble(self, problem: TransportError | SchedulerError) -> None:
        """A command failed: that says nothing about any job (B08)."""
        now = time.monotonic()
        self._queue.failed(now)
        for known in self._jobs():
            if known.settle is not None:
                known.settle_at = max(known.settle_at, now + known.settle.next())
            await self._endings.note_trouble(known, problem)


def _queue_row(known: Watched) -> JobRow | None:
    """What the queue said last of the job that is followed now."""
    return None if known.queue_row is None else row_of(newest(known.task), (known.queue_row,))


def _never_ran(attempt: Attempt, row: JobRow) -> bool:
    """The job is over, and has not run the cell."""
    never = row.exit_code == files.EXIT_CLAIMED or not (row.started_at or attempt.started_at)
    return row.state.terminal and never
