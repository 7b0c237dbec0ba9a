"""Advances every transfer while this server holds the lease; whatever is stored is enough to go on after a crash.

One background task a transfer. It takes its turn among those of the same two places, has the mover move, tells how far
it is, tries again what may pass, and stores the end. A mover that is asked again goes on with what was begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from jupyter_diamond.data.base import End, Move, Moved, Mover
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.pace import Pace, end
from jupyter_diamond.engine.transfers.ends import Ends
from jupyter_diamond.engine.transfers.meter import Meter
from jupyter_diamond.errors import DataProblem, DiamondError, GlobusProblem, NotFound, StoreError, TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.transfer import MoverKind, Transfer, TransferState

_TOLD_S = 2.0
"""Between two news of how far one is."""
_STALLED_S = 180.0
_TRIES = 5
"""How often data that came wrong, or was changed under way, is fetched anew."""
_CLEAR_S, _END_S = 60.0, 900.0
"""How long a transfer's end is tried for: of what has come here, and of what moves elsewhere."""
_WAITS: frozenset[TransferState] = frozenset({"stalled", "paused", "needs_you"})

Holds = Callable[[], Awaitable[bool]]


class TransferDriver:
    """All transfers that go on, by id. ``run`` works until cancelled; the holder of the lease alone runs it."""

    def __init__(
        self, ledger: Ledger, ends: Ends, movers: Mapping[MoverKind, Mover], log: logging.Logger, *, at_once: int
    ) -> None:
        self._ledger, self._ends, self._movers, self._log, self._at_once = ledger, ends, movers, log, at_once
        self._going: dict[str, asyncio.Task[None]] = {}
        self._lanes: dict[tuple[str, str], asyncio.Semaphore] = {}
        self._asked: set[str] = set()
        self._wake = asyncio.Event()
        self._holds: Holds | None = None
        self.stalled_s = _STALLED_S
        ledger.listen(self._hear)

    async def run(self, holds: Holds) -> None:
        """Take up what is active, then what is asked for, until cancelled."""
        self._holds, self._asked = holds, set()
        try:
            for transfer in await self._ledger.do(self._ledger.store.transfers.active):
                self._take(transfer)
            while True:
                self._wake.clear()
                asked, self._asked = self._asked, set()
                for transfer_id in asked:
                    with contextlib.suppress(NotFound):
                        self._take(await self._ledger.do(self._ledger.store.transfers.get, transfer_id))
                if not self._asked:
                    await self._wake.wait()
        finally:
            self._holds = None
            await end(self._going.values())

    def _hear(self, event: Event) -> None:
        if self._holds is not None and event.type in ("transfer.created", "transfer.cancel_requested"):
            self._asked.add(event.subject.partition(":")[2])
            self._wake.set()

    def _take(self, transfer: Transfer) -> None:
        if transfer.ended:
            return
        going = self._going.get(transfer.id)
        if transfer.cancel_requested_by is not None:
            if going is not None and going.get_name().endswith("-ending"):
                return
            begun, name = self._end_unwanted(transfer.id, going), f"diamond-transfer-{transfer.id}-ending"
        elif going is None:
            begun, name = self._drive(transfer), f"diamond-transfer-{transfer.id}"
        else:
            return
        task = self._going[transfer.id] = asyncio.create_task(self._safely(transfer.id, begun), name=name)
        task.add_done_callback(partial(self._gone, transfer.id))

    def _gone(self, transfer_id: str, task: asyncio.Task[None]) -> None:
        if self._going.get(transfer_id) is task:
            del self._going[transfer_id]

    async def _safely(self, transfer_id: str, work: Awaitable[None]) -> None:
        """A store that is full or locked stops a transfer for a while, not for good."""
        try:
            await work
        except StoreError as problem:
            self._log.warning("transfer %s waits 5 s: %s", transfer_id, problem.message)
            await asyncio.sleep(5.0)
            self._going.pop(transfer_id, None)
            self._asked.add(transfer_id)
            self._wake.set()

    # ---- one transfer

    async def _drive(self, transfer: Transfer) -> None:
        request = transfer.request
        lane = self._lanes.setdefault(
            (request.source.place, request.destination.place), asyncio.Semaphore(self._at_once)
        )
        waiting = asyncio.ensure_future(lane.acquire())
        try:
            await asyncio.wait({waiting}, timeout=_left(transfer))
            if not waiting.done():
                await self._fail(transfer, _late(transfer))
                return
            await self._begin(transfer)
        finally:
            if not waiting.cancel() and not waiting.cancelled():
                lane.release()

    async def _begin(self, transfer: Transfer) -> None:
        if self._holds is None or not await self._holds():
            return
        begins: dict[str, Any] = {} if transfer.started_at is not None else {"started_at": _now()}
        state: TransferState = transfer.state if transfer.native_id else "active"
        if transfer.mover == "globus" and transfer.native_id is None:
            state = "submitting"
        how = "Goes on" if transfer.started_at is not None else "Begins"
        transfer = await self._change(
            transfer.id, "transfer.state_changed", state=state, log=(f"{how}: {transfer.why}",), **begins
        )
        pace, tries = Pace(0.2, 60.0), 0
        while not transfer.ended:
            try:
                moved = await self._try(transfer)
            except DiamondError as problem:  # noqa: PERF203 - that is what the loop is for
                tries += isinstance(problem, DataProblem)
                if not _may_pass(problem) or tries >= _TRIES:
                    await self._fail(transfer, problem)
                    return
                transfer = await self._hinder(transfer, problem)
                await asyncio.sleep(max(0.0, min(pace.next(), _left(transfer))))
            except Exception as problem:  # noqa: BLE001 - a defect of ours ends this transfer, and no other
                self._log.exception("transfer %s failed", transfer.id)
                await self._fail(transfer, DataProblem(f"The mover failed: {problem!r}.", kind="broken"))
                return
            else:
                await self._succeed(transfer, moved)
                return

    async def _try(self, transfer: Transfer) -> Moved:
        """Move, within the deadline. Raises DiamondError."""
        if _left(transfer) <= 0:
            raise _late(transfer)
        move, meter = await self._move_of(transfer)
        moving = asyncio.ensure_future(self._movers[transfer.mover].move(move))
        telling = asyncio.ensure_future(self._tell(transfer.id, meter, watches=transfer.mover != "globus"))
        try:
            await asyncio.wait({moving}, timeout=_left(transfer))
            if not moving.done():
                raise _late(transfer)
            return moving.result()
        except DiamondError:
            if (progress := meter.read(time.monotonic())) is not None:  # what it has sent is sent, also in vain
                await self._change(transfer.id, progress=progress, durable=False)
            raise
        finally:
            await end({telling, moving})
            if not moving.cancelled():
                moving.exception()  # it was raised above, or is of no interest any more

    async def _move_of(self, transfer: Transfer) -> tuple[Move, Meter]:
        meter = Meter(transfer.progress)
        source, destination = await self._both(transfer)
        move = Move(
            transfer, source, destination,
            keep=partial(self._keep, transfer.id), tell=meter.tell, say=partial(self._say, transfer.id),
        )  # fmt: skip
        return move, meter

    async def _both(self, transfer: Transfer) -> tuple[End, End]:
        request = transfer.request
        source, destination = await asyncio.gather(
            self._ends.end_of(request.source), self._ends.end_of(request.destination)
        )
        return source, destination

    async def _end_unwanted(self, transfer_id: str, going: asyncio.Task[None] | None) -> None:
        """Stop it, see that nothing moves any more, and say so."""
        if going is not None:
            await end({going})
        transfer = await self._ledger.do(self._ledger.store.transfers.get, transfer_id)
        if not transfer.ended:
            left = await self._clear(transfer)
            placed = "Some of it may have come to its place already."
            await self._end(
                transfer, "cancelled", cause=f"Cancelled by {transfer.cancel_requested_by}.", log=left,
                next=placed if transfer.state == "placing" else "What was in its place before is as it was.",
            )  # fmt: skip

    async def _clear(self, transfer: Transfer) -> tuple[str, ...]:
        """Nothing moves any more, and nothing lies under its temporary names; else a line that says so.

        What moves at Globus goes on without us, so that it ends is asked for much longer.
        """
        if transfer.started_at is None:
            return ()
        # what the mover has kept meanwhile says what goes on elsewhere
        kept = await self._ledger.do(self._ledger.store.transfers.get, transfer.id)
        until, pace = time.monotonic() + (_CLEAR_S if kept.native_id is None else _END_S), Pace(0.2, 30.0)
        while True:
            try:
                move, _ = await self._move_of(kept)
                await asyncio.wait_for(self._movers[transfer.mover].cancel(move), _CLEAR_S)
            except (DiamondError, asyncio.TimeoutError) as problem:  # noqa: PERF203 - that is what the loop is for
                why = problem.message if isinstance(problem, DiamondError) else f"no answer within {_CLEAR_S:g} s"
                passes = not isinstance(problem, DiamondError) or _may_pass(problem)
                if not passes or time.monotonic() > until:
                    return (f"It may still move, or be left under its temporary name: {why}",)
                said = f"It is being ended: {why}"
                await self._change(transfer.id, "transfer.trouble", {"why": said}, trouble=said)
                await asyncio.sleep(pace.next())
            else:
                return ("What had come so far was taken away",)

    # ---- what is stored of it

    async def _change(self, transfer_id: str, *told: Any, **changes: Any) -> Transfer:
        """Store fields, and with ``told`` (type of the event, its data) say so."""
        kind, data = (*told, None, None)[:2]
        change = self._ledger.store.transfers.change
        return await self._ledger.write(change, transfer_id, at=_now(), kind=kind, data=data, **changes)

    async def _keep(self, transfer_id: str, **fields: Any) -> None:
        """Store what a second try must know."""
        await self._change(transfer_id, **fields)

    async def _say(self, transfer_id: str, state: TransferState, sentence: str, link: str) -> None:
        before = await self._ledger.do(self._ledger.store.transfers.get, transfer_id)
        if (before.state, before.trouble, before.link) == (state, sentence, link):
            return
        kind = "transfer.trouble" if sentence and before.state == state else "transfer.state_changed"
        lines = (f"{state}: {sentence}",) if sentence else ()
        told = {"why": sentence, **({"link": link} if link else {})}
        await self._change(transfer_id, kind, told, state=state, trouble=sentence, link=link, log=lines)

    async def _watch(self, transfer_id: str, meter: Meter) -> None:
        """Say when nothing moves any more, and when something does again."""
        stalls = meter.still_s(time.monotonic()) > self.stalled_s
        if stalls != meter.stalls:
            meter.stalls = stalls
            said = f"Nothing has moved for {self.stalled_s / 60:.3g} min; when something does, it goes on."
            now = await self._ledger.do(self._ledger.store.transfers.get, transfer_id)
            if stalls or now.state == "stalled":
                await self._say(transfer_id, *(("stalled", said, "") if stalls else ("active", "", "")))

    async def _tell(self, transfer_id: str, meter: Meter, *, watches: bool) -> None:
        """Store how far it is, every now and then, until cancelled. ``watches``: nobody else says that it stalls."""
        while True:
            await asyncio.sleep(_TOLD_S / 4)
            progress = meter.read(time.monotonic())
            if watches:
                await self._watch(transfer_id, meter)
            if progress is None:
                continue
            told = progress.model_dump(exclude_none=True)
            await self._change(transfer_id, "transfer.progress", told, progress=progress, durable=False)
            await asyncio.sleep(_TOLD_S * 3 / 4)

    async def _hinder(self, transfer: Transfer, problem: DiamondError) -> Transfer:
        """Store what stands in its way for now."""
        needs_you = getattr(problem, "needs_login", False) or getattr(problem, "kind", "") == "needs_you"
        needs_you = needs_you or getattr(problem, "outcome", "") == "needs_login"
        now = await self._ledger.do(self._ledger.store.transfers.get, transfer.id)
        progress = now.progress.model_copy(update={"faults": now.progress.faults + 1})
        return await self._change(
            transfer.id, "transfer.trouble", {"why": problem.message}, trouble=problem.message,
            state="needs_you" if needs_you else now.state if now.state not in _WAITS else "active",
            link=getattr(problem, "link", ""), progress=progress, log=(f"In its way: {problem.message}",),
        )  # fmt: skip

    async def _succeed(self, transfer: Transfer, moved: Moved) -> None:
        size = moved.size
        now = await self._ledger.do(self._ledger.store.transfers.get, transfer.id)
        progress = now.progress.model_copy(update={
            "bytes_total": size.bytes, "bytes_done": size.bytes, "files_total": size.files, "files_done": size.files,
            "files_skipped": moved.files_skipped, "bytes_sent": moved.bytes_sent, "rate": None, "eta_s": None,
        })  # fmt: skip
        digest = {"digest": size.digest} if size.digest is not None else {}
        await self._end(transfer, "succeeded", progress=progress, log=moved.log, **digest)

    async def _fail(self, transfer: Transfer, problem: DiamondError) -> None:
        kind = problem.kind if isinstance(problem, DataProblem) else "broken"
        advice = problem.advice if isinstance(problem, DataProblem) else ""
        left = await self._clear(transfer)
        again = f"Then: %diamond transfer again {transfer.id}"
        await self._end(
            transfer, "failed", cause=problem.message, evidence=problem.evidence[:20], fault=kind,
            next=f"{advice} {again}".strip(), log=(f"Failed: {problem.message}", *left),
        )  # fmt: skip

    async def _end(self, transfer: Transfer, state: TransferState, **fields: Any) -> None:
        told = {"state": state, "cause": fields.get("cause", "")}
        await self._change(
            transfer.id, "transfer.ended", told, state=state, ended_at=_now(), trouble="", link="", **fields
        )


def _now() -> Any:
    return from_epoch(time.time())


def _left(transfer: Transfer) -> float:
    """Seconds until its deadline."""
    return transfer.deadline.timestamp() - time.time()


def _late(transfer: Transfer) -> DataProblem:
    return DataProblem(
        f"It was not done within {transfer.request.deadline_s:g} s.", kind="late", advice="Give it a later deadline.",
        evidence=(transfer.trouble,) if transfer.trouble else (),
    )  # fmt: skip


def _may_pass(problem: DiamondError) -> bool:
    """Whether another try may help: then it is made until the deadline, or until data came wrong too often."""
    if isinstance(problem, TransportError):
        return problem.transient or problem.needs_login
    if isinstance(problem, GlobusProblem):
        return problem.transient or problem.outcome == "needs_login"
    return problem.transient or getattr(problem, "kind", "") == "needs_you"
