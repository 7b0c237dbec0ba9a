"""Where a task goes, and the words for it. Tables: one row a rule's case."""

from __future__ import annotations

import itertools
import random
import re
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.placement.explain import explain
from jupyter_diamond.placement.judging import judge
from jupyter_diamond.placement.place import Clock, Place
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.sizing import size_for

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
GIB = 1 << 30
H = 3600


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def record(partition="cpu", *, cpus=128, gpus=0, memory=256 * GIB, nodes=10, free=(), read=10, **more) -> Record:
    shapes = (NodeShape(cpus=cpus, memory_bytes=memory, gpus=gpus, nodes=nodes),)
    facts = {
        "site": "delta", "partition": partition, "state": "up", "read_at": ago(read), "shapes": shapes,
        "nodes_total": nodes, "cpus_total": nodes * cpus, "walltime_cap_s": 48 * H, "max_nodes": NO_LIMIT,
        "whole_node": False, "pending": 0, "running": 0, "free_nodes": tuple(free),
        "cpus_free": sum(node.cpus for node in free), "gpus_free": sum(node.gpus for node in free),
    }  # fmt: skip
    return Record(**{**facts, **more})


def free(cpus, gpus=0, memory=256 * GIB) -> FreeNode:
    return FreeNode(cpus=cpus, gpus=gpus, memory_bytes=memory)


def reading(site, *records, health="online", read: float | None = 10, **more) -> SiteReading:
    own = tuple(each.model_copy(update={"site": site}) for each in records)
    read_at = None if read is None else ago(read)
    return SiteReading(
        site=site, transport="local", scheduler="slurm", health=health, read_at=read_at, records=own, **more
    )


def site(name, **more) -> Site:
    return Site(name=name, scheduler="slurm", **more)


def pool(*readings: SiteReading) -> Snapshot:
    return Snapshot(id=7, taken_at=NOW, sites=readings)


def ask(envelope: Envelope, *readings: SiteReading, sites=None, **more):
    names = sites if sites is not None else tuple(site(each.site) for each in readings)
    return decide(envelope, pool(*readings), names, now=NOW, **more)


def chosen(decision) -> tuple[str, str] | None:
    return None if decision.choice is None else (decision.choice.site, decision.choice.partition)


def verdict(rule, envelope, *, rec, read=None, where=None):
    place = Place(
        where or site("delta"), rec.partition if rec else "cpu", read or reading("delta", *([rec] if rec else [])), rec
    )
    (found,) = [each for each in judge(envelope, place, Clock(NOW, 120, 600)) if each.rule == rule]
    return found


E = Envelope()


# -- rules ------------------------------------------------------------------------------------------------------------

HEALTH = [
    (reading("delta", health="online", read=10), "pass", "It answers."),
    (reading("delta", health="degraded", read=10), "pass", "It answers."),
    (reading("delta", health="online", read=120), "pass", "It answers."),
    (reading("delta", health="online", read=121), "pass", "What is known of it is 2 min 1 s old, which is usable."),
    (reading("delta", health="online", read=600), "pass", "What is known of it is 10 min old, which is usable."),
    (reading("delta", health="online", read=601), "fail", "What is known of it is 10 min 1 s old."),
    (reading("delta", health="offline", read=10), "fail", "It has not answered for 10 s."),
    (reading("delta", health="offline", read=None, problem="Login refused."), "fail", "It does not answer (login refused)."),
    (reading("delta", health="unknown", read=None), "unknown", "It has not answered yet."),
    (reading("delta", health="online", read=-5), "pass", "It answers."),
]  # fmt: skip


@pytest.mark.parametrize(("read", "answer", "sentence"), HEALTH)
def test_stale_and_offline_never_pass_and_never_read_is_unknown(read, answer, sentence):
    found = verdict("health", E, rec=record(), read=read)
    assert (found.answer, found.sentence) == (answer, sentence)


