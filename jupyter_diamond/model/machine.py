"""A known machine: what its documentation says, every fact with its source. What is not known is absent."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from .base import Value
from .jobs import Dialect
from .policy import ChargeModel, PartitionPolicy, RequiredOption, ResourceKind, SelectBy, WalltimeStep

_TIME = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_MEMORY = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_CLASS = {"G": 1 << 30}


def _amount(units: dict[str, int], example: str) -> BeforeValidator:
    def read(given: Any) -> Any:
        if not isinstance(given, str):
            raise ValueError(f"must have a unit, for example {example}")  # noqa: TRY004 - what pydantic reads
        number, _, unit = given.partition(" ")
        try:
            return int(Fraction(number) * units[unit])
        except (KeyError, ValueError, ZeroDivisionError):
            raise ValueError(f"must be an amount such as {example}") from None

    return BeforeValidator(read)


Seconds = Annotated[int, _amount(_TIME, "48 h or 30 min"), Field(ge=1)]
Bytes = Annotated[int, _amount(_MEMORY, "256 GB or 512 GiB"), Field(ge=1)]
GpuClass = Annotated[int, _amount(_CLASS, "40 G"), Field(ge=1)]
"""A GPU's nominal memory, as vendors name it and users ask for it (``--gpu-memory 40G`` fits a *40 G* one)."""


def _listed(given: Any) -> Any:
    return (given,) if isinstance(given, str) else given


class Source(Value):
    """A text that facts come from. ``dated`` is its own date, where it has one; ``read`` is when it was read."""

    title: str
    url: str = ""
    commit: str = ""
    dated: date | None = None
    read: date


class Fact(Value):
    """Something with its sources, named by their ids. An unconfirmed fact is shown and decides nothing."""

    source: Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
    confidence: Literal["documented", "unconfirmed"] = "documented"


class Host(Fact):
    """A login host's name, or the domain above it: ``*`` stands for any characters but dots."""

    pattern: str = Field(pattern=r"^[a-z0-9*][a-z0-9*-]*(\.[a-z0-9*-]+)+$")


class NodeKind(Fact):
    """One kind of node. ``threads`` is what the scheduler may count as CPUs, ``usable`` what it leaves to jobs."""

    cpus: int | None = Field(default=None, ge=1)
    usable: int | None = None
    threads: int | None = None
    memory: Bytes | None = None
    gpus: int = Field(default=0, ge=0)
    gpu_model: str | None = None
    gpu_memory: GpuClass | None = None
    arch: Literal["x86_64", "aarch64"] | None = None
    count: int | None = Field(default=None, ge=1)

    @property
    def cpu_counts(self) -> frozenset[int]:
        """How many CPUs a scheduler may say that such a node has."""
        return frozenset(number for number in (self.cpus, self.usable, self.threads) if number is not None)


class Step(Value):
    """Up to so many nodes for so long."""

    nodes: int = Field(ge=1)
    walltime: Seconds


class SubmitAs(Value):
    """What a job says to get here, where that is not the partition's own name."""

    partition: str | None = None
    qos: str | None = None
    constraint: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_&|.:*-]+$")


class MachinePartition(Fact):
    """One partition (PBS: queue) as documented."""

    nodes: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    walltime: Seconds | None = None
    walltime_by_nodes: tuple[Step, ...] = ()
    min_walltime: Seconds | None = None
    min_nodes: int | None = Field(default=None, ge=1)
    max_nodes: int | None = Field(default=None, ge=1)
    gpu_counts: tuple[int, ...] = ()
    whole_node: bool | None = None
    charge_factor: float | None = Field(default=None, gt=0)
    min_charge: Seconds | None = None
    max_running: int | None = None
    max_queued: int | None = None
    user_nodes: int | None = None
    by_request: bool = False
    unavailable: str = ""
    preemptible: str = ""
    reached_through: str | None = None
    routes: bool = False
    """A routing queue: it hands each job to another one by its size."""
    submit_as: SubmitAs | None = None

    @model_validator(mode="after")
    def _steps_ascend(self) -> MachinePartition:
        sizes = [step.nodes for step in self.walltime_by_nodes]
        if sizes != sorted(set(sizes)):
            raise ValueError("walltime_by_nodes must name ascending numbers of nodes")
        return self

    def rules(self) -> dict[str, Any]:
        """What of it is a rule for jobs, by the names of PartitionPolicy."""
        return {
            "walltime_by_nodes": tuple(
                WalltimeStep(nodes=step.nodes, walltime_s=step.walltime) for step in self.walltime_by_nodes
            ),
            "min_walltime_s": self.min_walltime, "min_nodes": self.min_nodes, "gpu_counts": self.gpu_counts,
            "reached_through": self.reached_through, "by_request": self.by_request, "unavailable": self.unavailable,
            "charge_factor": self.charge_factor, "min_charge_s": self.min_charge, "preemptible": self.preemptible,
        }  # fmt: skip


