"""Bringing attempts into a site's queue: once, whatever the instant at which an answer is lost.

One attempt, or all that are members of one job array: what concerns their submission is one act at the site, and one
transaction here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from jupyter_diamond.engine.batch import Batch, Inputs, is_in, newest, spooled_as, unwanted
from jupyter_diamond.engine.heal.causes import Ended
from jupyter_diamond.engine.heal.healer import Healer
from jupyter_diamond.engine.job_request import job_request
from jupyter_diamond.engine.ledger import Each, Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.pace import Pace, rest
from jupyter_diamond.engine.readiness import Readying, of_data
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.engine.stage import (
    SubmitAnswer,
    close_array_script,
    fence_script,
    links,
    peek_script,
    read_answer,
    runner_source,
    sealed,
    submit_script,
)
from jupyter_diamond.errors import DiamondError, NotFound, SchedulerError, StoreError, SubmitRefused, TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.settings import DiamondEngine

_CHANGE = "Change the request, or choose another site with --site."
_LOOKING = (State.SUBMITTING, State.SUBMIT_UNKNOWN)


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
        readiness: Readying,
    ) -> None:
        """``holds`` makes sure, right before a remote act, that this server still holds the lease."""
        self._healer, self._readiness = healer, readiness
        self._link, self._ledger, self._spool, self._settings, self._log = link, ledger, spool, settings, log
        self._holds = holds
        self._absent_since: dict[str, float] = {}
        """Since when every source says that the job of a token is not there; by no clock that can be set."""

    async def bring_in(
        self, tasks: Sequence[Task], inputs: Inputs | None = None, *, hurry: asyncio.Event, out: Callable[[Task], None]
    ) -> None:
        """Work on a batch until each of it has a job id, has ended, is followed or goes on alone: then ``out`` has it.

        ``tasks`` are as the store has them now. ``inputs`` saves reading them for the first try; they are not kept for
        others, for bundles may be large. ``hurry`` ends the rest between two tries.
        """
        whole, pace = Batch(tuple(tasks)), Pace(1.0, 60.0)
        if inputs is None or not inputs.announced:
            whole = await self._with_others(whole)
        token, batch = whole.token, self._still_out(whole, whole.token, out)
        while batch is not None:
            before = len(batch.tasks)
            hurry.clear()  # what is heard from now on is looked at after this try, not lost with it
            try:
                batch = await self._tried(batch, inputs, hurry.set)
            except StoreError as problem:
                # nothing was written: the store still says how things stand, and from there it goes on
                self._log.warning("%s: %s", batch.name, problem.message)
            batch = self._still_out(batch, token, out)
            if batch is None:
                break
            if len(batch.tasks) < before:
                continue  # the others do not wait for those that have left them
            inputs = None
            await rest(hurry, pace.next())
            batch = self._still_out(await self._read_again(batch), token, out)
        self._absent_since.pop(token, None)

    @staticmethod
    def _still_out(batch: Batch, token: str, out: Callable[[Task], None]) -> Batch | None:
        """Those that are still to be brought in."""
        gone = [task for task in batch.tasks if is_in(task, token)]
        for task in gone:
            out(task)
        return batch.without({task.id for task in gone}) if gone else batch

    async def _with_others(self, batch: Batch) -> Batch:
        """All of an array that is to be sent, whoever of it was heard of."""
        if not batch.is_array or all(unwanted(task) for task in batch.tasks):
            return batch
        count = await self._ledger.do(self._ledger.store.attempts.open_in_array, batch.token)
        return await self._read_again(batch) if count > len(batch.tasks) else batch

    async def _read_again(self, batch: Batch) -> Batch:
        try:
            store = self._ledger.store.attempts
            if batch.is_array:
                return batch.of(await self._ledger.do(store.of_array, batch.token))
            return batch.of(await self._ledger.do(store.tasks, [batch.lead.id]))
        except StoreError:
            return batch  # what it was changed to meanwhile is heard of at the next try

    async def _tried(self, batch: Batch, inputs: Inputs | None, wake: Callable[[], None]) -> Batch:
        try:
            return await self._step(batch, inputs, wake)
        except StoreError:
            raise  # says nothing of the job
        except (TransportError, SchedulerError) as problem:
            self._absent_since.pop(batch.token, None)
            return await self._trouble(batch, problem)
        except DiamondError as problem:
            return await self._reject(batch, problem)

    async def _step(self, batch: Batch, inputs: Inputs | None, wake: Callable[[], None]) -> Batch:
        if inputs is not None and inputs.announced and batch.attempt.state is State.SUBMITTING:
            return await self._send(batch, await self._inputs(batch, inputs))
        if batch.attempt.state in _LOOKING:
            return await self._find(batch)
        if kept_back := [task for task in batch.tasks if unwanted(task)]:
            return await self._unsent(batch, kept_back)
        ready = await self._readiness.ready(batch, self._link, wake) if await self._holds() else None
        return batch if ready is None else await self._begin(ready, inputs)

    async def _begin(self, batch: Batch, inputs: Inputs | None) -> Batch:
        inputs = await self._inputs(batch, inputs)
        if not await self._holds():
            return batch  # this server slept and another took over: that one submits
        folder = batch.folder or await self._link.folder(batch.token)
        # the intent is in the store before the site hears of it
        batch = await self._note(
            batch, "attempt.submitting", {"site": self._link.name},
            each=lambda task: ({}, {"folder": batch.folder_of(task, folder)}),
            state=State.SUBMITTING, submissions=batch.attempt.submissions + 1,
        )  # fmt: skip
        if batch.attempt.state is not State.SUBMITTING:
            return batch  # its user was faster
        return await self._send(batch, inputs)

    async def _note(
        self, batch: Batch, kind: EventType, data: dict[str, Any], *, each: Each | None = None, **changes: Any
    ) -> Batch:
        """Change what all share, and what each has of its own, in one transaction."""
        return batch.of(await self._ledger.update_all(batch.tasks, kind, data, each=each, **changes))

    async def _unsent(self, batch: Batch, kept_back: list[Task]) -> Batch:
        """The user wants some of it ended, planned anew, or kept here for now: nothing of these is with their site."""
        await self._readiness.let_go(kept_back)
        if gone := [task for task in kept_back if task.cancel_requested_by is not None]:
            return await self._cancelled(batch, gone)
        whole = len(kept_back) == len(batch.tasks)
        if whole and all(newest(task).withdrawal is None for task in kept_back):
            return batch  # held: it waits as it is
        # members that are held go on alone, and no job of the array may be theirs any more
        if batch.attempt.may_come and (has_job := await self._closed(batch, kept_back)) is not None:
            return has_job
        back = [task for task in kept_back if newest(task).withdrawal is not None]
        ending = {"state": State.CANCELLED, "ended_at": from_epoch(time.time())}
        ended = await self._healer.taken_back_all([(task, ending) for task in back])
        alone: tuple[Task, ...] = ()
        if held := [task for task in kept_back if newest(task).withdrawal is None]:
            alone = await self._ledger.update_all(
                held, "attempt.state_changed", {"left": batch.token},
                array=None, folder=None, submissions=0, may_come=False, trouble="",
            )  # fmt: skip
        return batch.changed((*ended, *alone))

    async def _send(self, batch: Batch, inputs: Inputs) -> Batch:
        link = self._link
        job = job_request(inputs.request, batch, link, at_once=inputs.at_once)
        job = await self._readiness.dressed(job, batch, link)
        parts = {
            files.BUNDLE: inputs.bundle,
            files.RUNNER: runner_source(),
            files.KEY: inputs.key.encode(),
            files.JOB_SCRIPT: link.scheduler.job_script(job).encode(),
            **({files.MEMBERS: batch.members} if batch.is_array else {}),
        }
        stdin = sealed(parts) if inputs.small else await asyncio.to_thread(sealed, parts)
        command, k = link.scheduler.submit_command(job), batch.attempt.submissions
        script = submit_script(job.folder, command, k=k, array=batch.is_array)
        try:
            done = await link.run(script, stdin=stdin, timeout_s=self._settings.command_timeout_s)
        except TransportError as problem:
            if problem.outcome == "unknown":
                return await self._unknown(batch, problem.message)
            return await self._wait(batch, problem)
        return await self._judge(batch, read_answer(done))

    async def _inputs(self, batch: Batch, inputs: Inputs | None) -> Inputs:
        """What is sent: as given, or as it was stored. An array's key and inputs are its members'."""
        lead, store = batch.lead, self._ledger.store
        if inputs is not None and inputs.key:
            return inputs
        key = await self._ledger.do(store.key, lead.id, newest(lead).n)
        if inputs is not None:
            return replace(inputs, key=key)
        request, at_once = await self._ledger.do(
            lambda: (
                store.request(lead.id),
                store.groups.request(lead.member.group).at_once if batch.is_array and lead.member else None,
            )
        )
        bundle = await asyncio.to_thread(self._spool.load, spooled_as(lead))
        return Inputs(request, key, bundle, at_once=at_once)

    async def _judge(self, batch: Batch, found: SubmitAnswer) -> Batch:
        if found.fate == "answered":
            return await self._answered(batch, found)
        if found.fate == "fenced":
            return await self._end_closed(batch)
        if found.fate == "no_folder":
            return await self._no_room(batch, found, f"The folder {batch.folder} cannot be made")
        if found.fate == "no_space":
            return await self._no_room(batch, found, f"The cell's inputs do not fit into {batch.folder}")
        return await self._unknown(batch, "the site did not say whether the scheduler took the job")

    async def _no_room(self, batch: Batch, found: SubmitAnswer, what: str) -> Batch:
        said = found.answer.err.strip().splitlines()
        full = [line for line in said if "space" in line or "quota" in line]
        why = (full or said or ["no reason given"])[0]
        problem = DiamondError(f"{what} at {self._link.name}: {why}. Nothing was submitted.", evidence=tuple(said))
        advice = "Free some quota there, or set another workdir in the site catalogue; then run the cell again."
        return await self._reject(batch, problem, advice=advice)

    async def _answered(self, batch: Batch, found: SubmitAnswer) -> Batch:
        try:
            native = self._link.scheduler.parse_submit(found.answer)
        except SubmitRefused as no:
            return await (self._reject(batch, no) if no.permanent else self._wait(batch, no))
        except SchedulerError as problem:
            return await self._unknown(batch, problem.message, problem.evidence)
        return await self._submitted(batch, native)

    async def _settled(self, batch: Batch, found: SubmitAnswer) -> Batch | None:
        """What a recorded answer settles; None when it was unreadable, so that the job must be looked for by token."""
        try:
            native = self._link.scheduler.parse_submit(found.answer)
        except SubmitRefused:
            return await self._answered(batch, found)
        except SchedulerError:
            return None
        return await self._submitted(batch, native)

    async def _submitted(self, batch: Batch, job: NativeJob, *, at: Any = None, **told: Any) -> Batch:
        """It has a job: of an array each member has its own."""
        job_of = batch.jobs(job, self._link.scheduler)
        return await self._note(
            batch, "attempt.submitted", told,
            each=lambda task: ({"job": str(native := job_of(task))}, {"native": native}),
            state=State.PENDING, submitted_at=at or from_epoch(time.time()), trouble="",
        )  # fmt: skip

    async def _find(self, batch: Batch) -> Batch:
        """Look for a job that may exist: its record first, then the scheduler by token."""
        link, attempt = self._link, batch.attempt
        folder = batch.folder or await link.folder(batch.token)
        peek = await self._asked(peek_script(folder, k=attempt.submissions, array=batch.is_array))
        if (told := await self._told(batch, peek)) is not None:
            return told
        script = link.scheduler.lookup_script((batch.token,), since=attempt.created_at)
        reading = link.scheduler.parse_lookup(await link.run(script, timeout_s=self._settings.command_timeout_s))
        rows = [row for row in reading.rows if row.name == batch.token]
        if rows:
            return await self._found(batch, rows)
        if attempt.state is State.SUBMITTING:
            return await self._unknown(batch, "the last answer was lost")
        if not reading.complete:
            self._absent_since.pop(batch.token, None)
            return batch
        now = time.monotonic()
        absent_for = now - self._absent_since.setdefault(batch.token, now)
        begun = peek.fate not in ("nothing", "no_space")
        if absent_for < (self._settings.lookup_for_s if begun else min(5.0, self._settings.lookup_for_s)):
            return batch
        return await self._give_up(batch)

    async def _asked(self, script: str, stdin: bytes = b"") -> SubmitAnswer:
        return read_answer(await self._link.run(script, stdin=stdin, timeout_s=self._settings.command_timeout_s))

    async def _told(self, batch: Batch, found: SubmitAnswer) -> Batch | None:
        """What the attempts' own files settle; None when they do not tell of a job."""
        if found.fate == "fenced":
            return await self._end_closed(batch)
        return await self._settled(batch, found) if found.fate == "answered" else None

    async def _give_up(self, batch: Batch) -> Batch:
        """No record, no job in queue or accounting: proved absent, and what may still come is fenced first."""
        if gone := [task for task in batch.tasks if task.cancel_requested_by is not None]:
            return await self._cancelled(batch, gone)
        attempt = batch.attempt
        script = fence_script(batch.folder, k=attempt.submissions, close=False, array=batch.is_array)
        fence = await self._asked(script)
        if (told := await self._told(batch, fence)) is not None:
            return told
        if fence.fate == "no_folder":
            return batch
        self._absent_since.pop(batch.token, None)
        return await self._note(
            batch, "attempt.state_changed", {"why": f"no job with token {batch.token} at {self._link.name}"},
            state=State.WAITING, may_come=attempt.may_come or fence.fate == "intent",
        )  # fmt: skip

    async def _closed(self, batch: Batch, tasks: Sequence[Task]) -> Batch | None:
        """Before attempts end without a job: see to it that none can come. The batch, where there is a job."""
        folder, k, whole = batch.folder, batch.attempt.submissions, len(tasks) == len(batch.tasks)
        if batch.is_array:
            ats = Batch(tuple(tasks)).ats
            close = await self._asked(close_array_script(folder, ats, k=k), links(ats, whole=whole))
        else:
            close = await self._asked(fence_script(folder, k=k, close=True))
        if close.fate == "fenced":
            return None
        if close.fate == "answered" and (settled := await self._settled(batch, close)) is not None:
            return settled
        said = f"{folder} at {self._link.name} cannot be closed to a job that comes late; it is tried again."
        raise TransportError(said, outcome="refused", evidence=tuple(close.answer.err.splitlines()))

    async def _found(self, batch: Batch, rows: list[JobRow]) -> Batch:
        job, at = batch.found(rows, self._link.scheduler)
        return await self._submitted(batch, job, at=at, found=True)

    async def _unknown(self, batch: Batch, why: str, evidence: tuple[str, ...] = ()) -> Batch:
        if batch.attempt.state is State.SUBMIT_UNKNOWN:
            return batch
        return await self._note(
            batch, "attempt.submit_unknown", {"why": why}, state=State.SUBMIT_UNKNOWN, evidence=evidence
        )

    async def _wait(self, batch: Batch, problem: DiamondError) -> Batch:
        return await self._note(
            batch, "attempt.trouble", {"why": problem.message}, state=State.WAITING, trouble=problem.message
        )

    async def _trouble(self, batch: Batch, problem: DiamondError) -> Batch:
        if batch.attempt.trouble == problem.message:
            return batch
        self._log.warning("%s: %s", batch.name, problem.message)
        return await self._note(batch, "attempt.trouble", {"why": problem.message}, trouble=problem.message)

    async def _reject(self, batch: Batch, problem: DiamondError, *, advice: str = "") -> Batch:
        if isinstance(problem, NotFound):
            advice = "Run the cell again."
        ending: dict[str, Any] = {
            "cause": problem.message, "evidence": problem.evidence, **of_data(problem),
            "next": advice or getattr(problem, "advice", "") or _CHANGE,
        }  # fmt: skip
        if batch.attempt.may_come:
            # the reason is kept first: once the attempt is closed, nobody can be asked for it again
            told = {"why": problem.message}
            batch = await self._note(batch, "attempt.trouble", told, trouble=problem.message, **ending)
            if (has_job := await self._closed(batch, batch.tasks)) is not None:
                return has_job
        return await self._rejected(batch, **ending)

    async def _rejected(self, batch: Batch, **ending: Any) -> Batch:
        changes = {"state": State.REJECTED, "ended_at": from_epoch(time.time()), "trouble": "", **ending}
        ended = Ended(State.REJECTED)
        return batch.of([await self._healer.end(task, changes, ended) for task in batch.tasks])

    async def _end_closed(self, batch: Batch) -> Batch:
        """The site says that the attempt was closed: whatever was to follow then, follows now."""
        if gone := [task for task in batch.tasks if task.cancel_requested_by is not None]:
            return await self._cancelled(batch, gone)
        attempt = batch.attempt
        said = attempt.cause or f"It was closed at {self._link.name} before a job came of it."
        return await self._rejected(batch, cause=said, next=attempt.next or "Run the cell again.")

    async def _cancelled(self, batch: Batch, gone: list[Task]) -> Batch:
        if batch.unsure and (has_job := await self._closed(batch, gone)) is not None:
            return has_job
        ended = await self._ledger.update_all(
            gone, "attempt.terminal", {"state": State.CANCELLED.value},
            each=lambda task: ({}, {"cause": f"Cancelled by {task.cancel_requested_by} before it was submitted."}),
            state=State.CANCELLED, ended_at=from_epoch(time.time()),
        )  # fmt: skip
        return batch.changed(ended)
