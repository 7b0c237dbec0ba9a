"""The rules that come from known machines. Tables: one row a rule's case."""

from __future__ import annotations

import re

import pytest

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.policy import PartitionPolicy, RequiredOption, WalltimeStep
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Snapshot
from jupyter_diamond.placement.judging import judge
from jupyter_diamond.placement.merge import merge
from jupyter_diamond.placement.place import Clock, Place
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.sizing import size_for
from jupyter_diamond.sites.machines import machine, names
from tests.placement.profiles import GIB, NOW, H, live, reading, record, shape

ONE = Span.exactly(1)


def site(**more) -> Site:
    return Site(name="it", scheduler="slurm", **more)


def policy(**more) -> PartitionPolicy:
    return PartitionPolicy(machine="Toy", **more)


def node(gpus=0, model=None, memory=None, arch=None, cpus=64) -> NodeShape:
    return NodeShape(
        cpus=cpus, memory_bytes=256 * GIB, gpus=gpus, gpu_model=model,
        gpu_memory_bytes=None if memory is None else memory * GIB, arch=arch, nodes=20,
    )  # fmt: skip


def verdict(rule, envelope, rec, where=None):
    place = Place(where or site(), rec.partition, reading(rec), rec)
    (found,) = [each for each in judge(envelope, place, Clock(NOW, 120, 600)) if each.rule == rule]
    return found.answer, found.sentence


def rec(*shapes, **more):
    return record("p", *(shapes or (node(),)), **more)


def gpus(model=None, memory=None, **more) -> Envelope:
    return Envelope(gpus=ONE, gpu_model=model, gpu_memory_bytes=None if memory is None else memory * GIB, **more)


ARCHITECTURE = [
    (None, [node(arch="x86_64")], "pass", "Any architecture will do."),
    (None, [node()], "pass", "Any architecture will do."),
    ("x86_64", [node(arch="x86_64"), node(arch="x86_64")], "pass", "Its nodes are x86_64."),
    ("x86_64", [node(arch="aarch64")], "fail", "Its nodes are aarch64: leave out --arch x86_64, or choose another place."),
    ("x86_64", [node()], "unknown", "The architecture of its nodes is not known."),
    ("x86_64", [node(arch="x86_64"), node()], "unknown", "The architecture of its nodes is not known."),
    ("x86_64", [node(arch="x86_64"), node(arch="aarch64")], "unknown", "It mixes aarch64 and x86_64 nodes, and which one a job gets is not known."),
]  # fmt: skip


@pytest.mark.parametrize(("arch", "shapes", "answer", "sentence"), ARCHITECTURE)
def test_architecture(arch, shapes, answer, sentence):
    assert verdict("architecture", Envelope(arch=arch), rec(*shapes)) == (answer, sentence)


