"""What holds of every decision, whatever is asked of whatever pool."""

from __future__ import annotations

import random
import shlex
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy, WalltimeStep
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.notebook.options import submit_parser
from jupyter_diamond.parsing.envelopes import envelope_words, read_envelope
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.judging import Bench, judge
from jupyter_diamond.placement.place import Clock, Place
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World
from tests.placement.profiles import GIB, NOW, H

SPANS = ("nodes", "cpus", "gpus", "walltime_s", "memory_bytes")
SOFT = ("arch", "gpu_model", "gpu_memory", "fabric", "container", "sites", "deadline", "max_charge", "preemptible")
seeds = st.integers(0, 1_000_000)


def drawn_record(draw: random.Random, site: str, name: str) -> Record:
    shapes = tuple(
        NodeShape(
            cpus=draw.choice([None, 32, 64]), memory_bytes=draw.choice([None, 64 * GIB, 256 * GIB]),
            gpus=draw.choice([0, 0, 2, 4, None]), gpu_model=draw.choice([None, "a100", "h100"]),
            gpu_memory_bytes=draw.choice([None, 40 * GIB, 80 * GIB]), arch=draw.choice([None, "x86_64", "aarch64"]),
            nodes=draw.randint(0, 6),
        )
        for _ in range(draw.randint(0, 2))
    )  # fmt: skip
    free = tuple(
        FreeNode(cpus=draw.randint(1, 64), memory_bytes=draw.choice([None, 64 * GIB]), gpus=draw.choice([0, 2, 4, None]),
                 gpu_model=draw.choice([None, "a100", "h100"]), whole=draw.choice([True, False, None]))
        for _ in range(draw.randint(0, 3))
    )  # fmt: skip
    policy = PartitionPolicy(
        machine="Toy", min_nodes=draw.choice([None, None, 2]), gpu_counts=draw.choice([(), (), (1, 2, 4)]),
        walltime_by_nodes=draw.choice([(), (WalltimeStep(nodes=2, walltime_s=2 * H), WalltimeStep(nodes=8, walltime_s=8 * H))]),
        preemptible=draw.choice(["", "", "after 1 h"]), containers=draw.choice([(), ("apptainer",)]),
        fabric=draw.choice([None, "InfiniBand NDR", "HPE Slingshot"]), by_request=draw.random() < 0.1,
        charge=draw.choice([None, ChargeModel(resource="node", unit="node-hour", factor=1.0, least_s=draw.choice([None, 900]))]),
    )  # fmt: skip
    return Record(
        site=site, partition=name, state=draw.choice(["up"] * 8 + ["down", "unknown"]), read_at=NOW, shapes=shapes,
        free_nodes=free, cpus_free=draw.choice([None, 100]), gpus_free=draw.choice([None, 4]),
        pending=draw.choice([None, 0, 3]), walltime_cap_s=draw.choice([None, 4 * H, 48 * H, NO_LIMIT]),
        max_nodes=draw.choice([None, 1, 4, NO_LIMIT]), whole_node=draw.choice([True, False, None]),
        policy=draw.choice([None, policy]),
    )  # fmt: skip


def drawn_pool(draw: random.Random) -> tuple[Snapshot, tuple[Site, ...], World]:
    sites, readings, told = [], [], {}
    for name in ("anvil", "delta", "vista")[: draw.randint(1, 3)]:
        records = tuple(drawn_record(draw, name, f"p{at}") for at in range(draw.randint(1, 3)))
        sites.append(Site(name=name, scheduler="slurm", account=draw.choice([None, "abc"]), prefer=draw.choice([0, 1])))
        readings.append(
            SiteReading(
                site=name, transport="local", scheduler="slurm", health="online", records=records,
                read_at=NOW - timedelta(seconds=draw.choice([5, 5, 300, 900])),
            )
        )  # fmt: skip
        if draw.random() < 0.5:
            rows = tuple(Balance(account=each, left=draw.choice([-1.0, 0.5, 6.0, 500.0])) for each in ("abc", "def"))
            told[name] = Balances(site=name, command="accounts", read_at=NOW, accounts=rows)
    names = [site.name for site in sites]
    learnt = {
        "speeds": {name: draw.choice([0.5, 1.25]) for name in names if draw.random() < 0.3},
        "prepare_s": {name: draw.choice([0.0, 40.0]) for name in names if draw.random() < 0.3},
    }
    world = World(forecaster=Forecaster(now=NOW.timestamp()), balances=told, **learnt)
    return Snapshot(id=1, taken_at=NOW, sites=tuple(readings)), tuple(sites), world


def drawn_envelope(draw: random.Random, **more) -> Envelope:
    def span(low: int, high: int) -> Span:
        ends = sorted((draw.randint(low, high), draw.randint(low, high)))
        return Span(min=ends[0], max=ends[1])

    facts = {"nodes": span(1, 4), "cpus": span(1, 64), "gpus": span(0, 4), "walltime_s": span(60, 12 * H)}
    if draw.random() < 0.5:
        facts["memory_bytes"] = span(GIB, 256 * GIB)
    if facts["gpus"].min and draw.random() < 0.5:
        facts |= {
            "gpu_model": draw.choice([None, "a100", "h100|a100"]),
            "gpu_memory_bytes": draw.choice([None, 40 * GIB]),
        }
    if draw.random() < 0.5:
        facts |= {
            "arch": draw.choice([None, "x86_64"]), "fabric": draw.choice([None, "infiniband"]),
            "container": draw.choice([None, "apptainer"]), "sites": draw.choice([(), ("delta", "anvil")]),
            "deadline": draw.choice([None, NOW + timedelta(hours=6)]), "max_charge": draw.choice([None, 5.0]),
            "preemptible": draw.random() < 0.5,
        }  # fmt: skip
    if draw.random() < 0.5:
        facts["runtime"] = Runtime(seconds=draw.choice([600.0, 5 * H]))
    return Envelope(**{**facts, **more})


