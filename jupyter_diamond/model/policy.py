"""What a site allows in one partition, beyond what its scheduler tells: how to ask, for how long, on which account."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Value

SelectBy = Literal["partition", "constraint", "queue"]
ResourceKind = Literal["cpu", "gpu"]


class WalltimeStep(Value):
    """Jobs of up to so many nodes may run for so long."""

    nodes: int = Field(ge=1)
    walltime_s: int = Field(ge=1)


class RequiredOption(Value):
    """An option without which the site refuses a job. ``example`` is what the user would write."""

    option: str = Field(pattern=r"^[a-z][a-z-]*$")
    example: str = ""
    why: str = ""


class ChargeModel(Value):
    """What an hour here costs, in the site's own ``unit``: the largest of the shares that are named.

    ``resource`` ``node``: whole nodes are charged. One unit buys so many cores, GPUs and so much memory for an hour;
    None: that is not charged by itself. ``factor`` multiplies, ``least_s`` is charged even where less was used.
    """

    resource: Literal["cpu", "gpu", "node"]
    unit: str
    cores_per_unit: int | None = None
    memory_per_unit: int | None = None
    gpus_per_unit: int | None = None
    factor: float | None = None
    """None where the site multiplies by a number that is not known here: then no charge is known."""
    least_s: int | None = None


class PartitionPolicy(Value):
    """The documented rules of one partition. None is unknown; an empty tuple is *no such rule known*."""

    machine: str
    select_by: SelectBy = "partition"
    selectable: bool = True
    """False: the site's own partition, which a job never names there (Perlmutter)."""
    resource: ResourceKind | None = None
    walltime_by_nodes: tuple[WalltimeStep, ...] = ()
    """Ascending; jobs larger than the last step are not described."""
    min_walltime_s: int | None = None
    min_nodes: int | None = None
    gpu_counts: tuple[int, ...] = ()
    """GPUs that one job may have, in all."""
    reached_through: str | None = None
    """The routing queue that hands jobs to this one; jobs cannot name it themselves."""
    by_request: bool = False
    unavailable: str = ""
    charge_factor: float | None = None
    min_charge_s: int | None = None
    charge: ChargeModel | None = None
    preemptible: str = ""
    """How its jobs give way to others; empty: they do not, as far as is known."""
    containers: tuple[str, ...] = ()
    """The container runtimes of the machine; empty: none is known."""
    fabric: str | None = None
    """The network between its nodes, as documented: ``InfiniBand NDR``."""
    account_pattern: str | None = None
    """A shell pattern that the account's name follows, e.g. ``*-delta-gpu``."""
    required_options: tuple[RequiredOption, ...] = ()
    forbidden_options: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    """What to choose instead, where this partition is not selectable."""


class Drift(Value):
    """Something that a machine's profile says and the site's own answer contradicts."""

    site: str
    partition: str | None = None
    field: str
    profile: str
    probe: str
    sentence: str

    @property
    def key(self) -> str:
        """The same for the same contradiction, whenever it is seen."""
        return f"drift:{self.partition or ''}:{self.field}:{self.profile}:{self.probe}"