@pytest.mark.parametrize(
    ("state", "answer"),
    [("up", "pass"), ("down", "fail"), ("drain", "fail"), ("inactive", "fail"), ("unknown", "unknown")],
)
def test_only_a_partition_that_is_up_takes_jobs(state, answer):
    assert verdict("partition", E, rec=record(state=state)).answer == answer


WALLTIME = [
    (48 * H, H, "pass", "Its time limit is long enough."),
    (H, H, "pass", "Its time limit is long enough."),
    (H, H + 1, "fail", "It allows 1 h: ask for at most --time 1h."),
    (5400, 2 * H, "fail", "It allows 1 h 30 min: ask for at most --time 1h30m."),
    (NO_LIMIT, 10**7, "pass", "It has no time limit."),
    (None, 60, "unknown", "Its time limit is not known."),
    (0, 60, "fail", "It allows 0 s."),
]


@pytest.mark.parametrize(("cap", "asked", "answer", "sentence"), WALLTIME)
def test_no_limit_and_unknown_are_two_things(cap, asked, answer, sentence):
    found = verdict("walltime", Envelope(walltime_s=Span.exactly(asked)), rec=record(walltime_cap_s=cap))
    assert (found.answer, found.sentence) == (answer, sentence)


def wants(cpus=1, gpus=0, memory=None, nodes=1) -> Envelope:
    return Envelope(
        cpus=Span(min=cpus, max=max(cpus, 1000)), gpus=Span.exactly(gpus), nodes=Span.exactly(nodes),
        memory_bytes=Span.exactly(memory) if memory else None,
    )  # fmt: skip


def shapes(*each: NodeShape) -> Record:
    return record(shapes=each)


CAPACITY = [
    ("fits", wants(128), record(), "pass", "It has nodes that are large enough."),
    ("too many cores", wants(129), record(), "fail", "Its largest node has 128 cores: ask for at most --cpus 128."),
    ("no gpu", wants(gpus=1), record(), "fail", "It has no GPUs."),
    ("too many gpus", wants(gpus=8), record(gpus=4), "fail", "Its largest node has 4 GPUs: ask for at most --gpus 4."),
    ("memory", wants(memory=257 * GIB), record(), "fail", "Its largest node has 256G of memory: ask for at most --memory 256G."),
    ("two at once", wants(200, gpus=5), record(gpus=4), "fail", "Its largest node has 4 GPUs and 128 cores: ask for at most --gpus 4 --cpus 128."),
    ("not together", wants(100, gpus=4), shapes(NodeShape(cpus=128, memory_bytes=GIB, gpus=0, nodes=1), NodeShape(cpus=64, memory_bytes=GIB, gpus=4, nodes=1)), "fail", "None of its nodes has 100 cores, 4 GPUs at once: ask for at most --cpus 64."),
    ("one large shape is enough", wants(128), shapes(NodeShape(cpus=4, nodes=5), NodeShape(cpus=128, memory_bytes=GIB, gpus=0, nodes=1)), "pass", "It has nodes that are large enough."),
    ("unknown gpus matter not to cpu work", wants(4), shapes(NodeShape(cpus=8, nodes=1)), "pass", "It has nodes that are large enough."),
    ("unknown gpus are not zero", wants(gpus=1), shapes(NodeShape(cpus=8, nodes=1)), "unknown", "Not all that its nodes can hold is known."),
    ("unknown memory is not enough", wants(memory=GIB), shapes(NodeShape(cpus=8, nodes=1)), "unknown", "Not all that its nodes can hold is known."),
    ("too few cores is known though memory is not", wants(16, memory=GIB), shapes(NodeShape(cpus=8, nodes=1)), "fail", "Its largest node has 8 cores: ask for at most --cpus 8."),
    ("no shapes", E, shapes(), "unknown", "What its nodes can hold is not known."),
    ("too many nodes", wants(nodes=11), record(), "fail", "It has 10 nodes that large in service: ask for at most --nodes 10."),
    ("node limit", wants(nodes=3), record(max_nodes=2), "fail", "It gives one job at most 2 nodes: ask for at most --nodes 2."),
    ("node limit not known", wants(nodes=3), record(max_nodes=None), "unknown", "How many nodes it gives one job is not known."),
    ("node limit does not matter to one node", E, record(max_nodes=None), "pass", "It has nodes that are large enough."),
    ("none in service", E, record(nodes=0), "unknown", "None of its nodes that are large enough is in service now."),
]  # fmt: skip


