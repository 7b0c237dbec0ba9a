"""What is looked at before a new task is taken: its inputs, its twins; and the first attempt that it begins with."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import datetime

from jupyter_diamond.engine.batch import newest
from jupyter_diamond.errors import Conflict, InvalidRequest
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.task import Attempt, Task, TaskRequest

Agreed = Callable[[Decision], None]
"""Raises where a decision is not what was agreed to."""


def check_bundle(request: TaskRequest, bundle: bytes, *, at_most: int) -> None:
    """Raises InvalidRequest where the inputs are too large, or not the ones that were announced."""
    if len(bundle) > at_most:
        raise InvalidRequest(
            f"The cell's inputs are {len(bundle):,} bytes; at most {at_most:,} travel with a "
            "cell. Save large data to a file, or raise c.DiamondLimits.bundle_bytes."
        )
    if hashlib.sha256(bundle).hexdigest() != request.bundle_sha256:
        raise InvalidRequest("The cell's inputs were damaged on their way to the server; run the cell again.")


def twin_of(request: TaskRequest, active: tuple[Task, ...]) -> Task | None:
    """The same cell, still active (B27). Raises Conflict when another cell of that name is.

    One whose result is here is over for its user, though its scheduler may not have said so yet.
    """
    active = tuple(task for task in active if not newest(task).result_ready)
    for task in active:
        if task.digest == request.digest:
            return task
    if active:
        raise Conflict(
            f"`{request.name}` is still {active[-1].state.value} and runs another cell. Choose another name, "
            f"cancel it with %diamond cancel {request.name}, or add --again to have both."
        )
    return None


def first_attempt(choice: Candidate, now: datetime) -> Attempt:
    """The attempt that a new task begins with, where it was placed."""
    return Attempt.model_validate({
        "n": 1, "token": f"dmd-{secrets.token_hex(8)}", "site": choice.site, "partition": choice.partition or None,
        "account": choice.account, "size": choice.size, "created_at": now, "state_since": now,
    })  # fmt: skip
