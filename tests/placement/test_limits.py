"""What a site lets one user have, judged: accounts, QOS, caps and what is in use already."""

import pytest

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.limits import Association, Cap, Door, OwnUse, Qos, SiteLimits
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import FreeNode, GpuKind, NodeShape, Snapshot
from jupyter_diamond.placement.caps import with_caps
from jupyter_diamond.placement.gpu_memory import memory_of, with_gpu_memory
from jupyter_diamond.placement.idle import idle
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.sites import gpus
from tests.placement.profiles import GIB, NOW, reading, record, whole

GPU_NODE = NodeShape(cpus=64, memory_bytes=256 * GIB, gpus=4, gpu_model="a100", arch="x86_64", nodes=4)
SITE = Site.model_validate({"name": "it", "scheduler": "slurm"})


def cap(on, per, amount, source="QOS gpu", **more):
    return Cap(on=on, per=per, amount=amount, source=source, **more)


def site(*caps, own=(), door=None, qos=("normal", "gpu"), default="mine", more=(), **fields):
    limits = SiteLimits(
        read_at=NOW,
        associations=(
            Association(account="mine", qos=qos, caps=tuple(more)), Association(account="other", qos=("normal",)),
        ),
        default_account=default,
        qos=(Qos(name="gpu", caps=caps), Qos(name="normal")),
    )  # fmt: skip
    part = record(
        "gpu", GPU_NODE, free=(whole(GPU_NODE).model_copy(update={"nodes": 4}),), qos="gpu", door=door,
        cpus_free=256, gpus_free=16, nodes_usable=4, **fields,
    )  # fmt: skip
    return with_caps(reading(part, limits=limits, own=tuple(own)), None)


def use(running=0, pending=0, gpus=0, cpus=0):
    return OwnUse(account="mine", qos="normal", partition="gpu", running=running, pending=pending, gpus=gpus, cpus=cpus)


def decided(found, site=SITE, **asked):
    envelope = Envelope(**{"cpus": Span.exactly(1), "site": "it", **asked})
    return decide(envelope, Snapshot(id=1, taken_at=NOW, sites=(found,)), (site,), now=NOW)


def judged(found, rule, **asked):
    decision = decided(found, **asked)
    (candidate,) = decision.candidates
    return next(each for each in candidate.verdicts if each.rule == rule)


def test_more_gpus_than_one_user_may_have_is_refused_with_the_change_that_would_pass():
    found = judged(site(cap("gpus", "you", 2)), "allowance", gpus=Span.exactly(3))
    assert (found.answer, found.observed, found.required) == ("fail", "2 GPUs", "3 GPUs")
    assert found.sentence == "QOS gpu gives at most 2 GPUs to one user: ask for at most --gpus 2."
    assert judged(site(cap("gpus", "you", 2)), "allowance", gpus=Span.exactly(2)).answer == "pass"


def test_a_range_is_cut_to_what_the_user_may_have():
    found = decided(site(cap("gpus", "you", 6)), gpus=Span(min=1, max=4), nodes=Span(min=1, max=3))
    size = found.choice.size
    assert size.nodes * size.gpus == 6
    assert found.choice.starts_now


def test_what_is_in_use_makes_a_job_wait_and_never_refuses_it():
    found = decided(site(cap("gpus", "you", 4), own=[use(running=1, gpus=3)]), gpus=Span.exactly(2))
    assert found.choice.starts_now is False
    said = next(each for each in found.choice.verdicts if each.rule == "allowance")
    assert (said.answer, said.observed) == ("pass", "1 GPU left")
    assert "3 in use" in said.sentence
    one = decided(site(cap("gpus", "you", 4), own=[use(running=1, gpus=3)]), gpus=Span(min=1, max=2))
    assert (one.choice.starts_now, one.choice.size.gpus) == (True, 1)


def test_use_of_an_unknown_size_is_not_counted_against_the_user():
    own = [use(running=1, gpus=0).model_copy(update={"gpus": None})]
    assert decided(site(cap("gpus", "you", 4), own=own), gpus=Span.exactly(2)).choice.starts_now


