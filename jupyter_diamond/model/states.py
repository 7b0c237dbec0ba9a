"""The one vocabulary of states, outcomes and reasons."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """The four things a user needs to tell apart."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    ENDED = "ENDED"
    UNKNOWN = "UNKNOWN"


class Outcome(str, Enum):
    """How an attempt ended."""

    OK = "OK"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    OOM = "OOM"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    NEVER_STARTED = "NEVER_STARTED"
    LOST = "LOST"


class State(str, Enum):
    """The canonical state of an attempt, and of its task. UNKNOWN is a state; absence is not an end."""

    WAITING = "waiting"
    STAGING_IN = "staging_in"
    SUBMITTING = "submitting"
    SUBMIT_UNKNOWN = "submit_unknown"
    PENDING = "pending"
    CONFIGURING = "configuring"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETING = "completing"
    STAGING_OUT = "staging_out"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NODE_FAIL = "node_fail"
    PREEMPTED = "preempted"
    REJECTED = "rejected"
    DEADLINE = "deadline"
    LOST = "lost"

    @property
    def terminal(self) -> bool:
        """Nothing will follow."""
        return self in _OUTCOME

    @property
    def phase(self) -> Phase:
        """PENDING, RUNNING, ENDED or UNKNOWN."""
        if self.terminal:
            return Phase.ENDED
        if self in (State.UNKNOWN, State.SUBMIT_UNKNOWN):
            return Phase.UNKNOWN
        if self in (State.RUNNING, State.SUSPENDED, State.COMPLETING, State.STAGING_OUT):
            return Phase.RUNNING
        return Phase.PENDING

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it has not."""
        return _OUTCOME.get(self)


_OUTCOME = {
    State.COMPLETED: Outcome.OK,
    State.FAILED: Outcome.FAILED,
    State.CANCELLED: Outcome.CANCELLED,
    State.TIMEOUT: Outcome.TIMEOUT,
    State.OUT_OF_MEMORY: Outcome.OOM,
    State.NODE_FAIL: Outcome.NODE_FAIL,
    State.PREEMPTED: Outcome.PREEMPTED,
    State.REJECTED: Outcome.NEVER_STARTED,
    State.DEADLINE: Outcome.NEVER_STARTED,
    State.LOST: Outcome.LOST,
}


class ReasonClass(str, Enum):
    """What a pending reason means for the user (B13)."""

    WILL_RUN = "will_run"
    WAITS_ON_YOU = "waits_on_you"
    NEVER = "never"
    UNKNOWN = "unknown"
