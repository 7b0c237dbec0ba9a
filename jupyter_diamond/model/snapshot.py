"""Live facts, each with its age. None always means *unknown*, never zero."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import Field

from .base import UtcTime, Value
from .policy import PartitionPolicy


class NoLimit(Enum):
    """The site says that there is no limit: neither unknown nor a number."""

    NO_LIMIT = "no_limit"


NO_LIMIT = NoLimit.NO_LIMIT
Limit = int | NoLimit | None
"""A number, NO_LIMIT, or None for unknown."""

Health = Literal["online", "degraded", "offline", "needs_login", "unknown"]
"""``needs_login``: the way there is open again as soon as the user has logged in, and not before."""


class NodeShape(Value):
    """A kind of node and how many of them are in service, busy ones included."""

    cpus: int | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    gpu_model: str | None = None
    gpu_memory_bytes: int | None = None
    """Of one GPU, nominal: what vendors put behind its name."""
    gpu_memory_at_most_bytes: int | None = None
    """Where the kind is not certain: none of the GPUs that it may be has more."""
    arch: str | None = None
    features: tuple[str, ...] = ()
    nodes: int = 0


class FreeNode(Value):
    """What a job could still get on one usable node: the smaller of what is idle and what is not held by others.

    ``whole`` is True when nobody has any part of the node.
    """

    cpus: int
    memory_bytes: int | None = None
    gpus: int | None = 0
    gpu_model: str | None = None
    whole: bool | None = None


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
    pending: int | None = None
    running: int | None = None
    mine_pending: int | None = None
    mine_running: int | None = None
    walltime_cap_s: Limit = None
    max_nodes: Limit = None
    whole_node: bool | None = None
    hidden: bool = False
    policy: PartitionPolicy | None = None
    """What the profile of the site's machine adds; None where the machine is not a known one."""


class SiteReading(Value):
    """What one probe of one site gave. ``read_at`` is None until the first answer.

    ``problem`` is one sentence when the last try failed; the records then are those of the last good probe.
    """

    site: str
    transport: str
    scheduler: str
    health: Health = "unknown"
    read_at: UtcTime | None = None
    tried_at: UtcTime | None = None
    probe_s: float | None = None
    problem: str = ""
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
    notes: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    simulated: bool = False


class Snapshot(Value):
    """Every site's newest reading at one instant. Site totals count each node once; sites are never added up."""

    id: int
    taken_at: UtcTime
    sites: tuple[SiteReading, ...] = Field(default_factory=tuple)
