"""Which documented kind of node a live one is, and what that tells of it."""

from __future__ import annotations

from typing import Any, TypeVar

from jupyter_diamond.model.machine import Machine, NodeKind
from jupyter_diamond.model.policy import Drift
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record

from . import words
from .kinds import gpu_words

_T = TypeVar("_T")


def kinds_of(shape: NodeShape, record: Record, profile: Machine, *, hidden: bool) -> tuple[NodeKind, ...]:
    """The documented kinds that this live shape may be. ``hidden``: the scheduler does not know of its GPUs.

    In a partition that is not described, only a kind that agrees in cores, GPUs and their model counts.
    """
    described = profile.kinds(record.partition)
    pool = described or tuple(profile.nodes.values())
    fitting = tuple(kind for kind in pool if _may_be(shape, kind, hidden=hidden, strict=not described))
    by_cores = tuple(kind for kind in fitting if shape.cpus in kind.cpu_counts)
    return by_cores or fitting


def _may_be(shape: NodeShape, kind: NodeKind, *, hidden: bool, strict: bool) -> bool:
    if strict and (hidden or shape.cpus not in kind.cpu_counts or shape.gpus != kind.gpus):
        return False
    if not hidden and shape.gpus is not None and shape.gpus != kind.gpus:
        return False
    if shape.gpu_model is None or kind.gpu_model is None:
        return not strict or kind.gpus == 0
    return bool(gpu_words(shape.gpu_model) & gpu_words(kind.gpu_model))


def _agreed(kinds: tuple[NodeKind, ...], field: str) -> Any:
    """What all kinds say of it; None where they differ or one is silent."""
    said = {getattr(kind, field) for kind in kinds}
    return said.pop() if len(said) == 1 else None


def _first(live: _T | None, documented: _T | None) -> _T | None:
    return documented if live is None else live


def filled(shape: NodeShape, kinds: tuple[NodeKind, ...]) -> NodeShape:
    """The live shape with what it leaves unknown taken from its documented kinds, where they agree."""
    gpus = _first(shape.gpus, _agreed(kinds, "gpus"))
    changes: dict[str, Any] = {
        "cpus": _first(shape.cpus, _agreed(kinds, "usable") or _agreed(kinds, "cpus")),
        "memory_bytes": _first(shape.memory_bytes, _agreed(kinds, "memory")),
        "arch": _first(shape.arch, _agreed(kinds, "arch")),
        "gpus": gpus,
    }
    if gpus:
        changes["gpu_model"] = _first(shape.gpu_model, _agreed(kinds, "gpu_model"))
        changes["gpu_memory_bytes"] = _first(shape.gpu_memory_bytes, _agreed(kinds, "gpu_memory"))
    return shape.model_copy(update=changes)


def _at_most(shape: NodeShape, kinds: tuple[NodeKind, ...], profile: Machine) -> int | None:
    """The memory of the largest GPU that it may have; of a GPU without a name, the machine's largest."""
    if shape.gpus == 0 or shape.gpu_memory_bytes is not None or (shape.gpu_model is not None and not kinds):
        return None
    sizes = [kind.gpu_memory for kind in kinds or profile.nodes.values() if kind.gpus]
    known = [size for size in sizes if size is not None]
    return max(known) if known and len(known) == len(sizes) else None


