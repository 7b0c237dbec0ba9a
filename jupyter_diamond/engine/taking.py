"""A new task that was planned: stored with its first attempt in one transaction, then handed to the engine."""

from __future__ import annotations

import asyncio
import secrets
import time

from jupyter_diamond.engine.batch import Inputs
from jupyter_diamond.engine.engine import Engine
from jupyter_diamond.engine.intake import first_attempt
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.errors import OverBudget
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Submitted, Task, TaskRequest


async def take(
    request: TaskRequest,
    bundle: bytes,
    decision: Decision,
    *,
    engine: Engine,
    ledger: Ledger,
    spool: Spool,
    caps: tuple[SpendingCap, ...],
) -> Submitted:
    """Store it and let it go. The decision has a choice. Raises OverBudget when another submission was faster."""
    assert decision.choice is not None, "only what was placed is taken"
    task_id, now = f"t{secrets.token_hex(5)}", from_epoch(time.time())
    attempt = first_attempt(decision.choice, now)
    folder = await engine.folder_for(attempt, request.envelope)
    if folder is not None:  # task and intent are stored in one: a cell is to be with its scheduler in no time
        attempt = attempt.model_copy(update={"state": State.SUBMITTING, "folder": folder, "submissions": 1})
    inputs = Inputs(request, secrets.token_hex(32), bundle, announced=folder is not None)
    if not inputs.small:
        await asyncio.to_thread(spool.save, task_id, bundle)

    def create() -> tuple[Task, bool]:
        if inputs.small:
            spool.save(task_id, bundle)
        return ledger.store.create_task(
            request, task_id=task_id, key=inputs.key, decision=decision, attempt=attempt,
            why_here=decision.sentence, at=now, caps=caps,
        )  # fmt: skip

    try:
        task, created = await ledger.write(create)
    except OverBudget:
        await asyncio.to_thread(spool.drop, task_id)
        raise
    if created:
        engine.adopt(task, inputs)
    else:
        await asyncio.to_thread(spool.drop, task_id)
    return Submitted(task=task, created=created)