A40, A80, H100 = node(4, "a100", 40), node(4, "a100", 80), node(4, "h100", 80)
AT_MOST = node(4, "a100").model_copy(update={"gpu_memory_at_most_bytes": 80 * GIB})
ACCELERATOR = [
    (gpus(), [node(4)], "pass", "Any GPU will do."),
    (Envelope(), [node()], "pass", "Any GPU will do."),
    (gpus(None, 40), [A40], "pass", "Any GPU will do."),
    (gpus("a100"), [A40], "pass", "Its GPUs are of the kind that you asked for."),
    (gpus("A100"), [node(1, "NVIDIA A100-SXM4-40GB", 40)], "pass", "Its GPUs are of the kind that you asked for."),
    (gpus("a100|h100"), [A40, H100], "pass", "Its GPUs are of the kind that you asked for."),
    (gpus("h100"), [node(4, "GH200 (H100)", 96)], "pass", "Its GPUs are of the kind that you asked for."),
    (gpus("a10"), [A40], "fail", "Its GPUs are a100: leave out --gpu-model a10, or choose another place."),
    (gpus("h100"), [A40, node(4, "a40", 48)], "fail", "Its GPUs are a100 and a40: leave out --gpu-model h100, or choose another place."),
    (gpus("h100"), [A40, H100], "pass", "It mixes kinds of GPU; the job asks for h100."),
    (gpus("h100"), [node(4)], "unknown", "The kind of its GPUs is not known."),
    (gpus("h100"), [node()], "fail", "It has no GPU."),
    (gpus("a100"), [node(4, "a100, a40")], "unknown", "The kind of its GPUs is not known."),
    (gpus("a100", 200), [A40, H100], "pass", "It mixes kinds of GPU; the job asks for a100."),
    (gpus("h100", 81), [AT_MOST], "fail", "Its GPUs are a100: leave out --gpu-model h100, or choose another place."),
]  # fmt: skip
GPU_MEMORY = [
    (gpus("a100"), [A40], "pass", "Any memory of a GPU will do."),
    (gpus("a100", 80), [A40, A80], "unknown", "It mixes kinds of GPU, and a job cannot name there the one that you asked for."),
    (gpus(None, 80), [A40, H100], "pass", "It mixes kinds of GPU; the job asks for h100, which has that much."),
    (gpus(None, 40), [node(4, "a100")], "unknown", "The memory of its GPUs is not known."),
    (gpus(None, 40), [A40], "pass", "Its GPUs have that much memory."),
    (gpus(None, 41), [A40], "fail", "Its GPUs have 40G each: ask for at most --gpu-memory 40G."),
    (gpus(None, 200), [A40, A80], "fail", "Its GPUs have 80G each: ask for at most --gpu-memory 80G."),
    (gpus("a100", 200), [A40, H100], "fail", "Its GPUs have 40G each: ask for at most --gpu-memory 40G."),
    (gpus("a100", 80), [A40, H100], "fail", "Its GPUs have 40G each: ask for at most --gpu-memory 40G."),
    (gpus(None, 40), [node()], "fail", "It has no GPU."),
    (gpus(None, 40), [node(), A40], "pass", "Its GPUs have that much memory."),
    (gpus(None, 40), [node(None)], "unknown", "The memory of its GPUs is not known."),
    (gpus(None, 81), [AT_MOST], "fail", "Its GPUs have 80G each: ask for at most --gpu-memory 80G."),
    (gpus(None, 80), [AT_MOST], "unknown", "The memory of its GPUs is not known."),
]  # fmt: skip


@pytest.mark.parametrize(("envelope", "shapes", "answer", "sentence"), ACCELERATOR)
def test_accelerator(envelope, shapes, answer, sentence):
    assert verdict("accelerator", envelope, rec(*shapes)) == (answer, sentence)


@pytest.mark.parametrize(("envelope", "shapes", "answer", "sentence"), GPU_MEMORY)
def test_memory_of_one_gpu(envelope, shapes, answer, sentence):
    assert verdict("GPU memory", envelope, rec(*shapes)) == (answer, sentence)


def test_where_gpus_cannot_be_named_a_mixture_is_unknown():
    found = verdict("accelerator", gpus("h100"), rec(A40, H100, policy=policy(forbidden_options=("--gres",))))
    assert found[0] == "unknown"


def test_a_mixed_partition_is_asked_for_the_kind_and_only_its_nodes_count_as_free():
    taken = FreeNode(cpus=64, memory_bytes=256 * GIB, gpus=4, gpu_model="a100", whole=True)
    free = taken.model_copy(update={"gpu_model": "h100"})
    waits = size_for(gpus("h100"), rec(A40, H100, free=(taken,)))
    assert (waits.size.gpu_type, waits.starts_now) == ("h100", False)
    starts = size_for(gpus("h100"), rec(A40, H100, free=(taken, free)))
    assert (starts.size.gpu_type, starts.starts_now) == ("h100", True)
    assert size_for(gpus(), rec(A40, H100)).size.gpu_type is None
    assert size_for(gpus("h100"), rec(H100)).size.gpu_type is None


def test_free_gpus_that_are_unknown_do_not_start_a_job_and_do_not_make_it_wait():
    unseen = FreeNode(cpus=64, memory_bytes=256 * GIB, gpus=None)
    assert size_for(gpus(), rec(A40, free=(unseen,), cpus_free=64)).starts_now is None
    assert size_for(Envelope(), rec(A40, free=(unseen,), cpus_free=64)).starts_now is True