class Choice(Fact):
    """How a job says where it wants to run."""

    by: SelectBy


class Switch(Fact):
    """A yes or no."""

    value: bool


class ForbiddenOption(Fact):
    """An option that the site refuses, or punishes."""

    option: str = Field(pattern=r"^--?[A-Za-z][A-Za-z-]*$")
    why: str = ""


class MissingOption(Fact):
    """An option that the site requires."""

    option: str = Field(pattern=r"^[a-z][a-z-]*$")
    example: str = ""
    why: str = ""


class Charge(Fact):
    """What one unit of credit buys: the larger of the shares of cores and memory where both are named."""

    resource: ResourceKind | Literal["node"]
    unit: str
    cores_per_unit: int | None = None
    memory_per_unit: Bytes | None = None
    gpus_per_unit: int | None = None
    nodes: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    rule: str = ""


class AccountName(Fact):
    """How accounts that pay for a kind of resource are named, as a shell pattern."""

    resource: ResourceKind | None = None
    pattern: str


class Fabric(Fact):
    """The network between nodes, with the names of its kind and speed: ``InfiniBand NDR``."""

    name: str = Field(pattern=r"^[A-Za-z0-9]+([ -][A-Za-z0-9]+)*$")
    nodes: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    """The kinds of node that have it; empty: all."""


BalanceForm = Literal["accounts", "mybalance", "sbank", "taccinfo"]


class BalanceCommand(Fact):
    """The site's own command that tells what is left on accounts. ``form`` is how its answer is read.

    Without a form what it prints is not documented, so balances there are unknown. ``unit`` is that of the charges.
    """

    command: str = Field(pattern=r"^[A-Za-z0-9_/.-]+( [A-Za-z0-9_/.:=-]+)*$")
    form: BalanceForm | None = None
    unit: str = ""


class Container(Fact):
    """A container runtime and the line that brings it, where one is needed."""

    runtime: str
    module: str = ""


class LoginLimit(Fact):
    """What the site asks of whoever works on its login nodes."""

    what: str
    amount: str = ""


class PollFloor(Fact):
    """Ask the scheduler no more often than this."""

    every: Seconds


