"""Where a task goes: every candidate judged, sized and ranked. The same inputs always give the same decision."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import Snapshot

from . import sentences
from .advice import with_advice
from .candidates import Judged, candidates_at, refused
from .caps import for_envelope
from .forecast.wait import Forecaster
from .judging import Bench
from .objectives import Equal, among_equals, by_completion, cheaper, decided, drawn, one_unit
from .place import Clock, Place
from .world import World

Mode = Literal["rules", "pinned"]


def decide(
    envelope: Envelope,
    snapshot: Snapshot,
    sites: tuple[Site, ...],
    *,
    now: datetime,
    fresh_s: float = 120.0,
    stale_s: float = 600.0,
    mode: Mode | None = None,
    world: World | None = None,
) -> Decision:
    """Judge every partition of every site, size it, and choose one; ``chosen`` is None when none is feasible.

    ``mode`` is ``pinned`` when the user named a site: only then may a candidate with an unknown verdict be chosen.
    The same inputs always give the same decision, whatever the order of records.
    """
    mode = mode or ("pinned" if envelope.site is not None else "rules")
    clock = Clock(now, fresh_s, stale_s)
    world = world or World(forecaster=Forecaster(now=now.timestamp()))
    bench = Bench(envelope, clock)
    places = list(_places(envelope, snapshot, sites))
    judged, said = _comparable(envelope, candidates_at(envelope, places, bench, world), mode)
    judged = with_advice(envelope, judged, clock, world, pinned=mode == "pinned")
    ranked = _ranked(envelope, judged, mode)
    ranks = {at: rank for rank, at in enumerate(ranked, start=1)}
    candidates = tuple(_with_rank(each.candidate, ranks.get(at)) for at, each in enumerate(judged))
    chosen = ranked[0] if ranked else None
    ties, tie_break = _ties(envelope, judged, ranked)
    named = [at for at in ties if _by_name(judged, ranked[0], at)]
    return Decision(
        made_at=now,
        snapshot_id=snapshot.id,
        mode=mode,
        envelope=envelope,
        candidates=candidates,
        chosen=chosen,
        sentence=sentences.why_here(envelope, candidates, [each.place for each in judged], ranked, named),
        ties=ties,
        tie_break=tie_break,
        seed=(envelope.seed or 0) if envelope.objective == "random" else None,
        objective=envelope.objective,
        alternatives=tuple(ranked[1:4]),
        warnings=(*(sentences.warnings(envelope, candidates[chosen]) if chosen is not None else ()), *said),
    )


def _with_rank(candidate: Candidate, rank: int | None) -> Candidate:
    return candidate if rank is None else candidate.model_copy(update={"rank": rank})


def _comparable(envelope: Envelope, judged: list[Judged], mode: Mode) -> tuple[list[Judged], tuple[str, ...]]:
    """Where charges shall be small but are in different units, places stand by their completion, and it is said."""
    open_ = (each.candidate for each in judged if _may_be_chosen(each.candidate, mode))
    if envelope.objective != "lowest_cost" or one_unit(open_):
        return judged, ()
    return [each._replace(standing=by_completion(each.standing, each.candidate)) for each in judged], (
        sentences.MANY_UNITS,
    )


def _ranked(envelope: Envelope, judged: list[Judged], mode: Mode) -> list[int]:
    """Those that may be chosen, best first."""
    open_ = _without_lesser_partitions(envelope, judged, mode)

    def name(at: int) -> tuple[str, str]:
        return judged[at].candidate.site, judged[at].candidate.partition

    if envelope.objective == "random":
        lots = drawn([name(at) for at in open_], envelope.seed or 0)
        by_lot = [open_[at] for at in lots]
        return sorted(by_lot, key=lambda at: judged[at].standing.unmet)
    ranked = sorted(open_, key=lambda at: judged[at].standing[:2])
    groups = itertools.groupby(ranked, key=lambda at: judged[at].standing[:2])
    found: list[int] = []
    for _, group in groups:
        equals = list(group)
        found += equals if len(equals) == 1 else [each.at for each in among_equals(_equal(judged, equals))]
    return found


def _equal(judged: list[Judged], ats: Sequence[int]) -> list[Equal]:
    return [Equal.of(at, judged[at].candidate, judged[at].standing.ties) for at in ats]


def _ties(envelope: Envelope, judged: list[Judged], ranked: list[int]) -> tuple[tuple[int, ...], str]:
    """Those that are as good as the first by the objective, and what decided between them."""
    if not ranked or envelope.objective == "random":
        return (), ""
    first, *others = ranked
    equal = [at for at in others if judged[at].standing[:2] == judged[first].standing[:2]]
    best, *rest = _equal(judged, [first, *equal])
    return tuple(equal), decided(best, rest)


def _by_name(judged: list[Judged], first: int, other: int) -> bool:
    """Nothing but the name puts the first one before the other."""
    best, equal = _equal(judged, [first, other])
    return best.ties == equal.ties and not cheaper(best, equal)


def _places(envelope: Envelope, snapshot: Snapshot, sites: tuple[Site, ...]) -> Iterator[Place]:
    """Every (site, partition), by name; hidden partitions only where they were named."""
    readings = {reading.site: reading for reading in snapshot.sites}
    for site in sorted(sites, key=lambda each: each.name):
        reading = readings.get(site.name)
        named = {site.partition, envelope.partition if envelope.site == site.name else None} - {None}
        records = reading.records if reading is not None else ()
        for record in sorted(records, key=lambda each: each.partition):
            if not record.hidden or record.partition in named:
                yield Place(site, record.partition, reading, for_envelope(record, reading, envelope, site.account))
        absent = sorted(name for name in named if name not in {record.partition for record in records} and name)
        for name in absent or ([] if records else [""]):
            yield Place(site, name, reading, None)


def _without_lesser_partitions(envelope: Envelope, judged: list[Judged], mode: Mode) -> list[int]:
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
    return candidate.feasible or (mode == "pinned" and not refused(candidate.verdicts))
