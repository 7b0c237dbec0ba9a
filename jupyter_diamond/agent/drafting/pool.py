"""The names and limits of the user's own pool, for drafts: none is made for a site that is not there."""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_diamond.model.base import Value
from jupyter_diamond.model.snapshot import NodeShape, Snapshot
from jupyter_diamond.parsing.durations import to_friendly
from jupyter_diamond.parsing.memory import to_words


class Partition(Value):
    """One queue: where, and how large its nodes and its time limit are. None: not known."""

    site: str
    partition: str
    gpu_models: tuple[str, ...] = ()
    gpus: int | None = None
    gpu_memory_bytes: int | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    longest_s: int | None = None

    def line(self) -> str:
        """One line for a model."""
        parts = [f"{self.site}:{self.partition}"]
        if self.gpus:
            kind = "|".join(self.gpu_models) or "GPU of unknown kind"
            memory = f" of {to_words(self.gpu_memory_bytes)}" if self.gpu_memory_bytes else " of unknown memory"
            parts.append(f"{self.gpus} x {kind}{memory} a node")
        parts.append(f"{self.cpus if self.cpus is not None else 'unknown'} CPUs a node")
        parts.append(f"{to_words(self.memory_bytes) if self.memory_bytes else 'unknown memory'} a node")
        parts.append(f"at most {to_friendly(self.longest_s)}" if self.longest_s else "time limit unknown")
        return ", ".join(parts)


class Pool(Value):
    """What a draft may name."""

    sites: tuple[str, ...] = ()
    partitions: tuple[Partition, ...] = ()

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """Every kind of GPU, as schedulers name them."""
        return tuple(dict.fromkeys(kind for each in self.partitions for kind in each.gpu_models))


def pool_of(snapshot: Snapshot) -> Pool:
    """The pool as it was read last."""
    found = tuple(
        Partition(
            site=reading.site, partition=record.partition, gpu_models=_models(record.shapes),
            gpus=_most(shape.gpus for shape in record.shapes),
            gpu_memory_bytes=_most(shape.gpu_memory_bytes for shape in record.shapes),
            cpus=_most(shape.cpus for shape in record.shapes),
            memory_bytes=_most(shape.memory_bytes for shape in record.shapes),
            longest_s=record.walltime_cap_s if isinstance(record.walltime_cap_s, int) else None,
        )
        for reading in snapshot.sites
        for record in reading.records
    )  # fmt: skip
    return Pool(sites=tuple(reading.site for reading in snapshot.sites), partitions=found)


def _models(shapes: Iterable[NodeShape]) -> tuple[str, ...]:
    names = [name for shape in shapes for name in (shape.gpu_model, *(kind.model for kind in shape.gpu_kinds))]
    return tuple(dict.fromkeys(name for name in names if name))


def _most(amounts: Iterable[int | None]) -> int | None:
    return max((amount for amount in amounts if amount), default=None)
