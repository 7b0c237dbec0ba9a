"""From a range to one concrete size: the most useful that is free now, never below the least viable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record

from .caps import most as most_of
from .kinds import free_gpus, gpu_type, gpus_for, suits
from .limits import allows, walltime_cap
from .rules import fits


class Sized(NamedTuple):
    """A size, and whether it would start at once. None: what is free is not known.

    ``own_limit``: what the user has already keeps it from starting, whatever is free.
    """

    size: Size
    starts_now: bool | None
    own_limit: bool = False


class _Node(NamedTuple):
    """What one node gives. None: not known, so nothing is clipped."""

    cpus: int | None
    gpus: int | None
    memory_bytes: int | None


_UNKNOWN = _Node(None, None, None)


class _Kinds(NamedTuple):
    """What of a record depends on the kind of node that is asked for, and not on how much of it."""

    gpu_type: str | None
    shapes: tuple[NodeShape, ...]

    @classmethod
    def of(cls, envelope: Envelope, record: Record) -> _Kinds:
        suited = tuple(shape for shape in record.shapes if suits(envelope, shape) is not False)
        return cls(gpu_type(envelope, record), suited)


def size_for(envelope: Envelope, record: Record | None, kinds: _Kinds | None = None) -> Sized:
    """The size to ask for here. ``kinds`` is given where several sizes of one envelope are."""
    if record is None:
        return Sized(_clipped(envelope, [_UNKNOWN] * envelope.nodes.max, None, None), None)
    kinds = kinds or _Kinds.of(envelope, record)
    least = _least_nodes(envelope, record)
    limits = (record.max_nodes, most_of(record, "nodes"), envelope.nodes.max)
    most = max(min(limit for limit in limits if isinstance(limit, int)), least)
    kind = kinds.gpu_type
    cap = walltime_cap(record, envelope.nodes.min)
    asked_s = min(envelope.walltime_s.max, cap) if isinstance(cap, int) else envelope.walltime_s.max
    free = [
        _Node(node.cpus, free_gpus(node, kind), node.memory_bytes)
        for node in record.free_nodes
        if _holds(envelope, node, kind, asked_s)
        for _ in range(min(node.nodes, most))
    ]
    mine = _mine_left(envelope, record, least)
    if len(free) >= least and mine:
        return Sized(_best(envelope, free, most, record, kind, free=True), starts_now=True)
    whole = [
        _Node(shape.cpus, gpus_for(envelope, shape), shape.memory_bytes)
        for shape in kinds.shapes
        if fits(envelope, shape)
        for _ in range(min(max(shape.nodes, 1), most))
    ]
    if len(whole) < least:
        whole = [_UNKNOWN] * most
    hidden_gpus = envelope.gpus.min > 0 and any(node.gpus is None for node in record.free_nodes)
    known = (record.cpus_free is not None and not hidden_gpus) or not mine
    return Sized(_best(envelope, whole, most, record, kind), starts_now=False if known else None, own_limit=not mine)


def has_room(envelope: Envelope, record: Record | None) -> bool:
    """The least that is asked fits on what is free now, whoever waits for it."""
    if record is None:
        return False
    cap = walltime_cap(record, envelope.nodes.min)
    asked_s = min(envelope.walltime_s.min, cap) if isinstance(cap, int) else envelope.walltime_s.min
    there = sum(node.nodes for node in record.free_nodes if _holds(envelope, node, None, asked_s))
    return there >= envelope.nodes.min


MOST_SIZES = 12
"""More sizes than this at one place tell nothing new."""


def sizes_for(envelope: Envelope, record: Record | None) -> tuple[Sized, ...]:
    """The sizes that are worth weighing here, largest first: the one that fits best now, and steps over the range."""
    kinds = _Kinds.of(envelope, record) if record is not None else None
    first = size_for(envelope, record, kinds)
    found = {first.size: first}
    steps = [(nodes, per_node) for nodes in _steps(envelope.nodes) for per_node in _steps(_varied(envelope))]
    if record is not None and len(steps) > 1:
        name = "gpus" if envelope.gpus.max else "cpus"
        for nodes, per_node in steps:
            exact = {"nodes": Span.exactly(nodes), name: Span.exactly(per_node)}
            narrowed = envelope.model_copy(update=exact)
            if any(fits(narrowed, shape) is not False for shape in record.shapes):
                sized = size_for(narrowed, record, kinds)
                if sized.size.nodes == nodes:
                    found.setdefault(sized.size, sized)
    ordered = sorted(
        found.values(), key=lambda each: (-each.size.nodes * (each.size.gpus or each.size.cpus), each != first)
    )
    return tuple(ordered[:MOST_SIZES]) if first in ordered[:MOST_SIZES] else (first, *ordered[: MOST_SIZES - 1])


def _varied(envelope: Envelope) -> Span:
    """What of a node more or less of is asked: GPUs where there are any, else cores."""
    return envelope.gpus if envelope.gpus.max else envelope.cpus


def _steps(span: Span) -> tuple[int, ...]:
    """Both ends and the powers of two between them."""
    powers = (1 << k for k in range(span.max.bit_length()))
    return tuple(sorted({span.min, span.max, *(each for each in powers if span.min < each < span.max)}, reverse=True))


def _least_nodes(envelope: Envelope, record: Record) -> int:
    """The least viable, or what the partition wants at least when that is within the range."""
    wanted = record.policy.min_nodes if record.policy is not None else None
    return max(envelope.nodes.min, min(wanted or 1, envelope.nodes.max))


def _holds(envelope: Envelope, node: FreeNode, kind: str | None, asked_s: int) -> bool:
    """The free part of this node holds the least that is asked, for as long as a job would ask for it."""
    if node.cpus < envelope.cpus.min:
        return False
    least = envelope.memory_bytes
    enough = least is None or node.memory_bytes is None or node.memory_bytes >= least.min
    there = free_gpus(node, kind)
    gpus = envelope.gpus.min == 0 or (there is not None and there >= envelope.gpus.min)
    long = node.free_for_s is None or node.free_for_s >= asked_s
    return gpus and enough and long


def _mine_left(envelope: Envelope, record: Record, nodes: int) -> bool:
    """What the user may still have holds the least that is asked; what is not known is not counted against it."""
    if not record.caps:
        return True
    needs = {
        "running": 1, "queued": 1, "nodes": nodes, "gpus": nodes * envelope.gpus.min, "cpus": nodes * envelope.cpus.min,
        "memory_bytes": nodes * envelope.memory_bytes.min if envelope.memory_bytes is not None else 0,
    }  # fmt: skip
    left = {on: most_of(record, on, free=True) for on in needs}
    return all(amount is None or amount >= needs[on] for on, amount in left.items())


def _share(record: Record | None, nodes: int, *, free: bool) -> _Node:
    """What each of so many nodes may give under the user's limits."""
    if record is None or not record.caps:
        return _UNKNOWN
    amounts = (most_of(record, on, free=free) for on in ("cpus", "gpus", "memory_bytes"))
    return _Node(*(None if amount is None else amount // nodes for amount in amounts))


def _best(
    envelope: Envelope, nodes: Sequence[_Node], most: int, record: Record, kind: str | None, *, free: bool = False
) -> Size:
    """The number of nodes that gives most in all: a fourth node with one free core must not cut the others to one.

    Where the time limit depends on the number of nodes, only numbers that may run long enough count.
    """
    if most == 1 and nodes:
        ordered = [max(nodes, key=lambda node: _use(envelope, node))]
    else:
        ordered = sorted(nodes, key=lambda node: _use(envelope, node), reverse=True)
    numbers = range(_least_nodes(envelope, record), min(most, len(ordered)) + 1)
    if len(numbers) == 1:
        return _clipped(envelope, ordered[: numbers[0]], record, kind, free=free)
    long_enough = [n for n in numbers if allows(walltime_cap(record, n), envelope.walltime_s.min)]
    sizes = [_clipped(envelope, ordered[:n], record, kind, free=free) for n in long_enough or numbers]
    return max(sizes, key=lambda size: (size.nodes * size.gpus, size.nodes * size.cpus, size.nodes))


def _use(envelope: Envelope, node: _Node) -> tuple[int, int, int, int]:
    """How much of a node the task can use; among equals the one without idle GPUs, then the one that leaves least."""
    gpus = _clip(envelope.gpus, node.gpus)
    memory = envelope.memory_bytes
    return (
        gpus,
        _clip(envelope.cpus, node.cpus),
        0 if memory is None else _clip(memory, node.memory_bytes),
        gpus - (node.gpus or 0),
    )


def _clipped(
    envelope: Envelope, given: Sequence[_Node], record: Record | None, kind: str | None, *, free: bool = False
) -> Size:
    nodes = [*given, _share(record, len(given), free=free)] if record is not None and record.caps else given
    cap = walltime_cap(record, len(given))
    # a partition that gives whole nodes gives their memory too, and some sites refuse a job that asks for it (Vista)
    memory = None if record is not None and record.whole_node else envelope.memory_bytes
    return Size(
        nodes=len(given),
        cpus=min([_clip(envelope.cpus, node.cpus) for node in nodes]),
        gpus=_allowed(envelope, min([_clip(envelope.gpus, node.gpus) for node in nodes]), record),
        gpu_type=kind,
        memory_bytes=None if memory is None else min([_clip(memory, node.memory_bytes) for node in nodes]),
        walltime_s=_clip(envelope.walltime_s, cap if cap is not NO_LIMIT else None),
    )


def _allowed(envelope: Envelope, gpus: int, record: Record | None) -> int:
    """The largest number of GPUs up to this one that the partition gives; the least that is asked is never undercut."""
    counts = record.policy.gpu_counts if record is not None and record.policy is not None else ()
    fitting = [count for count in counts if envelope.gpus.min <= count <= gpus]
    return max(fitting) if fitting else gpus


def _clip(span: Span, there: int | None) -> int:
    """The most useful of what is there, never below the least viable."""
    if there is None or there >= span.max:
        return span.max
    return there if there > span.min else span.min  # noqa: FURB136 - asked for every node: half the time of max()
