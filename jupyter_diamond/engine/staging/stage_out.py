"""Stage-out: what a job left is brought where its task says, and only then its attempt is over.

First the end of the job is stored, with the attempt in state ``staging_out``: from there everything goes on after a
crash, and no scheduler has to remember the job. Each of the declared outputs is one transfer, whose token is the
attempt's own: asked for again it is the same one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.pace import Pace, rest
from jupyter_diamond.engine.receipts.kept import Left, left_by
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.errors import DataProblem, DiamondError, GlobusProblem, TransportError
from jupyter_diamond.model.data import Location, StageOut
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.model.transfer import Transfer, TransferRequest

from .sights import may_pass


class Out(NamedTuple):
    """What became of one declared output: a transfer, or why there is none."""

    wanted: StageOut
    transfer: Transfer | None = None
    problem: DiamondError | None = None
    empty: bool = False
    """No file has such a name."""


class StageOuts:
    """Brings files away; one for all sites."""

    def __init__(self, ledger: Ledger, transfers: TransferDesk, log: logging.Logger) -> None:
        self._ledger, self._transfers, self._log = ledger, transfers, log
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        ledger.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if event.type == "transfer.ended":
            for wake in self._waiting.pop(event.subject.partition(":")[2], ()):
                wake()

    @staticmethod
    def wanted(task: Task, changes: dict[str, Any]) -> bool:
        """Whether something is to be brought away before it ends so: not of what was cancelled, or left nothing."""
        brings = any(out.destination is not None for out in task.envelope.stage_out)
        attempt, end = newest(task), changes["state"]
        ready = changes.get("result_ready", attempt.result_ready)
        return brings and ready and task.cancel_requested_by is None and end not in (State.CANCELLED, State.LOST)

    async def begin(self, task: Task, changes: dict[str, Any]) -> Task:
        """Store how the job ended, and that its files are brought away now."""
        ended = {**changes, "state": State.STAGING_OUT, "job_state": changes["state"], "trouble": ""}
        told = {"job": State(changes["state"]).value}
        return await self._ledger.update(task, "attempt.staging", told, **ended)

    async def bring(self, known: Watched, link: SiteLink) -> dict[str, Any]:
        """Have everything brought; what then changes of the attempt, whose state is ``staging_out``.

        Returns when all has ended, or its user has asked for its end. Raises StoreError.
        """
        pace = Pace(1.0, 60.0)
        while True:
            known.hurry.clear()
            try:
                outs = await self._outs(known, link)
            except (TransportError, GlobusProblem, DataProblem) as problem:
                await self._hinder(known, problem)
                outs = None
            if known.task.cancel_requested_by is not None:
                return await self._cancelled(known.task)
            if outs is not None and all(each.transfer is None or each.transfer.ended for each in outs):
                return ending(known.task, outs)
            await rest(known.hurry, pace.next() if outs is None else 60.0)

    async def _outs(self, known: Watched, link: SiteLink) -> list[Out]:
        """Every declared output, with its transfer as it is now. Raises what will pass, or cannot be read now."""
        task = known.task
        request = await self._ledger.do(self._ledger.store.request, task.id)
        left = await left_by(newest(task), link, cwd=request.cwd)
        outs = [
            await self._one(task, k, out, left, link)
            for k, out in enumerate(task.envelope.stage_out)
            if out.destination is not None
        ]
        ids = tuple(each.transfer.id for each in outs if each.transfer is not None)
        if ids != newest(task).staged_out:
            told = {"transfers": list(ids)[:20]}
            known.task = await self._ledger.update(task, "attempt.staging", told, staged_out=ids, trouble="")
        going = [each.transfer for each in outs if each.transfer is not None and not each.transfer.ended]
        for each in going:
            self._waiting.setdefault(each.id, []).append(known.hurry.set)
        if going and any([(await self._transfers.get(each.id)).ended for each in going]):
            known.hurry.set()  # it ended before anybody listened
        return outs

    async def _one(self, task: Task, k: int, out: StageOut, left: Left | None, link: SiteLink) -> Out:
        token = f"{newest(task).token}-out-{k}"
        known = await self._ledger.do(self._ledger.store.transfers.find_token, token)
        if known is not None:
            return Out(out, known)
        names = tuple(each.path for each in left.kept if k in each.patterns) if left is not None else ()
        if not names:
            return Out(out, empty=True)
        if left is None or left.folder is None:
            where = left.note if left is not None else "there is no receipt"
            return Out(out, problem=DataProblem(f"It is not known where its files lie: {where}.", kind="missing"))
        request = TransferRequest(
            client_token=token, source=Location(kind="site", site=link.name, path=left.folder),
            destination=destination_of(task, out), files=names, purpose="stage_out", task=task.id,
            attempt=newest(task).n, by=task.by,
        )  # fmt: skip
        try:
            return Out(out, await self._transfers.start(request))
        except DiamondError as problem:
            if isinstance(problem, TransportError) or may_pass(problem):
                raise
            return Out(out, problem=problem)

    async def _hinder(self, known: Watched, problem: DiamondError) -> None:
        """Say once why it does not go on at the moment."""
        self._log.info("%s: its files are not brought away yet: %s", known.task.name, problem.message)
        if newest(known.task).trouble != problem.message:
            told = {"why": problem.message}
            known.task = await self._ledger.update(known.task, "attempt.trouble", told, trouble=problem.message)

    async def _cancelled(self, task: Task) -> dict[str, Any]:
        by = task.cancel_requested_by or "user"
        for transfer_id in newest(task).staged_out:
            await self._transfers.cancel(transfer_id, by)
        return {
            "state": State.CANCELLED, "trouble": "", "failure": "user_cancel",
            "cause": f"Cancelled by {by} while its files were brought away; its job had ended before.",
            "next": "Its result can be read, and its files lie where the job left them: %diamond files tells them.",
        }  # fmt: skip


def destination_of(task: Task, out: StageOut) -> Location:
    """Where the files of one output come: of a group, each member has a folder of its own index below it."""
    assert out.destination is not None, "only what has a destination is brought"
    if task.member is None:
        return out.destination
    path = f"{out.destination.path.rstrip('/')}/{task.member.index}"
    return out.destination.model_copy(update={"path": path})


def ending(task: Task, outs: list[Out]) -> dict[str, Any]:
    """How an attempt ends whose files were brought, or could not be."""
    attempt = newest(task)
    job = attempt.job_state or State.COMPLETED
    told = {"cause": attempt.cause, "next": attempt.next, "evidence": attempt.evidence, "ended_at": attempt.ended_at}
    good: dict[str, Any] = {**told, "state": job, "trouble": "", "job_state": None}
    notes = [f"No file is named {each.wanted.pattern}, so none was brought." for each in outs if each.empty]
    if notes:
        good["next"] = " ".join((attempt.next, *notes)).strip()
    failed = [each for each in outs if each.problem is not None or _bad(each.transfer)]
    if not failed:
        return good
    said = tuple(_why(each) for each in failed)
    if job is not State.COMPLETED:  # how the job itself ended is what matters
        return {**good, "evidence": (*attempt.evidence, *said)}
    return {
        **told, "state": State.FAILED, "trouble": "", "failure": "data", "cause": said[0], "next": _next(failed[0]),
        "evidence": (*attempt.evidence, *said[1:]),
    }  # fmt: skip


def _bad(transfer: Transfer | None) -> bool:
    return transfer is not None and transfer.state != "succeeded"


def _why(out: Out) -> str:
    said = out.problem.message if out.problem is not None else out.transfer.cause if out.transfer is not None else ""
    return f"The job ended well, but {out.wanted.pattern} did not get to {out.wanted.destination}: {said}"


def _next(out: Out) -> str:
    if out.transfer is not None:
        return f"Its result can be read. For the files: %diamond transfer again {out.transfer.id}"
    advice = getattr(out.problem, "advice", "")
    return f"{advice} Its result can be read, and its files lie where the job left them.".strip()
