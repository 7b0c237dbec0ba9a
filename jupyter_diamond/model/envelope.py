"""What a task needs, as ranges, and one concrete size inside them."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal

from pydantic import Field, model_validator

from .base import UtcTime, Value
from .data import StageIn, StageOut
from .environment import Environment

Objective = Literal[
    "earliest_completion", "earliest_start", "lowest_cost", "least_waste", "prefer_site",
    "shortest_queue", "best_feasible", "random",
]  # fmt: skip
"""What is made small. The last three are baselines to compare with."""

Softenable = Literal[
    "arch", "gpu_model", "gpu_memory", "fabric", "container", "sites", "deadline", "max_charge", "preemptible",
]  # fmt: skip
"""What may be a wish rather than a condition: a candidate that does not meet it is ranked behind those that do."""


MOST: dict[str, int] = {
    "nodes": 1_000_000, "cpus": 100_000, "gpus": 10_000, "memory_bytes": 1 << 60, "walltime_s": 3660 * 86_400,
}  # fmt: skip
"""More of this than any machine has, per node but for ``nodes`` and ``walltime_s``: a slip of the keyboard."""


class Span(Value):
    """From the least viable to the most useful amount, both ends included."""

    min: int = Field(ge=0)
    max: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if self.min > self.max:
            raise ValueError(f"the range {self.min}-{self.max} runs backwards")
        return self

    @classmethod
    def exactly(cls, amount: int) -> Span:
        """A range of one amount."""
        return cls(min=amount, max=amount)


class Runtime(Value):
    """How long the work takes, as far as the user can say: a guess for placing, never a limit.

    ``seconds`` is the time on ``units`` (GPUs of the whole job where it asks for any, else cores); ``units`` None: on
    any size that is asked. ``serial`` is the part of it that no further unit makes shorter (Amdahl); None: more units
    do not help. ``curve`` has measured (units, seconds) instead, ascending, between which it is interpolated.
    """

    seconds: float = Field(gt=0, allow_inf_nan=False)
    units: int | None = Field(default=None, ge=1)
    serial: float | None = Field(default=None, ge=0, le=1)
    curve: tuple[tuple[int, float], ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Runtime:
        if self.serial is not None and self.units is None:
            raise ValueError("a scaling needs the number of units at which the time was taken: write 2h@1")
        sizes = [units for units, _ in self.curve]
        if sizes != sorted(set(sizes)) or any(units < 1 or seconds <= 0 for units, seconds in self.curve):
            raise ValueError("a scaling curve names ascending numbers of units, each with its time")
        return self

    def at(self, units: int) -> float:
        """Seconds on so many units, where the time was taken."""
        if self.curve:
            return self._interpolated(units)
        if self.serial is None or self.units is None:
            return self.seconds
        return self.seconds * self._amdahl(self.serial, units) / self._amdahl(self.serial, self.units)

    @staticmethod
    def _amdahl(serial: float, units: int) -> float:
        return serial + (1.0 - serial) / units

    def _interpolated(self, units: int) -> float:
        """Between measured sizes; outside of them the nearest one, as nobody has measured more."""
        sizes = [each for each, _ in self.curve]
        at = bisect_left(sizes, units)
        if at in (0, len(sizes)):
            return self.curve[max(at - 1, 0)][1]
        (low, slow), (high, fast) = self.curve[at - 1], self.curve[at]
        return slow + (fast - slow) * (units - low) / (high - low)


class Envelope(Value):
    """[least viable, most useful] per resource, conditions and wishes, what is made small, and where it was pinned.

    ``cpus`` and ``gpus`` are per node; ``memory_bytes`` is per node, None when the site's default will do.
    ``gpu_model`` names the kinds of GPU that will do, ``a100|h100``; ``gpu_memory_bytes`` is the least of one GPU.
    ``sites`` are the only ones that will do, in order of preference; empty: any. ``soft`` names the conditions that are
    wishes. ``max_charge`` is in the site's own unit. ``preemptible``: a place whose jobs give way to others will do.
    ``stage_in`` is data that must be at the site before the job is submitted, ``stage_out`` the files that it leaves;
    ``env`` is what the cell runs in there, None: the site's own interpreter.
    ``seed`` makes objective ``random`` repeatable; it is drawn and recorded where it is not given.
    """

    nodes: Span = Span.exactly(1)
    cpus: Span = Span.exactly(1)
    gpus: Span = Span.exactly(0)
    memory_bytes: Span | None = None
    walltime_s: Span = Span.exactly(30 * 60)
    arch: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]{1,15}$")
    gpu_model: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]*(\|[A-Za-z0-9][A-Za-z0-9 _.-]*)*$"
    )
    gpu_memory_bytes: int | None = Field(default=None, ge=1)
    site: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    objective: Objective = "earliest_completion"
    seed: int | None = Field(default=None, ge=0)
    runtime: Runtime | None = None
    sites: tuple[str, ...] = ()
    fabric: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.+-]*$")
    container: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")
    """A container runtime that must be there, ``apptainer``; no image."""
    preemptible: bool = False
    unknown_charge: bool = False
    """A place whose charge is not known will do, though the user has set a cap."""
    deadline: UtcTime | None = None
    max_charge: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    soft: tuple[Softenable, ...] = ()
    stage_in: tuple[StageIn, ...] = ()
    stage_out: tuple[StageOut, ...] = ()
    env: Environment | None = None

    @model_validator(mode="after")
    def _within_reason(self) -> Envelope:
        for name, most in MOST.items():
            span = getattr(self, name)
            if span is not None and span.max > most:
                raise ValueError(f"{name} of {span.max:,} is more than any machine has: at most {most:,} can be asked")
        if len(set(self.sites)) != len(self.sites):
            raise ValueError("sites names one of them twice")
        if len({each.name for each in self.stage_in}) != len(self.stage_in):
            raise ValueError("stage_in names the same data twice")
        return self

    @model_validator(mode="after")
    def _useful(self) -> Envelope:
        for name in ("nodes", "cpus", "walltime_s"):
            if getattr(self, name).min < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.memory_bytes is not None and self.memory_bytes.min < 1:
            raise ValueError("memory_bytes must be at least 1")
        for name in ("gpu_model", "gpu_memory_bytes"):
            if getattr(self, name) is not None and self.gpus.min < 1:
                raise ValueError(f"{name} needs a GPU: write --gpus 1")
        if self.partition is not None and self.site is None:
            raise ValueError("a partition needs its site: write --site SITE:PARTITION")
        if self.site is not None and self.sites and self.site not in self.sites:
            raise ValueError(f"it is pinned to {self.site}, which is not among --sites {','.join(self.sites)}")
        return self


class Size(Value):
    """One concrete allocation: what is asked of the scheduler. ``cpus``, ``gpus`` and ``memory_bytes`` are per node."""

    nodes: int = Field(default=1, ge=1)
    cpus: int = Field(default=1, ge=1)
    gpus: int = Field(default=0, ge=0)
    gpu_type: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """The scheduler's own name of the kind of GPU; set only where a partition mixes kinds."""
    memory_bytes: int | None = Field(default=None, ge=1)
    walltime_s: int = Field(ge=1)
