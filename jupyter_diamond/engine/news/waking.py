"""What a consumer is told: at most 8 KiB of JSON, whatever a job wrote and however long its names are. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from jupyter_diamond.engine.news.conditions import Match
from jupyter_diamond.model.continuation import (
    ActionVerb,
    Continuation,
    ManifestRef,
    NextAction,
    Over,
    Provenance,
    Waking,
)
from jupyter_diamond.model.states import Outcome, Phase
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.parsing.durations import to_friendly

MOST_BYTES = 8 * 1024
_CAUSE_BYTES, _LINE_BYTES, _NEXT_BYTES = 1000, 1000, 600
"""The most bytes of JSON that each text takes."""
_WHY_BYTES, _NAME_BYTES = 1000, 300
_AGAIN = (Outcome.FAILED, Outcome.LOST, Outcome.NODE_FAIL, Outcome.PREEMPTED, Outcome.NEVER_STARTED)


def waking(wanted: Continuation, task: Task, over: Over, match: Match) -> Waking:
    """The news that ends a continuation: what happened, to which attempt, and what may be done now."""
    attempt = next((each for each in task.attempts if each.n == match.attempt), None) or task.attempt
    assert attempt is not None, "a task always has an attempt"
    ended = attempt.state.terminal
    return Waking(
        id=news_id(wanted.id, match.key), continuation=wanted.id, consumer=wanted.consumer, over=over,
        kind=wanted.condition.kind, subject=wanted.subject, name=task.name, state=attempt.state,
        phase=attempt.state.phase, outcome=attempt.state.outcome, failure=attempt.failure, task_state=task.state,
        happened_at=match.at,
        provenance=_provenance(task, attempt),
        manifest=ManifestRef(task=task.id, attempt=attempt.n, path=f"tasks/{task.id}/result")
        if attempt.result_ready and attempt is task.attempt
        else None,
        actions=tuple(_actions(task, attempt) if ended else _meanwhile(task)),
        cause=cut(attempt.cause, _CAUSE_BYTES), next=cut(attempt.next, _NEXT_BYTES), line=cut(match.line, _LINE_BYTES),
        trouble=cut(attempt.trouble, _NEXT_BYTES),
    )  # fmt: skip


def as_data(news: Waking) -> dict[str, Any]:
    """The event's data; never more than 8 KiB of JSON."""
    data = news.model_dump(mode="json")
    assert len(json.dumps(data, separators=(",", ":"))) <= MOST_BYTES, "every field is bounded, and so is their sum"
    return data


def news_id(continuation_id: str, key: str) -> str:
    """The same fact for the same continuation has the same id."""
    return f"n{hashlib.sha256(f'{continuation_id}:{key}'.encode()).hexdigest()[:24]}"


def cut(text: str, most: int) -> str:
    """The beginning of a text that takes at most so many bytes as JSON, with an ellipsis where it was cut."""
    if len(text) <= most and _size(text) <= most:
        return text
    low, high = 0, min(len(text), most)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(text[:middle]) <= most - 6 else (low, middle - 1)
    return f"{text[:low]}…"


def _size(text: str) -> int:
    return len(json.dumps(text)) - 2


def _provenance(task: Task, attempt: Attempt) -> Provenance:
    name: Callable[[str | None], str | None] = lambda text: None if text is None else cut(text, _NAME_BYTES)  # noqa: E731
    return Provenance(
        site=cut(attempt.site, _NAME_BYTES), partition=name(attempt.partition), account=name(attempt.account),
        job=name(str(attempt.native) if attempt.native is not None else None), attempt=attempt.n,
        attempts=len(task.attempts), step=attempt.step, why_here=cut(attempt.why or task.why_here, _WHY_BYTES),
        submitted_at=attempt.submitted_at, started_at=attempt.started_at, ended_at=attempt.ended_at,
        notebook=name(task.notebook.path),
    )  # fmt: skip


def _actions(task: Task, attempt: Attempt) -> list[NextAction]:
    """What may be done now that the attempt has ended."""
    verbs: list[ActionVerb] = ["result"] if attempt.result_ready else []
    found = [NextAction(verb=verb, task=task.id) for verb in (*verbs, "logs", "task", "explain")]
    if not task.state.terminal:
        return [*found, NextAction(verb="cancel", task=task.id)]
    outcome, size = attempt.state.outcome, attempt.size
    if outcome is Outcome.OOM and size.memory_bytes:
        more = {"--memory": f"{-(-2 * size.memory_bytes // 2**30)}G"}
        found.append(NextAction(verb="resubmit", task=task.id, options=more))
    elif outcome is Outcome.TIMEOUT:
        found.append(NextAction(verb="resubmit", task=task.id, options={"--time": to_friendly(2 * size.walltime_s)}))
    elif outcome in _AGAIN:
        found.append(NextAction(verb="resubmit", task=task.id))
    return found


def _meanwhile(task: Task) -> list[NextAction]:
    verbs: list[ActionVerb] = ["logs", "task", "explain", "cancel"]
    if task.phase is Phase.PENDING:
        verbs += ["replan", "release" if task.held_by else "hold"]
    return [NextAction(verb=verb, task=task.id) for verb in verbs]
