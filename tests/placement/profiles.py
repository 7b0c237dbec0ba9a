"""Readings as a probe gives them, of sites that are what their profiles say."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from jupyter_diamond.model.machine import Machine, NodeKind
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
GIB = 1 << 30
H = 3600


def shape(kind: NodeKind, *, hidden: bool = False, nodes: int = 10) -> NodeShape:
    """A kind of node as a scheduler tells of it: no memory of GPUs, no architecture, perhaps no GPUs."""
    gpus = 0 if hidden else kind.gpus
    model = kind.gpu_model.split()[0].lower() if kind.gpu_model and gpus else None
    return NodeShape(
        cpus=kind.threads or kind.cpus or 32,
        memory_bytes=kind.memory or 256 * GIB,
        gpus=gpus,
        gpu_model=model,
        nodes=nodes,
    )


def whole(node: NodeShape) -> FreeNode:
    return FreeNode(
        cpus=node.cpus, memory_bytes=node.memory_bytes, gpus=node.gpus, gpu_model=node.gpu_model, whole=True
    )


def record(name: str, *shapes: NodeShape, free: tuple[FreeNode, ...] | None = None, **more) -> Record:
    free = tuple(whole(each) for each in shapes) if free is None else free
    facts = {
        "site": "it", "partition": name, "state": "up", "read_at": NOW - timedelta(seconds=5), "shapes": shapes,
        "nodes_total": sum(each.nodes for each in shapes), "nodes_usable": len(free), "free_nodes": free,
        "cpus_free": sum(node.cpus for node in free), "gpus_free": sum(node.gpus or 0 for node in free),
        "gpus_total": sum((each.gpus or 0) * each.nodes for each in shapes), "walltime_cap_s": NO_LIMIT,
        "max_nodes": NO_LIMIT, "whole_node": False, "pending": 3, "running": 5,
    }  # fmt: skip
    return Record(**{**facts, **more})


def reading(*records: Record, scheduler: str = "slurm", **more) -> SiteReading:
    facts = {
        "site": "it", "transport": "local", "scheduler": scheduler, "health": "online",
        "read_at": NOW - timedelta(seconds=5), "records": records,
    }  # fmt: skip
    return SiteReading(**{**facts, **more})


def live(profile: Machine) -> SiteReading:
    """What a probe would say of this machine: its partitions, or one for each kind of node where they are not known."""
    hidden = profile.gpu_visible_in_gres is not None and not profile.gpu_visible_in_gres.value
    parts = {name: profile.kinds(name) for name, part in profile.partitions.items() if part.submit_as is None}
    everywhere = profile.whole_node is not None and profile.whole_node.value
    return reading(
        *(
            record(
                name, *(shape(kind, hidden=hidden) for kind in kinds or (NodeKind(source="x"),)),
                whole_node=everywhere or (name in profile.partitions and profile.partitions[name].whole_node is True),
            )
            for name, kinds in (parts or {f"lane-{name}": (kind,) for name, kind in profile.nodes.items()}).items()
        ),
        scheduler=profile.scheduler,
    )  # fmt: skip