@pytest.mark.parametrize(("case", "envelope", "rec", "answer", "sentence"), CAPACITY, ids=[row[0] for row in CAPACITY])
def test_capacity_is_what_a_node_could_ever_hold(case, envelope, rec, answer, sentence):
    found = verdict("capacity", envelope, rec=rec)
    assert (found.answer, found.sentence) == (answer, sentence)


PINS = [
    (Envelope(), site("delta"), "cpu", "pass"),
    (Envelope(site="delta"), site("delta"), "cpu", "pass"),
    (Envelope(site="delta", partition="cpu"), site("delta"), "cpu", "pass"),
    (Envelope(site="delta", partition="gpu"), site("delta"), "cpu", "fail"),
    (Envelope(site="anvil"), site("delta"), "cpu", "fail"),
    (Envelope(site="anvil", partition="cpu"), site("delta"), "cpu", "fail"),
    (Envelope(), site("delta", partition="gpu"), "cpu", "pass"),
    (Envelope(site="delta", partition="cpu"), site("delta", partition="gpu"), "cpu", "pass"),
]


def test_a_sites_configured_partition_comes_first_where_it_can_take_the_task():
    records = (
        record("cpu", free=[free(8)]),
        record("gpu", gpus=4, free=[free(64, 4)]),
        record("big", free=[free(128)]),
    )
    where = (site("delta", partition="cpu"),)
    assert chosen(ask(Envelope(), reading("delta", *records), sites=where)) == ("delta", "cpu")
    # what it cannot take goes to another partition of the site, and a pin is always the user's word
    assert chosen(ask(wants(gpus=1), reading("delta", *records), sites=where)) == ("delta", "gpu")
    pinned = Envelope(site="delta", partition="big")
    assert chosen(ask(pinned, reading("delta", *records), sites=where)) == ("delta", "big")


@pytest.mark.parametrize(("envelope", "where", "partition", "answer"), PINS)
def test_pins_are_kept(envelope, where, partition, answer):
    assert verdict("pin", envelope, rec=record(partition), where=where).answer == answer


@pytest.mark.parametrize(("whole", "observed"), [(True, "whole nodes only"), (False, "shared"), (None, "unknown")])
def test_whole_nodes_are_a_note(whole, observed):
    found = verdict("whole node", E, rec=record(whole_node=whole))
    assert (found.answer, found.observed) == ("pass", observed)


# -- sizing -----------------------------------------------------------------------------------------------------------


def span(low, high) -> Span:
    return Span(min=low, max=high)


