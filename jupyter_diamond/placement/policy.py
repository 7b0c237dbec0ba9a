"""Where a task goes: every candidate judged, sized and ranked. The same inputs always give the same decision."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import Record, Snapshot

from . import sentences
from .caps import for_envelope
from .rules import Clock, Place, judge
from .sizing import size_for

Mode = Literal["rules", "pinned"]


class _Judged(NamedTuple):
    candidate: Candidate
    place: Place
    order: tuple[int, ...]
    """Smaller is better; equal is a tie."""


def decide(
    envelope: Envelope,
    snapshot: Snapshot,
    sites: tuple[Site, ...],
    *,
    now: datetime,
    fresh_s: float = 120.0,
    stale_s: float = 600.0,
    mode: Mode | None = None,
) -> Decision:
    """Judge every partition of every site and choose one; ``chosen`` is None when no candidate is feasible.

    ``mode`` is ``pinned`` when the user named a site: only then may a candidate with an unknown verdict be chosen.
    """
    mode = mode or ("pinned" if envelope.site is not None else "rules")
    clock = Clock(now, fresh_s, stale_s)
    judged = [_judged(envelope, place, clock) for place in _places(envelope, snapshot, sites)]
    ranked = sorted(
        _without_lesser_partitions(envelope, judged, mode),
        key=lambda at: (*judged[at].order, judged[at].candidate.site, judged[at].candidate.partition),
    )
    ranks = {at: rank for rank, at in enumerate(ranked, start=1)}
    candidates = tuple(each.candidate.model_copy(update={"rank": ranks.get(at)}) for at, each in enumerate(judged))
    chosen = ranked[0] if ranked else None
    ties = tuple(at for at in ranked[1:] if chosen is not None and judged[at].order == judged[chosen].order)
    return Decision(
        made_at=now,
        snapshot_id=snapshot.id,
        mode=mode,
        envelope=envelope,
        candidates=candidates,
        chosen=chosen,
        sentence=sentences.why_here(
            envelope, candidates, [judged[at].place for at in range(len(judged))], ranked, ties
        ),
        ties=ties,
        warnings=sentences.warnings(envelope, candidates[chosen]) if chosen is not None else (),
    )


def _places(envelope: Envelope, snapshot: Snapshot, sites: tuple[Site, ...]) -> Iterator[Place]:
    """Every (site, partition), in the catalogue's order; hidden partitions only where they were named."""
    readings = {reading.site: reading for reading in snapshot.sites}
    for site in sites:
        reading = readings.get(site.name)
        named = {site.partition, envelope.partition if envelope.site == site.name else None} - {None}
        records = reading.records if reading is not None else ()
        for record in records:
            if not record.hidden or record.partition in named:
                yield Place(site, record.partition, reading, for_envelope(record, reading, envelope, site.account))
        absent = sorted(name for name in named if name not in {record.partition for record in records} and name)
        for name in absent or ([] if records else [""]):
            yield Place(site, name, reading, None)


def _judged(envelope: Envelope, place: Place, clock: Clock) -> _Judged:
    verdicts = judge(envelope, place, clock)
    failed = any(verdict.answer == "fail" for verdict in verdicts)
    sized = None if failed else size_for(envelope, place.record)
    reading, record = place.reading, place.record
    read_at = reading.read_at if reading is not None else None
    candidate = Candidate(
        site=place.site.name,
        partition=place.partition,
        account=envelope.account or place.site.account,
        size=sized.size if sized is not None else None,
        verdicts=verdicts,
        feasible=all(verdict.answer == "pass" for verdict in verdicts),
        starts_now=sized.starts_now if sized is not None else None,
        queue_ahead=record.pending if record is not None else None,
        record_age_s=max((clock.now - read_at).total_seconds(), 0.0) if read_at is not None else None,
        simulated=place.site.simulated or (reading is not None and reading.simulated),
    )
    return _Judged(candidate, place, _order(envelope, candidate, place))


def _without_lesser_partitions(envelope: Envelope, judged: list[_Judged], mode: Mode) -> list[int]:
    """What may be chosen. Where a site's configured partition can take the task, its other partitions stand back."""
    open_ = [at for at, each in enumerate(judged) if _may_be_chosen(each.candidate, mode)]
    at_home = {
        judged[at].candidate.site
        for at in open_
        if envelope.partition is None and judged[at].place.site.partition == judged[at].candidate.partition
    }
    return [
        at
        for at in open_
        if judged[at].candidate.site not in at_home or judged[at].place.site.partition == judged[at].candidate.partition
    ]


def _may_be_chosen(candidate: Candidate, mode: Mode) -> bool:
    if any(verdict.answer == "fail" for verdict in candidate.verdicts):
        return False
    return candidate.feasible or mode == "pinned"


def _order(envelope: Envelope, candidate: Candidate, place: Place) -> tuple[int, ...]:
    """Fewest verdicts unknown, starts now, fewer ahead, least waste, the user's preference, closest to the most useful.

    Jobs that wait are not ahead of one that starts now, so they count only where it does not.
    """
    size = candidate.size
    if size is None:
        return ()
    ahead = 0 if candidate.starts_now else candidate.queue_ahead
    short = (envelope.nodes.max * envelope.gpus.max - size.nodes * size.gpus) * 1000
    short += envelope.nodes.max * envelope.cpus.max - size.nodes * size.cpus
    return (
        sum(verdict.answer == "unknown" for verdict in candidate.verdicts),
        0 if candidate.starts_now else 1,
        1 if ahead is None else 0,
        ahead or 0,
        *wasted(candidate, place.record),
        -place.site.prefer,
        short,
    )


def wasted(candidate: Candidate, record: Record | None) -> tuple[int, int]:
    """GPUs, then cores, that nobody could use while the task runs: CPU work must not burn GPU nodes."""
    size = candidate.size
    if record is None or size is None:
        return (0, 0)
    gpus = max((shape.gpus or 0 for shape in record.shapes), default=0)
    cpus = max((shape.cpus or 0 for shape in record.shapes), default=0)
    idle_gpus = max(gpus - size.gpus, 0) if record.whole_node or not size.gpus else 0
    idle_cpus = max(cpus - size.cpus, 0) if record.whole_node else 0
    return (idle_gpus * size.nodes, idle_cpus * size.nodes)
