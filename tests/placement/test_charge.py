"""What a job is charged: worked out by hand from the pages of the sites."""

from __future__ import annotations

import pytest

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.snapshot import NodeShape
from jupyter_diamond.placement.charge import charge_of
from jupyter_diamond.sites.machines import machine, names
from tests.placement.profiles import GIB, H, record

GB = 10**9


def on(name, partition, size, seconds=H, *, whole=False):
    policy = machine(name).policy(partition)
    return charge_of(size, seconds, record(partition, NodeShape(cpus=64), whole_node=whole, policy=policy))


def size(nodes=1, cpus=1, gpus=0, memory=None) -> Size:
    return Size(nodes=nodes, cpus=cpus, gpus=gpus, memory_bytes=memory, walltime_s=H)


@pytest.mark.parametrize(
    ("partition", "asked", "units"),
    [
        ("cpu", size(cpus=4), 4.0),  # a core-hour each
        ("cpu", size(cpus=4, memory=16 * GB), 8.0),  # 2 GB go with a core, so 16 GB are eight
        ("cpu-preempt", size(cpus=4), 2.0),
        ("cpu-interactive", size(nodes=2, cpus=4), 16.0),
        ("gpuA100x4", size(cpus=16, gpus=1), 1.0),
        ("gpuA100x4", size(cpus=64, gpus=1), 4.0),  # the cores of four GPUs
        ("gpuA40x4", size(cpus=8, gpus=2), 1.0),
        ("gpuH200x8", size(cpus=8, gpus=8), 24.0),
    ],
)
def test_delta(partition, asked, units):
    assert on("delta", partition, asked) == (pytest.approx(units), "core-hour" if "cpu" in partition else "GPU-hour")


def test_whole_nodes_are_charged_where_whole_nodes_are_given():
    assert on("vista", "gh", size(nodes=3, cpus=1), 2 * H, whole=True)[0] == pytest.approx(6.0)
    assert on("lonestar6", "gpu-h100", size(cpus=1), whole=True)[0] == pytest.approx(6.0)


def test_a_least_charge_counts_for_short_jobs():
    quarter = on("vista", "gh", size(), 60, whole=True)[0]
    assert quarter == on("vista", "gh", size(), 900, whole=True)[0] == pytest.approx(0.25)


def test_what_is_not_documented_for_sure_has_no_charge():
    assert on("perlmutter", "regular", size(), whole=True)[0] is None  # the factor of a QOS is not ours to know
    assert on("delta", "nosuch", size())[0] is None
    assert charge_of(size(), H, record("cpu", policy=None)) == (None, "")
    assert charge_of(size(), H, None) == (None, "")


def test_no_charge_is_ever_negative_or_below_one_core():
    for name in names():
        for partition in machine(name).partitions:
            amount, _ = on(name, partition, size(cpus=2, gpus=1, memory=GIB), whole=False)
            assert amount is None or amount > 0, (name, partition)
