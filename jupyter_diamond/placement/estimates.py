"""What a candidate would take: the wait, the run, getting ready, moving data; and the best size at a place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.forecast import Estimate, Forecast

from .charge import rate_of
from .forecast.calibration import simplest
from .forecast.wait import Look
from .place import Place
from .runs import run_of, units
from .sizing import Sized, size_for, sizes_for
from .world import World

_BASELINES = frozenset({"shortest_queue", "best_feasible", "random"})
"""Objectives that weigh no sizes: the most useful that fits now is taken, as their authors do."""


class Weighed(NamedTuple):
    """A size with its estimate."""

    size: Size
    starts_now: bool | None
    estimate: Estimate


def weigh(envelope: Envelope, place: Place, world: World, *, rough: bool = False) -> tuple[Weighed, ...]:
    """The sizes that could be asked for here, best first; one where nothing is known of the place.

    ``rough`` looks at one size, counts the jobs that wait, and simulates no queue.
    """
    single = rough or place.record is None or envelope.objective in _BASELINES
    sizes = (size_for(envelope, place.record),) if single else sizes_for(envelope, place.record)
    forecasts = [_rough(sizes[0], place, world)] if rough else _forecasts(envelope, place, sizes, world)
    found = [
        _weighed(envelope, place, sized, forecast, world) for sized, forecast in zip(sizes, forecasts, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: _by_objective(envelope, each)) if len(found) > 1 else found)


def _by_objective(envelope: Envelope, each: Weighed) -> tuple[float, ...]:
    estimate = each.estimate
    wait, total, large = estimate.forecast.wait_s, estimate.total_s, -units(each.size)
    last = float("inf")
    if envelope.objective == "earliest_start":
        return (last if wait is None else wait, large)
    if envelope.objective in {"lowest_cost", "least_waste"}:
        return (last if estimate.charge is None else estimate.charge, -large, last if total is None else total)
    return (last if total is None else total, large)


def _weighed(envelope: Envelope, place: Place, sized: Sized, forecast: Forecast, world: World) -> Weighed:
    site, record = place.site.name, place.record
    speed = world.speeds.get(site)
    run = run_of(envelope, sized.size, speed=1.0 if speed is None else speed)
    terms = (run.seconds, world.prepare_s.get(site), world.transfer_s.get(site))
    known = [each for each in terms if each is not None]
    total = None if forecast.wait_s is None else forecast.wait_s + sum(known)
    limit = float(sized.size.walltime_s)
    charged = limit if run.seconds is None or run.assumed else min(run.seconds, limit)
    rate = rate_of(sized.size, record)
    estimate = Estimate(
        forecast=forecast, run_s=terms[0], run_assumed=run.assumed, speed=None if run.seconds is None else speed,
        prepare_s=terms[1], transfer_s=terms[2], total_s=total, charge=rate.after(charged),
        charge_at_most=rate.after(limit), charge_unit=rate.unit, charge_why=rate.why,
        charge_per_hour=rate.per_hour, charge_least_s=rate.least_s, charged=place.site.scheduler != "process",
    )  # fmt: skip
    told = forecast.method in {"fits_now", "replay"} and record is not None
    return Weighed(sized.size, forecast.method == "fits_now" if told else sized.starts_now, estimate)


_ALL_TAKEN = Forecast(wait_s=None, method="unknown", because="what you have there already is all that you may")


def _forecasts(envelope: Envelope, place: Place, sizes: Sequence[Sized], world: World) -> list[Forecast]:
    """The wait of each size; those that the user's own limits allow are asked of the forecaster together."""
    record, site = place.record, place.site.name
    pending = record.pending if record is not None else None
    if envelope.objective == "best_feasible":
        return [_best_feasible(sized, pending) for sized in sizes]
    whole_node = bool(record is not None and record.whole_node)
    test_only_s = world.test_only_s.get((site, place.partition))
    asked = [
        (sized.size, Look(fits_now=sized.starts_now, pending=pending, whole_node=whole_node, test_only_s=test_only_s))
        for sized in sizes
        if not sized.own_limit
    ]
    told = iter(world.forecaster.forecasts(site, place.partition, asked))
    return [_ALL_TAKEN if sized.own_limit else next(told) for sized in sizes]


def _rough(sized: Sized, place: Place, world: World) -> Forecast:
    pending = place.record.pending if place.record is not None else None
    if sized.own_limit or pending is None or sized.starts_now is None:
        return Forecast(wait_s=None, method="unknown", because="what is free there is not known")
    wait = 0.0 if sized.starts_now and not pending else simplest(starts_now=False, pending=pending)
    ahead = f"{pending} {'job waits' if pending == 1 else 'jobs wait'} there"
    return Forecast(
        wait_s=wait, method="depth", because=f"{ahead}; only the {world.simulated} likeliest places were simulated"
    )


def _best_feasible(sized: Sized, pending: int | None) -> Forecast:
    wait = simplest(starts_now=sized.starts_now, pending=pending)
    return Forecast(wait_s=wait, method="fits_now" if sized.starts_now else "depth")