COUNTS = [
    (Span.exactly(4), "pass", "It gives 1, 2, 4 or 8 GPUs."),
    (Span(min=3, max=5), "pass", "It gives 1, 2, 4 or 8 GPUs."),
    (Span.exactly(3), "fail", "It gives a job 1, 2, 4 or 8 GPUs: ask for --gpus 4."),
    (Span.exactly(0), "fail", "It gives a job 1, 2, 4 or 8 GPUs: ask for --gpus 1."),
    (Span.exactly(9), "fail", "It gives a job 1, 2, 4 or 8 GPUs: ask for --gpus 8."),
]


@pytest.mark.parametrize(("asked", "answer", "sentence"), COUNTS)
def test_gpus_come_in_the_numbers_that_the_site_gives(asked, answer, sentence):
    there = rec(node(8), policy=policy(gpu_counts=(1, 2, 4, 8)))
    assert verdict("GPU count", Envelope(gpus=asked), there) == (answer, sentence)
    if answer == "pass":
        assert size_for(Envelope(gpus=asked), there).size.gpus == 4


FRONTIER = (WalltimeStep(nodes=91, walltime_s=2 * H), WalltimeStep(nodes=183, walltime_s=6 * H), WalltimeStep(nodes=9472, walltime_s=12 * H))  # fmt: skip
WALLTIME = [
    (Span.exactly(1), 2 * H, "pass", "Its time limit is long enough."),
    (Span.exactly(1), 4 * H, "fail", "It allows 2 h to a job of 1 node: ask for at most --time 2h, or for --nodes 92."),
    (Span.exactly(92), 4 * H, "pass", "Its time limit is long enough."),
    (Span.exactly(100), 8 * H, "fail", "It allows 6 h to a job of 100 nodes: ask for at most --time 6h, or for --nodes 184."),
    (Span(min=1, max=100), 4 * H, "pass", "Its time limit is long enough."),
    (Span(min=1, max=100), 8 * H, "fail", "It allows 6 h to a job of 92 nodes: ask for at most --time 6h, or for --nodes 184."),
    (Span.exactly(200), 13 * H, "fail", "It allows 12 h to a job of 200 nodes: ask for at most --time 12h."),
    (Span.exactly(9473), 1 * H, "unknown", "Its time limit is not known."),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "seconds", "answer", "sentence"), WALLTIME)
def test_the_time_limit_depends_on_the_number_of_nodes(nodes, seconds, answer, sentence):
    there = rec(node(), walltime_cap_s=24 * H, policy=policy(walltime_by_nodes=FRONTIER))
    envelope = Envelope(nodes=nodes, walltime_s=Span.exactly(seconds))
    assert verdict("walltime", envelope, there) == (answer, sentence)


def test_the_size_has_enough_nodes_for_its_time_and_a_limit_that_fits_its_nodes():
    many = NodeShape(cpus=64, gpus=8, memory_bytes=GIB, nodes=500)
    free = tuple(FreeNode(cpus=64, gpus=8, whole=True) for _ in range(95))
    there = record("p", many, free=free, policy=policy(walltime_by_nodes=FRONTIER))
    long = size_for(Envelope(nodes=Span(min=1, max=93), walltime_s=Span(min=4 * H, max=24 * H)), there)
    assert (long.size.nodes, long.size.walltime_s, long.starts_now) == (93, 6 * H, True)
    short = size_for(Envelope(nodes=Span(min=1, max=4), walltime_s=Span(min=H, max=24 * H)), there)
    assert (short.size.nodes, short.size.walltime_s) == (4, 2 * H)


