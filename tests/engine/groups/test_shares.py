"""From one decision to the shares of a round."""

from __future__ import annotations

import itertools

import pytest

from jupyter_diamond.engine.groups.names import Names
from jupyter_diamond.engine.groups.shares import round_of, split, too_few
from jupyter_diamond.engine.planner import Planned
from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.decision import Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.group import Member
from jupyter_diamond.model.limits import Association, Cap, SiteLimits
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.world import World
from tests.engine.heal.samples import GIB, HOUR, T0, against, candidate, decision


def place(site, rank, *, wait_s=0.0, run_s=600.0, free=0, nodes=10, partition="cpu", soft=(), **more):
    """A candidate of four cores, and the record that it was judged by."""
    told = {"charge_at_most": more.pop("each", None), "charge_unit": "SU", "charged": True}
    estimate = Estimate(forecast=Forecast(wait_s=wait_s, method="replay"), run_s=run_s, total_s=wait_s + run_s, **told)
    wishes = tuple(against("partition", rule).model_copy(update={"soft": True}) for rule in soft)
    one = candidate(
        site, rank, partition, estimate=estimate, starts_now=free > 0, verdicts=wishes, account="abc",
    )  # fmt: skip
    node = {"cpus": 1, "memory_bytes": 4 * GIB, "gpus": 0}
    record = Record(
        site=site, partition=partition, read_at=T0, shapes=(NodeShape(**node, nodes=nodes),),
        free_nodes=(FreeNode(**node, nodes=free),) if free else (), **more,
    )  # fmt: skip
    return one, record


def planned(*places, envelope=None, balances=(), arrays=None, limits=None):
    known = {}
    for one, record in places:
        known.setdefault(one.site, []).append(record)
    sites = tuple(
        SiteReading(
            site=site, transport="local", scheduler="slurm", records=tuple(records), limits=limits,
            array_places=arrays, read_at=T0,
        )
        for site, records in known.items()
    )  # fmt: skip
    made = decision(*(one for one, _ in places), envelope=envelope)
    made = made.model_copy(update={"objective": made.envelope.objective})
    world = World(forecaster=Forecaster(now=T0.timestamp()), balances={each.site: each for each in balances})
    return Planned(made, Snapshot(id=1, taken_at=T0, sites=sites), world)


def shared(found):
    return {f"{each.candidate.site}:{each.candidate.partition}": count for each, count in found.shares}


def names():
    numbers = itertools.count(1)
    return Names(lambda: f"dmd-{next(numbers):016d}", lambda: "ab" * 32)


def test_what_is_free_is_filled_first_and_the_rest_goes_where_it_is_over_soonest():
    near, far = place("near", 1, free=4, nodes=4), place("far", 2, wait_s=900.0, free=0, nodes=100)
    assert shared(split(planned(near, far), 4)) == {"near:cpu": 4}
    assert shared(split(planned(near, far), 50)) == {"near:cpu": 8, "far:cpu": 42}
    assert shared(split(planned(far, near), 50)) == {"near:cpu": 8, "far:cpu": 42}
    assert shared(split(planned(near, far), 50, at_once=1)) == {"near:cpu": 26, "far:cpu": 24}


def test_a_site_takes_its_share_in_one_partition():
    found = split(planned(place("a", 1, free=2, nodes=2), place("a", 2, free=50, nodes=50, partition="big")), 20)
    assert shared(found) == {"a:cpu": 20}


def test_a_pin_and_a_baseline_have_one_place():
    near, far = place("near", 1, free=1, nodes=1), place("far", 2, free=90, nodes=90)
    pinned = planned(near, far)
    pinned = pinned._replace(decision=pinned.decision.model_copy(update={"mode": "pinned"}))
    assert shared(split(pinned, 30)) == {"near:cpu": 30}
    for objective in ("shortest_queue", "best_feasible", "random"):
        assert shared(split(planned(near, far, envelope=Envelope(objective=objective)), 30)) == {"near:cpu": 30}


@pytest.mark.parametrize("objective", ["lowest_cost", "prefer_site", "least_waste"])
def test_where_time_is_not_the_objective_the_best_takes_all_that_is_paid_for(objective):
    best, next_ = place("best", 1, wait_s=9000.0, each=10.0), place("next", 2, free=90, nodes=90)
    told = Balances(site="best", command="b", read_at=T0, accounts=(Balance(account="abc", left=75.0, unit="SU"),))
    asked = Envelope(objective=objective)
    assert shared(split(planned(best, next_, envelope=asked), 30)) == {"best:cpu": 30}
    assert shared(split(planned(best, next_, envelope=asked, balances=[told]), 30)) == {"best:cpu": 7, "next:cpu": 23}


