"""Three decisions as a colleague reads them: one that starts now, one that waits behind a job, one that is refused."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy
from jupyter_diamond.model.queue import QueuedJob, QueueNode, SiteQueue
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.notebook.explanation import decision_table
from jupyter_diamond.placement.explain import explain
from jupyter_diamond.placement.forecast.calibration import Bands
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World

NOW = datetime(2026, 11, 30, 14, 10, tzinfo=timezone.utc)
GIB, H = 1 << 30, 3600
RATES = {"A100": 1.0, "H200": 1.5}
"""What the sites of these stories charge for an hour of one GPU."""


def gpus(site: str, partition: str, model: str, *, memory: int, free: int, pending: int, **more) -> Record:
    """Ten nodes of four GPUs; ``free`` of the GPUs are so on one node."""
    charge = ChargeModel(resource="gpu", unit="SU", gpus_per_unit=1, factor=RATES[model])
    shape = NodeShape(cpus=64, memory_bytes=256 * GIB, gpus=4, gpu_model=model, gpu_memory_bytes=memory * GIB, nodes=10)
    room = FreeNode(cpus=16 * free, memory_bytes=64 * free * GIB, gpus=free, gpu_model=model)
    facts = {
        "site": site, "partition": partition, "state": "up", "read_at": NOW - timedelta(seconds=12), "shapes": (shape,),
        "nodes_total": 10, "gpus_total": 40, "gpus_free": free, "cpus_total": 640, "cpus_free": 16 * free,
        "free_nodes": (room,) if free else (), "walltime_cap_s": 48 * H, "max_nodes": NO_LIMIT, "whole_node": False,
        "pending": pending, "running": 9, "policy": PartitionPolicy(machine=site, charge=charge),
    }  # fmt: skip
    return Record(**{**facts, **more})


def cores(site: str, partition: str, **more) -> Record:
    facts = {
        "site": site, "partition": partition, "state": "up", "read_at": NOW - timedelta(seconds=40),
        "shapes": (NodeShape(cpus=128, memory_bytes=256 * GIB, gpus=0, nodes=10),), "nodes_total": 10, "cpus_total": 1280,
        "cpus_free": 0, "gpus_total": 0, "gpus_free": 0, "walltime_cap_s": 96 * H, "max_nodes": NO_LIMIT,
        "whole_node": False, "free_nodes": (), "pending": 40, "running": 99,
    }  # fmt: skip
    return Record(**{**facts, **more})


def reading(*records: Record, **more) -> SiteReading:
    facts = {"transport": "ssh", "scheduler": "slurm", "health": "online", "read_at": records[0].read_at}
    return SiteReading(**{"site": records[0].site, "records": records, **facts, **more})


def decided(envelope: Envelope, *readings: SiteReading, world: World | None = None) -> Decision:
    sites = tuple(Site(name=each.site, scheduler="slurm", account="abc-gpu") for each in readings)
    return decide(envelope, Snapshot(id=41, taken_at=NOW, sites=readings), sites, now=NOW, world=world)


TWO_GPUS = Envelope(
    gpus=Span.exactly(2), cpus=Span.exactly(8), walltime_s=Span.exactly(4 * H), runtime=Runtime(seconds=2 * H)
)


def starts_now() -> Decision:
    """Two sites have room; the second one is slower."""
    return decided(
        TWO_GPUS,
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=4, pending=0), cores("delta", "cpu")),
        reading(gpus("vista", "gh", "H200", memory=96, free=2, pending=0)),
        world=World(Forecaster(now=NOW.timestamp()), speeds={"vista": 1.25}),
    )


def waits_behind_a_job() -> Decision:
    """All of delta is taken until job 790 ends; vista has room, but the data is far and its GPUs are slower."""
    ended = Bands()
    for ratio in (0.5, 0.55, 0.8, 0.9, 1.0, 1.1, 1.3, 1.9, 2.38, 2.5):
        ended.note("delta", "replay", 540.0, ratio * 600 - 60)
    node = QueueNode("g1", ("gpuA100x4",), 64, 0, 4, 0)
    running = QueuedJob(
        "790",
        "eve",
        ("gpuA100x4",),
        1,
        64,
        4,
        limit_s=4.0 * H,
        started_at=NOW.timestamp() - 3.655 * H,
        nodes_held=("g1",),
    )
    queue = SiteQueue("delta", NOW.timestamp(), (node,), (), (running,))
    return decided(
        TWO_GPUS,
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=0, pending=0)),
        reading(gpus("vista", "gh", "H200", memory=96, free=4, pending=0)),
        reading(cores("anvil", "shared")),
        world=World(
            Forecaster(now=NOW.timestamp(), queues={"delta": queue}, bands=ended),
            transfer_s={"delta": 0.0, "vista": 40 * 60.0}, prepare_s={"delta": 60.0, "vista": 60.0},
        ),
    )  # fmt: skip


def refused() -> Decision:
    """Three days with eight GPUs a node: no site gives that."""
    return decided(
        Envelope(gpus=Span.exactly(8), cpus=Span.exactly(8), walltime_s=Span.exactly(72 * H)),
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=4, pending=0)),
        reading(gpus("vista", "gh", "H200", memory=96, free=4, pending=0, state="drain")),
        reading(cores("anvil", "shared")),
    )


def unwrapped(decision: Decision) -> list[str]:
    """The blocks of the explanation; sentences without the breaks that keep them within 100 columns."""
    return explain(decision).split("\n\n")


def flat(block: str) -> str:
    return " ".join(block.split())


def table(block: str) -> list[list[str]]:
    """The cells of a table whose columns are two spaces or more apart."""
    return [re.split(r" {2,}", line.strip()) for line in block.splitlines()]


def test_what_starts_now_says_what_it_costs_and_what_the_next_best_lacks():
    decision = starts_now()
    assert decision.sentence == (
        "delta:gpuA100x4 starts now (4 GPUs free), and costs about 4 SU, at most 8; "
        "vista:gh would start now but runs 30 min longer (as work of yours did)."
    )
    blocks = unwrapped(decision)
    assert flat(blocks[0]) == decision.sentence
    assert blocks[1] == (
        "You asked: --cpus 8 --gpus 2 --time 4h --runtime 2h\n"
        "Decided 2026-11-30 14:10:00 UTC, by the rules, for earliest completion, from snapshot 41."
    )
    assert blocks[2] == (
        "Size: 8 cores, 2 GPUs, time limit 4 h.\n"
        "Time: no wait + 2 h run = 2 h; done about 16:10 UTC, by 18:10 at the latest if it starts at 14:10.\n"
        "Run time: your --runtime 2h.\n"
        "Charge: about 4 SU, at most 8."
    )
    assert flat(blocks[3]) == (
        "Next best: - vista:gh: no wait + 2 h 30 min run = 2 h 30 min; done 30 min later; about 7.5 SU, at most 12."
    )
    assert blocks[4] == "Refused:\n  - delta:cpu: it has no GPUs."
    assert table(blocks[5]) == [
        ["candidate", "account", "size", "starts", "runs", "in all", "charge", "jobs ahead", "data age"],
        ["> 1", "delta:gpuA100x4", "abc-gpu", "8 cores, 2 GPUs", "now", "2 h", "2 h", "about 4 SU, at most 8", "0", "12 s"],
        ["2", "vista:gh", "abc-gpu", "8 cores, 2 GPUs", "now", "2 h 30 min", "2 h 30 min", "about 7.5 SU, at most 12",
         "0", "12 s"],
    ]  # fmt: skip
    assert blocks[6] == "Checks (only what somebody does not pass):\ncandidate  node size\ndelta:cpu  NO"


def test_what_is_not_known_of_the_choice_is_not_held_against_another_in_silence():
    decision = decided(
        TWO_GPUS,
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=4, pending=0)),
        reading(gpus("vista", "gh", "H200", memory=96, free=2, pending=0)),
        world=World(Forecaster(now=NOW.timestamp()), prepare_s={"vista": 300.0}, speeds={"delta": 0.75, "vista": 1.0}),
    )
    assert decision.sentence.endswith(
        "; vista:gh would start now but runs 30 min longer (as work of yours did), needs 5 min to get ready (not known "
        "of delta:gpuA100x4) and would be done 35 min later."
    )
    assert unwrapped(decision)[2].splitlines()[1:5] == [
        "Time: no wait + 1 h 30 min run = 1 h 30 min; done about 15:40 UTC, by 18:10 at the latest if it",
        "starts at 14:10.",
        "Run time: your --runtime 2h.",
        "Speed: work of yours took 0.75 times as long there as at your sites on the whole.",
    ]


def test_a_run_that_nobody_gave_is_not_counted_as_no_time_in_the_table():
    """The wait alone is not all: unknown is never zero."""
    decision = decided(
        TWO_GPUS.model_copy(update={"runtime": None}),
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=4, pending=0)),
    )
    text = explain(decision)
    assert "how long it runs was not said" in text
    (rows,) = [table(block) for block in text.split("\n\n") if "candidate" in block and "starts" in block]
    assert "0 s" not in rows[1][:-1]
    assert decision_table(decision)["in all s"].isna().all()


def test_who_has_room_for_less_says_on_how_many_gpus_it_would_run_and_what_it_gives():
    wide = TWO_GPUS.model_copy(
        update={"gpus": Span(min=1, max=2), "runtime": Runtime(seconds=2 * H, units=1, serial=0.1)}
    )
    alone = gpus("vista", "gh", "H200", memory=96, free=1, pending=0, whole_node=True)
    decision = decided(
        wide,
        reading(gpus("anvil", "gpu", "A100", memory=40, free=4, pending=0)),
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=4, pending=0)),
        reading(alone.model_copy(update={"shapes": (alone.shapes[0].model_copy(update={"gpus": 1}),)})),
    )
    blocks = unwrapped(decision)
    assert flat(blocks[4]) == (
        "Ties: - delta:gpuA100x4 is equally early, decided by name. - Charges of different sites are not compared: "
        "anvil:gpu, delta:gpuA100x4: about 2.2 SU, at most 8."
    )
    assert flat(blocks[5]).endswith(
        "- vista:gh with 8 cores, 1 GPU: no wait + 2 h run = 2 h; done 54 min later; about 3 SU, at most 6; it gives "
        "whole nodes only."
    )
    alone = decided(
        wide,
        reading(gpus("delta", "gpuA100x4", "A100", memory=40, free=2, pending=0)),
        reading(gpus("vista", "gh", "H200", memory=96, free=1, pending=0)),
    )
    assert alone.sentence.endswith("; vista:gh would start now but runs 54 min longer on 1 GPU.")


def test_who_waits_behind_a_job_reads_which_one_how_sure_that_is_and_why_not_where_it_would_start_now():
    decision = waits_behind_a_job()
    assert decision.sentence == (
        "delta:gpuA100x4 starts in about 10 min (5-25), behind job 790 (runs now, should free its nodes about 14:20 "
        "UTC), and costs about 4 SU, at most 8; vista:gh would start now but needs 40 min to move the data and would be "
        "done 30 min later; anvil:shared refused: it has no GPUs."
    )
    blocks = unwrapped(decision)
    assert flat(blocks[2]).startswith(
        "Size: 8 cores, 2 GPUs, time limit 4 h. Time: 10 min wait + 2 h run + 1 min to get ready = 2 h 11 min; done "
        "about 16:21 UTC, by 18:20 at the latest if it starts at 14:20."
    )
    assert flat(blocks[3]) == (
        "Next best: - vista:gh: no wait + 2 h run + 1 min to get ready + 40 min to move data = 2 h 41 min; "
        "done 30 min later; about 6 SU, at most 12."
    )
    chosen = table(blocks[5])[1]
    assert chosen[4:9] == ["in about 10 min (5-25)", "2 h", "1 min", "0 s", "2 h 11 min"]


def test_who_is_refused_everywhere_reads_every_reason_with_its_smallest_change():
    decision = refused()
    assert decision.sentence == (
        "No site can run this. anvil:shared: it has no GPUs; "
        "delta:gpuA100x4: its largest node has 4 GPUs, and it allows 2 d: ask for both --gpus 4 and --time 2d; "
        "vista:gh: it takes no jobs now: the site set it to drain."
    )
    blocks = unwrapped(decision)
    assert blocks[2] == (
        "Refused:\n"
        "  - anvil:shared: it has no GPUs.\n"
        "  - delta:gpuA100x4: its largest node has 4 GPUs, and it allows 2 d: ask for both --gpus 4 and\n"
        "    --time 2d.\n"
        "  - vista:gh: it takes no jobs now: the site set it to drain."
    )
    assert [row[-3:] for row in table(blocks[3])[1:]] == [
        ["takes jobs", "node size", "time limit"], ["ok", "NO", "ok"], ["ok", "NO", "NO"], ["NO", "NO", "NO"],
    ]  # fmt: skip