def test_jobs_that_may_run_at_once():
    assert decided(site(cap("running", "you", 1), own=[use(running=1)])).choice.starts_now is False
    assert decided(site(cap("queued", "you", 2), own=[use(running=1, pending=1)])).choice.starts_now is False
    assert judged(site(cap("running", "you", 0)), "allowance").answer == "fail"


@pytest.mark.parametrize(
    ("limit", "asked", "option"),
    [
        (cap("cpus", "job", 8), {"cpus": Span.exactly(16)}, "--cpus 8"),
        (cap("nodes", "everybody", 1), {"nodes": Span.exactly(2)}, "--nodes 1"),
        (cap("memory_bytes", "you", 4 * GIB), {"memory_bytes": Span.exactly(8 * GIB)}, "--memory 4G"),
        (cap("walltime_s", "job", 1800), {"walltime_s": Span.exactly(3600)}, "--time 30m"),
        (cap("cpus", "job", 4, least=True), {"cpus": Span.exactly(2)}, "at least --cpus 4"),
    ],
)
def test_each_kind_of_limit_is_judged(limit, asked, option):
    found = judged(site(limit), "allowance", **asked)
    assert found.answer == "fail"
    assert option in found.sentence


def test_a_time_limit_of_the_qos_cuts_the_walltime():
    found = decided(site(cap("walltime_s", "job", 1800)), walltime_s=Span(min=600, max=7200))
    assert found.choice.size.walltime_s == 1800


def test_the_qos_of_the_partition_goes_before_the_association():
    found = site(cap("gpus", "you", 8), more=[cap("gpus", "you", 2, "your association with mine")])
    assert [each.amount for each in found.records[0].caps] == [8]
    beside = site(cap("gpus", "you", 8), more=[cap("gpus", "account", 2, "account mine")])
    assert sorted(each.amount for each in beside.records[0].caps) == [2, 8]


def test_the_qos_that_is_named_counts_and_must_be_the_users_own():
    assert judged(site(qos=("normal",)), "admission", qos="gpu").sentence == (
        "On mine you may not name QOS gpu: choose one of normal."
    )
    assert judged(site(), "admission", qos="gpu").answer == "pass"


@pytest.mark.parametrize(
    ("door", "asked", "answer", "words"),
    [
        (Door(allow_accounts=("other",)), {}, "fail", "takes jobs of other only, not of the account mine"),
        (Door(allow_accounts=("other",)), {"account": "OTHER"}, "pass", "of your account"),
        (Door(deny_accounts=("mine",)), {}, "fail", "does not take jobs of the account mine"),
        (Door(allow_qos=("gpu",)), {}, "fail", "not of the QOS normal"),
        (Door(allow_qos=("gpu",)), {"qos": "gpu"}, "pass", ""),
        (Door(deny_qos=("normal",)), {}, "fail", "the QOS normal"),
        (Door(), {"account": "strange"}, "fail", "You have no account strange there"),
    ],
)
def test_whom_a_partition_takes(door, asked, answer, words):
    found = judged(site(door=door), "admission", **asked)
    assert (found.answer, words in found.sentence) == (answer, True)


def test_what_is_not_known_keeps_nobody_out_but_a_closed_door_with_an_unknown_account():
    bare = reading(record("gpu", GPU_NODE, door=Door(allow_accounts=("other",))))
    assert judged(bare, "admission").answer == "unknown"
    assert judged(bare, "admission", account="other").answer == "pass"
    open_to_all = reading(record("gpu", GPU_NODE))
    assert judged(open_to_all, "admission").answer == "pass"
    said = judged(open_to_all, "allowance", gpus=Span.exactly(4))
    assert (said.answer, said.observed) == ("pass", "unknown")


def test_idle_counts_no_more_jobs_than_the_user_may_have():
    found = site(cap("gpus", "you", 6), own=[use(running=1, gpus=1)])
    decision = decided(found, gpus=Span.exactly(2))
    (place,) = idle(decision, Snapshot(id=1, taken_at=NOW, sites=(found,))).places
    assert place.jobs_now == 2
    without = site()
    (place,) = idle(
        decided(without, gpus=Span.exactly(2)), Snapshot(id=1, taken_at=NOW, sites=(without,))
    ).places  # fmt: skip
    assert place.jobs_now == 8