SIZES = [
    ("most useful when it is free", {"cpus": span(2, 4)}, record(free=[free(100)]), (1, 4, 0, None), True),
    ("clipped to what is free", {"cpus": span(2, 64)}, record(free=[free(10)]), (1, 10, 0, None), True),
    ("on one node, not in sum", {"cpus": span(2, 64)}, record(free=[free(10), free(30)]), (1, 30, 0, None), True),
    ("never below the least", {"cpus": span(16, 64)}, record(free=[free(10)]), (1, 64, 0, None), False),
    ("waiting: clipped to the largest node", {"cpus": span(16, 500)}, record(free=[]), (1, 128, 0, None), False),
    ("memory clips too", {"memory_bytes": span(GIB, 500 * GIB)}, record(free=[free(10, memory=8 * GIB)]), (1, 1, 0, 8 * GIB), True),
    ("memory may be why it waits", {"memory_bytes": span(16 * GIB, 500 * GIB)}, record(free=[free(10, memory=8 * GIB)]), (1, 1, 0, 256 * GIB), False),
    ("unknown free memory is not zero", {"memory_bytes": span(GIB, 4 * GIB)}, record(free=[free(10, memory=None)]), (1, 1, 0, 4 * GIB), True),
    ("a whole node brings its memory", {"memory_bytes": span(GIB, 2 * GIB)}, record(free=[free(10)], whole_node=True), (1, 1, 0, None), True),
    ("gpus", {"gpus": span(1, 4)}, record(gpus=4, free=[free(8, 0), free(8, 2)]), (1, 1, 2, None), True),
    ("no gpu is free", {"gpus": span(1, 4)}, record(gpus=4, free=[free(8, 0)]), (1, 1, 4, None), False),
    ("as many nodes as are free", {"nodes": span(2, 8)}, record(free=[free(8)] * 3), (3, 1, 0, None), True),
    ("too few nodes free", {"nodes": span(4, 8)}, record(free=[free(8)] * 3), (8, 1, 0, None), False),
    ("node limit", {"nodes": span(1, 8)}, record(free=[free(8)] * 9, max_nodes=2), (2, 1, 0, None), True),
    ("a poor node does not cut the others", {"nodes": span(1, 4), "cpus": span(1, 64)}, record(free=[free(64), free(1), free(1)]), (1, 64, 0, None), True),
    ("free capacity not known", {"cpus": span(2, 4)}, record(cpus_free=None), (1, 4, 0, None), None),
    ("nothing known at all", {"cpus": span(2, 4), "nodes": span(1, 3)}, None, (3, 4, 0, None), None),
]  # fmt: skip


@pytest.mark.parametrize(("case", "wish", "rec", "size", "now"), SIZES, ids=[row[0] for row in SIZES])
def test_a_range_becomes_the_most_useful_size_that_is_free(case, wish, rec, size, now):
    sized = size_for(Envelope(**wish), rec)
    assert (sized.size.nodes, sized.size.cpus, sized.size.gpus, sized.size.memory_bytes) == size
    assert sized.starts_now is now


@pytest.mark.parametrize(("cap", "got"), [(H, H), (NO_LIMIT, 10 * H), (None, 10 * H), (100 * H, 10 * H)])
def test_time_is_clipped_to_the_limit(cap, got):
    assert size_for(Envelope(walltime_s=span(60, 10 * H)), record(walltime_cap_s=cap)).size.walltime_s == got


spans = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda ends: Span(min=min(ends), max=max(ends)))
positive = st.tuples(st.integers(1, 40), st.integers(1, 40)).map(lambda ends: Span(min=min(ends), max=max(ends)))
free_nodes = st.lists(
    st.builds(free, st.integers(1, 50), st.integers(0, 8), st.none() | st.integers(1, 60)), max_size=6
)


@settings(max_examples=300, deadline=None)
@given(
    envelope=st.builds(Envelope, nodes=positive, cpus=positive, gpus=spans, memory_bytes=st.none() | positive),
    nodes=free_nodes,
    limit=st.none() | st.just(NO_LIMIT) | st.integers(1, 8),
)
def test_a_size_lies_in_its_range_and_starts_now_only_where_it_fits(envelope, nodes, limit):
    rec = record(cpus=64, gpus=8, memory=64, free=nodes, max_nodes=limit)
    sized = size_for(envelope, rec)
    for name in ("nodes", "cpus", "gpus", "memory_bytes"):
        asked, got = getattr(envelope, name), getattr(sized.size, name)
        assert (asked is None) == (got is None)
        assert asked is None or asked.min <= got <= asked.max
    held = [
        node
        for node in nodes
        if node.cpus >= sized.size.cpus
        and node.gpus >= sized.size.gpus
        and (
            sized.size.memory_bytes is None or node.memory_bytes is None or node.memory_bytes >= sized.size.memory_bytes
        )
    ]
    if sized.starts_now:
        assert len(held) >= sized.size.nodes


