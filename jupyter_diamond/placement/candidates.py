"""One place as a candidate: judged, sized, weighed, and judged again by what its size would take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jupyter_diamond.model.decision import Candidate, Verdict
from jupyter_diamond.model.envelope import Envelope, Span

from . import outcome_rules, rules
from .data_rules import data
from .environment_rules import environment
from .estimates import Weighed, weigh
from .forecast.calibration import S_PER_QUEUED_JOB
from .judging import Bench
from .kinds import gpu_type
from .objectives import Standing, standing, unmet
from .place import Place
from .sizing import has_room
from .world import World

_KINDS = frozenset({"architecture", "accelerator", "GPU memory"})
_TOO_FEW = "It mixes kinds of GPU; of those that you wish for there are none large enough."


class Judged(NamedTuple):
    """A candidate with its place, and where it stands."""

    candidate: Candidate
    place: Place
    standing: Standing


class _Settled(NamedTuple):
    """A size with what the outcome rules say of it."""

    weighed: Weighed
    verdicts: tuple[Verdict, ...]


def candidates_at(envelope: Envelope, places: Sequence[Place], bench: Bench, world: World) -> list[Judged]:
    """Every place as a candidate for this envelope."""
    verdicts = [
        (
            *bench.judge(place),
            *environment(envelope, place, world),
            *data(envelope, place, world),
            *outcome_rules.reported(place, world),
        )
        for place in places
    ]
    open_ = [at for at in range(len(places)) if not refused(verdicts[at])]
    rough = dict.fromkeys(open_, False)
    if len(open_) > world.simulated:
        likely = sorted(open_, key=lambda at: _likely(bench.conditions, places[at], verdicts[at], world))
        rough |= dict.fromkeys(likely[world.simulated :], True)
    return [
        candidate_of(envelope, place, verdicts[at], bench, world, rough=rough.get(at))
        for at, place in enumerate(places)
    ]


_Likely = tuple[bool, bool, bool, float, str, str]


def _likely(envelope: Envelope, place: Place, verdicts: tuple[Verdict, ...], world: World) -> _Likely:
    """Where a place stands before its queue is looked at: known, the site's own choice, room now, least work there."""
    unknown = unmet(verdicts)[0] > 0
    drain_s = world.forecaster.drain_s(place.site.name, place.partition)
    if drain_s is None:
        pending = place.record.pending if place.record is not None else None
        drain_s = math.inf if pending is None else S_PER_QUEUED_JOB * pending
    room = has_room(envelope, place.record)
    return unknown, place.site.partition != place.partition, not room, drain_s, place.site.name, place.partition


def candidate_of(
    envelope: Envelope, place: Place, verdicts: tuple[Verdict, ...], bench: Bench, world: World, *, rough: bool | None
) -> Judged:
    """The place as a candidate; ``rough`` is None where its verdicts refuse it."""
    settled: list[_Settled] = []
    if rough is not None:
        sized_by, verdicts = _with_wishes(envelope, place, bench, verdicts)
        settled = _settled(envelope, sized_by, place, bench, world, rough=rough)
    best = settled[0] if settled else None
    if best is not None:
        verdicts += best.verdicts
    lacks = unmet(verdicts)
    reading, record = place.reading, place.record
    read_at = reading.read_at if reading is not None else None
    candidate = Candidate(
        site=place.site.name,
        partition=place.partition,
        account=envelope.account or place.site.account,
        size=best.weighed.size if best is not None else None,
        verdicts=verdicts,
        feasible=best is not None and not lacks[0] and not refused(best.verdicts),
        starts_now=best.weighed.starts_now if best is not None else None,
        estimate=best.weighed.estimate if best is not None else None,
        sizes=tuple((each.weighed.size, each.weighed.estimate) for each in settled[1:]),
        queue_ahead=record.pending if record is not None else None,
        record_age_s=max((bench.clock.now - read_at).total_seconds(), 0.0) if read_at is not None else None,
        simulated=place.site.simulated or (reading is not None and reading.simulated),
    )
    return Judged(candidate, place, standing(envelope, candidate, place, lacks))


def refused(verdicts: Iterable[Verdict]) -> bool:
    """A condition is not met. What is only wished for refuses nothing."""
    for verdict in verdicts:  # noqa: SIM110 - asked for every size of every place: half the time of a generator
        if verdict.answer == "fail" and not verdict.soft:
            return True
    return False


def _with_wishes(
    envelope: Envelope, place: Place, bench: Bench, verdicts: tuple[Verdict, ...]
) -> tuple[Envelope, tuple[Verdict, ...]]:
    """What is asked of the scheduler here: with the wishes about nodes where all of them can be met, else without."""
    about_nodes = [each for each in verdicts if each.soft and each.rule in _KINDS]
    if not about_nodes:
        return bench.conditions, verdicts
    met = all(each.answer == "pass" for each in about_nodes)
    if met and rules.capacity(envelope, place, bench.clock).answer == "pass":
        return envelope, verdicts
    if met and gpu_type(envelope, place.record) is not None:  # what it said would be asked for is not
        verdicts = tuple(
            each.model_copy(update={"answer": "unknown", "sentence": _TOO_FEW}) if each in about_nodes else each
            for each in verdicts
        )
    return bench.conditions, verdicts


def _settled(
    envelope: Envelope, sized_by: Envelope, place: Place, bench: Bench, world: World, *, rough: bool
) -> list[_Settled]:
    """The sizes that could be asked for, best first; those that a rule refuses only where it refuses all."""
    found: list[_Settled] = []
    for narrowed in _ever_less(sized_by):
        more = [
            _Settled(each, outcome_rules.judged(envelope, place, each, bench.clock, world))
            for each in weigh(narrowed, place, world, rough=rough)
        ]
        open_ = [each for each in more if not refused(each.verdicts)]
        if open_:
            # unknown conditions, then wishes that are not met; among equals the order of the estimates stays
            return sorted(open_, key=lambda each: unmet(each.verdicts)) if len(open_) > 1 else open_
        found = found or more
    return found[:1]


def _ever_less(envelope: Envelope) -> Iterator[Envelope]:
    """What is asked; where no size of it will do, the same for the shortest time; at last the least of all."""
    yield envelope
    shortest = {"walltime_s": Span.exactly(envelope.walltime_s.min)}
    if envelope.walltime_s.min < envelope.walltime_s.max:
        yield envelope.model_copy(update=shortest)
    spans = {name: getattr(envelope, name) for name in ("nodes", "cpus", "gpus", "memory_bytes")}
    if any(span is not None and span.min < span.max for span in spans.values()):
        least = {name: Span.exactly(span.min) for name, span in spans.items() if span is not None}
        yield envelope.model_copy(update={**least, **shortest})