ACCESS = [
    (None, Envelope(), "pass", "Nothing is known that keeps jobs away."),
    (policy(), Envelope(), "pass", "Jobs may name it."),
    (policy(selectable=False, select_by="constraint", lanes=("cpu", "gpu", "gpu80")), Envelope(), "fail", "Toy takes a constraint and a QOS, never a partition: choose cpu, gpu or gpu80."),
    (policy(reached_through="prod"), Envelope(), "fail", "Jobs come here through prod: choose that one."),
    (policy(by_request=True), Envelope(), "unknown", "It is given on request; whether to you is not known."),
    (policy(unavailable="the documentation says that it is unavailable"), Envelope(), "unknown", "Of it, the documentation says that it is unavailable."),
    (policy(min_nodes=3), Envelope(nodes=Span.exactly(2)), "fail", "It is for jobs of 3 nodes and more: ask for --nodes 3."),
    (policy(min_nodes=3), Envelope(nodes=Span(min=1, max=3)), "pass", "Jobs may name it."),
    (policy(min_walltime_s=300), Envelope(walltime_s=Span.exactly(60)), "fail", "It takes no job shorter than 5 min: ask for --time 5m."),
    (policy(min_walltime_s=300), Envelope(walltime_s=Span(min=60, max=600)), "pass", "Jobs may name it."),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "envelope", "answer", "sentence"), ACCESS)
def test_access(rules, envelope, answer, sentence):
    assert verdict("access", envelope, rec(policy=rules)) == (answer, sentence)


def test_a_range_never_gets_fewer_nodes_or_less_time_than_the_partition_takes():
    there = rec(node(), free=(FreeNode(cpus=64),), policy=policy(min_nodes=3, min_walltime_s=300))
    size = size_for(Envelope(nodes=Span(min=1, max=4), walltime_s=Span(min=60, max=600)), there).size
    assert size.nodes >= 3
    assert size.walltime_s >= 300


NEEDS = (
    RequiredOption(option="account", example="abcd-delta-cpu", why="the command accounts lists yours"),
    RequiredOption(option="qos", why="without one it takes debug"),
    RequiredOption(option="filesystems", example="home:eagle"),
    RequiredOption(option="nodes"),
    RequiredOption(option="constraint"),
)
OPTIONS = [
    ({}, {}, "fail", "Toy requires an account (the command accounts lists yours): set account in the site catalogue, or add --account abcd-delta-cpu."),
    ({"account": "a"}, {}, "fail", "Toy requires a QOS (without one it takes debug): add --qos."),
    ({"account": "a", "qos": "q"}, {}, "fail", "Toy requires the option filesystems: set options: {filesystems: home:eagle} in the site catalogue."),
    ({"qos": "q"}, {"account": "a", "options": {"filesystems": "home"}}, "pass", "All that it requires is given."),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "configured", "answer", "sentence"), OPTIONS)
def test_required_options(asked, configured, answer, sentence):
    there = rec(policy=policy(required_options=NEEDS))
    assert verdict("options", Envelope(**asked), there, site(**configured)) == (answer, sentence)


def test_memory_is_not_asked_for_where_it_is_refused():
    there = rec(policy=policy(forbidden_options=("--mem",)), whole_node=True)
    envelope = Envelope(memory_bytes=Span.exactly(GIB))
    assert verdict("options", envelope, there)[0] == "pass"
    assert size_for(envelope, there).size.memory_bytes is None


ACCOUNTS = [
    ("abcd-delta-gpu", None, "pass"),
    (None, "abcd-delta-gpu", "pass"),
    ("abcd-delta-gpu", "abcd-delta-cpu", "pass"),
    (None, None, "pass"),  # the site's own default; whether one is required is another rule
    ("abcd-delta-cpu", None, "fail"),
    (None, "abcd-delta-cpu", "fail"),
]


@pytest.mark.parametrize(("asked", "configured", "answer"), ACCOUNTS)
def test_the_account_pays_for_this_kind(asked, configured, answer):
    there = rec(policy=policy(account_pattern="*-delta-gpu"))
    found = verdict("account", Envelope(account=asked), there, site(account=configured))
    assert found[0] == answer
    if answer == "fail":
        assert (
            found[1]
            == "Accounts that pay here are named like *-delta-gpu, not abcd-delta-cpu: add --account with one of yours "
            "that is."
        )


# -- the known machines -----------------------------------------------------------------------------------------------


def ask(name: str, envelope: Envelope, read=None, **more):
    profile = machine(name)
    found, _ = merge(read or live(profile), profile)
    where = Site(name="it", scheduler="slurm", **more)
    return decide(envelope, Snapshot(id=1, taken_at=NOW, sites=(found,)), (where,), now=NOW)


