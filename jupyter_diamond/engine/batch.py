"""What one submission brings into a queue: a task's newest attempt alone, or all that are members of one job array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task, TaskRequest
from jupyter_diamond.schedulers.base import Arrays, Scheduler

SMALL_BYTES = 1 << 20


def newest(task: Task) -> Attempt:
    """The newest attempt; a stored task always has one."""
    attempt = task.attempt
    assert attempt is not None, "a stored task has an attempt"
    return attempt


@dataclass(frozen=True)
class Inputs:
    """What a submission sends, besides what the attempt itself says. ``at_once``: so many of an array run together."""

    request: TaskRequest
    key: str
    """The attempt's own, or its array's; empty where it is still to be read."""
    bundle: bytes = field(repr=False)
    announced: bool = False
    """The intent was stored together with the task, just now, and nothing has been sent yet."""
    at_once: int | None = None

    @property
    def small(self) -> bool:
        """Whether packing it takes less time than a way to another thread and back."""
        return len(self.bundle) <= SMALL_BYTES


@dataclass(frozen=True)
class Batch:
    """Tasks whose newest attempts share a submission: all of one array, or one that is none's. Never empty.

    What concerns the submission is the same in all of them, for it is stored for all in one transaction.
    """

    tasks: tuple[Task, ...]

    @property
    def lead(self) -> Task:
        """The one that is looked at for what all share."""
        return self.tasks[0]

    @property
    def attempt(self) -> Attempt:
        """The newest attempt of the lead."""
        return newest(self.lead)

    @property
    def token(self) -> str:
        """The job's name."""
        place = self.attempt.array
        return self.attempt.token if place is None else place.token

    @property
    def name(self) -> str:
        """For the log."""
        return self.lead.name if len(self.tasks) == 1 else f"{self.lead.name} and {len(self.tasks) - 1} more"

    @property
    def is_array(self) -> bool:
        """Whether it is submitted as an array; one of a single member is, too."""
        return self.attempt.array is not None

    @property
    def ats(self) -> tuple[int, ...]:
        """The places of an array's members, in order; empty for a task alone."""
        return tuple(sorted(self._at(task) for task in self.tasks)) if self.is_array else ()

    @property
    def folder(self) -> str:
        """Where the submission is staged; empty before that is known."""
        folder = self.attempt.folder or ""
        return files.array_folder(folder) if folder and self.is_array else folder

    @property
    def unsure(self) -> bool:
        """A job of it that nobody knows may come."""
        return self.attempt.may_come or self.attempt.state in (State.SUBMITTING, State.SUBMIT_UNKNOWN)

    @property
    def members(self) -> bytes:
        """The file of that name: which member of the group is at which place."""
        rows = ((self._at(task), task) for task in self.tasks)
        lines = [f"{at} {at if task.member is None else task.member.index}\n" for at, task in sorted(rows, key=_first)]
        return "".join(lines).encode()

    def folder_of(self, task: Task, folder: str) -> str:
        """A member's own folder, where ``folder`` is the submission's."""
        return files.member_folder(folder, self._at(task)) if self.is_array else folder

    def jobs(self, job: NativeJob, scheduler: Scheduler) -> Callable[[Task], NativeJob]:
        """What gives each member its own job, where ``job`` is the submission's."""
        if not self.is_array or not isinstance(scheduler, Arrays):
            return lambda _: job
        return lambda task: scheduler.member(job, self._at(task))

    def found(self, rows: Sequence[JobRow], scheduler: Scheduler) -> tuple[NativeJob, datetime | None]:
        """The job by its token, and when it was submitted; of several the first that is not over.

        An array is over when each of its rows is.
        """
        jobs: dict[NativeJob, list[JobRow]] = {}
        for row in rows:
            job = scheduler.array_of(row.job) if self.is_array and isinstance(scheduler, Arrays) else row.job
            jobs.setdefault(job, []).append(row)
        first = min(jobs, key=lambda job: (all(row.state.terminal for row in jobs[job]), job.id))
        return first, jobs[first][0].submitted_at

    def without(self, gone: Collection[str]) -> Batch | None:
        """The others, by their tasks' ids; None where nobody is left."""
        left = tuple(task for task in self.tasks if task.id not in gone)
        return Batch(left) if left else None

    def of(self, tasks: Iterable[Task]) -> Batch:
        """The same batch, as its tasks are now."""
        return Batch(tuple(tasks))

    def changed(self, tasks: Iterable[Task]) -> Batch:
        """The same batch, some of it as they are now."""
        now = {task.id: task for task in tasks}
        return Batch(tuple(now.get(task.id, task) for task in self.tasks))

    @staticmethod
    def _at(task: Task) -> int:
        place = newest(task).array
        assert place is not None, "a member of an array has a place in it"
        return place.at


def batches(tasks: Sequence[Task]) -> list[Batch]:
    """The submissions that these tasks wait for, in order of their first task."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        place = newest(task).array
        found.setdefault(newest(task).token if place is None else place.token, []).append(task)
    return [Batch(tuple(together)) for together in found.values()]


def is_in(task: Task, token: str) -> bool:
    """Nothing more is to be done for a task in the batch of this token."""
    attempt = newest(task)
    place = attempt.array
    of = attempt.token if place is None else place.token
    return attempt.native is not None or attempt.state.terminal or of != token


def unwanted(task: Task) -> bool:
    """Nothing of it is to be sent now."""
    return task.cancel_requested_by is not None or newest(task).withdrawal is not None or task.held_by is not None


def spooled_as(task: Task) -> str:
    """Under which name a task's inputs are kept: those of a group's members are its own."""
    return task.id if task.member is None else task.member.group


def _first(row: tuple[int, Task]) -> int:
    return row[0]
