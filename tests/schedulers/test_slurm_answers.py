"""Answers of live Slurm 22.05, 24.11 and 26.05 to our own scripts, read."""

from pathlib import Path

import pytest

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.snapshot import NO_LIMIT
from jupyter_diamond.model.states import ReasonClass, State
from jupyter_diamond.parsing.outcomes import outcome_of
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

CAPTURES = Path(__file__).parents[1] / "captures" / "slurm"
VERSIONS = ["22.05", "24.11", "26.05"]
NOW = from_epoch(1796003600)
CLOCK = 1796020728
"""What the site's clock said when it told of its jobs."""
SLURM = SlurmScheduler()

CELLS = {
    "good": (State.COMPLETED, 0, None), "exit7": (State.FAILED, 7, None), "segv": (State.FAILED, 139, 11),
    "step": (State.COMPLETED, 0, None), "long": (State.CANCELLED, 0, None), "big": (State.COMPLETED, 0, None),
}  # fmt: skip


def captured(version: str, name: str, rc: int = 0) -> Completed:
    errors = CAPTURES / version / f"{name}.err"
    return Completed(
        exit=rc,
        stdout=(CAPTURES / version / f"{name}.out").read_bytes() if rc == 0 else b"",
        stderr=errors.read_bytes() if errors.exists() else b"",
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_submission(version):
    assert SLURM.parse_submit(captured(version, "submit")).id.isdigit()


@pytest.mark.parametrize("version", VERSIONS)
def test_accounting_tells_how_each_job_ended(version):
    reading = SLURM.parse_accounting(captured(version, "accounting"))
    assert reading.complete
    assert reading.unreadable == ()
    rows = {row.name[4:8].rstrip("0123456789"): row for row in reading.rows}
    for cell, (state, code, signal) in CELLS.items():
        row = next(row for row in reading.rows if row.name.startswith(f"dmd-{cell}"))
        assert (row.state, row.exit_code, row.signal) == (state, code, signal), cell
        assert row.started_at <= row.ended_at
        assert row.walltime_s in (300, 1800)
    assert rows["step"].step_trouble.endswith(".0 ended FAILED 1:0")
    assert rows["long"].cancelled_by == "you"
    assert outcome_of(rows["long"], None, cancel_requested=True).cause == "You cancelled it."
    slow = next(row for row in reading.rows if row.name.startswith("dmd-slow"))
    assert (slow.state, slow.exit_code, slow.ended_at) == (State.RUNNING, None, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_queue_tells_what_runs_and_what_waits(version):
    reading = SLURM.parse_queue(captured(version, "queue"))
    assert (reading.complete, reading.unreadable) == (True, ())
    states = {row.name[4:8]: row for row in reading.rows}
    assert states["slow"].state is State.RUNNING
    assert states["slow"].nodes
    assert states["good"].state is State.COMPLETED
    assert states["good"].ended_at is not None
    if version != "22.05":
        waiting = states["gone"]
        assert (waiting.state, waiting.reason, waiting.nodes) == (State.PENDING, "PartitionDown", "")
        assert waiting.reason_class is ReasonClass.WILL_RUN
        assert waiting.started_at is None


@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_are_found_by_their_token(version):
    reading = SLURM.parse_lookup(captured(version, "lookup"))
    assert reading.complete
    names = {row.name for row in reading.rows}
    assert len(names) == len(reading.rows) == 8
    assert "dmd-nosuch00" not in names


@pytest.mark.parametrize("version", VERSIONS)
def test_cancelling_gone_jobs_is_no_trouble(version):
    assert SLURM.parse_cancel(captured(version, "cancel")) == ()


def test_a_folded_array_is_one_row_of_its_array():
    reading = SLURM.parse_queue(captured("22.05", "queue_array"))
    assert [(row.job.id, row.reason_class) for row in reading.rows] == [("29", ReasonClass.WAITS_ON_YOU)]


@pytest.mark.parametrize("version", ["22.05", "24.11"])
def test_a_real_time_out(version):
    reading = SLURM.parse_accounting(captured(version, "accounting_ends"))
    row = next(row for row in reading.rows if row.name == "dmd-timeout1")
    assert row.state is State.TIMEOUT
    assert outcome_of(row, None).cause == "The job was stopped at its time limit of 1 min."


def test_a_real_lack_of_memory():
    reading = SLURM.parse_accounting(captured("22.05", "accounting_ends"))
    row = next(row for row in reading.rows if row.name == "dmd-oom00001")
    assert row.state is State.OUT_OF_MEMORY
    assert row.max_rss_bytes
    ending = outcome_of(row, None, memory_bytes=100 << 20)
    assert ending.cause == "The job ran out of memory: it had asked for 100M."


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_the_probe_reads_newer_versions(version):
    reading = SLURM.parse_probe("x", captured(version, "probe"), read_at=NOW)
    assert (reading.health, reading.notes, reading.unreadable) == ("online", (), ())
    assert reading.scheduler_version.startswith(version)
    assert (reading.cluster, reading.user, reading.accounting) == (
        {"24.11": "trixie2411", "26.05": "sid2605"}[version],
        "root",
        True,
    )
    records = {record.partition: record for record in reading.records}
    assert {name: record.state for name, record in records.items()} == {
        "ai": "up", "frac": "up", "cpu": "up", "drained": "drain", "down": "down", "inactive": "inactive",
    }  # fmt: skip
    ai = records["ai"]
    assert (ai.default, ai.nodes_total, ai.gpus_total, ai.gpus_free) == (True, 2, 8, 6)
    assert (ai.running, ai.mine_running, ai.pending) == (1, 1, 0)
    assert ai.walltime_cap_s == 2 * 86400
    assert ai.max_nodes is NO_LIMIT
    assert [(shape.gpu_model, shape.gpus, shape.nodes) for shape in ai.shapes] == [("h100", 4, 2)]
    # shards are not GPUs; 2 of ai, one slice, and the GPU on which 6 shards are in use are gone
    assert (records["frac"].gpus_total, records["frac"].gpus_free) == (6, 4)
    assert [(share.kind, share.total, share.free) for share in records["frac"].gpu_shares] == [("shard", 16, 10)]
    mig = next(shape for shape in records["frac"].shapes if shape.gpus == 4)
    assert [(kind.model, kind.gpus) for kind in mig.gpu_kinds] == [
        ("a100_1g.5gb", 2), ("a100_3g.20gb", 1), ("a100", 1),
    ]  # fmt: skip
    free = next(node for node in records["frac"].free_nodes if node.gpu_kinds)
    assert [(kind.model, kind.gpus) for kind in free.gpu_kinds] == [
        ("a100_1g.5gb", 1),
        ("a100_3g.20gb", 1),
        ("a100", 1),
    ]
    assert {shape.arch for record in records.values() for shape in record.shapes} == {"x86_64"}
    assert ai.shapes[0].features == ("gpu", "hbm80g")
    # c02 goes into maintenance in two hours
    assert sorted(node.free_for_s or 0 for node in records["cpu"].free_nodes) == [0, pytest.approx(7196, abs=10)]
    assert (records["down"].cpus_free, records["down"].free_nodes, records["down"].pending) == (0, (), 1)
    # nodes c01 and c02 are in four partitions and counted once: 2 x 96 + 2 x 64 + 2 x 256
    assert (reading.cpus_total, reading.gpus_total, reading.gpus_free) == (832, 14, 10)


def test_the_probe_reads_22_05():
    reading = SLURM.parse_probe("anvil", captured("22.05", "probe"), read_at=NOW)
    assert (reading.health, reading.cluster, reading.scheduler_version) == ("online", "anvil", "22.05.8")
    records = {record.partition: record for record in reading.records}
    assert {name: record.whole_node for name, record in records.items() if record.whole_node} == {
        "wholenode": True,
        "wide": True,
    }
    assert records["gpu"].gpus_free == 6
    assert records["gpu-debug"].max_nodes == 1
    assert records["gpu-debug"].walltime_cap_s == 1800
    assert (reading.cpus_total, reading.gpus_total, reading.gpus_free) == (1088, 16, 14)


def test_a_site_without_accounting_is_healthy_and_says_what_follows():
    reading = SLURM.parse_probe("delta", captured("22.05-no-accounting", "probe"), read_at=NOW)
    assert (reading.health, reading.accounting) == ("online", False)
    assert "Accounting is off here" in reading.notes[0]
    assert reading.gpus_total == 24  # GRES still counts GPUs where TRES do not
    rows = {row.name: row for row in SLURM.parse_accounting(captured("22.05-no-accounting", "accounting")).rows}
    assert (rows["dmd-aaaaaaa1"].state, rows["dmd-aaaaaaa1"].exit_code) == (State.FAILED, 3)
    assert (rows["dmd-aaaaaaa2"].state, rows["dmd-aaaaaaa2"].ended_at) == (State.RUNNING, None)
    assert rows["dmd-aaaaaaa3"].state is State.COMPLETED
    looked = SLURM.parse_lookup(captured("22.05-no-accounting", "lookup"))
    assert looked.complete
    assert {row.name for row in looked.rows} == {"dmd-aaaaaaa1", "dmd-aaaaaaa2"}


@pytest.mark.parametrize("version", [*VERSIONS, "22.05-no-accounting"])
def test_an_answer_cut_anywhere_is_never_half_read(version):
    from jupyter_diamond.errors import SchedulerError

    whole = captured(version, "probe")
    for size in range(0, len(whole.stdout) - 9, 131):
        with pytest.raises(SchedulerError):
            SLURM.parse_probe("x", whole.model_copy(update={"stdout": whole.stdout[:size]}), read_at=NOW)


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_limits_and_own_use_are_read(version):
    reading = SLURM.parse_probe("x", captured(version, "probe"), read_at=NOW)
    limits = reading.limits
    assert limits.default_account == "acct1"
    assert {each.account: each.qos for each in limits.associations} == {
        "root": ("normal",), "acct1": ("gpu", "normal", "short", "standby"),
    }  # fmt: skip
    own = next(each for each in limits.associations if each.account == "acct1")
    assert {(cap.on, cap.per, cap.amount, cap.source) for cap in own.caps} == {
        ("gpus", "job", 4, "your association with acct1"), ("running", "you", 40, "your association with acct1"),
        ("gpus", "account", 10, "account acct1"),
    }  # fmt: skip
    qos = {each.name: each for each in limits.qos}
    assert qos["gpu"].flags == ("DenyOnLimit",)
    assert {(cap.on, cap.per, cap.amount, cap.least) for cap in qos["short"].caps} == {
        ("cpus", "everybody", 64, False), ("nodes", "everybody", 2, False), ("cpus", "job", 2, True),
        ("walltime_s", "job", 1800, False), ("running", "you", 2, False),
    }  # fmt: skip
    frac = next(record for record in reading.records if record.partition == "frac")
    assert (frac.qos, frac.door.allow_accounts) == ("gpu", ("acct1", "root"))
    held = {use.partition: use for use in reading.own}
    assert (held["ai"].running, held["ai"].gpus, held["ai"].cpus) == (1, 2, 4)
    assert (held["frac"].running, held["frac"].gpus) == (2, 1)
    assert (held["down"].pending, held["down"].running) == (1, 0)


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_gpus_that_a_reservation_holds_are_not_free(version):
    reading = SLURM.parse_probe("x", captured(version, "reserved_probe"), read_at=NOW)
    ai = next(record for record in reading.records if record.partition == "ai")
    # nobody uses hg02, and a reservation holds 8 of its cores and 2 of its 4 GPUs
    assert sorted((node.cpus, node.gpus) for node in ai.free_nodes) == [(88, 2), (96, 4)]
    assert (ai.gpus_free, ai.gpus_total) == (6, 8)
    assert any("Reservations hold 1 node(s) now" in note for note in reading.notes)


def test_the_queue_is_read_job_by_job():
    answer = captured("22.05", "jobs_probe")
    queue = SLURM.parse_jobs("delta", answer, read_at=from_epoch(CLOCK))
    runs = {job.id[-1]: job for job in queue.running}
    assert {job.nodes_held for job in runs.values()} == {("gpub01",), ("gpub02",), ("cn01", "cn02")}
    assert (runs["1"].gpus, runs["1"].limit_s, runs["1"].started_at, runs["1"].mine) == (4, 300.0, CLOCK - 7, True)
    assert (runs["6"].nodes, runs["6"].cpus, runs["6"].memory_bytes) == (2, 8, 4 << 30)
    waits = [(job.id[-1], job.nodes, job.cpus, job.gpus, job.memory_bytes >> 20, job.held) for job in queue.pending]
    assert waits == [
        *(3 * [("3", 1, 1, 2, 1024, "")]),  # an array, each of its tasks
        ("4", 2, 1, 3, 1024, ""), ("7", 1, 1, 0, 1000, "Dependency"),
        ("5", 2, 4, 0, 8192, "JobHeldUser"),  # 2 GB for each of 4 cores
    ]  # fmt: skip
    reading = SLURM.parse_probe("delta", answer, read_at=from_epoch(CLOCK))
    assert (reading.pending, reading.running, sum(use.running for use in reading.own)) == (6, 3, 3)
    assert (queue.hides_others, len(queue.nodes)) == (False, 7)


def test_a_queue_that_hides_other_users_jobs_says_so():
    assert SLURM.parse_jobs("delta", captured("22.05", "hidden_probe"), read_at=NOW).hides_others


def test_where_accounting_was_not_asked_limits_are_unknown():
    reading = SLURM.parse_probe("delta", captured("22.05-no-accounting", "probe"), read_at=NOW)
    assert (reading.limits, reading.own) == (None, None)
