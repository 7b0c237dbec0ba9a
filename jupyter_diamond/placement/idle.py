"""Where a job could start now, read off the verdicts of a decision: no rule of its own."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.looks import Idle, IdlePlace, OtherPlace
from jupyter_diamond.model.snapshot import FreeNode, Record, Snapshot

from .caps import for_envelope, most
from .comparison import blockers
from .kinds import free_gpus
from .limits import walltime_cap

_MANY = 1 << 40


def idle(decision: Decision, snapshot: Snapshot) -> Idle:
    """Sort the candidates of a decision into those that could start now, the full, the unknown and the refused."""
    records = {(record.site, record.partition): (record, site) for site in snapshot.sites for record in site.records}
    places: list[IdlePlace] = []
    others: dict[str, list[OtherPlace]] = {"unknown": [], "full": [], "refused": []}
    for candidate in decision.candidates:
        record, reading = records.get((candidate.site, candidate.partition), (None, None))
        kind, why = _kind(candidate)
        if kind == "idle" and record is not None and candidate.size is not None:
            held = for_envelope(record, reading, decision.envelope, candidate.account)
            places.append(_place(decision.envelope, candidate, candidate.size, held))
        else:
            other = OtherPlace(
                site=candidate.site, partition=candidate.partition, why=why, simulated=candidate.simulated
            )
            others[kind if kind in others else "unknown"].append(other)
    places.sort(key=lambda place: (place.simulated, -place.jobs_now, place.site, place.partition))
    return Idle(
        envelope=decision.envelope, made_at=decision.made_at, places=tuple(places),
        unknown=tuple(others["unknown"]), full=tuple(others["full"]), refused=tuple(others["refused"]),
    )  # fmt: skip


def _kind(candidate: Candidate) -> tuple[str, str]:
    against = blockers(candidate)
    if any(verdict.answer == "fail" for verdict in against):
        return "refused", against[0].sentence
    if against:
        return "unknown", against[0].sentence
    if candidate.starts_now is None:
        return "unknown", "What is free on its nodes is not known."
    if not candidate.starts_now:
        ahead = candidate.queue_ahead
        waiting = "" if not ahead else f"; {ahead} {'job waits' if ahead == 1 else 'jobs wait'} there"
        return "full", f"Nothing large enough is free now{waiting}."
    return "idle", ""


def _place(envelope: Envelope, candidate: Candidate, size: Size, record: Record) -> IdlePlace:
    models = sorted({shape.gpu_model for shape in record.shapes if shape.gpu_model and shape.gpus})
    memory = sorted({shape.gpu_memory_bytes for shape in record.shapes if shape.gpu_memory_bytes and shape.gpus})
    return IdlePlace(
        site=candidate.site, partition=candidate.partition, account=candidate.account, size=size,
        jobs_now=jobs_now(envelope, size, record), gpus_free=record.gpus_free, cpus_free=record.cpus_free,
        memory_free_bytes=record.memory_free_bytes, nodes_usable=record.nodes_usable,
        gpu_model=", ".join(models) or None, gpu_memory_bytes=memory[0] if len(memory) == 1 else None,
        pending=record.pending, walltime_cap_s=walltime_cap(record, size.nodes), read_at=record.read_at,
        simulated=candidate.simulated,
    )  # fmt: skip


def jobs_now(envelope: Envelope, size: Size, record: Record) -> int:
    """How many jobs of the least size fit and are allowed; one of several nodes takes a share of each of them."""
    return min(_room(envelope, size, record, record.free_nodes), _allowed(envelope, record, free=True))


def jobs_at_once(envelope: Envelope, size: Size, record: Record) -> int | None:
    """How many jobs of the least size it could run together if all of it were free; None: its nodes are not known.

    The user's own limits bound it, whatever they have there now.
    """
    if not record.shapes or any(shape.cpus is None for shape in record.shapes):
        return None
    nodes = [
        FreeNode(
            cpus=shape.cpus or 0, memory_bytes=shape.memory_bytes, gpus=shape.gpus, gpu_model=shape.gpu_model,
            gpu_kinds=shape.gpu_kinds, nodes=shape.nodes,
        )
        for shape in record.shapes
    ]  # fmt: skip
    return min(_room(envelope, size, record, nodes), _allowed(envelope, record, free=False))


def exactly(envelope: Envelope, size: Size) -> Envelope:
    """The same for one size: what is asked for is what has to fit."""
    spans = {name: Span.exactly(getattr(size, name)) for name in ("nodes", "cpus", "gpus")}
    memory = None if size.memory_bytes is None else Span.exactly(size.memory_bytes)
    wall = Span.exactly(size.walltime_s)
    return envelope.model_copy(update={**spans, "memory_bytes": memory, "walltime_s": wall})


def _room(envelope: Envelope, size: Size, record: Record, nodes: Sequence[FreeNode]) -> int:
    asked = size.walltime_s
    free = [node for node in nodes if node.free_for_s is None or node.free_for_s >= asked]
    shares = [(_shares(envelope, node, size.gpu_type), node.nodes) for node in free]
    shares = [(min(share, 1) if record.whole_node else share, number) for share, number in shares]
    needed = envelope.nodes.min
    # the largest number of jobs for which enough nodes take part: k jobs need k x nodes shares, at most k of one node
    low, high = 0, sum(share * number for share, number in shares) // needed
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(share, middle) * number for share, number in shares) >= middle * needed:
            low = middle
        else:
            high = middle - 1
    return low


def _allowed(envelope: Envelope, record: Record, *, free: bool) -> int:
    """How many jobs of the least size the user's own limits allow, of what is ``free`` of them; many without any."""
    nodes, memory = envelope.nodes.min, envelope.memory_bytes
    each = {
        "running": 1, "queued": 1, "nodes": nodes, "gpus": nodes * envelope.gpus.min, "cpus": nodes * envelope.cpus.min,
        "memory_bytes": nodes * memory.min if memory is not None else 0,
    }  # fmt: skip
    left = ((most(record, on, free=free), amount) for on, amount in each.items() if amount)
    return min((there // amount for there, amount in left if there is not None), default=_MANY)


def _shares(envelope: Envelope, node: FreeNode, kind: str | None) -> int:
    """How many times the least that one node must give fits into what is free of it."""
    fits = node.cpus // envelope.cpus.min
    if envelope.gpus.min:
        fits = min(fits, (free_gpus(node, kind) or 0) // envelope.gpus.min)
    if envelope.memory_bytes is not None and node.memory_bytes is not None:
        fits = min(fits, node.memory_bytes // envelope.memory_bytes.min)
    return fits
