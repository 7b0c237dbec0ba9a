"""An append-only, numbered fact about a task, a site, a consumer of news or the login."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .base import UtcTime, Value

EventType = Literal[
    "task.created", "decision.made", "attempt.submitting", "attempt.submitted", "attempt.submit_unknown",
    "attempt.state_changed", "attempt.result_ready", "attempt.terminal", "attempt.trouble", "task.cancel_requested",
    "site.health_changed", "site.profile_drift", "snapshot.refreshed", "lease.taken",
    "login.changed",
    "task.retry", "task.resize", "task.migrate", "task.segment", "task.replanned", "task.not_again",
    "task.held", "task.released", "task.withdrawal", "task.stays", "task.mismatch",
    "group.created", "group.round_started", "group.round_finished", "group.constraint_relaxed", "group.stopped",
    "group.cancel_requested", "group.held", "group.released", "group.ended",
    "continuation.registered", "continuation.fired", "continuation.expired",
    "continuation.withdrawn",
    "charge.reserved", "charge.settled",
    "approval.requested", "approval.granted", "approval.denied", "approval.used", "policy.blocked",
    "agents.switched",
    "data.added", "data.changed", "data.removed", "attempt.staging",
    "transfer.created", "transfer.state_changed", "transfer.progress", "transfer.trouble", "transfer.cancel_requested",
    "transfer.ended", "environment.changed",
]  # fmt: skip


class Event(Value):
    """``seq`` grows by one per store and never has a reader-visible gap filled later.

    ``dedup_key`` makes replaying the same fact harmless. ``data`` holds at most 8 KiB of JSON.
    """

    seq: int
    at: UtcTime
    type: EventType
    subject: str
    """``task:ID``, ``group:ID``, ``site:NAME``, ``consumer:NAME``, ``proposal:ID``, ``data:NAME``,
    ``transfer:ID``, ``agents`` or ``login``."""
    data: dict[str, Any] = Field(default_factory=dict)
    dedup_key: str | None = None