# -- choice -----------------------------------------------------------------------------------------------------------


def test_what_starts_now_beats_a_shorter_queue():
    decision = ask(
        E, reading("anvil", record("shared", free=[free(120)], pending=30)), reading("delta", record(pending=1))
    )
    assert chosen(decision) == ("anvil", "shared")
    assert decision.sentence == (
        "anvil:shared starts now (120 cores free); "
        "delta:cpu would start in about 2 h (1 job waits there, nothing else is known)."
    )


def test_the_sentence_names_choice_runner_up_and_refusals():
    decision = ask(
        Envelope(walltime_s=Span.exactly(4 * H)),
        reading("anvil", record("shared", free=[free(120)])),
        reading("delta", record(pending=14)),
        reading("vista", record("gh", walltime_cap_s=2 * H)),
        reading("here", health="offline", read=240, problem="No route to host."),
    )
    assert decision.sentence == (
        "anvil:shared starts now (120 cores free); "
        "delta:cpu would start in about 15 h (14 jobs wait there, nothing else is known); "
        "here refused: it has not answered for 4 min (no route to host); "
        "vista:gh refused: it allows 2 h: ask for at most --time 2h."
    )
    assert [each.rank for each in decision.candidates] == [1, 2, None, None]
    assert [each.feasible for each in decision.candidates] == [True, True, False, False]
    assert decision.candidates[2].size is None


def test_fewer_ahead_when_nothing_starts_now():
    decision = ask(
        E, reading("a", record(pending=5)), reading("b", record(pending=3)), reading("c", record(pending=None))
    )
    assert [each.rank for each in decision.candidates] == [2, 1, 3]
    assert (
        "b:cpu starts in about 4 h (3 jobs wait there, nothing else is known); a:cpu would start in about 6 h"
        in decision.sentence
    )


def test_cpu_work_does_not_burn_gpu_nodes():
    decision = ask(
        E, reading("delta", record("a100", gpus=4, free=[free(64, 4)]), record("cpu", free=[free(64)], pending=9))
    )
    assert chosen(decision) == ("delta", "cpu")
    assert "delta:a100 would start now but would keep GPUs from others" in decision.sentence


def test_gpu_work_counts_free_gpus_not_nodes():
    envelope = Envelope(gpus=Span.exactly(1))
    decision = ask(
        envelope,
        reading("anvil", record("gpu", gpus=4, free=[free(100, 0)], pending=1)),
        reading("deltaai", record("gh200", gpus=4, free=[free(3, 1)], pending=823)),
    )
    assert chosen(decision) == ("deltaai", "gh200")
    assert "starts now (1 GPU free)" in decision.sentence


def test_part_of_a_node_beats_a_whole_one():
    decision = ask(E, reading("a", record(free=[free(128)], whole_node=True)), reading("b", record(free=[free(128)])))
    assert chosen(decision) == ("b", "cpu")
    assert "a:cpu would start now but would take a whole node" in decision.sentence


def test_preference_then_more_of_what_is_useful_then_the_name():
    both = [reading("b", record(free=[free(4)])), reading("a", record(free=[free(4)]))]
    tie = ask(E, *both)
    assert chosen(tie) == ("a", "cpu")
    assert tie.ties == (1,)
    assert "; b:cpu is equally early, decided by name." in tie.sentence
    preferred = ask(E, *both, sites=(site("b", prefer=1), site("a")))
    assert chosen(preferred) == ("b", "cpu")
    assert (preferred.ties, preferred.tie_break) == ((0,), "by your preference")
    assert "a:cpu would start now but you prefer b" in preferred.sentence
    wide = Envelope(cpus=span(1, 64))
    larger = ask(wide, reading("b", record(free=[free(64)])), reading("a", record(free=[free(4)])))
    assert chosen(larger) == ("b", "cpu")
    assert "is assumed to run 6 min longer" in larger.sentence


