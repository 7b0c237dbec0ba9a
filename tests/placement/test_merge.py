"""The probe and the profile put together: what wins, what stays unknown, and what is said of a contradiction."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record
from jupyter_diamond.placement.merge import merge
from jupyter_diamond.sites.machines import machine, names
from tests.placement.profiles import GIB, NOW, H, live, reading, record, shape, whole

DELTA, VISTA = machine("delta"), machine("vista")
A100 = shape(DELTA.nodes["a100x4"])
GH = NodeShape(cpus=72, memory_bytes=116 * 10**9, gpus=0, nodes=600)


def one(found, name):
    (rec,) = [each for each in found.records if each.partition == name]
    return rec


def merged(profile, *records, **more):
    return merge(reading(*records, **more), profile)


@pytest.mark.parametrize("name", names())
def test_a_site_that_is_what_its_profile_says_has_no_drift(name):
    found, drifts = merge(live(machine(name)), machine(name))
    assert drifts == ()
    assert found.machine == name
    assert found.notes == ()
    assert all(rec.policy is not None for rec in found.records)


def test_the_profile_tells_what_no_probe_does():
    found, _ = merged(DELTA, record("gpuA100x4", A100))
    (filled,) = one(found, "gpuA100x4").shapes
    assert (filled.gpu_memory_bytes, filled.arch, filled.gpu_model) == (40 * GIB, "x86_64", "a100")
    assert one(found, "gpuA100x4").policy.account_pattern == "*-delta-gpu"
    assert one(found, "gpuA100x4").policy.charge_factor == 1.0


def test_live_wins_for_what_changes():
    rec = record("gpuA100x4", A100, state="drain", pending=823, nodes_total=97)
    found, _ = merged(DELTA, rec)
    now = one(found, "gpuA100x4")
    assert (now.state, now.pending, now.nodes_total, now.gpus_free) == ("drain", 823, 97, 4)
    assert now.shapes[0].memory_bytes == rec.shapes[0].memory_bytes


LIMITS = [
    # live, profile's, what holds, drift
    (24 * H, 24 * H, "The profile of it gives gpuA100x4 a time limit of 2 d; the site itself says 1 d."),
    (72 * H, 48 * H, "The profile of it gives gpuA100x4 a time limit of 2 d; the site itself says 3 d."),
    (48 * H, 48 * H, None),
    (NO_LIMIT, 48 * H, None),
    (None, 48 * H, None),
]


@pytest.mark.parametrize(("said", "holds", "sentence"), LIMITS)
def test_of_two_limits_the_smaller_holds_and_the_difference_is_shown(said, holds, sentence):
    found, drifts = merged(DELTA, record("gpuA100x4", A100, walltime_cap_s=said), record("cpu"))
    assert one(found, "gpuA100x4").walltime_cap_s == holds
    of_it = [drift for drift in drifts if drift.partition == "gpuA100x4"]
    assert [drift.sentence for drift in of_it] == ([sentence] if sentence else [])
    if sentence:
        assert sentence in found.notes
        assert (of_it[0].field, of_it[0].profile) == ("walltime", "2 d")


def test_a_limit_that_neither_knows_stays_unknown():
    found, _ = merged(DELTA, record("gpuA40x4", shape(DELTA.nodes["a40x4"]), walltime_cap_s=None, max_nodes=None))
    assert (one(found, "gpuA40x4").walltime_cap_s, one(found, "gpuA40x4").max_nodes) == (None, None)


def test_a_partition_that_is_not_described_gets_the_machines_rules_only():
    found, _ = merged(DELTA, record("secret", NodeShape(cpus=7, gpus=1, nodes=2)))
    rec = one(found, "secret")
    assert rec.walltime_cap_s is NO_LIMIT
    assert rec.policy.required_options[0].option == "account"
    assert (rec.shapes[0].arch, rec.shapes[0].gpu_memory_bytes) == (None, None)


def test_a_node_of_a_partition_that_is_not_described_is_known_when_it_is_surely_of_one_kind():
    found, drifts = merge(
        reading(
            record("mine", NodeShape(cpus=96, gpus=4, gpu_model="h100", nodes=3)),
            record("odd", NodeShape(cpus=96, gpus=4, gpu_model="l40s", nodes=3)),
            record("dark", NodeShape(cpus=96, gpus=4, nodes=3)),
        ),
        machine("anvil"),
    )
    assert [rec.shapes[0].gpu_memory_bytes for rec in found.records] == [80 * GIB, None, None]
    assert {drift.field for drift in drifts} == {"partitions"}


def test_gpus_outside_gres_are_those_of_free_whole_nodes():
    used = FreeNode(cpus=8, memory_bytes=GIB, whole=False)
    rec = record("gh", GH, free=(whole(GH), whole(GH), used), whole_node=False)
    found, drifts = merged(VISTA, rec)
    now = one(found, "gh")
    (node,) = now.shapes
    assert (node.gpus, node.gpu_model, node.gpu_memory_bytes, node.arch) == (1, "GH200", 96 * GIB, "aarch64")
    assert [free.gpus for free in now.free_nodes] == [1, 1]
    assert (now.nodes_usable, now.gpus_free, now.gpus_total, now.cpus_free) == (2, 2, 600, 144)
    assert now.whole_node is True
    assert "the site itself says parts of nodes" in drifts[0].sentence
    assert (found.gpus_free, found.gpus_total) == (2, 600)


def test_gpus_outside_gres_are_not_added_up_over_partitions_that_may_share_nodes():
    found, _ = merged(VISTA, record("gh", GH), record("gh-dev", GH), record("gg", shape(VISTA.nodes["gg"])))
    assert one(found, "gg").gpus_free == one(found, "gg").gpus_total == 0
    assert (found.gpus_free, found.gpus_total) == (None, None)


def test_gpus_outside_gres_of_a_partition_nobody_describes_are_unknown_not_zero():
    found, _ = merged(VISTA, record("new", GH))
    rec = one(found, "new")
    assert (rec.shapes[0].gpus, rec.gpus_free, rec.gpus_total) == (None, None, None)
    assert [node.gpus for node in rec.free_nodes] == [None]


def test_when_nodes_turn_out_to_be_given_whole_and_use_is_unknown_nothing_is_free_for_sure():
    rec = record("gh", GH, free=(FreeNode(cpus=72), FreeNode(cpus=72)), whole_node=None)
    now = one(merged(VISTA, rec)[0], "gh")
    assert (now.free_nodes, now.cpus_free, now.gpus_free, now.nodes_usable) == ((), None, None, None)


def test_other_nodes_than_the_profiles_are_a_drift_and_keep_their_secrets():
    found, drifts = merged(DELTA, record("gpuA100x4", NodeShape(cpus=64, gpus=8, gpu_model="h100", nodes=2)))
    (node,) = one(found, "gpuA100x4").shapes
    assert (node.gpus, node.gpu_model, node.gpu_memory_bytes) == (8, "h100", None)
    sentence = "The profile of it gives nodes of gpuA100x4 64 cores and 4 A100 GPUs; the site itself says 64 cores and 8 h100 GPUs."
    assert sentence in [drift.sentence for drift in drifts]


def test_another_architecture_than_the_profiles_is_a_drift_and_the_live_one_holds():
    found, drifts = merged(VISTA, record("gh", GH.model_copy(update={"arch": "x86_64"})))
    assert one(found, "gh").shapes[0].arch == "x86_64"
    assert "The profile of it gives gh aarch64 nodes; the site itself says x86_64." in [
        drift.sentence for drift in drifts
    ]


def test_nodes_that_are_free_in_the_same_way_count_as_many():
    free = (whole(GH).model_copy(update={"nodes": 5}),)
    rec = record("gh", GH, free=free, whole_node=True, nodes_usable=5, cpus_free=360, nodes_total=600)
    assert one(merged(VISTA, rec)[0], "gh").gpus_free == 5
    part = FreeNode(cpus=30, memory_bytes=GIB, gpus=0, whole=False, nodes=3)
    rec = record("gh", GH, free=(*free, part), whole_node=None, nodes_usable=8, cpus_free=450)
    found = one(merged(VISTA, rec)[0], "gh")
    assert (found.nodes_usable, found.cpus_free, found.gpus_free) == (5, 360, 5)


def test_gpus_that_the_profile_has_and_the_probe_lacks_are_unknown_with_a_drift():
    found, drifts = merged(machine("frontera"), record("rtx", NodeShape(cpus=32, gpus=0, nodes=90)))
    rec = one(found, "rtx")
    assert (rec.shapes[0].gpus, rec.gpus_free) == (None, None)
    assert any(drift.field == "nodes" for drift in drifts)


def test_partitions_that_the_site_does_not_show_are_one_drift_unless_the_probe_said_why():
    notes = ("Partition gpuMI100x8 is left out: it is for members of amd only.",)
    _, drifts = merged(DELTA, record("cpu"), notes=notes)
    (missing,) = [drift for drift in drifts if drift.field == "partitions"]
    assert "gpuA40x4" in missing.profile
    assert "gpuMI100x8" not in missing.profile


def test_a_site_with_another_scheduler_is_left_alone():
    read = reading(record("debug"))
    found, (drift,) = merge(read, machine("polaris"))
    assert found.records == read.records
    assert found.machine is None
    assert drift.sentence == "ALCF Polaris runs pbs, but this site answers as slurm. Its profile is not used."


def test_where_jobs_name_constraints_the_lanes_are_what_can_be_chosen():
    found, drifts = merged(machine("perlmutter"), record("gpu_ss11", NodeShape(cpus=128, gpus=4, nodes=1500)))
    assert drifts == ()
    hidden = {rec.partition: rec.hidden for rec in found.records}
    assert hidden == {"gpu_ss11": True, "cpu": False, "gpu": False, "gpu-hbm80g": False}
    lane = one(found, "gpu")
    assert [(each.gpus, each.gpu_memory_bytes) for each in lane.shapes] == [(4, 40 * GIB), (4, 80 * GIB)]
    # which partition is behind a lane is not known, so its state and what is free are not
    assert (lane.state, lane.walltime_cap_s, lane.cpus_free, lane.pending) == ("unknown", None, None, None)


def test_a_qos_with_limits_of_its_own_is_another_way_into_the_same_nodes():
    node = shape(machine("frontier").nodes["node"])
    found, _ = merged(
        machine("frontier"), record("batch", node, whole_node=True), record("extended", node, whole_node=True)
    )
    debug = one(found, "debug")
    assert (debug.walltime_cap_s, debug.max_nodes, debug.pending) == (None, None, None)
    assert debug.cpus_free == one(found, "batch").cpus_free


def test_the_same_contradiction_has_the_same_key():
    rec = record("gpuA100x4", A100, walltime_cap_s=24 * H)
    _, first = merged(DELTA, rec)
    _, second = merged(DELTA, rec.model_copy(update={"pending": 99}))
    _, other = merged(DELTA, rec.model_copy(update={"walltime_cap_s": 12 * H}))
    assert [drift.key for drift in first] == [drift.key for drift in second]
    assert {drift.key for drift in first} != {drift.key for drift in other}


# -- generated sites --------------------------------------------------------------------------------------------------

COUNT = st.none() | st.integers(0, 300)
SIZE = st.none() | st.integers(1, 1 << 42)
LIMIT = st.none() | st.just(NO_LIMIT) | st.integers(1, 10**6)
MODEL = st.none() | st.sampled_from(["a100", "h100", "gh200", "nvidia_a40", "mi250x", "odd", "a100, a40"])
SHAPES = st.builds(NodeShape, cpus=COUNT, memory_bytes=SIZE, gpus=st.none() | st.integers(0, 8), gpu_model=MODEL,
                   nodes=st.integers(0, 50))  # fmt: skip
FREE = st.builds(FreeNode, cpus=st.integers(0, 300), memory_bytes=SIZE, gpus=st.none() | st.integers(0, 8),
                 whole=st.none() | st.booleans())  # fmt: skip


@st.composite
def sites(draw):
    profile = machine(draw(st.sampled_from(names())))
    known = st.sampled_from(sorted(profile.partitions)) if profile.partitions else st.nothing()
    parts = draw(st.lists(known | st.sampled_from(["x", "y"]), unique=True, max_size=4))
    records = [
        Record(
            site="it", partition=part, read_at=NOW, shapes=draw(st.lists(SHAPES, max_size=3)),
            free_nodes=draw(st.lists(FREE, max_size=4)), nodes_total=draw(COUNT), nodes_usable=draw(COUNT),
            cpus_total=draw(COUNT), cpus_free=draw(COUNT), gpus_total=draw(COUNT), gpus_free=draw(COUNT),
            memory_free_bytes=draw(SIZE), pending=draw(COUNT), running=draw(COUNT), walltime_cap_s=draw(LIMIT),
            max_nodes=draw(LIMIT), whole_node=draw(st.none() | st.booleans()), hidden=draw(st.booleans()),
        )
        for part in parts
    ]  # fmt: skip
    return profile, reading(*records, scheduler=profile.scheduler)


def numbers(value) -> set[int]:
    """Every number anywhere inside."""
    if isinstance(value, bool):
        return set()
    if isinstance(value, int):
        return {value}
    if isinstance(value, dict):
        return set().union(*map(numbers, value.values()), set())
    if isinstance(value, list | tuple | set | frozenset):
        return set().union(*map(numbers, value), set())
    return set()


@settings(max_examples=250, deadline=None)
@given(sites())
def test_no_number_comes_from_nowhere(case):
    profile, read = case
    found, _ = merge(read, profile)
    before = {rec.partition: rec for rec in read.records}
    documented = numbers(profile.model_dump()) | {0}
    for rec in found.records:
        old = before.get(rec.partition)
        live_numbers = set().union(*(numbers(each.model_dump()) for each in read.records), set())
        for part in (rec.shapes, (rec.walltime_cap_s, rec.max_nodes)):
            said = numbers([each.model_dump() if isinstance(each, NodeShape) else each for each in part])
            assert said <= live_numbers | documented
        # what changes by the minute is the probe's, what is free a sum over its free nodes, or unknown
        if old is not None and profile.by != "constraint":
            for field in ("state", "pending", "running", "nodes_total", "cpus_total", "default"):
                assert getattr(rec, field) == getattr(old, field)
            assert {node.cpus for node in rec.free_nodes} <= {node.cpus for node in old.free_nodes}
            assert rec.cpus_free in (old.cpus_free, None, sum(node.cpus for node in old.free_nodes if node.whole))
            each = {kind.gpus for kind in profile.nodes.values()} | {shape.gpus for shape in old.shapes}
            possible = {old.gpus_free, None, sum(node.gpus or 0 for node in old.free_nodes if node.whole)}
            whole_nodes = sum(1 for node in old.free_nodes if node.whole)
            assert rec.gpus_free in possible | {whole_nodes * gpus for gpus in each if gpus is not None}


@settings(max_examples=150, deadline=None)
@given(sites())
def test_no_limit_grows_and_no_rule_of_the_site_is_lost(case):
    profile, read = case
    found, _ = merge(read, profile)
    before = {rec.partition: rec for rec in read.records}
    for rec in found.records:
        old = before.get(rec.partition)
        if (
            old is None
            or profile.by == "constraint"
            or (rec.policy and profile.partitions.get(rec.partition) and profile.partitions[rec.partition].submit_as)
        ):
            continue
        for field in ("walltime_cap_s", "max_nodes"):
            was, now = getattr(old, field), getattr(rec, field)
            if isinstance(was, int):
                assert isinstance(now, int)
                assert now <= was
        assert rec.whole_node or not old.whole_node
        assert rec.hidden or not old.hidden
        for was, now in zip(old.shapes, rec.shapes, strict=True):
            for field in ("cpus", "memory_bytes", "gpu_model", "nodes"):
                assert getattr(was, field) in (None, getattr(now, field))
