"""In which order feasible candidates stand. Smaller is better; equal is a tie, which is shown and broken by rule."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
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


def standing(envelope: Envelope, candidate: Candidate, place: Place) -> Standing:
    """Fewest verdicts unknown, fewest wishes unmet, the objective; then least waste, the user's preference, size."""
    size = candidate.size
    if size is None:
        return Standing(unmet(candidate.verdicts), (_LAST,), ())
    ties = (*wasted(candidate, place.record), *_preference(envelope, place), float(-units(size)))
    return Standing(unmet(candidate.verdicts), _objective(envelope, candidate, place), ties)


def unmet(verdicts: Iterable[Verdict]) -> tuple[int, int]:
    """How many conditions are not known to be met, and how many wishes are not met."""
    found = tuple(verdicts)
    unknown = sum(each.answer == "unknown" and not each.soft for each in found)
    return unknown, sum(each.answer != "pass" and each.soft and each.rule != NOW for each in found)


def one_unit(candidates: Iterable[Candidate]) -> bool:
    """Their charges can be compared: credits of two kinds have no rate of exchange."""
    estimates = [each.estimate for each in candidates]
    return len({each.charge_unit for each in estimates if each is not None and each.charge is not None}) <= 1


def by_completion(standing: Standing, candidate: Candidate) -> Standing:
    """Where it stands when charges cannot be compared."""
    total = candidate.estimate.total_s if candidate.estimate is not None else None
    return standing._replace(objective=(_or_last(total),))


def _objective(envelope: Envelope, candidate: Candidate, place: Place) -> Key:
    estimate = candidate.estimate
    wait = _or_last(estimate.forecast.wait_s if estimate is not None else None)
    total = _or_last(estimate.total_s if estimate is not None else None)
    keys: dict[Objective, Key] = {
        "earliest_completion": (total,),
        "earliest_start": (wait,),
        "lowest_cost": (_or_last(estimate.charge if estimate is not None else None), total),
        "least_waste": (*wasted(candidate, place.record), total),
        "prefer_site": (*_preference(envelope, place), total),
        "shortest_queue": (_or_last(candidate.queue_ahead),),
        "best_feasible": (total,),  # its waits are its own
        "random": (),
    }
    return keys[envelope.objective]


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
