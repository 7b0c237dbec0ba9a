"""What is made small, and what is said where it cannot be compared."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.sentences import MANY_UNITS

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
H = 3600


def reading(site: str, *, unit: str | None, factor: float = 1.0, pending: int = 0, free: int = 8) -> SiteReading:
    read_at = NOW - timedelta(seconds=5)
    charge = None if unit is None else ChargeModel(resource="cpu", unit=unit, cores_per_unit=1, factor=factor)
    record = Record(
        site=site, partition="p", state="up", read_at=read_at, shapes=(NodeShape(cpus=8, gpus=0, nodes=4),),
        nodes_total=4, nodes_usable=4, cpus_total=32, cpus_free=free, gpus_total=0, gpus_free=0, pending=pending,
        running=1, free_nodes=(FreeNode(cpus=free, gpus=0),) if free else (), walltime_cap_s=NO_LIMIT,
        max_nodes=NO_LIMIT, whole_node=False, policy=PartitionPolicy(machine=site, charge=charge),
    )  # fmt: skip
    return SiteReading(
        site=site, transport="local", scheduler="slurm", health="online", read_at=read_at, records=(record,)
    )


def ask(*readings: SiteReading, **fields):
    sites = tuple(Site(name=each.site, scheduler="slurm") for each in readings)
    envelope = Envelope(walltime_s=Span.exactly(2 * H), runtime=Runtime(seconds=H), **fields)
    return decide(envelope, Snapshot(id=1, taken_at=NOW, sites=readings), sites, now=NOW)


CHEAP_AND_BUSY = {"factor": 0.5, "pending": 3, "free": 0}


def test_the_lowest_cost_is_taken_where_charges_are_in_one_unit():
    pool = (reading("dear", unit="SU"), reading("cheap", unit="SU", **CHEAP_AND_BUSY))
    assert ask(*pool, objective="lowest_cost").choice.site == "cheap"
    assert ask(*pool).choice.site == "dear"


def test_charges_in_different_units_are_never_compared():
    """A GPU-hour of one site is not half of two core-hours of another."""
    decision = ask(
        reading("dear", unit="core-hour", factor=100.0), reading("cheap", unit="GPU-hour", **CHEAP_AND_BUSY),
        objective="lowest_cost",
    )  # fmt: skip
    assert decision.choice.site == "dear", "it is done first"
    assert MANY_UNITS in decision.warnings


def test_a_place_whose_charge_is_not_known_stands_behind_those_where_it_is():
    pool = (reading("known", unit="SU", **CHEAP_AND_BUSY), reading("unknown", unit=None))
    decision = ask(*pool, objective="lowest_cost")
    assert decision.choice.site == "known"
    assert MANY_UNITS not in decision.warnings


@pytest.mark.parametrize("seed", [0, 7])
def test_a_lot_can_be_drawn_again(seed):
    pool = [reading(name, unit="SU") for name in "abcdef"]
    first = ask(*pool, objective="random", seed=seed)
    again = ask(*reversed(pool), objective="random", seed=seed)
    assert (first.seed, first.choice.site) == (seed, again.choice.site)
    others = {ask(*pool, objective="random", seed=each).choice.site for each in range(30)}
    assert len(others) == len(pool), "every place has its chance"
