"""Advice is tried before it is given, equals are told apart in words, and what is asked is said back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.limits import Association, SiteLimits
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy
from jupyter_diamond.placement.advice import changed
from jupyter_diamond.placement.explain import explain
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.place import Clock
from jupyter_diamond.placement.world import World

from .test_explain_golden import GIB, NOW, TWO_GPUS, H, cores, decided, flat, gpus, reading

ONE_GPU = Envelope(gpus=Span.exactly(1), walltime_s=Span.exactly(4 * H), runtime=Runtime(seconds=1.1 * H))
ROOM = {"free": 4, "pending": 0}


def one(decision: Decision, partition: str) -> Candidate:
    (found,) = [each for each in decision.candidates if each.partition == partition]
    return found


def refused(decision: Decision) -> list[str]:
    """The lines of the block of refusals."""
    (block,) = [each for each in explain(decision).split("\n\n") if each.startswith("Refused:")]
    return [each.rstrip() for each in flat(block).removeprefix("Refused: - ").split(" - ")]


def policy(**more) -> PartitionPolicy:
    charge = ChargeModel(resource="gpu", unit="SU", gpus_per_unit=1, factor=1.0)
    return PartitionPolicy(machine="delta", **{"charge": charge, **more})


def a100(partition: str, **more):
    return gpus("delta", partition, "A100", memory=40, **{**ROOM, **more})


def test_a_limit_below_the_run_time_is_never_advised():
    decision = decided(
        ONE_GPU, reading(a100("short", walltime_cap_s=H), a100("half", walltime_cap_s=H // 2), a100("long"))
    )
    assert refused(decision) == [
        "delta:half: it allows 30 min, too short: it needs about 1 h 6 min.",
        "delta:short: it allows 1 h, too short: it needs about 1 h 6 min.",
    ]
    assert [each.change for each in one(decision, "short").verdicts if each.answer == "fail"] == [""]


def test_where_it_is_not_said_how_long_it_runs_the_limit_is_advised():
    unsaid = ONE_GPU.model_copy(update={"runtime": None})
    decision = decided(unsaid, reading(a100("short", walltime_cap_s=H), a100("long")))
    assert refused(decision) == ["delta:short: it allows 1 h: ask for at most --time 1h."]


def test_what_cannot_be_changed_is_all_that_is_said():
    decision = decided(ONE_GPU, reading(cores("delta", "cpu", walltime_cap_s=H), a100("long")))
    (line,) = refused(decision)
    assert line == "delta:cpu: it has no GPUs."
    failed = {each.rule: (each.change, each.moot) for each in one(decision, "cpu").verdicts if each.answer == "fail"}
    assert failed == {"capacity": ("", False), "walltime": ("", True)}


def test_changes_that_are_needed_together_are_asked_for_together():
    giving_way = a100("preempt", walltime_cap_s=2 * H, policy=policy(preemptible="its jobs give way to others"))
    decision = decided(ONE_GPU, reading(giving_way, a100("long")))
    said = "it allows 2 h, and its jobs may be ended for others: ask for both --time 2h and --preemptible"
    assert refused(decision) == [f"delta:preempt: {said}."]
    asked = changed(ONE_GPU, "--time 2h --preemptible", Clock(NOW, 120, 600))
    assert decided(asked, reading(giving_way)).choice is not None


def test_a_change_that_another_rule_would_still_refuse_is_not_advised():
    """The account has enough for ten minutes: the two hours that the place allows are no help."""
    told = Balances(
        site="delta", command="balance", read_at=NOW, accounts=(Balance(account="abc-gpu", left=1 / 6, unit="SU"),)
    )
    world = World(Forecaster(now=NOW.timestamp()), balances={"delta": told})
    decision = decided(ONE_GPU, reading(a100("short", walltime_cap_s=2 * H)), world=world)
    assert decision.sentence == "No site can run this. delta:short: it allows 2 h."
    paid = decided(ONE_GPU, reading(a100("long")), world=world)
    assert flat(paid.sentence) == (
        "No site can run this. delta:long: this job may cost up to 4 SUs, and abc-gpu has 0.2 left, which pays for 10m "
        "of it, too short: it needs about 1 h 6 min."
    )


@pytest.mark.parametrize(
    ("accounts", "said"),
    [
        (("abc-gpu", "abc-cpu"), "not abc-gpu: add --account abc-cpu"),
        (("abc-gpu", "def-gpu"), "not abc-gpu; you have none that may pay here"),
        ((), "not abc-gpu: add --account with one of yours that is"),
    ],
)
def test_an_account_that_is_advised_is_one_of_the_users_own(accounts, said):
    limits = (
        SiteLimits(read_at=NOW, associations=tuple(Association(account=each) for each in accounts))
        if accounts
        else None
    )
    place = a100("gpu", policy=policy(account_pattern="*-cpu"))
    decision = decided(ONE_GPU, reading(place, limits=limits))
    assert decision.sentence == f"No site can run this. delta:gpu: accounts that pay here are named like *-cpu, {said}."


def test_the_cheapest_of_a_site_is_taken_among_equals_and_all_equals_are_listed_with_their_charge():
    dear = a100("a", policy=policy(charge=ChargeModel(resource="gpu", unit="SU", gpus_per_unit=1, factor=3.0)))
    untold = a100("b", policy=policy(charge=None))
    decision = decided(
        TWO_GPUS, reading(dear, untold, a100("c"), a100("d")), reading(gpus("vista", "gh", "H200", memory=96, **ROOM))
    )
    ranked = sorted((each.rank, each.partition) for each in decision.candidates)
    assert [partition for _, partition in ranked] == ["b", "c", "d", "a", "gh"]
    assert [decision.candidates[at].partition for at in decision.ties] == ["c", "d", "a", "gh"]
    text = flat(explain(decision))
    assert "delta:c, delta:d, delta:a and vista:gh are equally early, decided by name." in text
    assert "delta:b: charge not known: what it charges is not documented" in text
    assert "Charges of different sites are not compared" in text
    assert "delta:a: about 12 SU, at most 24" in text
    known = decided(TWO_GPUS, reading(dear, a100("c"), a100("d")))
    assert "delta:d and delta:a are equally early, decided by charge, then by name." in flat(explain(known))


def test_nothing_fits_and_the_largest_that_is_to_be_had_comes_first():
    decision = decided(
        ONE_GPU.model_copy(update={"gpu_memory_bytes": 200 * GIB}),
        reading(a100("gpuA100x4"), cores("delta", "cpu")),
        reading(gpus("vista", "gh", "H200", memory=96, **ROOM)),
        reading(cores("anvil", "shared")),
    )
    assert decision.sentence == (
        "No site can run this. You asked for 200G per GPU; the most that you can get is 96G (vista:gh): "
        "--gpu-memory 96G; anvil:shared: it has no GPUs."
    )
    assert refused(decision) == [
        "vista:gh: its GPUs have 96G each: ask for at most --gpu-memory 96G.",
        "delta:gpuA100x4: its GPUs have 40G each: ask for at most --gpu-memory 40G.",
        "anvil:shared, delta:cpu: it has no GPUs.",
    ]


def test_what_was_asked_and_when_it_is_done_are_said_in_words_to_type_and_times_of_the_clock():
    long = TWO_GPUS.model_copy(
        update={
            "gpus": Span(min=1, max=2), "walltime_s": Span(min=H, max=12 * H),
            "runtime": Runtime(seconds=2 * H, units=1, serial=0.1), "deadline": NOW + timedelta(hours=30),
        }
    )  # fmt: skip
    text = flat(explain(decided(long, reading(a100("gpuA100x4")))))
    assert (
        "You asked: --cpus 8 --gpus 1-2 --time 1h-12h --runtime 2h@1 --serial 0.1 --deadline 2026-12-01T20:10:00Z "
        "Decided 2026-11-30"
    ) in text
    assert "done about 15:16 UTC, by 2026-12-01 02:10 at the latest if it starts at 14:10." in text
    assert "Run time: your --runtime 2h@1 --serial 0.1, worked out for 2 GPUs." in text


def test_a_refused_row_never_says_that_it_starts():
    told = Balances(
        site="delta", command="balance", read_at=NOW, accounts=(Balance(account="abc-gpu", left=2.0, unit="SU"),)
    )
    world = World(Forecaster(now=NOW.timestamp()), balances={"delta": told})
    decision = decided(
        ONE_GPU, reading(a100("gpuA100x4")), reading(gpus("vista", "gh", "H200", memory=96, **ROOM)), world=world
    )
    (row,) = [line for line in explain(decision).splitlines() if line.strip().startswith("delta:gpuA100x4  ")][:1]
    assert "would start now" in row
    assert "--time 2h would fit" in flat(explain(decision))