def test_the_order_of_readings_and_sites_does_not_matter():
    readings = [
        reading("a", record(pending=5), record("gpu", gpus=4, free=[free(9, 4)])),
        reading("b", record(free=[free(8)])),
        reading("c", record(free=[free(8)], pending=2)),
        reading("d", health="offline"),
    ]
    answers = set()
    for order in itertools.permutations(readings):
        names = [site(each.site) for each in readings]
        random.Random(1).shuffle(names)
        answers.add(chosen(ask(E, *order, sites=tuple(names))))
    assert answers == {("b", "cpu")}


def test_an_unknown_verdict_is_not_chosen_alone_but_may_be_pinned():
    unknown = reading("delta", record(walltime_cap_s=None, free=[free(64)]))
    alone = ask(E, unknown)
    assert alone.chosen is None
    assert alone.sentence == (
        "No site is known to be able to run this. delta:cpu: its time limit is not known (to try it all the same, name "
        "--site delta)."
    )
    pinned = ask(Envelope(site="delta"), unknown)
    assert chosen(pinned) == ("delta", "cpu")
    assert pinned.mode == "pinned"
    assert not pinned.choice.feasible
    assert pinned.warnings == ("delta:cpu: its time limit is not known; it was chosen because you pinned it.",)


def test_a_failed_verdict_cannot_be_pinned():
    for bad in (record(state="down"), record(walltime_cap_s=60)):
        decision = ask(
            Envelope(site="delta", partition="cpu"), reading("delta", bad), reading("anvil", record(free=[free(9)]))
        )
        assert decision.chosen is None
        assert decision.sentence.startswith("delta cannot run this. delta:cpu: it ")
        assert "anvil" not in decision.sentence
    stale = ask(Envelope(site="delta"), reading("delta", record(free=[free(9)]), read=9999))
    assert stale.chosen is None


def test_a_pin_keeps_to_its_site_and_prefers_what_is_known():
    decision = ask(
        Envelope(site="delta"),
        reading("anvil", record(free=[free(64)])),
        reading("delta", record("a", walltime_cap_s=None, free=[free(64)]), record("b", pending=3)),
    )
    assert chosen(decision) == ("delta", "b")
    assert decision.sentence == (
        "delta:b, as you pinned it, starts in about 4 h (3 jobs wait there, nothing else is known); "
        "delta:a is not certain: its time limit is not known."
    )
    assert decision.warnings == ()


def test_a_site_that_was_never_read_can_be_pinned_but_not_found():
    silent = reading("delta", health="unknown", read=None)
    assert ask(E, silent).chosen is None
    pinned = ask(Envelope(site="delta"), silent)
    assert chosen(pinned) == ("delta", "")
    assert pinned.choice.size.cpus == 1
    assert len(pinned.warnings) == 4
    assert chosen(ask(Envelope(site="delta", partition="gpu"), silent)) == ("delta", "gpu")
    assert chosen(ask(Envelope(site="delta"), silent, sites=(site("delta", partition="cpu"),))) == ("delta", "cpu")
    assert ask(E, sites=(site("delta"),)).chosen is None


def test_a_partition_that_does_not_exist_is_said_with_those_that_do():
    decision = ask(Envelope(site="delta", partition="gpux"), reading("delta", record("cpu"), record("gpu")))
    assert decision.chosen is None
    assert decision.sentence == "delta cannot run this. delta:gpux: it has no partition gpux: choose one of cpu, gpu."


def test_a_site_that_does_not_exist_is_said_with_those_that_do():
    assert ask(Envelope(site="x"), reading("delta", record())).sentence == "There is no site x: choose one of delta."
    assert ask(E).sentence == "No site is configured: add one to the site catalogue."


