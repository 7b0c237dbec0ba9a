"""How long a job of so many nodes may run here."""

from __future__ import annotations

from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.snapshot import NO_LIMIT, Limit, Record

from .caps import most


def walltime_cap(record: Record | None, nodes: int) -> Limit:
    """The time limit of a job of that many nodes, in seconds; None when it is not known."""
    if record is None:
        return None
    cap, own = _of_partition(record, nodes), most(record, "walltime_s")
    if own is None:
        return cap
    return min(cap, own) if isinstance(cap, int) else own


def _of_partition(record: Record, nodes: int) -> Limit:
    steps = record.policy.walltime_by_nodes if record.policy is not None else ()
    if not steps:
        return record.walltime_cap_s
    step = next((each.walltime_s for each in steps if nodes <= each.nodes), None)
    if step is None:
        return None
    return min(step, record.walltime_cap_s) if isinstance(record.walltime_cap_s, int) else step


def allows(cap: Limit, seconds: int) -> bool | None:
    """A job may run that long; None when that is not known."""
    if cap is NO_LIMIT:
        return True
    return None if not isinstance(cap, int) else cap >= seconds


def node_choices(envelope: Envelope, record: Record | None) -> tuple[int, ...]:
    """Numbers of nodes in the range at which the time limit may change: the least, and the first of every step."""
    steps = record.policy.walltime_by_nodes if record is not None and record.policy is not None else ()
    wanted = record.policy.min_nodes if record is not None and record.policy is not None else None
    least = max(envelope.nodes.min, min(wanted or 1, envelope.nodes.max))
    edges = (least, *(step.nodes + 1 for step in steps))
    return tuple(sorted({nodes for nodes in edges if least <= nodes <= envelope.nodes.max}))
