"""Whether what somebody waits for has happened. Pure: the clock comes in as an argument.

All is read from the task as it is stored and from its events since the registration: so it is the same whether somebody
listened when it happened or looks afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jupyter_diamond.model.continuation import (
    AttemptFailed,
    Continuation,
    InState,
    Overrun,
    Terminal,
    Trouble,
)
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.model.task import Attempt, Task


@dataclass(frozen=True)
class Match:
    """What happened, to which attempt, and when, by the scheduler's own clock where it told."""

    attempt: int
    what: str
    at: datetime
    line: str = ""
    """Of the log, for a milestone: nobody tells when a line was written, so ``at`` is when it was read."""

    @property
    def key(self) -> str:
        """The same fact has the same key."""
        if self.line:
            return f"{self.attempt}:{self.what}"
        return f"{self.attempt}:{self.what}:{self.at.timestamp():.3f}"


def match(wanted: Continuation, task: Task, events: Iterable[Event], now: datetime) -> Match | None:
    """What happened of what is waited for; None while nothing has. A milestone is found in the log, not here."""
    condition = wanted.condition
    attempts = [attempt for attempt in task.attempts if attempt.n >= wanted.since_attempt]
    if isinstance(condition, Terminal):
        return _ended(task, condition.outcomes)
    if isinstance(condition, InState):
        return _reached(attempts, condition.states, events)
    if isinstance(condition, AttemptFailed):
        return _failed(attempts)
    if isinstance(condition, Overrun):
        late = (each for attempt in attempts for each in _limits(condition, attempt) if each[1] <= now)
        return next((Match(attempt.n, what, at) for attempt, at, what in late), None)
    if isinstance(condition, Trouble):
        return _troubled(attempts, events)
    return None


def due(wanted: Continuation, task: Task) -> datetime | None:
    """When it will have happened by the clock alone, if nothing else does."""
    if not isinstance(wanted.condition, Overrun) or task.attempt is None or task.state.terminal:
        return None
    return min((at for _, at, _ in _limits(wanted.condition, task.attempt)), default=None)


def _ended(task: Task, outcomes: Sequence[Outcome]) -> Match | None:
    attempt = task.attempt
    if not task.state.terminal or attempt is None or (outcomes and task.outcome not in outcomes):
        return None
    return Match(attempt.n, attempt.state.value, attempt.ended_at or attempt.state_since)


def _reached(attempts: Sequence[Attempt], states: Sequence[State], events: Iterable[Event]) -> Match | None:
    for attempt in attempts:
        if State.RUNNING in states and attempt.started_at is not None:
            return Match(attempt.n, State.RUNNING.value, attempt.started_at)
        if attempt.state in states:
            return Match(attempt.n, attempt.state.value, attempt.state_since)
    words = {state.value for state in states}
    passed = next((event for event in events if event.data.get("state") in words), None)
    return Match(attempts[-1].n, str(passed.data["state"]), passed.at) if passed is not None and attempts else None


def _failed(attempts: Sequence[Attempt]) -> Match | None:
    for attempt in attempts:
        if attempt.state.terminal and attempt.state.outcome not in (Outcome.OK, Outcome.CANCELLED):
            return Match(attempt.n, attempt.state.value, attempt.ended_at or attempt.state_since)
    return None


def _limits(condition: Overrun, attempt: Attempt) -> list[tuple[Attempt, datetime, str]]:
    """When the attempt ran or waited for too long, or will have: those instants that its end or start left possible."""
    found = []
    started, ended = attempt.started_at, attempt.ended_at or (attempt.state_since if attempt.state.terminal else None)
    if condition.running_s is not None and started is not None:
        at = started + timedelta(seconds=condition.running_s)
        if ended is None or at <= ended:
            found.append((attempt, at, "runs_long"))
    if condition.waiting_s is not None:
        at = (attempt.submitted_at or attempt.created_at) + timedelta(seconds=condition.waiting_s)
        over = started or ended
        if over is None or at <= over:
            found.append((attempt, at, "waits_long"))
    return found


def _troubled(attempts: Sequence[Attempt], events: Iterable[Event]) -> Match | None:
    if not attempts:
        return None
    told = next((event for event in events if event.type == "attempt.trouble"), None)
    if told is not None:
        return Match(attempts[-1].n, "trouble", told.at)
    troubled = next((attempt for attempt in attempts if attempt.trouble), None)
    return None if troubled is None else Match(troubled.n, "trouble", troubled.state_since)
