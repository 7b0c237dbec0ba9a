"""Where a job could start now, read off the verdicts of a decision: no rule of its own."""

from __future__ import annotations

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.looks import Idle, IdlePlace, OtherPlace
from jupyter_diamond.model.snapshot import FreeNode, Record, Snapshot

from .limits import walltime_cap
from .sentences import blockers


def idle(decision: Decision, snapshot: Snapshot) -> Idle:
    """Sort the candidates of a decision into those that could start now, the full, the unknown and the refused."""
    records = {(record.site, record.partition): record for site in snapshot.sites for record in site.records}
    places: list[IdlePlace] = []
    others: dict[str, list[OtherPlace]] = {"unknown": [], "full": [], "refused": []}
    for candidate in decision.candidates:
        record = records.get((candidate.site, candidate.partition))
        kind, why = _kind(candidate)
        if kind == "idle" and record is not None and candidate.size is not None:
            places.append(_place(decision.envelope, candidate, candidate.size, record))
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
        jobs_now=_jobs_now(envelope, size, record), gpus_free=record.gpus_free, cpus_free=record.cpus_free,
        memory_free_bytes=record.memory_free_bytes, nodes_usable=record.nodes_usable,
        gpu_model=", ".join(models) or None, gpu_memory_bytes=memory[0] if len(memory) == 1 else None,
        pending=record.pending, walltime_cap_s=walltime_cap(record, size.nodes), read_at=record.read_at,
        simulated=candidate.simulated,
    )  # fmt: skip


def _jobs_now(envelope: Envelope, size: Size, record: Record) -> int:
    """How many jobs of the least size fit; a job of several nodes takes a share of each of them."""
    free = [node for node in record.free_nodes if size.gpu_type in (None, node.gpu_model)]
    shares = [1 if record.whole_node and n else n for n in (_shares(envelope, node) for node in free)]
    nodes = envelope.nodes.min
    if nodes == 1:
        return sum(shares)
    # the largest number of jobs for which enough nodes take part: k jobs need k x nodes shares, at most k of one node
    low, high = 0, sum(shares) // nodes
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(share, middle) for share in shares) >= middle * nodes:
            low = middle
        else:
            high = middle - 1
    return low


def _shares(envelope: Envelope, node: FreeNode) -> int:
    """How many times the least that one node must give fits into what is free of it."""
    fits = node.cpus // envelope.cpus.min
    if envelope.gpus.min:
        fits = min(fits, (node.gpus or 0) // envelope.gpus.min)
    if envelope.memory_bytes is not None and node.memory_bytes is not None:
        fits = min(fits, node.memory_bytes // envelope.memory_bytes.min)
    return fits
