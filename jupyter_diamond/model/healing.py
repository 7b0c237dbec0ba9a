"""Why an attempt failed, and what may be done about it without asking."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Value

FailureClass = Literal[
    "spec_invalid", "auth", "policy", "credit", "capacity", "image", "launch", "app_args", "oom", "timeout", "node",
    "preempt", "network_fabric", "data", "endpoint", "lost", "user_cancel",
]  # fmt: skip
"""What went wrong. ``app_args``: the program itself ended badly; running it again would end as badly."""

Step = Literal["first", "retry", "resize", "migrate", "segment", "replan"]
"""Why an attempt was made: the task's first; the same again; with another size; at another place; the next part of a
work that is longer than its wall time; or because the user asked for a new plan."""


class Healing(Value):
    """What a task may do by itself when an attempt of it fails.

    ``retries``: how many attempts may follow failed ones. ``moves``: how many times it may change its place, while it
    waits or after a failure. ``segments``: into how many parts the work may be cut by wall times.
    """

    retries: int = Field(default=3, ge=0, le=100)
    moves: int = Field(default=2, ge=0, le=100)
    segments: int = Field(default=1, ge=1, le=10_000)


Taken = Literal["replan", "hold", "migrate"]


class Withdrawal(Value):
    """A job that waits at its site shall be taken back there, and what then: a new plan, nothing for now, a move.

    A job that has started meanwhile stays. ``unpin``: the new plan is not bound to the place that the user had named.
    """

    by: str
    then: Taken
    unpin: bool = False
    why: str = ""
    """Why it is taken back, as a clause, where the user did not ask for it."""
