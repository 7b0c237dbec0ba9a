"""The queue of a site as its users see it: what a forecast is made of.

Plain tuples, not pydantic values: a site may have ten thousand jobs, and none of this is stored or sent anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class QueuedJob(NamedTuple):
    """One job that waits or runs. ``cpus``, ``gpus`` and ``memory_bytes`` are per node; None is unknown.

    Times are seconds since the epoch. ``nodes_held`` names the nodes of a running job. ``held`` is the scheduler's own
    reason where a waiting job cannot start whatever is free (a dependency, a hold, a limit of its user); else empty.
    """

    id: str
    user: str
    partitions: tuple[str, ...]
    nodes: int
    cpus: int
    gpus: int = 0
    memory_bytes: int | None = None
    limit_s: float | None = None
    submitted_at: float | None = None
    started_at: float | None = None
    nodes_held: tuple[str, ...] = ()
    held: str = ""
    mine: bool = False
    priority: float | None = None

    @property
    def running(self) -> bool:
        """It has its nodes."""
        return self.started_at is not None

    @property
    def units(self) -> int:
        """How large it is: GPUs in all where it has any, else cores."""
        return self.nodes * (self.gpus or self.cpus)


class QueueNode(NamedTuple):
    """One node that takes jobs: what it has and what is free on it now. ``gpus`` None: the scheduler does not know."""

    name: str
    partitions: tuple[str, ...]
    cpus: int
    cpus_free: int
    gpus: int | None = 0
    gpus_free: int | None = 0
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SiteQueue:
    """One site's queue at one instant.

    ``pending`` is in the order in which the scheduler will serve it, ``running`` in no order. ``hides_others``: users
    see their own jobs alone, so nothing can be replayed. ``cut``: there were more jobs than were read; the
    first ones are here. ``own_priority`` is what a new job of this user would have now; None: it goes to the end.
    ``me`` is this user, as jobs name theirs.
    """

    site: str
    read_at: float
    nodes: tuple[QueueNode, ...]
    pending: tuple[QueuedJob, ...]
    running: tuple[QueuedJob, ...]
    hides_others: bool = False
    cut: bool = False
    own_priority: float | None = None
    me: str = ""


class OwnRun(NamedTuple):
    """An attempt of ours that ended well, for learning about its site.

    ``work`` is what ran, but for the values that it was given: (name, notebook, digest of the text, units).
    ``prepare_s`` is from the start of the job to that of its cell, and negative where two clocks differ; ``run_s`` from
    there to the end. None is unknown.
    """

    site: str
    work: tuple[str, str, str, int]
    prepare_s: float | None
    run_s: float | None


class PastJob(NamedTuple):
    """A job that has ended, for learning how much of their limit jobs use. ``used_s``: how long it ran."""

    user: str
    limit_s: float
    units: int
    used_s: float
    ended_at: float