def feasible(decision) -> set[tuple[str, str]]:
    return {(each.site, each.partition) for each in decision.candidates if each.feasible}


def open_to_a_pin(decision) -> set[tuple[str, str]]:
    """Those that no condition refuses: known to fit, or not known."""
    return {
        (each.site, each.partition)
        for each in decision.candidates
        if all(verdict.answer != "fail" or verdict.soft for verdict in each.verdicts)
    }


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_asking_for_more_never_adds_a_candidate(seed):
    draw = random.Random(seed)
    snapshot, sites, world = drawn_pool(draw)
    asked = drawn_envelope(draw)
    name = draw.choice([each for each in SPANS if getattr(asked, each) is not None])
    span = getattr(asked, name)
    more = asked.model_copy(update={name: Span(min=draw.randint(span.min, span.max), max=span.max)})
    before, after = (decide(each, snapshot, sites, now=NOW, world=world) for each in (asked, more))
    assert feasible(after) <= feasible(before)
    if asked.deadline is None:  # held against an estimate, which may need a fact that a smaller request does not
        assert open_to_a_pin(after) <= open_to_a_pin(before)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_a_pinned_choice_obeys_the_same_rules(seed):
    draw = random.Random(seed)
    snapshot, sites, world = drawn_pool(draw)
    asked = drawn_envelope(draw, sites=())
    free = decide(asked, snapshot, sites, now=NOW, world=world)
    for candidate in free.candidates:
        where = {"site": candidate.site, "partition": candidate.partition}
        pinned = decide(asked.model_copy(update=where), snapshot, sites, now=NOW, world=world)
        allowed = (candidate.site, candidate.partition) in open_to_a_pin(free)
        assert (pinned.choice is not None) == allowed
        if pinned.choice is not None:
            assert (pinned.choice.site, pinned.choice.partition) == (candidate.site, candidate.partition)
            unknown = [each for each in pinned.choice.verdicts if each.answer == "unknown" and not each.soft]
            assert sum("because you pinned it" in each for each in pinned.warnings) == len(unknown)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_the_order_of_records_and_sites_changes_nothing_at_all(seed):
    draw = random.Random(seed)
    snapshot, sites, world = drawn_pool(draw)
    asked = drawn_envelope(draw)
    mixed = [
        each.model_copy(update={"records": tuple(draw.sample(each.records, len(each.records)))})
        for each in draw.sample(snapshot.sites, len(snapshot.sites))
    ]
    other = snapshot.model_copy(update={"sites": tuple(mixed)})
    others = tuple(draw.sample(sites, len(sites)))
    assert decide(asked, snapshot, sites, now=NOW, world=world) == decide(asked, other, others, now=NOW, world=world)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_a_wish_never_removes_a_candidate(seed):
    draw = random.Random(seed)
    snapshot, sites, world = drawn_pool(draw)
    asked = drawn_envelope(draw)
    soft = tuple(draw.sample(SOFT, draw.randint(1, len(SOFT))))
    wished = asked.model_copy(update={"soft": soft})
    nothing = {"gpu_memory": "gpu_memory_bytes"}
    without = asked.model_copy(
        update={nothing.get(name, name): {"sites": (), "preemptible": True}.get(name) for name in soft}
    )
    hard, wish, none = (
        feasible(decide(each, snapshot, sites, now=NOW, world=world)) for each in (asked, wished, without)
    )
    assert hard <= wish
    assert wish == none


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_what_is_kept_of_a_rules_answers_is_what_it_would_say(seed):
    draw = random.Random(seed)
    snapshot, sites, _ = drawn_pool(draw)
    asked = drawn_envelope(draw, soft=tuple(draw.sample(SOFT, draw.randint(0, 3))))
    clock = Clock(NOW, 120.0, 600.0)
    bench = Bench(asked, clock)
    for site, read in zip(sites, snapshot.sites, strict=True):
        for record in read.records:
            place = Place(site, record.partition, read, record)
            assert bench.judge(place) == judge(asked, place, clock)


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_the_change_that_a_refusal_names_is_one_that_can_be_typed_and_is_enough(seed):
    """Enough for that rule: another one may stand against the place as well."""
    draw = random.Random(seed)
    snapshot, sites, world = drawn_pool(draw)
    asked = drawn_envelope(draw, runtime=None)
    decision = decide(asked, snapshot, sites, now=NOW, world=world)
    for candidate in decision.candidates:
        for verdict in candidate.verdicts:
            if not verdict.change:
                continue
            words = [*envelope_words(asked), *shlex.split(verdict.change)]
            changed = read_envelope(vars(submit_parser().parse_args(["fit", *words])), now=NOW)
            again = decide(changed, snapshot, sites, now=NOW, world=world)
            same = next(
                each
                for each in again.candidates
                if (each.site, each.partition) == (candidate.site, candidate.partition)
            )
            assert [each.answer for each in same.verdicts if each.rule == verdict.rule] != ["fail"], (
                verdict,
                same.size,
            )
