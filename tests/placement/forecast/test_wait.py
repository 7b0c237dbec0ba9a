"""Which method tells the wait, in whose words, and how a site's queue becomes a board."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.queue import PastJob, QueuedJob, QueueNode, SiteQueue
from jupyter_diamond.placement.forecast.boards import Floor, pool_of
from jupyter_diamond.placement.forecast.calibration import Bands
from jupyter_diamond.placement.forecast.runtimes import Runtimes
from jupyter_diamond.placement.forecast.wait import Forecaster, Look

NOW = datetime(2026, 11, 30, 14, 0, tzinfo=timezone.utc).timestamp()
GIB = 1 << 30
H = 3600


def node(name="n1", *, partitions=("gpu",), cpus=64, free=0, gpus=4, gpus_free=0, **more) -> QueueNode:
    return QueueNode(name, partitions, cpus, free, gpus, gpus_free, **more)


def job(
    id_="790", *, nodes=1, cpus=16, gpus=4, limit=2 * H, held_on=(), elapsed=0.0, partition="gpu", **more
) -> QueuedJob:
    started = NOW - elapsed if held_on else None
    return QueuedJob(
        id_, "eve", (partition,), nodes, cpus, gpus, limit_s=limit, started_at=started, nodes_held=held_on, **more
    )


def site_queue(*, nodes=(), pending=(), running=(), **more) -> SiteQueue:
    return SiteQueue("delta", NOW, tuple(nodes), tuple(pending), tuple(running), **more)


def forecast(queue=None, size=None, *, fits=False, pending=3, **more):
    size = size or Size(cpus=4, gpus=4, walltime_s=H)
    queues = {} if queue is None else {"delta": queue}
    look = Look(fits_now=fits, pending=pending, **more)
    return Forecaster(now=NOW, queues=queues).forecast("delta", "gpu", size, look)


FULL = {"nodes": [node()], "running": [job(held_on=("n1",), elapsed=6000.0)]}


def test_a_visible_queue_is_replayed_and_names_the_job_that_frees_the_nodes():
    said = forecast(site_queue(**FULL, pending=[job("812", gpus=1)]))
    assert said.method == "replay"
    assert said.wait_s > 0
    assert said.because.startswith("behind job 812 (waits as well, should free its nodes about ")


def test_room_for_it_now_is_said_plainly():
    said = forecast(site_queue(nodes=[node(free=64, gpus_free=4)]))
    assert (said.wait_s, said.method) == (0.0, "fits_now")


def test_beyond_the_horizon_the_work_that_is_ahead_tells_which_place_is_sooner():
    day = 24 * H
    week = [job(str(at), limit=8 * day) for at in range(7)]
    busy, busier = (forecast(site_queue(**FULL, pending=week[:days])) for days in (4, 7))
    assert busy.beyond
    assert busier.beyond
    assert 2 * day <= busy.wait_s < busier.wait_s < 14 * day
    assert busier.because == f"what is visible keeps it busy for {busier.wait_s / day:.0f} days"


def test_beyond_the_horizon_what_waits_behind_us_does_not_count():
    urgent = [job(str(at), limit=8 * 24 * H, priority=2.0) for at in range(5)]
    others = [job(str(9 + at), limit=8 * 24 * H, priority=1.0) for at in range(5)]
    alone = forecast(site_queue(**FULL, pending=urgent, own_priority=1.5))
    ahead_of_others = forecast(site_queue(**FULL, pending=urgent + others, own_priority=1.5))
    assert alone.beyond
    assert ahead_of_others.wait_s == alone.wait_s < forecast(site_queue(**FULL, pending=urgent + others)).wait_s


@pytest.mark.parametrize(
    ("hidden", "said_s", "method"), [("hides_others", 450.0, "test_only"), ("cut", 450.0, "test_only")]
)
def test_where_the_queue_is_not_to_be_seen_a_quarter_of_the_schedulers_own_estimate_counts(hidden, said_s, method):
    said = forecast(site_queue(**FULL, **{hidden: True}), test_only_s=1800.0)
    assert (said.wait_s, said.method) == (said_s, method)


def test_without_an_estimate_the_length_of_the_queue_has_to_do():
    assert (forecast(pending=2).wait_s, forecast(pending=2).method) == (3 * 3600.0, "depth")
    assert forecast(fits=True).wait_s == 0.0


def test_what_is_not_known_has_no_wait():
    assert forecast(fits=None).wait_s is None
    assert forecast(fits=None).method == "unknown"
    assert forecast(pending=None).wait_s is None


def test_jobs_that_cannot_start_hold_nobody_up():
    held = job("813", gpus=4, limit=20 * H, held="Dependency")
    assert forecast(site_queue(**FULL, pending=[held])) == forecast(site_queue(**FULL))


def test_jobs_of_partitions_on_the_same_nodes_compete_and_others_do_not():
    nodes = [node(partitions=("gpu", "gpu-debug")), node("n2", partitions=("cpu",), gpus=0)]
    alone = forecast(site_queue(nodes=nodes, running=FULL["running"]))
    rival = job("900", gpus=4, partition="gpu-debug")
    other = job("901", gpus=0, partition="cpu")
    assert forecast(site_queue(nodes=nodes, running=FULL["running"], pending=[rival])).wait_s > alone.wait_s
    assert forecast(site_queue(nodes=nodes, running=FULL["running"], pending=[other])) == alone


def units(*, size=None, whole_node=False, nodes=None, **more):
    queue = site_queue(nodes=nodes or [node(**more)])
    pool = pool_of(Floor(queue, Runtimes(), now=NOW), "gpu", whole_node=whole_node)
    return pool.board.free, pool.ask(size or Size(cpus=8, gpus=1, walltime_s=H), whole_node=whole_node).units


def test_units_are_gpus_where_there_are_any_and_cores_elsewhere():
    assert units(free=64, gpus_free=3) == ((3,), 1)
    assert units(free=64, gpus=0, gpus_free=0, size=Size(cpus=8, walltime_s=H)) == ((64,), 8)


def test_a_little_cpu_work_keeps_no_gpu_from_others_and_a_lot_does():
    assert units(free=62, gpus_free=4)[0] == (4,)
    assert units(free=10, gpus_free=4)[0] == (1,)


def test_memory_beyond_its_share_counts_as_the_cores_that_it_keeps():
    size = Size(cpus=2, memory_bytes=64 * GIB, walltime_s=H)
    assert units(gpus=0, free=64, memory_bytes=256 * GIB, memory_free_bytes=128 * GIB, size=size) == ((32,), 16)


def test_a_partition_of_whole_nodes_counts_nodes():
    assert units(whole_node=True, free=63, gpus_free=4) == ((0,), 4)
    assert units(whole_node=True, free=64, gpus_free=4) == ((4,), 4)


def test_a_waiting_job_of_ours_is_looked_at_where_it_stands():
    pending = [job("1", gpus=4, limit=H), job("ours", gpus=4, limit=H), job("3", gpus=4, limit=H)]
    there = Forecaster(now=NOW, queues={"delta": site_queue(**FULL, pending=pending)})
    first, ours, third = (there.remaining("delta", "gpu", each.id) for each in pending)
    assert first.wait_s < ours.wait_s < third.wait_s
    assert there.remaining("delta", "gpu", "nobody") is None


def test_a_band_comes_from_recorded_outcomes_alone():
    assert (forecast(fits=True).low_s, forecast(fits=True).high_s) == (None, None)
    bands = Bands()
    for ratio in (0.5, 0.8, 1.0, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0):
        bands.note("delta", "replay", 600.0, 600.0 * ratio)
    there = Forecaster(now=NOW, queues={"delta": site_queue(**FULL)}, bands=bands)
    said = there.forecast("delta", "gpu", Size(cpus=4, gpus=4, walltime_s=H), Look(fits_now=False, pending=0))
    assert said.low_s < said.wait_s < said.high_s
    assert Bands().around("delta", said) == (None, None)


def test_a_waiting_job_is_known_by_its_like_where_whole_nodes_are_given():
    """Slurm tells of a job that runs there all cores of its nodes, of one that waits the few that it asked for."""
    runtimes = Runtimes(PastJob("eve", 2 * H, 2 * 64, 60.0, NOW) for _ in range(40))
    for number in range(40):  # the same user's other work runs to its limit
        runtimes.learn(PastJob("eve", 2 * H, 64, 2.0 * H, NOW + number))
    queue = site_queue(
        nodes=[node(gpus=0), node("n2", gpus=0)],
        pending=[job("812", nodes=2, cpus=1, gpus=0)],
        running=[job(nodes=2, cpus=64, gpus=0, held_on=("n1", "n2"), elapsed=30.0)],
    )
    board = pool_of(Floor(queue, runtimes, now=NOW), "gpu", whole_node=True).board
    assert board.running[0].end_s < 600
    assert board.waiting[0].run_s < 600