@pytest.mark.parametrize("pinned", [None, "it"])
@pytest.mark.parametrize("name", names())
def test_two_hundred_gigabytes_a_gpu_are_refused_everywhere_with_the_reason(name, pinned):
    envelope = Envelope(gpus=ONE, gpu_memory_bytes=200 * GIB, site=pinned, account="x", qos="y")
    decision = ask(name, envelope)
    assert decision.choice is None
    assert decision.candidates
    for candidate in decision.candidates:
        (memory,) = [each for each in candidate.verdicts if each.rule == "GPU memory"]
        assert memory.answer == "fail", candidate
        assert memory.sentence == "It has no GPU." or re.match(r"Its GPUs have \d+G each", memory.sentence)
        assert memory.advice == (f"ask for at most {memory.change}" if memory.change else "")
        assert memory.change.startswith("--gpu-memory ") or memory.change == ""


def test_the_smallest_change_that_is_named_is_enough():
    decision = ask("delta", Envelope(gpus=ONE, gpu_memory_bytes=200 * GIB), account="abcd-delta-gpu")
    assert "ask for at most --gpu-memory 141G" in " ".join(v.sentence for c in decision.candidates for v in c.verdicts)
    smaller = ask("delta", Envelope(gpus=ONE, gpu_memory_bytes=141 * GIB), account="abcd-delta-gpu")
    assert smaller.choice.partition.startswith("gpuH200x8")


def test_vista_is_aarch64_with_one_gpu_a_node_that_no_scheduler_counts():
    fits = ask("vista", gpus("gh200", 96, arch="aarch64"))
    assert (fits.choice.partition, fits.choice.starts_now) == ("gh", True)
    assert "(1 GPU free)" in fits.sentence
    assert ask("vista", gpus(arch="x86_64")).choice is None
    two = ask("vista", Envelope(gpus=Span.exactly(2), site="it", partition="gh"))
    assert "its largest node has 1 GPU: ask for at most --gpus 1" in two.sentence


def test_perlmutter_is_never_chosen_while_its_limits_are_unknown_and_may_be_pinned():
    read = reading(record("gpu_ss11", shape(machine("perlmutter").nodes["gpu40"])))
    envelope = gpus(None, 80, qos="regular")
    assert ask("perlmutter", envelope, read, account="m1_g").choice is None
    pinned = ask("perlmutter", envelope.model_copy(update={"site": "it"}), read, account="m1_g")
    assert pinned.choice.partition == "gpu-hbm80g"
    refused = ask("perlmutter", envelope.model_copy(update={"site": "it", "qos": None}), read, account="m1_g")
    assert "requires a QOS" in refused.sentence
    by_name = ask("perlmutter", envelope.model_copy(update={"site": "it", "partition": "gpu_ss11"}), read)
    assert "never a partition: choose cpu, gpu or gpu-hbm80g" in by_name.sentence


def test_frontier_gives_more_time_to_more_nodes():
    there = machine("frontier").nodes["node"]
    read = reading(
        record("batch", shape(there, nodes=9000), whole_node=True), record("extended", shape(there), whole_node=True)
    )
    decision = ask("frontier", Envelope(nodes=ONE, walltime_s=Span.exactly(4 * H)), read)
    answers = {c.partition: {v.rule: v for v in c.verdicts}["walltime"] for c in decision.candidates}
    assert answers["batch"].answer == "fail"
    assert "or for --nodes 92" in answers["batch"].sentence
    assert answers["debug"].answer == "unknown"
    assert decision.choice.partition == "extended"


def test_large_partitions_on_request_are_not_chosen_by_themselves():
    wide = machine("frontera").nodes["clx"]
    read = reading(*(record(name, shape(wide, nodes=8000), whole_node=True) for name in ("normal", "large")))
    assert ask("frontera", Envelope(nodes=Span.exactly(600)), read).choice is None
    pinned = Envelope(nodes=Span.exactly(600), site="it", partition="large")
    assert ask("frontera", pinned, read).choice.partition == "large"
