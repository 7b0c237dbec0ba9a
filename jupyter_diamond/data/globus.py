"""Moving data by Globus Transfer: submitted exactly once, watched by its task, and never left waiting for nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

from jupyter_diamond.errors import DataProblem, DiamondError, GlobusProblem
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.data import DataSize
from jupyter_diamond.model.transfer import MoverKind, Progress, TransferNeed

from . import globus_task
from .base import End, Move, Moved
from .globus_calls import FOLDERS, Calls
from .globus_document import Plan, collection_path, document, plan_of, same_now, size_of
from .globus_needs import needs_of
from .globus_patience import Bell, Patience
from .globus_placing import discard, make_room, put_in_place
from .globus_task import Json
from .globus_watch import Pace, Watch
from .listing import Listing, look

_GLANCE = 10
"""So many folders are looked into before a transfer is taken: one question each, and somebody waits."""
_SILENT = 5
"""A task that says it is well, as while it makes checksums of large files, is given so many times as long."""
_NEW = 3
"""So often a task that cannot go on is replaced by another one: what arrived is not sent again."""


class GlobusMover:
    """One per server process: its movements share one login, one limit and one question how they all go."""

    kind: MoverKind = "globus"

    def __init__(self, globus: Globus, pace: Pace | None = None) -> None:
        self._globus = globus
        self.pace = pace or Pace()
        self.calls = Calls(globus)
        self.watch = Watch(self.calls)
        self._bell = Bell(globus)

    async def move(self, move: Move) -> Moved:
        """Bring source to destination through Globus. Raises DataProblem."""
        patience = Patience(move, self._globus, self._bell, self.pace)
        return await Movement(self, move, patience).go()

    async def cancel(self, move: Move) -> None:
        """See to it that nothing moves any more, and take away what lies under temporary names of this transfer.

        Where a submission may have been taken and its answer was lost, it is sent again: its id tells which task it is.
        Raises GlobusProblem, TransportError: then it is to be asked again.
        """
        transfer = move.transfer
        task_id = transfer.native_id
        if task_id is None and transfer.submission_id is not None:
            task_id = await self._lost(move, transfer.submission_id)
        if task_id is not None:
            await self.end(task_id)
        if transfer.submission_id is not None or task_id is not None or move.destination.transport is not None:
            await discard(self.calls, move)

    async def look(self, end: End, files: Collection[str] = ()) -> Listing | None:
        """What lies at an end that no shell reaches; None where that cannot be said now. Raises DataProblem."""
        try:
            return await self.calls.look(_id(end), collection_path(end), folders=0 if files else _GLANCE)
        except GlobusProblem as problem:
            if problem.transient or problem.outcome == "needs_login":
                return None
            raise DataProblem(problem.message, kind="refused", evidence=problem.evidence) from problem

    async def preconditions(self, source: End, destination: End) -> tuple[TransferNeed, ...]:
        """What must be given or known before anything can move from one to the other; nothing is submitted."""
        return await needs_of(self._globus, self.calls, source, destination)

    async def end(self, task_id: str) -> None:
        """Cancel a task and wait until it has ended; one that Globus no longer knows has."""
        self.watch.leave(task_id)
        try:
            await self.calls.cancel(task_id)
            for pause in (0.1, 0.3, 0.6, *[1.0] * 20):
                if (await self.calls.task(task_id))["status"] in ("SUCCEEDED", "FAILED"):
                    return
                await asyncio.sleep(min(pause, self.pace.least))
        except GlobusProblem as problem:
            if problem.outcome != "expired":
                raise

    async def _lost(self, move: Move, submission_id: str) -> str | None:
        """The task of a submission whose answer may be lost. Any document with its id is answered with that task."""
        kind = Listing("file")
        plan = plan_of(move.transfer, move.source, move.destination, kind, Listing("missing"))
        body = document(move.transfer, move.source, move.destination, plan, submission_id)
        try:
            return await self.calls.submit(body, "looking for a transfer that was cancelled")
        except GlobusProblem as problem:
            if problem.transient:
                raise
            return None  # it was refused, so nothing moves


class _Anew(Exception):
    """The task cannot go on, and another one can."""


class Movement:
    """One transfer on its way."""

    def __init__(self, mover: GlobusMover, move: Move, patience: Patience) -> None:
        self._mover, self._move, self._patience = mover, move, patience
        self._calls, self._pace = mover.calls, mover.pace
        self._submission, self._native = move.transfer.submission_id, move.transfer.native_id
        self._known = move.transfer.progress
        self._plan: Plan | None = None
        self._faults = self._begun_anew = 0
        self._moved_at, self._mark = time.monotonic(), ""
        self._inactive_at: float | None = None

    async def go(self) -> Moved:
        """From looking at both ends to the last name. Begun again anywhere, it goes on there."""
        while True:
            if self._native is None and not await self._submit():
                assert self._plan is not None, "it was just made"
                return Moved(await self._size(None), 0, self._plan.skipped, tuple(self._patience.log))
            try:
                task = await self._until_ended()
            except _Anew as why:
                if self._begun_anew == _NEW:
                    raise DataProblem(f"{why} That happened {_NEW} times.", kind="broken") from None
                self._begun_anew += 1
                await self._forget(str(why))
                continue
            finally:
                self._mover.watch.leave(self._native)
            return await self._arrived(task)

    # ---- up to the submission

    async def _submit(self) -> bool:
        """Look, decide, submit. False where everything is there already."""
        move, get = self._move, self._patience.get
        here, there = await self._looks()
        plan = self._plan = plan_of(move.transfer, move.source, move.destination, here, there)
        self._know(here)
        if plan.note:
            self._patience.note(plan.note)
        if not plan.items:
            if self._submission is not None:
                await get(lambda: self._mover.cancel(move))
            self._patience.note("Everything is there already; nothing is sent.")
            return False
        await get(lambda: make_room(move, plan))
        if self._submission is None:
            self._submission = await get(self._calls.submission_id)
            await move.keep(submission_id=self._submission)
        body = document(move.transfer, move.source, move.destination, plan, self._submission)
        self._native = await get(lambda: self._calls.submit(body, f"submitting the transfer of {move.source.location}"))
        await move.keep(native_id=self._native)
        self._patience.note(f"Submitted to Globus: {globus_task.ACTIVITY}{self._native}")
        await self._patience.say("active")
        return True

    async def _looks(self) -> tuple[Listing, Listing]:
        """What lies at both ends. This is where consents, missing paths and closed ones show, before anything moves."""
        move, get = self._move, self._patience.get
        source, destination, request = move.source, move.destination, move.transfer.request
        here = await get(lambda: self._calls.look(_id(source), collection_path(source)))
        _check(source, here)
        there = await get(lambda: self._calls.look(_id(destination), collection_path(destination)))
        if there.kind in ("file", "folder") and destination.transport is not None and request.sync is not None:
            here = await get(lambda: self._deep(source))
            there = await get(lambda: self._deep(destination))
            _check(source, here)
        return here, there

    async def _deep(self, end: End) -> Listing:
        """All of it: the site's own shell tells it in one question."""
        if end.transport is not None:
            return await look(end.transport, end.path, where=end.location.place)
        return await self._calls.look(_id(end), collection_path(end), folders=FOLDERS)

    def _know(self, here: Listing) -> None:
        request = self._move.transfer.request
        if here.whole and self._known.bytes_total is None and not (request.filters or request.files):
            update = {"bytes_total": here.total_bytes, "files_total": len(here.files)}
            self._known = self._known.model_copy(update=update)

    async def _forget(self, why: str) -> None:
        """Let go of a task: what arrived lies there, and the next one goes on with it."""
        self._patience.note(why)
        if self._native is not None:
            native = self._native
            await self._patience.get(lambda: self._mover.end(native))
        self._submission = self._native = None
        self._inactive_at, self._faults = None, 0
        await self._move.keep(submission_id=None, native_id=None)

    # ---- while it goes on

    async def _until_ended(self) -> Json:
        began = self._moved_at = time.monotonic()
        while True:
            task = await self._document(self._pace.pause(time.monotonic() - began) * 0.75)
            self._move.tell(self._progress(task))
            if task["status"] == "SUCCEEDED":
                return task
            if task["status"] == "FAILED":
                raise globus_task.failed(task, await self._events_if_any(), *self._places())
            if int(task["faults"]) > self._faults:
                await self._look_at_faults(int(task["faults"]))
            await self._say(task)
            try:
                await self._patience.sleep(self._pace.pause(time.monotonic() - began))
            except DataProblem:
                await self._end()
                raise

    async def _document(self, age: float) -> Json:
        assert self._native is not None, "it was submitted"
        native = self._native

        async def ask() -> Json:
            try:
                return await self._mover.watch.document(native, not_older_than=age)
            except GlobusProblem as problem:
                if problem.outcome == "expired":
                    raise _Anew("Globus no longer knows the transfer, so it is submitted anew.") from problem
                raise

        try:
            return await self._patience.get(ask)
        except DataProblem:
            await self._end()
            raise

    async def _look_at_faults(self, faults: int) -> None:
        """Raise DataProblem for what no further try mends: Globus would try until the deadline (B30)."""
        problem = globus_task.hopeless(await self._events(), *self._places())
        if problem is not None:
            await self._end()
            raise problem
        self._faults = faults

    async def _events(self) -> tuple[dict[str, Any], ...]:
        assert self._native is not None, "it was submitted"
        native = self._native
        return await self._patience.get(lambda: self._calls.events(native))

    async def _events_if_any(self) -> tuple[dict[str, Any], ...]:
        """The same; what cannot be had must not hide why it failed."""
        try:
            return await self._events()
        except DataProblem:
            return ()

    async def _end(self) -> None:
        """End our task for good, as far as Globus can be reached; nothing is to move that nobody waits for."""
        if self._native is not None:
            try:
                await self._mover.end(self._native)
            except GlobusProblem as problem:
                self._patience.note(f"Its task could not be cancelled: {problem.message}")

    async def _say(self, task: Json) -> None:
        """What the user should know of a task that goes on, or does not."""
        now, mark = time.monotonic(), globus_task.mark(task)
        moves = mark != self._mark or task.get("nice_status") == "Queued"
        if moves and not globus_task.stalled(task):
            self._moved_at, self._mark = now, mark
        if task["status"] == "INACTIVE":
            await self._suspended(task, now)
            return
        self._inactive_at = None
        if task.get("is_paused"):
            assert self._native is not None, "it was submitted"
            native = self._native
            message = await self._patience.get(lambda: self._calls.pause_message(native))
            await self._patience.say("paused", f"The site has paused this transfer: {message}.")
        elif now - self._moved_at > self._pace.stalled * (1 if globus_task.stalled(task) else _SILENT):
            nice = globus_task.nice(task) if globus_task.stalled(task) else "it does not say why"
            await self._patience.say("stalled", f"Globus moves nothing at the moment: {nice}. It goes on trying.")
        elif not globus_task.stalled(task):
            await self._patience.say("active")

    async def _suspended(self, task: Json, now: float) -> None:
        """It waits for a login. If both collections are content with ours, and it does not go on, it is begun anew."""
        if self._inactive_at is None:
            link = f"{globus_task.ACTIVITY}{task['task_id']}"
            said = f"Globus has suspended the transfer until you log in again: {globus_task.nice(task)}."
            await self._patience.say("needs_you", said, link)
        for end in (self._move.source, self._move.destination):
            await self._patience.get(lambda end=end: self._calls.look(_id(end), collection_path(end)))  # type: ignore[misc]  # bound at once
        self._inactive_at = now if self._inactive_at is None else self._inactive_at
        if time.monotonic() - self._inactive_at > self._pace.resumes and self._begun_anew < _NEW:
            raise _Anew("Globus had suspended the transfer, and does not go on with it; it is submitted anew.")

    # ---- when it has ended well

    async def _arrived(self, task: Json) -> Moved:
        assert self._native is not None, "it was submitted"
        if int(task["subtasks_skipped_errors"]):
            native_id = self._native
            left_out = await self._patience.get(lambda: self._calls.skipped(native_id))
            raise DataProblem(
                f"Globus left out {task['subtasks_skipped_errors']} files: {', '.join(left_out[:3])}.", kind="broken",
                evidence=left_out, advice="%diamond transfer again.",
            )  # fmt: skip
        if int(task.get("symlinks") or 0):
            self._patience.note(f"Left out: {task['symlinks']} symbolic links")
        await self._patience.say("placing")
        self._patience.log += await put_in_place(self._calls, self._move, self._plan, self._patience, self._pace)
        await self._remember()
        how = self._progress(task)
        native = {"task": self._native, "faults": task["faults"], "link": f"{globus_task.ACTIVITY}{self._native}"}
        return Moved(
            await self._size(task), int(task["bytes_transferred"]), how.files_skipped, tuple(self._patience.log), native
        )

    async def _remember(self) -> None:
        """Note what both ends look like now, so that nothing of it is read again before something changes."""
        move = self._move
        if move.destination.transport is None or move.transfer.request.sync != "checksum":
            return
        try:
            here, there = await self._deep(move.source), await self._deep(move.destination)
        except DiamondError as problem:  # it arrived all the same
            self._patience.note(f"Both ends could not be looked at once more: {problem.message}")
        else:
            await move.keep(compared=same_now(move.transfer.request, here, there))

    def _progress(self, task: Json) -> Progress:
        known, skipped = self._known, 0 if self._plan is None else self._plan.skipped
        return globus_task.progress(task, bytes_total=known.bytes_total, files_total=known.files_total, skipped=skipped)

    async def _size(self, task: Json | None) -> DataSize:
        """How much it is: as was seen before, or is to be seen now; else as Globus has counted what it sent."""
        known = self._known
        if known.bytes_total is not None and known.files_total is not None:
            return DataSize(bytes=known.bytes_total, files=known.files_total)
        if task is None or int(task["faults"]) or int(task["files_skipped"]):
            found = await self._patience.get(lambda: self._deep(self._move.source))
            if found.whole or task is None:
                return size_of(self._move.transfer.request, found)
        assert task is not None, "else it was seen"
        return DataSize(bytes=int(task["bytes_transferred"]), files=int(task["files"]))

    def _places(self) -> tuple[str, str]:
        return self._move.source.location.place, self._move.destination.location.place


def _check(source: End, here: Listing) -> None:
    """Raise DataProblem where there is nothing that could be moved."""
    if here.kind == "unreadable":
        raise DataProblem(f"You may not read {source.location}.", kind="permission", advice="Have it opened to you.")
    if here.kind not in ("file", "folder"):
        what = "is not there" if here.kind == "missing" else "is neither a file nor a folder"
        raise DataProblem(
            f"{source.location} {what}.", kind="missing",
            advice="Correct the path, or wait until it is there, then %diamond transfer again.",
        )  # fmt: skip


def _id(end: End) -> str:
    if end.collection is None:
        raise DataProblem(
            f"No Globus collection is known for {end.location.place}.", kind="no_way",
            advice="Name it in the site catalogue: data: {collections: [{id: UUID}]}.",
        )  # fmt: skip
    return end.collection