class Machine(Value):
    """The profile of one machine. ``source`` is where its name and its scheduler come from."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: str
    scheduler: Literal["slurm", "pbs"]
    source: Annotated[tuple[str, ...], BeforeValidator(_listed), Field(min_length=1)]
    sources: dict[str, Source] = Field(min_length=1)
    hosts: tuple[Host, ...] = Field(min_length=1)
    select_by: Choice | None = None
    nodes: dict[str, NodeKind] = Field(min_length=1)
    partitions: dict[str, MachinePartition] = Field(default_factory=dict)
    whole_node: Switch | None = None
    gpu_visible_in_gres: Switch | None = None
    forbidden_options: tuple[ForbiddenOption, ...] = ()
    required_options: tuple[MissingOption, ...] = ()
    charges: tuple[Charge, ...] = ()
    accounts: tuple[AccountName, ...] = ()
    containers: tuple[Container, ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    balance: BalanceCommand | None = None
    login_limits: tuple[LoginLimit, ...] = ()
    poll_floor: PollFloor | None = None
    notes: tuple[LoginLimit, ...] = ()

    @field_validator("partitions")
    @classmethod
    def _partition_names(cls, found: dict[str, MachinePartition]) -> dict[str, MachinePartition]:
        for name, each in found.items():
            if each.reached_through is not None and each.reached_through not in found:
                raise ValueError(f"{name} is reached through {each.reached_through!r}, which is no partition here")
        return found

    @model_validator(mode="after")
    def _nodes_exist(self) -> Machine:
        for name, part in self.partitions.items():
            for kind in part.nodes:
                if kind not in self.nodes:
                    raise ValueError(f"partition {name} names nodes {kind!r}, which are not described")
        return self

    def settled(self) -> Machine:
        """Without what is unconfirmed: only this may decide anything."""
        nodes = {name: kind for name, kind in self.nodes.items() if _sure(kind)}
        parts = {name: part for name, part in self.partitions.items() if _sure(part)}
        changes: dict[str, Any] = {
            "nodes": nodes,
            "partitions": {
                name: part.model_copy(update={"nodes": tuple(kind for kind in part.nodes if kind in nodes)})
                for name, part in parts.items()
            },
        }
        for field in ("select_by", "whole_node", "gpu_visible_in_gres", "poll_floor", "balance"):
            fact = getattr(self, field)
            changes[field] = fact if fact is not None and _sure(fact) else None
        for field in ("hosts", "forbidden_options", "required_options", "charges", "accounts", "containers",
                      "fabrics", "login_limits", "notes"):  # fmt: skip
            changes[field] = tuple(fact for fact in getattr(self, field) if _sure(fact))
        return self.model_copy(update=changes)

    @property
    def by(self) -> SelectBy:
        """How a job says where it wants to run."""
        return self.select_by.by if self.select_by is not None else "partition"

    def kinds(self, partition: str) -> tuple[NodeKind, ...]:
        """The kinds of node of a partition; empty when they are not described."""
        part = self.partitions.get(partition)
        return tuple(self.nodes[name] for name in part.nodes) if part is not None else ()

    def resource(self, partition: str) -> ResourceKind | None:
        """What a partition is for: nodes with GPUs, or without."""
        with_gpus = {kind.gpus > 0 for kind in self.kinds(partition)}
        if len(with_gpus) != 1:
            return None
        return "gpu" if with_gpus == {True} else "cpu"

    def policy(self, partition: str) -> PartitionPolicy:
        """The rules of a partition; of one that is not described, those of the whole machine."""
        part = self.partitions.get(partition)
        resource = self.resource(partition)
        pattern = next((each.pattern for each in self.accounts if each.resource in (None, resource)), None)
        policy = PartitionPolicy(
            machine=self.title,
            select_by=self.by,
            selectable=self.by != "constraint" or part is not None,
            resource=resource,
            account_pattern=pattern,
            lanes=tuple(self.partitions) if self.by == "constraint" and part is None else (),
            required_options=tuple(
                RequiredOption(option=each.option, example=each.example, why=each.why) for each in self.required_options
            ),
            forbidden_options=tuple(each.option for each in self.forbidden_options),
            containers=tuple(each.runtime for each in self.containers),
            fabric=self.fabric(partition),
        )
        if part is None:
            return policy
        return policy.model_copy(update={**part.rules(), "charge": self.charge(partition)})

    def fabric(self, partition: str) -> str | None:
        """The network of all nodes of a partition; None where it is not documented, or differs."""
        part = self.partitions.get(partition)
        named = set(part.nodes) if part is not None else set()
        everywhere = [each.name for each in self.fabrics if not each.nodes or (named and named <= set(each.nodes))]
        return everywhere[0] if len(everywhere) == 1 else None

    def charge(self, partition: str) -> ChargeModel | None:
        """What an hour of a described partition costs; None where that is not documented, or not for sure."""
        part = self.partitions[partition]
        resource = self.resource(partition)
        fitting = [
            each for each in self.charges
            if each.resource in ("node", resource) and (not each.nodes or set(each.nodes) >= set(part.nodes))
        ]  # fmt: skip
        if len(fitting) != 1 or (resource is None and fitting[0].resource != "node"):
            return None
        each = fitting[0]
        if (each.cores_per_unit, each.memory_per_unit, each.gpus_per_unit) == (None,) * 3 and each.resource != "node":
            return None
        multiplied = any(other.charge_factor is not None for other in self.partitions.values()) or "factor" in each.rule
        return ChargeModel(
            resource=each.resource, unit=each.unit, cores_per_unit=each.cores_per_unit,
            memory_per_unit=each.memory_per_unit, gpus_per_unit=each.gpus_per_unit,
            factor=part.charge_factor if multiplied else 1.0, least_s=part.min_charge,
        )  # fmt: skip

    def ask_for(self, partition: str | None, qos: str | None) -> tuple[str | None, str | None, Dialect]:
        """What a batch script says for a partition: its partition, its QOS, and the dialect of this machine."""
        part = self.partitions.get(partition) if partition is not None else None
        how = part.submit_as if part is not None else None
        constraint = None
        if how is not None:
            partition, qos, constraint = how.partition, qos or how.qos, how.constraint
        return partition, qos, Dialect(
            forbidden_options=tuple(each.option for each in self.forbidden_options),
            names_gpus=self.gpu_visible_in_gres is None or self.gpu_visible_in_gres.value,
            constraint=constraint,
        )  # fmt: skip


def _sure(fact: Fact) -> bool:
    return fact.confidence == "documented"
