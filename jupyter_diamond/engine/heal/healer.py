"""The act: an attempt's end is stored together with the attempt that follows it, planned anew on fresh numbers.

An attempt is only given here when it is surely over: its scheduler, or its own end-file, said so. That is the fence;
until both are written, a crash leaves the attempt as it was, and the next start heals it again.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from typing import Any

from jupyter_diamond.engine.collector import Collector
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.engine.results import read_log
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.healing import Step, Withdrawal
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement import words
from jupyter_diamond.store.follows import Following

from .away import Away
from .causes import LOG_BYTES, Cause, Ended, cause_of, had_finished, left_off, says_nothing
from .checkpoints import MOVED_OR_CUT, Saved
from .places import besides, choose, moved_to, out_of_reach
from .segments import bound
from .steps import Follow, Stop, continued, in_force, never, next_step, why
from .together import End, Together, Unit, unit_of

_KINDS: dict[Step, EventType] = {
    "retry": "task.retry", "resize": "task.resize", "migrate": "task.migrate", "segment": "task.segment",
    "replan": "task.replanned",
}  # fmt: skip
_FINISHED = "The cell itself had finished before, so it is not run a second time."
_BRING = "What it returned can be brought back as ever; look whether its files are complete."
_FRESH_S = 1.0
_WAIT_S = 10.0


class NotNow(DiamondError):
    """What shall follow an attempt cannot be planned while the sites that could take it are out of reach."""


class Healer:
    """Ends attempts, and lets the next ones begin. One for all sites."""

    def __init__(
        self,
        ledger: Ledger,
        links: SiteLinks,
        collector: Collector,
        planner: Planner,
        log: logging.Logger,
        *,
        together: Together,
    ) -> None:
        self._ledger, self._links, self._collector, self._planner, self._log = ledger, links, collector, planner, log
        self._saved = Saved(links, log)
        self._together = together
        self.away: Away | None = None
        """Who brings away what an ended job left."""

    async def end(self, task: Task, changes: dict[str, Any], ended: Ended) -> Task:
        """Store the end of the task's newest attempt with what follows it; the task as it is then.

        Raises StoreError, and NotNow where all places that could take it on are out of reach: ask again later.
        """
        attempt = _newest(task)
        if was_taken_back(task, ended):
            return await self.taken_back(task, changes)
        if left_off(ended):
            changes = {**changes, "checkpoint": await self._saved.by(task), "failure": None}
            return await self._after(_with(task, changes), changes, None)
        if says_nothing(ended):
            ended = ended._replace(log=await self._log_of(attempt))
        cause = cause_of(attempt.model_copy(update=changes), ended)
        if cause is None:
            return await self._over(task, changes)
        changes = _known(changes, cause)
        if had_finished(ended):
            return await self._over(task, {**changes, "next": _BRING}, _FINISHED)
        if cause.failure in MOVED_OR_CUT and task.cancel_requested_by is None:
            sure = cause.failure == "timeout" and attempt.segment < task.healing.segments
            changes["checkpoint"] = await self._saved.by(task, sure=sure)
        return await self._after(_with(task, changes), changes, cause)

    async def end_all(self, ends: Sequence[tuple[Task, dict[str, Any], str]]) -> tuple[Task, ...]:
        """Store ends for good, each with why, in one transaction. Raises StoreError."""
        told = [(task.id, _newest(task).n, changes, why) for task, changes, why in ends]
        return await self._ledger.write(self._ledger.store.attempts.end, told, at=from_epoch(time.time()))

    async def _after(self, task: Task, changes: dict[str, Any], cause: Cause | None) -> Task:
        """What the budget and the planner allow after this failure. ``task`` shows its attempt as ended.

        Without a cause it left off to be continued.
        """
        before = await self._ledger.do(self._ledger.store.decision, task.id)
        pin = before.envelope
        step = continued(task, pin=pin) if cause is None else next_step(task, cause, pin=pin)
        if isinstance(step, Stop):
            return await self._over(task, {**changes, "next": _advice(step, changes, cause)}, step.why)
        planned = await self._planned(task, step)
        if isinstance(planned, str):
            said = f"It would have {'been tried again' if step.step != 'segment' else 'gone on'}, but {planned}"
            return await self._over(task, {**changes, "next": f"{said} {changes.get('next', '')}".strip()}, said)
        choice, decision = planned
        attempt = _newest(task)
        moved: Step = "migrate" if step.step == "retry" and choice.site != attempt.site else step.step
        follower = following_attempt(attempt, choice, step=moved, segment=step.segment)
        follower = follower.model_copy(update={"why": why(step, attempt, follower, segments=task.healing.segments)})
        return await self._follow(task, changes, follower, decision)

    async def _planned(self, task: Task, step: Follow) -> tuple[Candidate, Decision] | str:
        """Where it goes on, by a plan on numbers that are newer than the failure; or why nowhere, as a clause."""
        attempt = _newest(task)
        try:
            await self._collector.refresh([attempt.site], older_than_s=_FRESH_S, wait_s=_WAIT_S)
            decision = await self._planner.plan(step.envelope, follows=task, by=task.by)
        except DiamondError as problem:
            return f"there is no plan: {words.clause(problem.message)}."
        found = choose(decision, task, step.where)
        if isinstance(found, str) and out_of_reach(decision):
            raise NotNow(f"It goes on when a site answers again: {words.clause(decision.sentence)}.", transient=True)
        return found

    async def taken_back_all(self, ends: Sequence[End]) -> tuple[Task, ...]:
        """As ``taken_back``, in the same order: members of a group go on together where they can."""
        units: dict[Unit, list[End]] = {}
        for end in ends:
            if (unit := unit_of(end[0])) is not None:
                units.setdefault(unit, []).append(end)
        done: set[str] = set()
        for unit, members in units.items():
            if len(members) > 1 and await self._taken_back_together(unit, members):
                done |= {task.id for task, _ in members}
        alone = {task.id: await self.taken_back(task, changes) for task, changes in ends if task.id not in done}
        store = self._ledger.store.attempts
        together = {task.id: task for task in await self._ledger.do(store.tasks, done)} if done else {}
        return tuple({**alone, **together}[task.id] for task, _ in ends)

    async def _taken_back_together(self, unit: Unit, members: Sequence[End]) -> bool:
        lead, _ = members[0]
        before = await self._ledger.do(self._ledger.store.decision, lead.id)
        envelope = _to_its_place(lead, before, unit.wanted)
        ends = [(_with(task, mine), mine) for task, changes in members for mine in (_back(task, changes),)]
        return await self._together(unit, ends, envelope, before)

    async def taken_back(self, task: Task, changes: dict[str, Any]) -> Task:
        """A job that waited is gone from its queue, or was never sent: what it was taken back for follows."""
        attempt = _newest(task)
        wanted = attempt.withdrawal
        assert wanted is not None, "only what is being withdrawn is taken back"
        changes = _back(task, changes)
        before = await self._ledger.do(self._ledger.store.decision, task.id)
        choice, decision = before.choice, before
        assert choice is not None, "an attempt was made by a decision with a choice"
        said = "You held it before it had started"
        if wanted.then != "hold":
            envelope = _to_its_place(task, before, wanted)
            choice, decision, said = await self._anew(_with(task, changes), envelope, before, wanted)
        moved = (choice.site, choice.partition or None) != (attempt.site, attempt.partition)
        step: Step = "migrate" if wanted.then == "migrate" and moved else "replan"
        follower = following_attempt(attempt, choice, step=step, segment=attempt.segment)
        return await self._follow(task, changes, follower.model_copy(update={"why": f"{said}."}), decision)

    async def _anew(
        self, task: Task, envelope: Envelope, before: Decision, wanted: Withdrawal
    ) -> tuple[Candidate, Decision, str]:
        """A new plan; where none is to be had, back to the old place rather than nowhere."""
        old = before.choice
        assert old is not None, "an attempt was made by a decision with a choice"
        because = wanted.why or "you asked for a new plan"
        try:
            decision = await self._planner.plan(envelope, follows=task, by=task.by)
            if wanted.then == "migrate":
                decision = besides(decision, old)
        except DiamondError as problem:
            return old, before, f"Back to {words.place(old.site, old.partition)}: {words.clause(problem.message)}"
        choice = decision.choice
        if choice is None or choice.size is None or choice.simulated:
            return old, before, f"Back to {words.place(old.site, old.partition)}: {words.clause(decision.sentence)}"
        return choice, decision, f"{moved_to(choice, old)}: {because}"

    async def _follow(self, task: Task, changes: dict[str, Any], follower: Attempt, decision: Decision) -> Task:
        following = Following(follower, secrets.token_hex(32), decision, _KINDS[follower.step], self._planner.caps)
        self._log.info("%s: attempt %d follows. %s", task.name, follower.n, follower.why)
        return await self._store(task, changes, following=following)

    async def _over(self, task: Task, changes: dict[str, Any], why_not: str = "") -> Task:
        return await self._store(task, changes, why_not="" if task.cancel_requested_by else why_not)

    async def _store(self, task: Task, changes: dict[str, Any], **how: Any) -> Task:
        end, n, now = self._ledger.store.end_attempt, _newest(task).n, from_epoch(time.time())
        return await self._ledger.write(end, task.id, n, at=now, changes=changes, **how)

    async def _log_of(self, attempt: Attempt) -> str:
        """The end of its log, where it can be read now: a class is better told with it, and never waits for it."""
        try:
            chunk = await read_log(attempt, self._links[attempt.site], offset=0, limit=LOG_BYTES, tail=LOG_BYTES)
        except (DiamondError, OSError) as problem:
            self._log.info("%s: its log is not at hand: %s", attempt.token, problem)
            return ""
        return chunk.text


def was_taken_back(task: Task, ended: Ended) -> bool:
    """Whether the newest attempt ended because it was to be taken back from its queue."""
    wanted = _newest(task).withdrawal is not None and task.cancel_requested_by is None
    return wanted and ended.state is State.CANCELLED


def for_good(task: Task, changes: dict[str, Any], ended: Ended) -> tuple[dict[str, Any], str] | None:
    """An end that nothing follows, with why, where nothing is to be read or planned for that; else None."""
    attempt, asked = _newest(task), task.cancel_requested_by is not None
    if (attempt.withdrawal is not None and not asked) or left_off(ended) or says_nothing(ended):
        return None
    cause = cause_of(attempt.model_copy(update=changes), ended)
    if cause is None:
        return changes, ""
    changes = _known(changes, cause)
    if had_finished(ended):
        return {**changes, "next": _BRING}, "" if asked else _FINISHED
    stop = never(task, cause)
    if stop is None or (cause.failure in MOVED_OR_CUT and not asked):
        return None
    return {**changes, "next": _advice(stop, changes, cause)}, "" if asked else stop.why


def _known(changes: dict[str, Any], cause: Cause) -> dict[str, Any]:
    evidence = tuple(dict.fromkeys((*changes.get("evidence", ()), *cause.evidence)))
    return {**changes, "failure": cause.failure, "evidence": evidence}


def following_attempt(before: Attempt, choice: Candidate, *, step: Step, segment: int) -> Attempt:
    """The attempt after ``before``, at the place that was chosen; nothing of it has been sent."""
    now = from_epoch(time.time())
    return Attempt.model_validate({
        "n": before.n + 1, "token": f"dmd-{secrets.token_hex(8)}", "step": step, "segment": segment,
        "site": choice.site, "partition": choice.partition or None, "account": choice.account, "size": choice.size,
        "created_at": now, "state_since": now,
    })  # fmt: skip


def at_its_files(task: Task, envelope: Envelope, *, unpin: bool = False) -> Envelope:
    """For another plan: where the task has checkpoints it may not leave their site, though its partition."""
    if unpin:
        envelope = unpinned(envelope)
    site = task.attempts[-1].site
    if not bound(task) or envelope.site == site:
        return envelope
    if envelope.site is not None:  # of another site, and its partition and account with it
        envelope = unpinned(envelope)
    return envelope.model_copy(update={"site": site})


def _to_its_place(task: Task, before: Decision, wanted: Withdrawal) -> Envelope:
    """For what follows a job that is taken back: where the user's word named a place, that one alone."""
    envelope = at_its_files(task, in_force(task, before.envelope), unpin=wanted.unpin)
    if wanted.to is None:
        return envelope
    return envelope.model_copy(update=dict(zip(("site", "partition", "account"), wanted.to, strict=True)))


