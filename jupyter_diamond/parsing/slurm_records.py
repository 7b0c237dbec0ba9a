"""Nodes and partitions of a Slurm site as records: what is there, and what a job could get now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from jupyter_diamond.model.snapshot import FreeNode, GpuKind, GpuShare, NodeShape, Record

from . import slurm_probe as probe
from . import states


class Site(NamedTuple):
    """What all records of one probe share. ``nodes`` None: their state is not known.

    ``free_for`` is how many seconds a node has until a reservation takes it.
    """

    name: str
    read_at: datetime
    nodes: Sequence[probe.Node] | None
    counted: probe.Counts | None
    free_for: Mapping[str, int]


def records(site: Site, partitions: Sequence[probe.Partition]) -> tuple[Record, ...]:
    """One record a partition, in their order."""
    members: dict[str, list[probe.Node]] = {part.name: [] for part in partitions}
    for node in site.nodes or ():
        for name in dict.fromkeys(node.partitions):
            if name in members:
                members[name].append(node)
    return tuple(_record(site, part, members[part.name]) for part in partitions)


def without_reserved(nodes: Sequence[probe.Node], held: Mapping[str, tuple[int, int] | None]) -> list[probe.Node]:
    """The nodes without what reservations hold of them, which a job that does not name them cannot have."""
    return [_without(node, held[node.name]) if node.name in held else node for node in nodes]


_WHOLLY = (1 << 30, 1 << 30)


def _without(node: probe.Node, part: tuple[int, int] | None) -> probe.Node:
    cpus, gpus = part or _WHOLLY
    # a part of it held makes Slurm call all of it reserved
    words = tuple(word for word in node.state.words if word != "RESERVED")
    changes: dict[str, Any] = {
        "state": node.state if part is None else states.node_state("+".join(words)),
        "cpus_free": None if node.cpus_free is None else max(node.cpus_free - cpus, 0),
        "gpus_free": None if node.gpus_free is None else max(node.gpus_free - gpus, 0),
    }
    if gpus and node.kinds:  # which kind it holds is not told
        changes["kinds"] = tuple(kind.model_copy(update={"free": None}) for kind in node.kinds)
    return node._replace(**changes)


def _usable(node: probe.Node, part: probe.Partition) -> bool:
    """A job of this partition could start on it now: fit is the least of CPUs, memory and GPUs."""
    if part.state != "up" or not node.state.free or not node.cpus_free:
        return False
    if part.whole_node and ("IDLE" not in node.state.words or node.cpus_free != node.cpus):
        return False
    return node.memory_free_bytes is None or node.memory_free_bytes > 0


def _record(site: Site, part: probe.Partition, members: list[probe.Node]) -> Record:
    amounts = {} if site.nodes is None else _amounts(members, part, site.free_for)
    counted, name = site.counted, part.name
    others = counted is not None and not counted.hides_others
    return Record(
        site=site.name,
        partition=name,
        default=part.default,
        state=part.state,
        read_at=site.read_at,
        pending=counted.pending.get(name, 0) if counted and others else None,
        running=counted.running.get(name, 0) if counted and others else None,
        mine_pending=counted.mine_pending.get(name, 0) if counted else None,
        mine_running=counted.mine_running.get(name, 0) if counted else None,
        walltime_cap_s=part.walltime_cap_s,
        max_nodes=part.max_nodes,
        whole_node=part.whole_node,
        hidden=part.hidden,
        qos=part.qos,
        door=part.door,
        **amounts,
    )


def _amounts(members: list[probe.Node], part: probe.Partition, free_for: Mapping[str, int]) -> dict[str, Any]:
    usable = [node for node in members if _usable(node, part)]
    return {
        "shapes": _shapes(members),
        "nodes_total": len(members),
        "nodes_usable": len(usable),
        "cpus_total": _sum(node.cpus for node in members),
        "cpus_free": _sum(node.cpus_free for node in usable),
        "gpus_total": _sum(node.gpus for node in members),
        "gpus_free": _sum(node.gpus_free for node in usable),
        "memory_free_bytes": _sum(node.memory_free_bytes for node in usable),
        "free_nodes": _free_nodes(usable, free_for),
        "gpu_shares": _gpu_shares(members, usable),
    }


def _free_nodes(usable: list[probe.Node], free_for: Mapping[str, int]) -> tuple[FreeNode, ...]:
    """Nodes that are free in the same way are one entry: thousands of idle nodes must not be thousands of values."""
    alike = Counter(
        (
            node.cpus_free or 0, node.memory_free_bytes, node.gpus_free, node.gpu_model,
            tuple((kind.model, kind.free) for kind in node.kinds if kind.free is not None),
            "IDLE" in node.state.words and node.cpus_free == node.cpus, free_for.get(node.name),
        )
        for node in usable
    )  # fmt: skip
    return tuple(
        FreeNode(
            cpus=cpus, memory_bytes=memory, gpus=gpus, gpu_model=model,
            gpu_kinds=tuple(GpuKind(model=name, gpus=free) for name, free in kinds),
            whole=whole, free_for_s=left, nodes=number,
        )
        for (cpus, memory, gpus, model, kinds, whole, left), number in alike.items()
    )  # fmt: skip


def _gpu_shares(members: list[probe.Node], usable: list[probe.Node]) -> tuple[GpuShare, ...]:
    totals, free = Counter[str](), Counter[str]()
    for node in members:
        for name, total, _ in node.shares:
            totals[name] += total
    for node in usable:
        for name, _, left in node.shares:
            free[name] += left
    return tuple(
        GpuShare(kind=name, total=totals[name], free=free[name]) for name in ("shard", "mps") if name in totals
    )


def _shapes(members: list[probe.Node]) -> tuple[NodeShape, ...]:
    """Kinds of node. One that never reported has no architecture; it is of the kind of its likes that did.

    Only features that all nodes of a kind have are told: some sites give every rack one of its own.
    """
    kinds: dict[tuple[Any, ...], dict[str | None, list[probe.Node]]] = {}
    for node in members:
        kind = (
            node.cpus, node.memory_bytes, node.gpus, node.gpu_model, tuple((gpu.model, gpu.total) for gpu in node.kinds)
        )  # fmt: skip
        kinds.setdefault(kind, {}).setdefault(node.arch, []).append(node)
    shapes: list[NodeShape] = []
    for kind, by_arch in kinds.items():
        silent = by_arch.get(None, [])
        known = [arch for arch in by_arch if arch is not None]
        if len(known) == 1 and not any(node.in_service for node in silent):
            by_arch[known[0]] += by_arch.pop(None, [])
        shapes += [_shape(kind, arch, nodes) for arch, nodes in by_arch.items()]
    return tuple(shapes)


def _shape(kind: tuple[Any, ...], arch: str | None, nodes: list[probe.Node]) -> NodeShape:
    cpus, memory, gpus, model, by_model = kind
    common = set(nodes[0].features).intersection(*(node.features for node in nodes[1:]))
    return NodeShape(
        cpus=cpus, memory_bytes=memory, gpus=gpus, gpu_model=model,
        gpu_kinds=tuple(GpuKind(model=name, gpus=number) for name, number in by_model),
        arch=arch, features=tuple(name for name in dict.fromkeys(nodes[0].features) if name in common),
        nodes=sum(node.in_service for node in nodes),
    )  # fmt: skip


def totals(nodes: Sequence[probe.Node], partitions: Sequence[probe.Partition]) -> dict[str, Any]:
    """The whole site's: a node of four partitions is one node (B19)."""
    by_name = {part.name: part for part in partitions}
    reachable = [node for node in nodes if any(name in by_name for name in node.partitions)]
    usable = [
        node for node in reachable if any(_usable(node, by_name[name]) for name in node.partitions if name in by_name)
    ]
    return {
        "cpus_total": _sum(node.cpus for node in reachable),
        "cpus_free": _sum(node.cpus_free for node in usable),
        "gpus_total": _sum(node.gpus for node in reachable),
        "gpus_free": _sum(node.gpus_free for node in usable),
    }


def _sum(amounts: Iterable[int | None]) -> int | None:
    """The sum; None as soon as one part is unknown: unknown is never zero."""
    total = 0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total
