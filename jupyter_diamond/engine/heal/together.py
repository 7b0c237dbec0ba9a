"""Which members of a group that were taken back from their queues go on together. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.task import Task

from .segments import bound
from .steps import in_force

End = tuple[Task, dict[str, Any]]
"""A task whose newest attempt is over, and what is changed of that."""


class Unit(NamedTuple):
    """What members that go on together have in common. ``array``: where they go back to, as they were held."""

    group: str
    wanted: Withdrawal
    array: str = ""
    envelope: str = ""


def unit_of(task: Task) -> Unit | None:
    """With whom a member goes on; None where it goes on alone: it moves for a reason of its own, or has files there."""
    attempt = task.attempts[-1]
    wanted, place = attempt.withdrawal, attempt.array
    if task.member is None or wanted is None or wanted.then == "migrate" or bound(task):
        return None
    if wanted.then == "hold":
        return None if place is None else Unit(task.member.group, wanted, array=place.token)
    return Unit(task.member.group, wanted, envelope=in_force(task).model_dump_json())


Together = Callable[[Unit, Sequence[End], Envelope, Decision], Awaitable[bool]]
"""Stores the ends of members, and what follows them by one plan for all; False where each has to go on for itself."""