def test_hidden_partitions_only_where_they_are_named():
    hidden = reading("delta", record("secret", hidden=True, free=[free(64)]), record("cpu", pending=9))
    assert chosen(ask(E, hidden)) == ("delta", "cpu")
    assert chosen(ask(Envelope(site="delta", partition="secret"), hidden)) == ("delta", "secret")
    assert chosen(ask(E, hidden, sites=(site("delta", partition="secret"),))) == ("delta", "secret")


def test_the_account_is_the_users_or_else_the_sites():
    one = reading("delta", record(free=[free(4)]))
    where = (site("delta", account="abc"),)
    assert ask(E, one, sites=where).choice.account == "abc"
    assert ask(Envelope(account="mine"), one, sites=where).choice.account == "mine"
    assert ask(E, one).choice.account is None


def test_when_nothing_is_feasible_every_site_says_the_change_that_is_enough():
    decision = ask(
        Envelope(cpus=Span.exactly(256), walltime_s=Span.exactly(72 * H)),
        reading("anvil", record("shared"), record("long", cpus=512, walltime_cap_s=24 * H)),
        reading("delta", record("cpu", state="drain", cpus=512, walltime_cap_s=NO_LIMIT)),
    )
    assert decision.chosen is None
    assert decision.sentence == (
        "No site can run this. anvil:long: it allows 1 d: ask for at most --time 1d; "
        "delta:cpu: it takes no jobs now: the site set it to drain."
    )


def test_the_named_change_is_enough():
    envelope = Envelope(cpus=Span.exactly(256), gpus=Span.exactly(8))
    where = reading("anvil", record("gpu", gpus=4, cpus=64, free=[free(64, 4)]))
    assert "ask for at most --gpus 4 --cpus 64" in ask(envelope, where).sentence
    assert ask(Envelope(cpus=Span.exactly(64), gpus=Span.exactly(4)), where).chosen == 0


def test_two_hundred_gigabytes_for_an_accelerator_are_refused_everywhere_with_reasons():
    decision = ask(
        Envelope(gpus=Span.exactly(1), memory_bytes=Span.exactly(2048 * GIB)),
        reading("anvil", record("gpu", gpus=4)),
        reading("delta", record("a100", gpus=4), record("cpu")),
    )
    assert decision.chosen is None
    assert all(each.size is None for each in decision.candidates)
    assert [[v.sentence for v in each.verdicts if v.answer == "fail"] for each in decision.candidates] == [
        ["Its largest node has 256G of memory: ask for at most --memory 256G."],
        ["Its largest node has 256G of memory: ask for at most --memory 256G."],
        ["It has no GPUs."],
    ]


def test_warnings_tell_what_the_user_should_know():
    decision = ask(
        Envelope(walltime_s=span(60, 10 * H)),
        reading("delta", record(free=[free(4)], whole_node=True, walltime_cap_s=2 * H), read=300),
    )
    assert decision.warnings == (
        "delta:cpu gives, and charges, whole nodes only.",
        "delta:cpu: what is known of it is 5 min old, which is usable.",
        "delta:cpu allows 2 h, less than the most that you asked for.",
    )


def test_simulated_sites_say_so():
    toy, live = reading("toy", record(free=[free(4)])), reading("delta", record(pending=99))
    sites = (site("toy", simulated=True), site("delta"))
    mixed = ask(E, toy, live, sites=sites)
    assert chosen(mixed) == ("delta", "cpu")
    assert "toy:cpu (simulated) refused: it is simulated" in mixed.sentence
    decision = ask(Envelope(site="toy"), toy, live, sites=sites)
    assert decision.choice.simulated
    assert "toy:cpu (simulated): nothing can be submitted to a simulated site." in decision.warnings
    assert decision.sentence.startswith("toy:cpu (simulated), as you pinned it, starts now")


