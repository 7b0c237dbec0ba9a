"""What was read in code: plain facts, each with the line that shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Shown(NamedTuple):
    """A number that the code shows, and where. ``n`` None: as many as there are, or it does not say."""

    n: int | None
    evidence: str


class Named(NamedTuple):
    """A model that the code names."""

    name: str
    evidence: str


class Sized(NamedTuple):
    """Data that the code makes or reads. ``on_gpu``: it is made there."""

    bytes: int
    evidence: str
    on_gpu: bool = False


@dataclass
class CodeFacts:
    """One per draft. Lists are in the order of the code."""

    imports: dict[str, str] = field(default_factory=dict)
    """A module, and the line that imports it."""
    gpu: list[str] = field(default_factory=list)
    """Lines that cannot do without a GPU."""
    gpu_if_there: list[str] = field(default_factory=list)
    """Lines that use one where there is one."""
    no_gpu: list[str] = field(default_factory=list)
    """Lines that say that none is wanted."""
    gpus: list[Shown] = field(default_factory=list)
    """How many GPUs a node."""
    data_parallel: list[str] = field(default_factory=list)
    """Lines that spread one model's training over several GPUs, each with a copy."""
    sharded: list[str] = field(default_factory=list)
    """Lines that split one model over several GPUs."""
    nodes: list[Shown] = field(default_factory=list)
    ranks: list[Shown] = field(default_factory=list)
    """Processes of MPI, over all nodes."""
    workers: list[Shown] = field(default_factory=list)
    """Processes or threads that work at once."""
    loaders: list[Shown] = field(default_factory=list)
    """Processes that load data for one GPU's process."""
    models: list[Named] = field(default_factory=list)
    dtype: tuple[str, str] | None = None
    """float16, int8 or int4, and where."""
    training: list[str] = field(default_factory=list)
    optimizer: tuple[str, str] | None = None
    adapters: str | None = None
    arrays: list[Sized] = field(default_factory=list)
    files: list[tuple[str, str, float]] = field(default_factory=list)
    """Path, line, and how many times its size it takes in memory."""
    epochs: Shown | None = None
    batch: Shown | None = None
    checkpoints: str | None = None
    unreadable: str = ""
    """Why the code could not be read as Python; empty where it could."""

    @property
    def trains(self) -> bool:
        """Whether a model is trained, as far as the code shows."""
        return bool(self.training)
