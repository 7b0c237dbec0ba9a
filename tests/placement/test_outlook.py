"""When a small job would start at each partition: by what gates it, and never a number where it is not known."""

from __future__ import annotations

from jupyter_diamond.placement.outlook import ONE_CORE, ONE_GPU, outlook
from jupyter_diamond.placement.policy import decide
from tests.placement.test_placement import NOW, free, pool, reading, record, site


def places(*records, **more):
    snapshot = pool(reading("delta", *records, **more))
    gpu, core = (decide(envelope, snapshot, (site("delta"),), now=NOW) for envelope in (ONE_GPU, ONE_CORE))
    return {place.partition: place for place in outlook(gpu, core, snapshot).places}


def test_a_partition_is_told_by_the_resource_that_gates_it():
    found = places(record("gpu", gpus=4, free=[free(64, 2)]), record("cpu", free=[free(64)]))
    assert (found["gpu"].unit, found["cpu"].unit) == ("GPU", "CPU")
    assert [place.forecast.wait_s for place in found.values()] == [0, 0]


def test_what_is_refused_says_why_and_has_no_number():
    found = places(record("short", walltime_cap_s=600, free=[free(64)]), record("closed", state="down"))
    assert found["short"].forecast is None
    assert "10 min" in found["short"].why
    assert found["closed"].forecast is None
    assert found["closed"].why


def test_hidden_partitions_are_left_out_and_the_order_is_the_sites():
    found = places(record("b", free=[free(64)]), record("a", free=[free(64)]), record("x", hidden=True))
    assert list(found) == ["b", "a"]
