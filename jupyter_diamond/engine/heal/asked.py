"""What a user may ask for while a task has not started: another plan, that it is held, that it goes on."""

from __future__ import annotations

import time

from jupyter_diamond.engine.intake import Agreed
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.planner import Planner
from jupyter_diamond.errors import Conflict, Infeasible
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import Task
from jupyter_diamond.placement import words

from .healer import at_its_files
from .steps import in_force


class Asked:
    """Notes what was asked for; the watcher of the task's site acts on it, in whichever server advances work."""

    def __init__(self, ledger: Ledger, planner: Planner) -> None:
        self._ledger, self._planner = ledger, planner

    async def replan(self, task: Task, by: str, *, unpin: bool, agreed: Agreed | None = None) -> Task:
        """Have the waiting job taken back where a new plan goes elsewhere; else it keeps its place in the queue.

        Raises Conflict, Infeasible. ``agreed`` raises to refuse the place of the new plan; then it goes to no other.
        """
        attempt, store = task.attempts[-1], self._ledger.store
        decision = await self.planned(task, unpin=unpin)
        choice, now = decision.choice, from_epoch(time.time())
        assert choice is not None, "a plan has its place"
        if agreed is not None:
            agreed(decision)
        same = (choice.site, choice.partition or None) == (attempt.site, attempt.partition)
        if same and attempt.withdrawal is None:  # one that is being taken back may be gone already
            why = f"{words.place(attempt.site, attempt.partition or '')} is still the best place. {decision.sentence}"
            return await self._ledger.write(store.stay, task.id, why[:1000], now)
        to = (choice.site, choice.partition or None, choice.account) if agreed is not None else None
        wanted = Withdrawal(by=by, then="replan", unpin=unpin, to=to)
        return await self._ledger.write(store.withdraw, task.id, wanted, now)

    async def planned(self, task: Task, *, unpin: bool) -> Decision:
        """Where it would go by a new plan; nothing is done. Raises Conflict, Infeasible."""
        if task.phase in (Phase.ENDED, Phase.RUNNING):
            raise Conflict(
                f"`{task.name}` is {task.state.value}: only what has not started is planned anew. "
                f"To run its cell once more, add --again."
            )
        before = await self._ledger.do(self._ledger.store.decision, task.id)
        envelope = at_its_files(task, in_force(task, before.envelope), unpin=unpin)
        decision = await self._planner.plan(envelope, follows=task, by=task.by)
        choice = decision.choice
        if choice is None or choice.size is None or choice.simulated:
            raise Infeasible(f"`{task.name}` stays where it is. {decision.sentence}")
        return decision

    async def hold(self, task: Task, by: str) -> Task:
        """Let nothing of it be submitted. Raises Conflict."""
        return await self._ledger.write(self._ledger.store.hold, task.id, by, from_epoch(time.time()))

    async def release(self, task: Task, by: str) -> Task:
        """Let it go on."""
        return await self._ledger.write(self._ledger.store.release, task.id, by, from_epoch(time.time()))
