"""In which order feasible candidates stand. Smaller is better; equal is a tie, which is shown and broken by rule."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from jupyter_diamond.model.decision import Candidate, Verdict
from jupyter_diamond.model.envelope import Envelope, Objective
from jupyter_diamond.model.snapshot import Record

from .place import NOW, Place
from .runs import units

_LAST = float("inf")
Key = tuple[float, ...]


class Standing(NamedTuple):
    """What puts a candidate before another: what is not known and not met, the objective, then what breaks ties."""

    unmet: tuple[int, int]
    objective: Key
    ties: Key


def standing(envelope: Envelope, candidate: Candidate, place: Place, lacks: tuple[int, int] | None = None) -> Standing:
    """Fewest verdicts unknown, fewest wishes unmet, the objective; then least waste, the user's preference, size.

    Before these, equals of one site are told apart by their charge: see ``among_equals``.

    ``lacks`` is what ``unmet`` says of it, where that is known.
    """
    size, lacks = candidate.size, lacks or unmet(candidate.verdicts)
    if size is None:
        return Standing(lacks, (_LAST,), ())
    ties = (*wasted(candidate, place.record), *_preference(envelope, place), float(-units(size)))
    return Standing(lacks, _objective(envelope, candidate, place), ties)


def unmet(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """How many conditions are not known to be met, and how many wishes are not met."""
    unknown = wishes = 0
    for each in verdicts:
        if each.answer != "pass":  # nearly all of them do
            unknown += each.answer == "unknown" and not each.soft
            wishes += each.soft and each.rule != NOW
    return unknown, wishes


def one_unit(candidates: Iterable[Candidate]) -> bool:
    """Their charges can be compared: credits of two kinds have no rate of exchange."""
    estimates = [each.estimate for each in candidates]
    return len({each.charge_unit for each in estimates if each is not None and each.charge is not None}) <= 1


def by_completion(standing: Standing, candidate: Candidate) -> Standing:
    """Where it stands when charges cannot be compared."""
    total = candidate.estimate.total_s if candidate.estimate is not None else None
    return standing._replace(objective=(_or_last(total),))


class Equal(NamedTuple):
    """One of those that are as good by the objective, with what decides between them."""

    at: int
    site: str
    partition: str
    charge: float | None
    unit: str
    ties: Key

    @classmethod
    def of(cls, at: int, candidate: Candidate, ties: Key) -> Equal:
        """A candidate by its place in the list."""
        charge = candidate.estimate.charge if candidate.estimate is not None else None
        unit = candidate.estimate.charge_unit if candidate.estimate is not None else ""
        exact = None if charge is None else round(charge, 6)
        return cls(at, candidate.site, candidate.partition, exact, unit, ties)


def among_equals(equals: Iterable[Equal]) -> list[Equal]:
    """The cheapest first where charges can be compared, which is within one site; else by waste, preference, name."""
    tills: dict[tuple[str, str, bool], list[Equal]] = {}
    for each in equals:
        tills.setdefault((each.site, each.unit, each.charge is None), []).append(each)

    def rest(each: Equal) -> tuple[Key, str, str]:
        return each.ties, each.site, each.partition

    own = [sorted(till, key=lambda each: (each.charge or 0.0, rest(each))) for till in tills.values()]
    return list(heapq.merge(*own, key=rest))


_DECIDERS = ("charge", "what would lie idle", "your preference", "how much of what you asked for they give", "name")
_BY_KEY = (1, 1, 2, 2, 3)
"""Which of these the parts of ``Standing.ties`` are."""


def decided(first: Equal, others: Iterable[Equal]) -> str:
    """What put the first one before each of the others: ``by charge, then by name``; empty without others."""
    found = {_decider(first, each) for each in others}
    return ", then ".join(f"by {_DECIDERS[at]}" for at in sorted(found))


def _decider(first: Equal, other: Equal) -> int:
    if cheaper(first, other) or other.ties < first.ties:
        return 0
    differ = (part for part, ours, theirs in zip(_BY_KEY, first.ties, other.ties, strict=True) if ours != theirs)
    return next(differ, len(_DECIDERS) - 1)


def cheaper(first: Equal, other: Equal) -> bool:
    """Both charges are known, of one site and in one unit, and the first one is less."""
    if first.charge is None or other.charge is None or (first.site, first.unit) != (other.site, other.unit):
        return False
    return first.charge < other.charge


def _objective(envelope: Envelope, candidate: Candidate, place: Place) -> Key:
    return _KEYS[envelope.objective](envelope, candidate, place)


def _total(candidate: Candidate) -> float:
    return _or_last(candidate.estimate.total_s if candidate.estimate is not None else None)


def _wait(candidate: Candidate) -> float:
    return _or_last(candidate.estimate.forecast.wait_s if candidate.estimate is not None else None)


def _charge(candidate: Candidate) -> float:
    return _or_last(candidate.estimate.charge if candidate.estimate is not None else None)


_KEYS: dict[Objective, Callable[[Envelope, Candidate, Place], Key]] = {
    "earliest_completion": lambda _envelope, candidate, _place: (_total(candidate),),
    "earliest_start": lambda _envelope, candidate, _place: (_wait(candidate),),
    "lowest_cost": lambda _envelope, candidate, _place: (_charge(candidate), _total(candidate)),
    "least_waste": lambda _envelope, candidate, place: (*wasted(candidate, place.record), _total(candidate)),
    "prefer_site": lambda envelope, candidate, place: (*_preference(envelope, place), _total(candidate)),
    "shortest_queue": lambda _envelope, candidate, _place: (_or_last(candidate.queue_ahead),),
    "best_feasible": lambda _envelope, candidate, _place: (_total(candidate),),  # its waits are its own
    "random": lambda _envelope, _candidate, _place: (),
}


def _or_last(amount: float | None) -> float:
    return _LAST if amount is None else float(amount)


def _preference(envelope: Envelope, place: Place) -> Key:
    """The user's own order of sites, then what the catalogue says."""
    named = envelope.sites.index(place.site.name) if place.site.name in envelope.sites else len(envelope.sites)
    return (float(named), float(-place.site.prefer))


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


def drawn(names: Sequence[tuple[str, str]], seed: int) -> list[int]:
    """An order by lot that depends on names and seed alone: the places at which they stand."""
    order = sorted(range(len(names)), key=lambda at: names[at])
    random.Random(seed).shuffle(order)  # noqa: S311 - a lot that can be drawn again, no secret
    return order
