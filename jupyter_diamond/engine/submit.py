"""Bringing one attempt into a site's queue: once, whatever the instant at which an answer is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from jupyter_diamond.engine.heal import segments
from jupyter_diamond.engine.heal.causes import Ended
from jupyter_diamond.engine.heal.healer import Healer
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.pace import Pace, rest
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.engine.stage import (
    SubmitAnswer,
    fence_script,
    peek_script,
    read_answer,
    runner_source,
    sealed,
    submit_script,
)
from jupyter_diamond.errors import DiamondError, NotFound, SchedulerError, StoreError, SubmitRefused, TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import Dialect, JobRequest, JobRow, NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task, TaskRequest
from jupyter_diamond.settings import DiamondEngine

SMALL_BYTES = 1 << 20
_LOOKING = (State.SUBMITTING, State.SUBMIT_UNKNOWN)


def newest(task: Task) -> Attempt:
    """The newest attempt; a stored task always has one."""
    attempt = task.attempt
    assert attempt is not None, "a stored task has an attempt"
    return attempt


@dataclass(frozen=True)
class Inputs:
    """What a submission sends, besides what the attempt itself says."""

    request: TaskRequest
    key: str
    bundle: bytes = field(repr=False)
    announced: bool = False
    """The intent was stored together with the task, just now, and nothing has been sent yet."""

    @property
    def small(self) -> bool:
        """Whether packing it takes less time than a way to another thread and back."""
        return len(self.bundle) <= SMALL_BYTES


class Submitter:
    """Submits the attempts of one site."""

    def __init__(
        self,
        link: SiteLink,
        ledger: Ledger,
        spool: Spool,
        settings: DiamondEngine,
        log: logging.Logger,
        *,
        holds: Callable[[], Awaitable[bool]],
        healer: Healer,
    ) -> None:
        """``holds`` makes sure, right before a remote act, that this server still holds the lease."""
        self._healer = healer
        self._link, self._ledger, self._spool, self._settings, self._log = link, ledger, spool, settings, log
        self._holds = holds
        self._absent_since: dict[str, float] = {}
        """Since when every source says that a task's job is not there; by no clock that can be set."""

    async def bring_in(self, task: Task, inputs: Inputs | None = None, *, hurry: asyncio.Event) -> Task:
        """Work on the attempt until it has a job id, has ended or is followed. ``task`` is as the store has it now.

        ``inputs`` saves reading them for the first try; they are not kept for others, for bundles may be large.
        ``hurry`` ends the rest between two tries.
        """
        pace, n = Pace(1.0, 60.0), newest(task).n
        while not self._is_in(task, n):
            try:
                task = await self._tried(task, inputs)
            except StoreError as problem:
                # nothing was written: the store still says how things stand, and from there it goes on
                self._log.warning("%s: %s", task.name, problem.message)
            if self._is_in(task, n):
                break
            inputs = None
            hurry.clear()
            await rest(hurry, pace.next())
            task = await self._read_again(task)
        self._absent_since.pop(task.id, None)
        return task

    async def _read_again(self, task: Task) -> Task:
        try:
            return await self._ledger.do(self._ledger.store.task, task.id)
        except StoreError:
            return task  # what it was changed to meanwhile is heard of at the next try

    async def _tried(self, task: Task, inputs: Inputs | None) -> Task:
        try:
            return await self._step(task, inputs)
        except StoreError:
            raise  # says nothing of the job
        except (TransportError, SchedulerError) as problem:
            self._absent_since.pop(task.id, None)
            return await self._trouble(task, problem)
        except DiamondError as problem:
            return await self._reject(task, problem)

    @staticmethod
    def _is_in(task: Task, n: int) -> bool:
        attempt = newest(task)
        return attempt.native is not None or attempt.state.terminal or attempt.n != n

    async def _step(self, task: Task, inputs: Inputs | None) -> Task:
        if inputs is not None and inputs.announced:
            return await self._send(task, inputs)
        if newest(task).state in _LOOKING:
            return await self._find(task)
        if task.cancel_requested_by is not None or newest(task).withdrawal is not None or task.held_by is not None:
            return await self._unsent(task)
        inputs = inputs or await self._inputs(task)
        if not await self._holds():
            return task  # this server slept and another took over: that one submits
        attempt = newest(task)
        folder = attempt.folder or await self._link.folder(attempt.token)
        # the intent is in the store before the site hears of it
        task = await self._ledger.update(
            task, "attempt.submitting", {"site": self._link.name},
            state=State.SUBMITTING, folder=folder, submissions=attempt.submissions + 1,
        )  # fmt: skip
        return await self._send(task, inputs)

    async def _unsent(self, task: Task) -> Task:
        """The user wants it ended, planned anew, or kept here for now: nothing of it is with its site."""
        if task.cancel_requested_by is not None:
            return await self._cancelled(task)
        if newest(task).withdrawal is not None:
            return await self._healer.taken_back(task, {"state": State.CANCELLED, "ended_at": from_epoch(time.time())})
        return task

    async def _send(self, task: Task, inputs: Inputs) -> Task:
        link, attempt = self._link, newest(task)
        job = self._job(inputs.request, task, attempt.folder or "")
        parts = self._parts(inputs, job) if inputs.small else await asyncio.to_thread(self._parts, inputs, job)
        script = submit_script(job.folder, link.scheduler.submit_command(job), k=attempt.submissions)
        try:
            done = await link.run(script, stdin=parts, timeout_s=self._settings.command_timeout_s)
        except TransportError as problem:
            if problem.outcome == "unknown":
                return await self._unknown(task, problem.message)
            return await self._wait(task, problem)
        return await self._judge(task, read_answer(done))

    async def _inputs(self, task: Task) -> Inputs:
        store = self._ledger.store
        request, key = await self._ledger.do(lambda: (store.request(task.id), store.key(task.id, newest(task).n)))
        spooled_as = task.member.group if task.member is not None else task.id
        return Inputs(request, key, await asyncio.to_thread(self._spool.load, spooled_as))

    def _parts(self, inputs: Inputs, job: JobRequest) -> bytes:
        return sealed({
            files.BUNDLE: inputs.bundle,
            files.RUNNER: runner_source(),
            files.KEY: inputs.key.encode(),
            files.JOB_SCRIPT: self._link.scheduler.job_script(job).encode(),
        })  # fmt: skip

    def _job(self, request: TaskRequest, task: Task, folder: str) -> JobRequest:
        attempt = newest(task)
        site, sees_files = self._link.site, self._link.transport.shares_files
        python = site.python or (request.python.executable if sees_files else "python3")
        command = [python, files.RUNNER, "--token", attempt.token, "--bundle-sha256", request.bundle_sha256]
        if sees_files and request.cwd:
            command += ["--cwd", request.cwd]
        command += segments.runner_options(task, folder)
        partition, qos, dialect = attempt.partition, request.envelope.qos, Dialect()
        if self._link.machine is not None:
            partition, qos, dialect = self._link.machine.ask_for(partition, qos)
        return JobRequest(
            token=attempt.token, name=request.name, folder=folder, size=attempt.size, command=tuple(command),
            partition=partition, account=attempt.account, qos=qos, modules=site.modules,
            dialect=dialect.model_copy(update={"options": site.options}), **segments.warning(task),
        )  # fmt: skip

    async def _judge(self, task: Task, found: SubmitAnswer) -> Task:
        if found.fate == "answered":
            return await self._answered(task, found)
        if found.fate == "fenced":
            return await self._end_closed(task)
        if found.fate == "no_folder":
            return await self._no_room(task, found, f"The folder {newest(task).folder} cannot be made")
        if found.fate == "no_space":
            return await self._no_room(task, found, f"The cell's inputs do not fit into {newest(task).folder}")
        return await self._unknown(task, "the site did not say whether the scheduler took the job")

    async def _no_room(self, task: Task, found: SubmitAnswer, what: str) -> Task:
        said = found.answer.err.strip().splitlines()
        full = [line for line in said if "space" in line or "quota" in line]
        why = (full or said or ["no reason given"])[0]
        problem = DiamondError(f"{what} at {self._link.name}: {why}. Nothing was submitted.", evidence=tuple(said))
        advice = "Free some quota there, or set another workdir in the site catalogue; then run the cell again."
        return await self._reject(task, problem, advice=advice)

    async def _answered(self, task: Task, found: SubmitAnswer) -> Task:
        try:
            native = self._link.scheduler.parse_submit(found.answer)
        except SubmitRefused as no:
            return await (self._reject(task, no) if no.permanent else self._wait(task, no))
        except SchedulerError as problem:
            return await self._unknown(task, problem.message, problem.evidence)
        return await self._submitted(task, native)

    async def _settled(self, task: Task, found: SubmitAnswer) -> Task | None:
        """What a recorded answer settles; None when it was unreadable, so that the job must be looked for by token."""
        try:
            native = self._link.scheduler.parse_submit(found.answer)
        except SubmitRefused:
            return await self._answered(task, found)
        except SchedulerError:
            return None
        return await self._submitted(task, native)

    async def _submitted(self, task: Task, native: NativeJob) -> Task:
        return await self._ledger.update(
            task, "attempt.submitted", {"job": str(native)},
            state=State.PENDING, native=native, submitted_at=from_epoch(time.time()), trouble="",
        )  # fmt: skip

    async def _find(self, task: Task) -> Task:
        """Look for a job that may exist: its record first, then the scheduler by token."""
        link, attempt = self._link, newest(task)
        folder = attempt.folder or await link.folder(attempt.token)
        peek = await self._asked(peek_script(folder, k=attempt.submissions))
        if (told := await self._told(task, peek)) is not None:
            return told
        script = link.scheduler.lookup_script((attempt.token,), since=attempt.created_at)
        reading = link.scheduler.parse_lookup(await link.run(script, timeout_s=self._settings.command_timeout_s))
        rows = [row for row in reading.rows if row.name == attempt.token]
        if rows:
            return await self._found(task, rows)
        if attempt.state is State.SUBMITTING:
            return await self._unknown(task, "the last answer was lost")
        if not reading.complete:
            self._absent_since.pop(task.id, None)
            return task
        now = time.monotonic()
        absent_for = now - self._absent_since.setdefault(task.id, now)
        begun = peek.fate not in ("nothing", "no_space")
        if absent_for < (self._settings.lookup_for_s if begun else min(5.0, self._settings.lookup_for_s)):
            return task
        return await self._give_up(task)

    async def _asked(self, script: str) -> SubmitAnswer:
        return read_answer(await self._link.run(script, timeout_s=self._settings.command_timeout_s))

    async def _told(self, task: Task, found: SubmitAnswer) -> Task | None:
        """What the attempt's own files settle; None when they do not tell of a job."""
        if found.fate == "fenced":
            return await self._end_closed(task)
        return await self._settled(task, found) if found.fate == "answered" else None

    async def _give_up(self, task: Task) -> Task:
        """No record, no job in queue or accounting: proved absent, and what may still come is fenced first."""
        if task.cancel_requested_by is not None:
            return await self._cancelled(task)
        attempt = newest(task)
        fence = await self._asked(fence_script(attempt.folder or "", k=attempt.submissions, close=False))
        if (told := await self._told(task, fence)) is not None:
            return told
        if fence.fate == "no_folder":
            return task
        self._absent_since.pop(task.id, None)
        return await self._ledger.update(
            task, "attempt.state_changed", {"why": f"no job with token {attempt.token} at {self._link.name}"},
            state=State.WAITING, may_come=attempt.may_come or fence.fate == "intent",
        )  # fmt: skip

    async def _closed(self, task: Task) -> Task | None:
        """Before an attempt ends without a job: see to it that none can come. The task, where there is a job."""
        attempt = newest(task)
        close = await self._asked(fence_script(attempt.folder or "", k=attempt.submissions, close=True))
        if close.fate == "fenced":
            return None
        if close.fate == "answered" and (settled := await self._settled(task, close)) is not None:
            return settled
        said = f"{attempt.folder} at {self._link.name} cannot be closed to a job that comes late; it is tried again."
        raise TransportError(said, outcome="refused", evidence=tuple(close.answer.err.splitlines()))

    async def _found(self, task: Task, rows: list[JobRow]) -> Task:
        row = min(rows, key=lambda row: (row.state.terminal, row.job.id))
        return await self._ledger.update(
            task, "attempt.submitted", {"job": str(row.job), "found": True},
            state=State.PENDING, native=row.job, submitted_at=row.submitted_at or from_epoch(time.time()), trouble="",
        )  # fmt: skip

    async def _unknown(self, task: Task, why: str, evidence: tuple[str, ...] = ()) -> Task:
        if newest(task).state is State.SUBMIT_UNKNOWN:
            return task
        return await self._ledger.update(
            task, "attempt.submit_unknown", {"why": why}, state=State.SUBMIT_UNKNOWN, evidence=evidence
        )

    async def _wait(self, task: Task, problem: DiamondError) -> Task:
        return await self._ledger.update(
            task, "attempt.trouble", {"why": problem.message}, state=State.WAITING, trouble=problem.message
        )

    async def _trouble(self, task: Task, problem: DiamondError) -> Task:
        if newest(task).trouble == problem.message:
            return task
        self._log.warning("%s: %s", task.name, problem.message)
        return await self._ledger.update(task, "attempt.trouble", {"why": problem.message}, trouble=problem.message)

    async def _reject(self, task: Task, problem: DiamondError, *, advice: str = "") -> Task:
        if isinstance(problem, NotFound):
            advice = "Run the cell again."
        ending = {
            "cause": problem.message, "evidence": problem.evidence,
            "next": advice or "Change the request, or choose another site with --site.",
        }  # fmt: skip
        if newest(task).may_come:
            # the reason is kept first: once the attempt is closed, nobody can be asked for it again
            told = {"why": problem.message}
            task = await self._ledger.update(task, "attempt.trouble", told, trouble=problem.message, **ending)
            if (has_job := await self._closed(task)) is not None:
                return has_job
        return await self._rejected(task, **ending)

    async def _rejected(self, task: Task, **ending: Any) -> Task:
        changes = {"state": State.REJECTED, "ended_at": from_epoch(time.time()), "trouble": "", **ending}
        return await self._healer.end(task, changes, Ended(State.REJECTED))

    async def _end_closed(self, task: Task) -> Task:
        """The site says that the attempt was closed: whatever was to follow then, follows now."""
        if task.cancel_requested_by is not None:
            return await self._cancelled(task)
        attempt = newest(task)
        said = attempt.cause or f"It was closed at {self._link.name} before a job came of it."
        return await self._rejected(task, cause=said, next=attempt.next or "Run the cell again.")

    async def _cancelled(self, task: Task) -> Task:
        attempt = newest(task)
        unsure = attempt.may_come or attempt.state in _LOOKING
        if unsure and (has_job := await self._closed(task)) is not None:
            return has_job
        return await self._ledger.update(
            task, "attempt.terminal", {"state": State.CANCELLED.value},
            state=State.CANCELLED, ended_at=from_epoch(time.time()),
            cause=f"Cancelled by {task.cancel_requested_by} before it was submitted.",
        )  # fmt: skip