def with_profile_gpus(record: Record, profile: Machine) -> tuple[Record, list[Drift]]:
    """Shapes completed; where GPUs are not in GRES, they are those of the documented nodes.

    A partition whose nodes have GPUs by the profile and none by the probe is *unknown*, unless the profile says that
    this scheduler shows them.
    """
    visible = profile.gpu_visible_in_gres.value if profile.gpu_visible_in_gres is not None else None
    kinds = profile.kinds(record.partition)
    drifts: list[Drift] = []
    shapes, lost = [], visible is False and not kinds
    for shape in record.shapes:
        hidden = visible is False and not shape.gpus
        fitting = kinds_of(shape, record, profile, hidden=hidden)
        if kinds and (not fitting or _other_cores(shape, fitting)):
            drifts.append(_other_nodes(record, shape, kinds))
        drifts += _other_arch(record, shape, fitting)
        if kinds and not fitting and visible is not True and not shape.gpus and all(kind.gpus for kind in kinds):
            lost = True
        told = filled(shape.model_copy(update={"gpus": None}) if hidden else shape, fitting)
        shapes.append(told.model_copy(update={"gpu_memory_at_most_bytes": _at_most(told, fitting, profile)}))
    if lost:
        shapes = [shape if shape.gpus else shape.model_copy(update={"gpus": None}) for shape in shapes]
        free = tuple(node if node.gpus else node.model_copy(update={"gpus": None}) for node in record.free_nodes)
        changes = {"shapes": tuple(shapes), "free_nodes": free, "gpus_total": None, "gpus_free": None}
        return record.model_copy(update=changes), drifts
    record = record.model_copy(update={"shapes": tuple(shapes)})
    return (_counted_by_node(record) if visible is False else record), drifts


def _counted_by_node(record: Record) -> Record:
    """Free GPUs = free whole nodes x GPUs of a node, as far as the kind of node is certain."""
    amounts = {shape.gpus for shape in record.shapes}
    each = amounts.pop() if len(amounts) == 1 else None
    free = tuple(_with_gpus(node, each) for node in record.free_nodes)
    per_node = [None if node.gpus is None else node.gpus * node.nodes for node in free]
    known = each is not None and None not in per_node
    return record.model_copy(
        update={
            "free_nodes": free,
            "gpus_total": None if each is None or record.nodes_total is None else record.nodes_total * each,
            "gpus_free": sum(n for n in per_node if n) if known and record.cpus_free is not None else None,
        }
    )


def _with_gpus(node: FreeNode, each: int | None) -> FreeNode:
    """Of a node that somebody uses in part no GPU is surely free; whether it is used may be unknown."""
    if each is None or node.whole is None:
        return node.model_copy(update={"gpus": each if each == 0 else None})
    return node.model_copy(update={"gpus": each if node.whole else 0})


def _other_cores(shape: NodeShape, kinds: tuple[NodeKind, ...]) -> bool:
    return shape.cpus is not None and not any(shape.cpus in kind.cpu_counts or kind.cpus is None for kind in kinds)


def _other_nodes(record: Record, shape: NodeShape, kinds: tuple[NodeKind, ...]) -> Drift:
    documented = " or ".join(dict.fromkeys(_nodes(kind.cpus, kind.gpus, kind.gpu_model) for kind in kinds))
    live = _nodes(shape.cpus, shape.gpus, shape.gpu_model)
    return Drift(
        site=record.site, partition=record.partition, field="nodes", profile=documented, probe=live,
        sentence=f"The profile of {record.site} gives nodes of {record.partition} {documented}; "
        f"the site itself says {live}.",
    )  # fmt: skip


def _other_arch(record: Record, shape: NodeShape, kinds: tuple[NodeKind, ...]) -> list[Drift]:
    documented = _agreed(kinds, "arch")
    if documented is None or shape.arch in (None, documented):
        return []
    return [
        Drift(
            site=record.site, partition=record.partition, field="arch", profile=documented, probe=str(shape.arch),
            sentence=f"The profile of {record.site} gives {record.partition} {documented} nodes; "
            f"the site itself says {shape.arch}.",
        )
    ]  # fmt: skip


def _nodes(cpus: int | None, gpus: int | None, model: str | None) -> str:
    cores = "an unknown number of cores" if cpus is None else words.count(cpus, "core")
    if gpus == 0:
        return f"{cores} and no GPU"
    number = "unknown GPUs" if gpus is None else words.count(gpus, f"{model} GPU" if model else "GPU")
    return f"{cores} and {number}"
