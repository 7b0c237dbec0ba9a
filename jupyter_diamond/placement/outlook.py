"""When a small job would start at each partition, read off the candidates of two decisions: no rule of its own."""

from __future__ import annotations

from typing import Literal

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.looks import Outlook, OutlookPlace
from jupyter_diamond.model.snapshot import Record, Snapshot, gate

from .comparison import blockers

_HOUR = Span.exactly(3600)
ONE_GPU = Envelope(gpus=Span.exactly(1), walltime_s=_HOUR)
ONE_CORE = Envelope(walltime_s=_HOUR)


def outlook(one_gpu: Decision, one_core: Decision, snapshot: Snapshot) -> Outlook:
    """One place a partition, in the order of the snapshot; each by the resource that gates it."""
    found = {"GPU": _by_place(one_gpu), "CPU": _by_place(one_core)}
    records = [record for site in snapshot.sites for record in site.records if not record.hidden]
    places = [_place(record, gate(record).unit, found[gate(record).unit]) for record in records]
    return Outlook(made_at=max(one_gpu.made_at, one_core.made_at), places=tuple(places))


def _by_place(decision: Decision) -> dict[tuple[str, str], Candidate]:
    """Of several accounts the best one stands for a partition."""
    best: dict[tuple[str, str], Candidate] = {}
    for each in decision.candidates:
        before = best.get((each.site, each.partition))
        if before is None or _worth(each) < _worth(before):
            best[each.site, each.partition] = each
    return best


def _worth(candidate: Candidate) -> tuple[bool, bool, int]:
    return (not candidate.feasible, candidate.estimate is None, candidate.rank or 0)


def _place(record: Record, unit: Literal["GPU", "CPU"], found: dict[tuple[str, str], Candidate]) -> OutlookPlace:
    candidate = found.get((record.site, record.partition))
    against = [] if candidate is None else blockers(candidate)
    estimate = None if candidate is None or against else candidate.estimate
    return OutlookPlace(
        site=record.site, partition=record.partition, unit=unit,
        forecast=None if estimate is None else estimate.forecast, why=against[0].sentence if against else "",
    )  # fmt: skip
