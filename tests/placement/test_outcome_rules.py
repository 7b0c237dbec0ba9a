"""The rules about what a size takes, what a machine has, and wishes. Tables: one row a rule's case."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.charge import SpendingCap, Spent
from jupyter_diamond.model.data import StageIn
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Snapshot
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.judging import RULES, judge
from jupyter_diamond.placement.place import HEADINGS, Clock, Place
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World
from jupyter_diamond.sites.machines import machine, names
from tests.placement.profiles import GIB, NOW, H, live, reading, record

ONE = Span.exactly(1)
GPU_HOUR = ChargeModel(resource="gpu", unit="GPU-hour", gpus_per_unit=1, factor=1.0)
NODE = NodeShape(cpus=64, memory_bytes=256 * GIB, gpus=4, gpu_model="a100", gpu_memory_bytes=40 * GIB, nodes=8)
FREE = FreeNode(cpus=64, memory_bytes=256 * GIB, gpus=4, gpu_model="a100", whole=True)


def rec(name="gpu", *shapes, free=(FREE,), pending=0, **policy):
    known = PartitionPolicy(machine="Toy", **{"charge": GPU_HOUR, **policy})
    return record(name, *(shapes or (NODE,)), free=free, pending=pending, policy=known)


def ask(envelope, *records, account="abc", balances=None, **more):
    where = Site(name="it", scheduler="slurm", account=account)
    told = {} if balances is None else {"it": balances}
    world = World(forecaster=Forecaster(now=NOW.timestamp()), balances=told, **more)
    found = reading(*(records or (rec(),)))
    return decide(envelope, Snapshot(id=1, taken_at=NOW, sites=(found,)), (where,), now=NOW, world=world)


def said(decision, rule, at=0):
    return next(each for each in decision.candidates[at].verdicts if each.rule == rule)


def told(*accounts, unit=""):
    rows = tuple(Balance(account=name, left=left, unit=unit) for name, left in accounts)
    return Balances(site="it", command="accounts", read_at=NOW, accounts=rows)


def gpus(least=1, most=None, hours=1, **more) -> Envelope:
    return Envelope(gpus=Span(min=least, max=most or least), walltime_s=Span.exactly(hours * H), **more)


# -- machines ---------------------------------------------------------------------------------------------------------

MACHINE = [
    ("fabric", {"fabric": "infiniband"}, {"fabric": "Mellanox InfiniBand NDR"}, "pass", ""),
    ("fabric", {"fabric": "InfiniBand NDR"}, {"fabric": "Mellanox InfiniBand NDR"}, "pass", ""),
    ("fabric", {"fabric": "slingshot"}, {"fabric": "Mellanox InfiniBand NDR"}, "fail", "--fabric 'Mellanox InfiniBand NDR'"),
    ("fabric", {"fabric": "slingshot"}, {}, "unknown", ""),
    ("fabric", {}, {}, "pass", ""),
    ("container", {"container": "apptainer"}, {"containers": ("apptainer",)}, "pass", ""),
    ("container", {"container": "Singularity"}, {"containers": ("apptainer",)}, "pass", ""),
    ("container", {"container": "shifter"}, {"containers": ("apptainer",)}, "fail", "--container apptainer"),
    ("container", {"container": "shifter"}, {}, "unknown", ""),
    ("container", {}, {}, "pass", ""),
    ("preemptible", {}, {"preemptible": "after 1 h"}, "fail", "--preemptible"),
    ("preemptible", {"preemptible": True}, {"preemptible": "after 1 h"}, "pass", ""),
    ("preemptible", {}, {}, "pass", ""),
    ("sites", {"sites": ("it",)}, {}, "pass", ""),
    ("sites", {"sites": ("there", "here")}, {}, "fail", "--sites there,here,it"),
    ("sites", {}, {}, "pass", ""),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "wish", "policy", "answer", "change"), MACHINE)
def test_what_a_machine_has(rule, wish, policy, answer, change):
    found = said(ask(Envelope(**wish), rec(**policy)), rule)
    assert (found.answer, found.change) == (answer, change)
    assert found.sentence.endswith(".")


# -- what a size takes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("free", "answer"), [((FREE,), "pass"), ((), "fail")])
def test_now_and_ever_are_both_answered_and_now_refuses_nobody(free, answer):
    decision = ask(gpus(), rec(free=free, pending=2))
    assert said(decision, "capacity").answer == "pass"
    assert said(decision, "capacity now").answer == answer
    assert decision.choice is not None


def test_a_place_that_waits_but_ends_sooner_is_before_one_that_starts_now():
    full, idle = rec("fast", free=(), pending=0), rec("slow")
    speedy = ask(gpus(runtime=Runtime(seconds=H)), full, idle)
    assert [each.rank for each in speedy.candidates] == [2, 1], "with equal speeds what starts now ends first"


def test_where_there_are_very_many_places_jobs_are_counted_at_the_unlikely_ones_and_said_so():
    records = [rec(f"p{at:02}", free=() if at else (FREE,), pending=at) for at in range(40)]
    decision = ask(gpus(), *records, simulated=5)
    assert decision.choice.partition == "p00"
    because = [each.estimate.forecast.because for each in decision.candidates]
    assert sum("likeliest places were simulated" in each for each in because) == 35
    assert all(each.feasible and each.rank for each in decision.candidates)


DEADLINE = [
    ("in time", 3 * H, {"runtime": Runtime(seconds=2 * H)}, (FREE,), "pass"),
    ("by its time limit it has ended", 3 * H, {}, (FREE,), "pass"),
    ("runs too long", H, {"runtime": Runtime(seconds=2 * H)}, (FREE,), "fail"),
    ("may run too long", H, {}, (FREE,), "unknown"),
    ("waits too long", H, {}, (), "fail"),
    ("past", -60, {}, (FREE,), "fail"),
]


@pytest.mark.parametrize(("case", "left", "more", "free", "answer"), DEADLINE, ids=[row[0] for row in DEADLINE])
def test_a_deadline_is_held_against_the_estimate(case, left, more, free, answer):
    envelope = gpus(hours=3, deadline=NOW + timedelta(seconds=left), **more)
    assert said(ask(envelope, rec(free=free, pending=3)), "deadline").answer == answer


def test_a_deadline_is_unknown_where_the_wait_is():
    found = ask(
        gpus(deadline=NOW + timedelta(hours=9)), rec(free=()).model_copy(update={"cpus_free": None, "pending": None})
    )
    assert said(found, "deadline").answer == "unknown"
    assert found.choice is None


def test_the_deadline_that_is_named_is_met():
    late = said(ask(gpus(hours=3, deadline=NOW + timedelta(hours=1), runtime=Runtime(seconds=2 * H))), "deadline")
    assert late.change == "--deadline 2026-11-30T14:01Z"


CHARGE = [
    (gpus(4, hours=2, max_charge=8.0), "pass", ""),
    (gpus(4, hours=2, max_charge=7.9), "fail", "--max-charge 8"),
    (gpus(4, hours=2), "pass", ""),
]


@pytest.mark.parametrize(("envelope", "answer", "change"), CHARGE)
def test_a_charge_has_a_limit(envelope, answer, change):
    found = said(ask(envelope), "max charge")
    assert (found.answer, found.change) == (answer, change)


def test_a_charge_that_is_not_known_is_not_within_a_limit():
    found = ask(gpus(max_charge=5.0), rec(charge=None))
    assert said(found, "max charge").answer == "unknown"
    assert found.choice is None
    assert ask(gpus(max_charge=5.0, site="it"), rec(charge=None)).choice is not None


CREDIT = [
    ("enough", told(("abc", 8.0)), "abc", "pass", ""),
    ("too little: a shorter time", told(("abc", 6.0)), "abc", "fail", "--time 1h30m"),
    ("nothing left: another account", told(("abc", 0.0), ("rich", 99.0)), "abc", "fail", "--account rich"),
    ("overdrawn", told(("abc", -3.0)), "abc", "fail", ""),
    ("names are small or large", told(("ABC", 8.0)), "abc", "pass", ""),
    ("not told of ours", told(("other", 8.0)), "abc", "unknown", ""),
    ("the only one", told(("abc", 8.0)), None, "pass", ""),
    ("which of two", told(("abc", 8.0), ("b", 9.0)), None, "unknown", ""),
    ("another unit", told(("abc", 8.0), unit="node-hour"), "abc", "unknown", ""),
    ("never told", None, "abc", "pass", ""),
]


@pytest.mark.parametrize(("case", "balances", "account", "answer", "change"), CREDIT, ids=[row[0] for row in CREDIT])
def test_what_a_job_can_be_charged_is_on_the_account(case, balances, account, answer, change):
    found = said(ask(gpus(4, hours=2), account=account, balances=balances), "credit")
    assert (found.answer, found.change) == (answer, change)


def test_an_account_without_credit_is_refused_by_name_and_cannot_be_pinned():
    decision = ask(gpus(4, hours=2, site="it"), balances=told(("abc", 0.0)))
    assert decision.choice is None
    assert "this job may cost up to 8 GPU-hours, and abc has 0 left" in decision.sentence


def test_a_smaller_size_is_taken_where_only_that_is_on_the_account():
    ranges = Envelope(gpus=Span(min=1, max=4), walltime_s=Span(min=H, max=4 * H))
    assert ask(ranges).choice.size.gpus == 4
    poor = ask(ranges, balances=told(("abc", 2.0)))
    assert poor.choice.size.gpus * poor.choice.size.walltime_s <= 2 * H
    assert said(poor, "credit").answer == "pass"
    assert ask(ranges, balances=told(("abc", 0.5))).choice is None


# -- wishes -----------------------------------------------------------------------------------------------------------


def test_a_wish_that_is_not_met_ranks_behind_and_refuses_nobody():
    h100 = NODE.model_copy(update={"gpu_model": "h100", "nodes": 8})
    free = FREE.model_copy(update={"gpu_model": "h100"})
    records = (rec("a"), rec("b", h100, free=(free,)))
    wish = gpus(gpu_model="h100", soft=("gpu_model",))
    decision = ask(wish, *records)
    assert [each.rank for each in decision.candidates] == [2, 1]
    missed = said(decision, "accelerator", at=0)
    assert (missed.answer, missed.soft) == ("fail", True)
    assert decision.candidates[0].feasible
    assert ask(gpus(gpu_model="h100"), *records).candidates[0].feasible is False


def test_a_wish_for_a_kind_that_is_too_small_is_not_said_to_be_asked_for():
    small = NODE.model_copy(update={"gpu_model": "h100", "gpus": 1, "nodes": 2})
    decision = ask(gpus(4, gpu_model="h100", soft=("gpu_model",)), rec("mixed", NODE, small, free=()))
    found = said(decision, "accelerator")
    assert (found.answer, found.soft) == ("unknown", True)
    assert (decision.choice.size.gpus, decision.choice.size.gpu_type) == (4, None)


@pytest.mark.parametrize(
    ("soft", "more"),
    [
        ("deadline", {"deadline": NOW - timedelta(minutes=1)}), ("max_charge", {"max_charge": 0.1}),
        ("container", {"container": "shifter"}), ("fabric", {"fabric": "slingshot"}), ("sites", {"sites": ("other",)}),
        ("arch", {"arch": "aarch64"}), ("gpu_memory", {"gpu_memory_bytes": 200 * GIB}), ("preemptible", {}),
    ],
)  # fmt: skip
def test_every_condition_can_be_a_wish(soft, more):
    place = rec(
        containers=("apptainer",), fabric="InfiniBand", preemptible="after 1 h" if soft == "preemptible" else ""
    )
    place = place.model_copy(update={"shapes": (NODE.model_copy(update={"arch": "x86_64"}),)})
    assert ask(gpus(**more), place).choice is None
    wished = ask(gpus(soft=(soft,), **more), place)
    assert wished.choice is not None
    assert [each.answer for each in wished.candidates[0].verdicts if each.soft and each.rule != "capacity now"] == [
        "fail"
    ]


# -- all of them ------------------------------------------------------------------------------------------------------


def test_every_rule_has_its_heading():
    capped = Spent(cap=SpendingCap(scope="day", amount=100, unit="GPU-hour"))
    decision = ask(gpus(), spent=(capped,))
    judged = {each.rule: each.heading for each in decision.candidates[0].verdicts}
    wrong = said(ask(gpus(), mismatched={"it": "no MPI there"}), "reported")
    needy = ask(gpus(env=Environment(name="torch"), stage_in=(StageIn(name="imagenet"),)))
    needs = [said(needy, rule) for rule in ("environment", "data")]
    assert {**judged, **{each.rule: each.heading for each in (wrong, *needs)}} == HEADINGS
    plain = {each.rule for each in ask(gpus()).candidates[0].verdicts}
    assert plain == set(HEADINGS) - {"budget", "reported", "environment", "data"}
    assert {rule.name for rule in RULES} < set(HEADINGS)


@pytest.mark.parametrize("name", names())
def test_every_failing_verdict_at_a_known_machine_says_a_change_that_stands_in_its_sentence(name):
    profile = machine(name)
    site = Site(name="it", scheduler=profile.scheduler if profile.scheduler == "slurm" else "slurm")
    asked = Envelope(
        nodes=Span.exactly(5000), cpus=Span.exactly(9999), gpus=Span.exactly(99), gpu_model="gaudi", arch="riscv64",
        walltime_s=Span.exactly(90 * 86400), gpu_memory_bytes=200 * GIB, container="sarus", fabric="myrinet",
    )  # fmt: skip
    for each in live(profile).records:
        rich = each.model_copy(update={"policy": profile.policy(each.partition)})
        place = Place(site, each.partition, live(profile), rich)
        for verdict in judge(asked, place, Clock(NOW, 120.0, 600.0)):
            assert verdict.answer == "fail" or not verdict.change
            if verdict.answer == "fail" and verdict.rule in ("walltime", "GPU memory", "container"):
                assert verdict.change in verdict.sentence or verdict.sentence == "It has no GPU."
