"""Memory of GPUs by their names, where neither the site nor its machine's profile says it."""

from __future__ import annotations

from typing import NamedTuple

from jupyter_diamond.model.gpu import GpuModel, GpuTable
from jupyter_diamond.model.snapshot import GpuKind, NodeShape, Record, SiteReading
from jupyter_diamond.parsing.gpu_names import named_bytes, slice_bytes

from .kinds import gpu_words


class _Memory(NamedTuple):
    exact: int | None = None
    least: int | None = None
    most: int | None = None


def with_gpu_memory(reading: SiteReading, table: GpuTable) -> SiteReading:
    """The reading with the memory of its GPUs; what no name tells stays unknown."""
    known: dict[str | None, _Memory] = {}

    def of(model: str | None) -> _Memory:
        if model not in known:
            known[model] = memory_of(model, table)
        return known[model]

    def kind(each: GpuKind) -> GpuKind:
        exact, least, most = of(each.model)
        return each.model_copy(
            update={"memory_bytes": exact, "memory_at_least_bytes": least, "memory_at_most_bytes": most}
        )

    def shape(each: NodeShape) -> NodeShape:
        if not each.gpus or each.gpu_memory_bytes is not None:
            return each
        if each.gpu_kinds:
            return each.model_copy(update={"gpu_kinds": tuple(kind(gpu) for gpu in each.gpu_kinds)})
        exact, least, most = of(each.gpu_model)
        most = each.gpu_memory_at_most_bytes if each.gpu_memory_at_most_bytes is not None else most
        return each.model_copy(
            update={
                "gpu_memory_bytes": exact, "gpu_memory_at_least_bytes": least,
                "gpu_memory_at_most_bytes": None if exact is not None else most,
            }
        )  # fmt: skip

    def record(each: Record) -> Record:
        if all(not one.gpus for one in each.shapes):
            return each
        return each.model_copy(update={"shapes": tuple(shape(one) for one in each.shapes)})

    return reading.model_copy(update={"records": tuple(record(each) for each in reading.records)})


def memory_of(model: str | None, table: GpuTable) -> _Memory:
    """Of one GPU of that name: exactly, or between two documented sizes."""
    if model is None:
        return _Memory()
    part = slice_bytes(model)
    if part is not None:
        return _Memory(exact=part)
    entry = _entry(model, table)
    named = named_bytes(model)
    if named is not None and (entry is None or not entry.names_host_memory):
        return _Memory(exact=named)
    if entry is None:
        return _Memory()
    sizes = entry.memory
    return _Memory(exact=sizes[0]) if len(sizes) == 1 else _Memory(least=min(sizes), most=max(sizes))


def _entry(model: str, table: GpuTable) -> GpuModel | None:
    """The documented model whose words are all in the name; the one with most words where several are."""
    said = gpu_words(model)
    fitting = [gpu for gpu in table.gpus if gpu_words(gpu.name) <= said]
    return max(fitting, key=lambda gpu: len(gpu_words(gpu.name)), default=None)
