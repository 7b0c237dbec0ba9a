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
