"""Live facts, each with its age. None always means *unknown*, never zero."""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple

from pydantic import Field

from .base import UtcTime, Value
from .limits import Cap, Door, OwnUse, SiteLimits
from .policy import PartitionPolicy


class NoLimit(Enum):
    """The site says that there is no limit: neither unknown nor a number."""

    NO_LIMIT = "no_limit"


NO_LIMIT = NoLimit.NO_LIMIT
Limit = int | NoLimit | None
"""A number, NO_LIMIT, or None for unknown."""

Health = Literal["online", "degraded", "offline", "needs_login", "unknown"]
"""``needs_login``: the way there is open again as soon as the user has logged in, and not before."""


class GpuKind(Value):
    """GPUs of one kind on a node that has several. A MIG slice that the scheduler counts is a kind of its own."""

    model: str | None = None
    gpus: int
    memory_bytes: int | None = None
    memory_at_least_bytes: int | None = None
    memory_at_most_bytes: int | None = None


class GpuShare(Value):
    """Parts of GPUs that are given one by one and are no GPUs: shards, or percents of MPS."""

    kind: Literal["shard", "mps"]
    total: int
    free: int | None = None


class NodeShape(Value):
    """A kind of node and how many of them are in service, busy ones included.

    ``gpu_kinds`` is set where one node has several kinds; ``features`` are those that all of its nodes have.
    """

    cpus: int | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    gpu_model: str | None = None
    gpu_memory_bytes: int | None = None
    """Of one GPU, nominal: what vendors put behind its name."""
    gpu_memory_at_most_bytes: int | None = None
    """Where the kind is not certain: none of the GPUs that it may be has more."""
    gpu_memory_at_least_bytes: int | None = None
    """Where the kind is not certain: none of the GPUs that it may be has less."""
    gpu_kinds: tuple[GpuKind, ...] = ()
    arch: str | None = None
    features: tuple[str, ...] = ()
    nodes: int = 0


class FreeNode(Value):
    """What a job could still get on one usable node: the smaller of what is idle and what is not held by others.

    ``whole`` is True when nobody has any part of the node. ``free_for_s`` is how long after it was read a reservation
    begins that takes it away; None when none is known of. ``nodes`` is how many nodes are free in just this way.
    """

    cpus: int
    memory_bytes: int | None = None
    gpus: int | None = 0
    gpu_model: str | None = None
    gpu_kinds: tuple[GpuKind, ...] = ()
    whole: bool | None = None
    free_for_s: int | None = None
    nodes: int = 1


class Record(Value):
    """Live facts of one (site, partition). Counts are of this partition; nodes may be shared with others."""

    site: str
    partition: str
    default: bool = False
    state: Literal["up", "down", "drain", "inactive", "unknown"] = "unknown"
    read_at: UtcTime
    shapes: tuple[NodeShape, ...] = ()
    nodes_total: int | None = None
    nodes_usable: int | None = None
    cpus_total: int | None = None
    cpus_free: int | None = None
    gpus_total: int | None = None
    gpus_free: int | None = None
    memory_free_bytes: int | None = None
    free_nodes: tuple[FreeNode, ...] = ()
    gpu_shares: tuple[GpuShare, ...] = ()
    pending: int | None = None
    running: int | None = None
    mine_pending: int | None = None
    mine_running: int | None = None
    walltime_cap_s: Limit = None
    max_nodes: Limit = None
    whole_node: bool | None = None
    hidden: bool = False
    qos: str | None = None
    """The QOS whose limits hold for every job here."""
    door: Door | None = None
    caps: tuple[Cap, ...] = ()
    """What the user may have here at most, on the site's account; what is not known is not here."""
    policy: PartitionPolicy | None = None
    """What the profile of the site's machine adds; None where the machine is not a known one."""


class Gate(NamedTuple):
    """The resource that decides whether work can start: GPUs where there are any, else cores."""

    unit: Literal["GPU", "CPU"]
    free: int | None
    total: int | None

    @property
    def busy(self) -> int | None:
        """What is not free, for whatever reason."""
        return None if self.free is None or self.total is None else max(0, self.total - self.free)


def gate(record: Record) -> Gate:
    """The gating resource of a partition; ``free`` is what a job could really get there."""
    if (record.gpus_total or 0) > 0 or any((shape.gpus or 0) > 0 for shape in record.shapes):
        return Gate("GPU", record.gpus_free, record.gpus_total)
    return Gate("CPU", record.cpus_free, record.cpus_total)


class SiteReading(Value):
    """What one probe of one site gave. ``read_at`` is None until the first answer.

    ``problem`` is one sentence when the last try failed; the records then are those of the last good probe. Since when
    no try has succeeded is ``failing_since``; when it is tried again by itself is ``next_try_at``. Both are None while
    the site answers.
    """

    site: str
    transport: str
    scheduler: str
    health: Health = "unknown"
    read_at: UtcTime | None = None
    tried_at: UtcTime | None = None
    probe_s: float | None = None
    problem: str = ""
    failing_since: UtcTime | None = None
    next_try_at: UtcTime | None = None
    clock_at: UtcTime | None = None
    """What the site's own clock said while it was probed; ages are by our clock. None: it did not say."""
    scheduler_version: str | None = None
    cluster: str | None = None
    user: str | None = None
    accounting: bool | None = None
    machine: str | None = None
    """The known machine whose profile was merged into the records."""
    records: tuple[Record, ...] = ()
    cpus_total: int | None = None
    cpus_free: int | None = None
    gpus_total: int | None = None
    gpus_free: int | None = None
    pending: int | None = None
    running: int | None = None
    array_places: int | None = None
    """The places of a job array are numbers below this; None: it takes no arrays, or did not say."""
    array_members: int | None = None
    """An array has at most so many members; None where that is said by its places alone."""
    limits: SiteLimits | None = None
    own: tuple[OwnUse, ...] | None = None
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    simulated: bool = False


class Snapshot(Value):
    """Every site's newest reading at one instant. Site totals count each node once; sites are never added up."""

    id: int
    taken_at: UtcTime
    sites: tuple[SiteReading, ...] = Field(default_factory=tuple)