def unpinned(envelope: Envelope) -> Envelope:
    """Not bound to the place that the user had named; the account that belongs to it goes, too."""
    return envelope.model_copy(update={"site": None, "partition": None, "account": None})


def _back(task: Task, changes: dict[str, Any]) -> dict[str, Any]:
    """How an attempt ends that was taken back."""
    wanted = _newest(task).withdrawal
    why = (wanted.why if wanted is not None else "") or "you asked for it"
    cause = f"Taken back from {_newest(task).site}: {why}."
    return {**changes, "cause": cause, "next": "", "failure": None, "withdrawal": None}


def _newest(task: Task) -> Attempt:
    return task.attempts[-1]


def _with(task: Task, changes: dict[str, Any]) -> Task:
    """The task as it will be once these changes of its newest attempt are stored."""
    ended = Attempt.model_validate({**dict(_newest(task)), **changes})
    return task.model_copy(update={"attempts": (*task.attempts[:-1], ended)})


def _advice(stop: Stop, changes: dict[str, Any], cause: Cause | None) -> str:
    """What the user could do: where another try was thought of, also why there is none."""
    known = str(changes.get("next", ""))
    if cause is None or cause.failure in ("oom", "timeout", "node", "preempt", "launch", "endpoint"):
        return f"{stop.why} {stop.change}".strip()
    return known if changes["state"] is State.REJECTED else f"{known} {stop.change}".strip()
