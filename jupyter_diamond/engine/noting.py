"""Storing what was heard of attempts: what one answer says of a thousand of them is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

from jupyter_diamond.engine.attempt_folder import Seen
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.heal.endings import Endings
from jupyter_diamond.engine.ledger import Ledger, changed
from jupyter_diamond.engine.reconcile import from_folder, from_queue
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.task import Attempt


class News(NamedTuple):
    """What changes of an attempt, and what the event says."""

    kind: EventType
    data: dict[str, Any]
    changes: dict[str, Any]


Tells = Callable[[Attempt], "News | None"]
"""What a source tells of an attempt as it is known; None where that is no news."""


def by_folder(seen: Seen) -> Tells:
    """What a job's own files tell."""

    def tells(attempt: Attempt) -> News | None:
        changes = from_folder(attempt, seen)
        kind: EventType = "attempt.result_ready" if changes.get("result_ready") else "attempt.state_changed"
        return News(kind, {"from": "files"}, changes) if changes else None

    return tells


def by_queue(row: JobRow, at: float, job: NativeJob | None) -> Tells:
    """What the row of this job in the queue tells; nothing of an attempt that follows another one by now."""

    def tells(attempt: Attempt) -> News | None:
        if attempt.native != job:
            return None
        changes = from_queue(attempt, row, now=from_epoch(at))
        data = {"from": "queue", **({"requeued": True} if row.requeued else {})}
        return News("attempt.state_changed", data, changes) if changes else None

    return tells


async def note(ledger: Ledger, endings: Endings, heard: Sequence[tuple[Watched, Tells]]) -> list[tuple[Watched, News]]:
    """Store what is new of what was heard, each of another attempt; the attempts that it changed, and how."""
    new = [(known, tells) for known, tells in heard if not known.over and tells(newest(known.task)) is not None]
    async with AsyncExitStack() as locks:
        for known, _ in new:
            await locks.enter_async_context(known.lock)
        # as they are now that nobody else changes them
        told = [(known, tells(newest(known.task))) for known, tells in new if not known.over]
        noted = [(known, news) for known, news in told if news is not None]
        tasks = await ledger.change(
            [changed(known.task, news.kind, news.data, news.changes) for known, news in noted]
        )  # fmt: skip
        for (known, _), task in zip(noted, tasks, strict=True):
            known.task = task
            await endings.stays(known)
    return noted