def test_a_node_that_a_reservation_takes_soon_starts_no_longer_job():
    soon = FreeNode(cpus=64, gpus=4, gpu_model="a100", whole=True, free_for_s=3600)
    found = reading(record("gpu", GPU_NODE, free=(soon,)))
    assert decided(found, walltime_s=Span.exactly(1800)).choice.starts_now
    assert decided(found, walltime_s=Span.exactly(7200)).choice.starts_now is False


MIG = NodeShape(
    cpus=64, memory_bytes=512 * GIB, gpus=4, gpu_model="a100_1g.5gb, a100_3g.20gb, a100", arch="x86_64", nodes=1,
    gpu_kinds=(
        GpuKind(model="a100_1g.5gb", gpus=2), GpuKind(model="a100_3g.20gb", gpus=1), GpuKind(model="a100", gpus=1),
    ),
)  # fmt: skip


def mixed(*free):
    node = FreeNode(
        cpus=64, memory_bytes=512 * GIB, gpus=sum(free), gpu_model=MIG.gpu_model, whole=True,
        gpu_kinds=tuple(
            kind.model_copy(update={"gpus": number}) for kind, number in zip(MIG.gpu_kinds, free, strict=True)
        ),
    )  # fmt: skip
    return with_gpu_memory(reading(record("frac", MIG, free=(node,))), gpus.table())


def test_a_job_names_the_slice_that_is_large_enough():
    found = decided(mixed(2, 1, 1), gpus=Span.exactly(1), gpu_memory_bytes=16 * GIB, gpu_model="a100")
    # both the slice of 20 GB and the whole GPU would do: which one a job gets cannot be left open
    assert found.candidates[0].size is None or found.candidates[0].feasible is False
    whole_only = decided(mixed(2, 1, 1), gpus=Span.exactly(1), gpu_memory_bytes=40 * GIB)
    assert (whole_only.choice.size.gpu_type, whole_only.choice.starts_now) == ("a100", True)
    taken = decided(mixed(2, 1, 0), gpus=Span.exactly(1), gpu_memory_bytes=40 * GIB)
    assert (taken.choice.size.gpu_type, taken.choice.starts_now) == ("a100", False)
    two = judged(mixed(2, 1, 1), "capacity", gpus=Span.exactly(2), gpu_memory_bytes=40 * GIB)
    assert two.answer == "fail"


def test_a_slice_is_not_large_enough_for_what_a_whole_gpu_holds():
    shape = NodeShape(cpus=64, gpus=7, gpu_model="1g.10gb", nodes=1)
    found = with_gpu_memory(reading(record("mig", shape)), gpus.table())
    said = judged(found, "GPU memory", gpus=Span.exactly(1), gpu_memory_bytes=40 * GIB)
    assert (said.answer, "have 10G each" in said.sentence) == ("fail", True)


@pytest.mark.parametrize(
    ("name", "memory"),
    [
        ("nvidia_a100_80gb_pcie", (80, None, None)), ("a100-sxm4-40gb", (40, None, None)), ("a100", (None, 40, 80)),
        ("a100_3g.20gb", (20, None, None)), ("1g.10gb", (10, None, None)), ("1g.5gb+me", (5, None, None)),
        ("h200", (141, None, None)), ("nvidia_gh200_480gb", (None, 96, 141)), ("a40", (48, None, None)),
        ("a10", (None, None, None)), ("tesla", (None, None, None)), ("nvidia_h100_80gb_hbm3", (80, None, None)),
        ("v100-32g", (32, None, None)), (None, (None, None, None)),
    ],
)  # fmt: skip
def test_memory_by_the_name_of_a_gpu(name, memory):
    assert tuple(memory_of(name, gpus.table())) == tuple(None if size is None else size * GIB for size in memory)


def test_a_range_that_all_documented_sizes_pass_is_known():
    found = with_gpu_memory(reading(record("gpu", GPU_NODE)), gpus.table())
    assert judged(found, "GPU memory", gpus=Span.exactly(1), gpu_memory_bytes=40 * GIB).answer == "pass"
    assert judged(found, "GPU memory", gpus=Span.exactly(1), gpu_memory_bytes=80 * GIB).answer == "unknown"
    assert judged(found, "GPU memory", gpus=Span.exactly(1), gpu_memory_bytes=96 * GIB).answer == "fail"
