"""Why an attempt failed, and what may be done about it without asking."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import UtcTime, Value

FailureClass = Literal[
    "spec_invalid", "auth", "policy", "credit", "capacity", "image", "launch", "app_args", "oom", "timeout", "node",
    "preempt", "network_fabric", "data", "endpoint", "lost", "user_cancel",
]  # fmt: skip
"""What went wrong. ``app_args``: the program itself ended badly; running it again would end as badly."""

WARN_S = 120
"""A job is warned so long before its time limit, if that is no short one."""

Step = Literal["first", "retry", "resize", "migrate", "segment", "replan"]
"""Why an attempt was made: the task's first; the same again; with another size; at another place; the next part of a
work that is longer than its wall time; or because the user asked for a new plan."""


Signal = Literal["USR2", "USR1", "HUP"]


class Checkpoint(Value):
    """The newest thing that a task has saved at its site. ``mark`` differs between two of the same name."""

    name: str
    mark: str


class Healing(Value):
    """What a task may do by itself when an attempt of it fails.

    ``retries``: how many attempts may follow failed ones. ``moves``: how many times it may change its place, while it
    waits or after a failure. ``segments``: into how many parts the work may be cut by wall times. ``warn_s``: how long
    before its time limit the cell hears that the end is near, 0 for not at all, None for what suits the limit;
    ``warn_signal`` is sent to a program that listens for it.
    """

    retries: int = Field(default=3, ge=0, le=100)
    moves: int = Field(default=2, ge=0, le=100)
    segments: int = Field(default=1, ge=1, le=10_000)
    warn_s: int | None = Field(default=None, ge=0, le=86_400)
    warn_signal: Signal = "USR2"

    def warns_before(self, walltime_s: int) -> int:
        """How long before its time limit a job is warned, in seconds: never in its first half (B28)."""
        if self.warn_s is None:
            return min(WARN_S, -(-walltime_s // 5))
        return min(self.warn_s, walltime_s // 2)

    @property
    def asks_scheduler(self) -> bool:
        """Whether the scheduler is asked to warn, too, which it also does before other ends than the time limit."""
        return bool(self.warn_s) or (self.segments > 1 and self.warn_s is None)


class Mismatch(Value):
    """Somebody reported that an attempt's site is wrong for its task, which goes there no more. Foreign text."""

    by: str
    at: UtcTime
    reason: str = Field(max_length=500)
    instead: tuple[str, str | None, str | None] | None = None
    """Site, partition and account to which it goes then, where the user's word was about them: of an agent's task."""


Taken = Literal["replan", "hold", "migrate"]


class Withdrawal(Value):
    """A job that waits at its site shall be taken back there, and what then: a new plan, nothing for now, a move.

    A job that has started meanwhile stays. ``unpin``: the new plan is not bound to the place that the user had named.
    """

    by: str
    then: Taken
    unpin: bool = False
    to: tuple[str, str | None, str | None] | None = None
    """Site, partition and account to which it goes then, where the user's word was about them; else by a new plan."""
    why: str = ""
    """Why it is taken back, as a clause, where the user did not ask for it."""
