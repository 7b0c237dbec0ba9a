"""A task's site is reported to be wrong for it: left out from then on, by the healer's rules and within its budgets."""

from __future__ import annotations

import time

from jupyter_diamond.engine.intake import Agreed
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.errors import Conflict, Infeasible, InvalidRequest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.healing import Mismatch, Withdrawal
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement import words
from jupyter_diamond.store.follows import not_started

from .healer import unpinned
from .segments import bound
from .steps import attempts_left, in_force, moves_left

REASON_LENGTH = 500
MOST_REPORTS = 2
"""So many sites an agent's task may leave; each time the user's word names where it goes."""


class Mismatches:
    """Takes what is reported of a task's site; the watcher of that site acts on it."""

    def __init__(self, ledger: Ledger, planner: Planner) -> None:
        self._ledger, self._planner = ledger, planner

    async def report(self, task: Task, reason: str, by: str, agreed: Agreed | None = None) -> Task:
        """Leave the site of its newest attempt out from now on; a job that waits there is taken back for another one.

        One that runs is not ended: if it fails, what follows goes elsewhere. Nothing is noted where the task could not
        go anywhere else: raises InvalidRequest, Conflict with the budget that is used up, Infeasible. ``agreed`` raises
        to refuse the place that it would go to.
        """
        attempt = task.attempts[-1]
        if attempt.mismatch is not None:
            return task
        told, decision = await self.planned(task, reason, by)
        if agreed is not None:
            agreed(decision)
        wanted = None
        if not_started(attempt):
            clause = f"{by} reported that {attempt.site} is wrong for it ({words.clause(told.reason)})"
            wanted = Withdrawal(by=by, then="migrate", why=clause)
        return await self._ledger.write(self._ledger.store.mismatch, task.id, told, wanted, told.at)

    async def planned(self, task: Task, reason: str, by: str) -> tuple[Mismatch, Decision]:
        """What would be noted, and where the task would go by the numbers of now; nothing is done. Raises as above."""
        said = " ".join(reason.split())
        if not said:
            raise InvalidRequest("Say in a sentence what is wrong with the site for this task.")
        before = await self._ledger.do(self._ledger.store.decision, task.id)
        why_not = refused(task, before.envelope)
        if why_not:
            raise Conflict(why_not)
        told = Mismatch(by=by, at=from_epoch(time.time()), reason=said[:REASON_LENGTH])
        envelope = in_force(task, before.envelope)
        if task.by is not None:
            envelope = unpinned(envelope)
        decision = await self._planner.plan(envelope, follows=_with(task, told), by=task.by)
        choice = decision.choice
        if choice is None or choice.size is None or choice.simulated:
            site = task.attempts[-1].site
            raise Infeasible(f"`{task.name}` stays at {site}, for no other site can take it. {decision.sentence}")
        if task.by is not None:
            told = told.model_copy(update={"instead": (choice.site, choice.partition or None, choice.account)})
        return told, decision


def refused(task: Task, pin: Envelope) -> str:
    """Why the task may not change its site, with what to do; empty where it may. Pure."""
    name, site = task.name, task.attempts[-1].site
    if task.phase is Phase.ENDED:
        return (
            f"`{name}` has ended ({task.state.value}), and what has ended is not taken up again. Submit it again with "
            f"--again, and with --site or --sites for other places than {site}."
        )
    if task.cancel_requested_by is not None:
        return f"`{name}` is being cancelled, so nothing of it goes elsewhere."
    if pin.site is not None and task.by is None:  # that of an agent's task is the place that was approved
        return (
            f"`{name}` was pinned to {pin.site}. While it waits, %diamond replan {name} --unpin lets it go elsewhere; "
            "else cancel it, and submit it again without --site."
        )
    if bound(task):
        return (
            f"`{name}` has checkpoints at {site}, and stays with them. To begin anew elsewhere cancel it, and submit "
            "it again with --again and --site."
        )
    return _used_up(task)


def _used_up(task: Task) -> str:
    """Which budget of the task has nothing left for a move; empty where there is some left."""
    name, site, healing = task.name, task.attempts[-1].site, task.healing
    if task.by is not None and sum(each.mismatch is not None for each in task.attempts) >= MOST_REPORTS:
        return (
            f"`{name}` has left {MOST_REPORTS} sites that were reported to be wrong for it, and leaves no more: it "
            f"stays at {site}. Look what it really needs, then submit it again."
        )
    if task.by is None and moves_left(task) < 1:
        allowed = words.count(healing.moves, "time")
        return f"`{name}` may change its site {allowed} (--moves), and no move is left: it stays at {site}."
    if not not_started(task.attempts[-1]) and attempts_left(task) < 1:
        allowed = words.count(healing.retries, "time")
        return (
            f"`{name}` has begun at {site} and may be tried again {allowed} (--retries), of which none is left. Cancel "
            "it, and submit it again with --again and --site."
        )
    return ""


def _with(task: Task, told: Mismatch) -> Task:
    """The task as it will be once this is noted."""
    newest: Attempt = task.attempts[-1].model_copy(update={"mismatch": told})
    return task.model_copy(update={"attempts": (*task.attempts[:-1], newest)})
