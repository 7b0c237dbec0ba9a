"""What must be ready at a site before a batch is sent there: its data, the environment that its cells run in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from jupyter_diamond.engine.batch import Batch
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import DataProblem, DiamondError
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.healing import FailureClass
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.task import Task


class Readiness(Protocol):
    """One kind of thing that is made ready. Everything may be asked again, after a crash at any instant, too."""

    def concerns(self, envelope: Envelope) -> bool:
        """Whether a task of this envelope needs any of it. Asks nobody: each submission waits for the answer."""

    async def ready(self, batch: Batch, link: SiteLink, wake: Callable[[], None]) -> Batch | None:
        """The batch, once it may be sent; None while it is not ready yet, and ``wake`` is called when it may be.

        What goes on meanwhile is stored with the attempts, in state ``staging_in``, and nobody waits here for it.
        Raises DataProblem, or another DiamondError, where it never will be: the attempt ends then. TransportError and
        SchedulerError end nothing: it is asked again.
        """

    async def dressed(self, job: JobRequest, batch: Batch, link: SiteLink) -> JobRequest:
        """The job, with what its script must say to find what was made ready."""

    async def let_go(self, tasks: Sequence[Task]) -> None:
        """These will not be sent: what goes on for them alone is ended."""


class Readying:
    """All kinds, one after the other."""

    def __init__(self) -> None:
        self._kinds: list[Readiness] = []

    def add(self, kind: Readiness) -> None:
        """From now on this is made ready, too."""
        self._kinds.append(kind)

    def concerns(self, envelope: Envelope) -> bool:
        """Whether anything is to be made ready for such a task."""
        return any(kind.concerns(envelope) for kind in self._kinds)

    async def ready(self, batch: Batch, link: SiteLink, wake: Callable[[], None]) -> Batch | None:
        """As each of them says, in turn; the first that is not ready is waited for."""
        now: Batch | None = batch
        for kind in self._for(batch):
            if now is not None:
                now = await kind.ready(now, link, wake)
        return now

    async def dressed(self, job: JobRequest, batch: Batch, link: SiteLink) -> JobRequest:
        """The job with what each of them adds."""
        for kind in self._for(batch):
            job = await kind.dressed(job, batch, link)
        return job

    async def let_go(self, tasks: Sequence[Task]) -> None:
        """End what goes on for these alone."""
        for kind in self._kinds:
            if theirs := [task for task in tasks if kind.concerns(task.envelope)]:
                await kind.let_go(theirs)

    def _for(self, batch: Batch) -> list[Readiness]:
        return [kind for kind in self._kinds if kind.concerns(batch.lead.envelope)]


def of_data(problem: DiamondError) -> dict[str, FailureClass]:
    """What an attempt's end says of a problem that is one of its data, whatever the words of it."""
    return {"failure": "data"} if isinstance(problem, DataProblem) else {}
