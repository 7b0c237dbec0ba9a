"""One active attempt, and what is known about it beyond the store."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field

from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.news.log_ear import LogEar
from jupyter_diamond.engine.pace import Pace
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.manifest import EndFile, Manifest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task

_ACCOUNTING_FIRST_S = 0.25
"""Slurm's accounting knows the end of a job about half a second after its last file."""


@dataclass
class Watched:
    """One active attempt and what is known about it beyond the store."""

    task: Task
    end: EndFile | None = None
    manifest: Manifest | None = None
    settle: Pace | None = None
    settle_at: float = 0.0
    silent_since: float | None = None
    cancel_at: float = 0.0
    submission: asyncio.Task[None] | None = None
    """What brings it into the queue, alone or with the others of its array."""
    brought: Task | None = None
    """As it is once that has come to something."""
    queue_row: JobRow | None = None
    log_bytes: int = 0
    noticed: bool = False
    sign: tuple[int, int] = (-1, -1)
    """What told at the last look whether anything in the folder had changed, when it did, and when files were read."""
    changed_at: float = 0.0
    read_at: float = -math.inf
    ear: LogEar | None = None
    """Who listens to the job's log; None while nobody does."""
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the user asked for something: a submission that rests between two tries looks at once."""
    healing: asyncio.Task[None] | None = None
    """Its end is being stored, with what follows it."""
    over: bool = False
    """The task goes on in another attempt: what is still heard about this one is no news."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a change is worked out and stored, so that two sources never overwrite each other."""

    @property
    def native(self) -> NativeJob | None:
        """The job's id, once there is one. The shortest way to it: each look at a site asks for thousands of them."""
        return self.task.attempts[-1].native

    @property
    def job_over(self) -> bool:
        """Its job has ended, and only what it left is still brought away: no scheduler is asked about it any more."""
        return self.task.attempts[-1].state is State.STAGING_OUT

    @property
    def log_from(self) -> int | None:
        """From where on the newest attempt's log is wanted; None where it is not."""
        return self.ear.wanted(newest(self.task).n) if self.ear is not None else None

    def ask_accounting(self, now: float, floor: float) -> None:
        """The job seems to be over: ask for the final word soon, then ever more seldom."""
        if self.settle is None:
            self.settle = Pace(_ACCOUNTING_FIRST_S, 30.0, floor=min(floor, 1.0) * _ACCOUNTING_FIRST_S)
            self.settle_at = now + self.settle.next()


def folders(jobs: list[Watched]) -> list[tuple[str, bool]]:
    """Where to look for each job, and whether its start is known."""
    return [(newest(known.task).folder or "", newest(known.task).started_at is not None) for known in jobs]
