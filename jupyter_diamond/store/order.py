"""Which moves between states are possible: never out of an end, never backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Attempt


def may_move(attempt: Attempt, to: State, said: Mapping[str, Any]) -> bool:
    """Whether the attempt may go to the state ``to``. Skipped states are fine.

    ``said`` is the event's data: a true ``requeued`` says that the scheduler sent the job back to its queue, the only
    honest way backwards. UNKNOWN may be entered and left at any time, but does not forget that the job had started.
    """
    now = attempt.state
    if now == to:
        return True
    if now.terminal or now is State.STAGING_OUT:  # the job of the latter is over, and there is no more news of it
        return to.terminal and not now.terminal
    if said.get("requeued"):
        return True
    if to.phase is Phase.PENDING:
        return now.phase is not Phase.RUNNING and attempt.started_at is None
    if to is State.SUBMIT_UNKNOWN:
        return now.phase is Phase.PENDING or now is State.UNKNOWN
    # the end-file is there: a queue that still says "running" is behind
    return not (to in (State.RUNNING, State.SUSPENDED) and (now is State.COMPLETING or attempt.result_ready))