def test_many_refusals_are_counted():
    bad = [reading(f"s{i}", record(state="down")) for i in range(6)]
    decision = ask(E, reading("good", record(free=[free(4)])), *bad)
    assert decision.sentence.count("refused:") == 3
    assert decision.sentence.endswith("; 3 more sites refused.")


def test_a_decision_survives_its_own_json():
    decision = ask(E, reading("a", record(free=[free(4)])), reading("b", health="offline"))
    assert type(decision).model_validate_json(decision.model_dump_json()) == decision


# -- explanation ------------------------------------------------------------------------------------------------------


def test_the_explanation_says_all_of_it():
    decision = ask(
        Envelope(cpus=span(2, 8), walltime_s=Span.exactly(4 * H)),
        reading("anvil", record("shared", free=[free(120)])),
        reading("delta", record(pending=14), record("short", walltime_cap_s=H), record("quick", walltime_cap_s=H)),
        reading("vista", record("gh", walltime_cap_s=None)),
        sites=(site("anvil", account="abc"), site("delta"), site("vista")),
    )
    text = explain(decision)
    assert text == explain(decision)
    blocks = text.split("\n\n")
    assert " ".join(blocks[0].split()) == decision.sentence
    assert blocks[1] == (
        "You asked: --cpus 2-8 --time 4h\n"
        "Decided 2026-11-30 12:00:00 UTC, by the rules, for earliest completion, from snapshot 7."
    )
    assert blocks[2].splitlines()[0] == "Size: 8 cores, time limit 4 h."
    assert " ".join(blocks[2].split()).endswith(
        "Time: no wait + 1 h 33 min run (assumed) = 1 h 33 min; done about 13:33 UTC, by 16:00 at the latest if it "
        "starts at 12:00. Run time: assumed from the range that you asked for: say --runtime, if you know how long it "
        "runs."
    )
    assert blocks[3].startswith(
        "Sizes weighed at anvil:shared, best first:\n  - 8 cores: no wait + 1 h 33 min run (assumed)"
    )
    assert blocks[4].startswith("Next best:\n  - delta:cpu: 15 h wait + 1 h 33 min run (assumed) = ")
    assert blocks[5] == "Refused:\n  - delta:quick, delta:short: it allows 1 h: ask for at most --time 1h."
    assert blocks[6] == "Not known:\n  - vista:gh: its time limit is not known."
    estimates, table = blocks[7].splitlines(), blocks[8].splitlines()
    assert re.split(r" {2,}", estimates[0].strip()) == [
        "candidate", "account", "size", "starts", "runs", "in all", "jobs ahead", "data age",
    ]  # fmt: skip
    assert [line.split()[:3] for line in estimates[1:3]] == [[">", "1", "anvil:shared"], ["2", "delta:cpu", "-"]]
    assert [line.split() for line in table] == [
        ["Checks", "(only", "what", "somebody", "does", "not", "pass):"], ["candidate", "time", "limit"],
        ["delta:quick", "NO"], ["delta:short", "NO"], ["vista:gh", "?"],
    ]  # fmt: skip
    assert "?" in next(line for line in table if "vista" in line).split()


def test_no_notebook_has_to_break_a_line_of_an_explanation():
    many = [reading(f"site{n:02}", record(f"partition{n:02}", walltime_cap_s=H)) for n in range(20)]
    envelope = Envelope(cpus=span(2, 2), walltime_s=Span.exactly(4 * H))
    text = explain(ask(envelope, *many, sites=tuple(site(f"site{n:02}") for n in range(20))))
    assert max(len(line) for line in text.splitlines()) <= 100
    assert not any(re.search(r"^ *: | :$", line) for line in text.splitlines()), "a place is broken in two"
    assert "site19:partition19" in text


def test_an_explanation_without_a_choice():
    text = explain(ask(E, reading("delta", record(state="down"))))
    assert text.startswith("No site can run this. delta:cpu: it takes no jobs now")
    assert "Size:" not in text