def test_a_round_that_nobody_pays_for_whole_is_refused_with_how_many_are():
    told = Balances(site="best", command="b", read_at=T0, accounts=(Balance(account="abc", left=75.0, unit="SU"),))
    plan = planned(place("best", 1, each=10.0), balances=[told])
    found = split(plan, 30)
    assert "at best:cpu pays for 7 of these 30" in too_few(found, plan.decision)
    assert too_few(split(plan, 7), plan.decision) == ""
    nowhere = planned((candidate("x"), place("x", 1)[1]))
    assert too_few(split(nowhere, 3), nowhere.decision) == nowhere.decision.sentence


def test_a_wish_keeps_its_places_first_until_it_makes_the_round_much_later():
    wished, other = place("wished", 1, wait_s=600.0, nodes=100), place("other", 2, free=100, nodes=100, soft=["sites"])
    found = split(planned(wished, other), 10)
    assert (shared(found), found.relaxed) == ({"wished:cpu": 10}, ())
    wished = place("wished", 1, wait_s=3.0 * HOUR, nodes=100)
    found = split(planned(wished, other), 10, number=2)
    assert shared(found) == {"other:cpu": 10}
    (relaxed,) = found.relaxed
    assert (relaxed.round, relaxed.condition) == (2, "sites")
    assert relaxed.why == "With it the round would be over in 3 h 10 min, without it in 10 min."


def test_a_hard_condition_is_never_given_up():
    hard = candidate("other", None, verdicts=(Verdict(
        rule="sites", answer="fail", observed="x", required="y", sentence="It is not among yours."),))  # fmt: skip
    plan = planned(place("wished", 1, wait_s=9.0 * HOUR, nodes=100), (hard, place("other", 1, free=100)[1]))
    found = split(plan, 10)
    assert (shared(found), found.relaxed) == ({"wished:cpu": 10}, ())


def test_shares_are_arrays_by_the_members_numbers_and_keep_their_own_place_as_the_choice():
    plan = planned(place("near", 1, free=4, nodes=4), place("far", 2, wait_s=900.0, nodes=100), arrays=1001)
    members = [Member(index=index) for index in range(10, 30)]
    begun = round_of(split(plan, 20), plan.decision, members, names=names(), now=T0)
    near, far = begun.shares
    assert [index for index, _ in (*near.attempts, *far.attempts)] == list(range(10, 30))
    assert [attempt.array.at for _, attempt in near.attempts] == list(range(10, 18))
    assert near.attempts[0][1].token == f"{near.token}-10"
    assert [each.decision.choice.site for each in begun.shares] == ["near", "far"]
    assert far.decision.sentence.startswith("far:cpu takes 12 of 20, so that all are over soonest.")
    assert begun.why_here.startswith("8 at near:cpu, 12 at far:cpu, so that all are over soonest.")


def test_arrays_are_as_long_as_the_site_takes_and_places_count_from_zero_where_numbers_are_too_large():
    plan = planned(place("near", 1, free=4, nodes=4), arrays=8)
    members = [Member(index=index) for index in range(100, 118)]
    begun = round_of(split(plan, 18), plan.decision, members, names=names(), now=T0)
    assert [len(share.attempts) for share in begun.shares] == [8, 8, 2]
    assert [attempt.array.at for _, attempt in begun.shares[1].attempts] == list(range(8))


def test_an_array_leaves_room_under_the_limit_of_submitted_jobs():
    cap = Cap(on="queued", per="you", amount=10, source="association abc")
    mine = Association(account="abc", caps=(cap,))
    plan = planned(
        place("near", 1, free=4, nodes=4), arrays=1001,
        limits=SiteLimits(read_at=T0, associations=(mine,), default_account="abc"),
    )  # fmt: skip
    begun = round_of(split(plan, 25), plan.decision, [Member(index=i) for i in range(25)], names=names(), now=T0)
    assert [len(share.attempts) for share in begun.shares] == [10, 10, 5]


def test_where_a_scheduler_knows_no_arrays_each_member_is_a_job_of_its_own():
    plan = planned(place("here", 1, free=4, nodes=4))
    begun = round_of(split(plan, 3), plan.decision, [Member(index=i) for i in range(3)], names=names(), now=T0)
    (share,) = begun.shares
    tokens = [attempt.token for _, attempt in share.attempts]
    assert len({share.token, *tokens}) == 4
    assert [attempt.array for _, attempt in share.attempts] == [None] * 3
