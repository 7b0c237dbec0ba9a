"""Our probe script, run by a real shell over what live controllers say about busy, broken and saving sites.

The commands beside it only show captured text; the script's own shell and awk do the rest.
"""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from jupyter_diamond.errors import SchedulerError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

CAPTURES = Path(__file__).parents[1] / "captures" / "slurm"
SLURM = SlurmScheduler()
NOW = from_epoch(1796003600)

SCONTROL = """#!/bin/sh
case "$*" in
  *config*) cat "$SITE/scontrol_config.out" ;;
  *reservation*) cat "$SITE/scontrol_resv.out" ;;
  *partition*) cat "$SITE/scontrol_part.out" ;;
  *node*) cat "$SITE/scontrol_node.out" ;;
esac
"""
SQUEUE = """#!/bin/sh
[ -e "$SITE/jobs" ] || { echo 'slurm_load_jobs error: Socket timed out on send/recv operation' >&2; exit 1; }
cat "$SITE/jobs"
"""
PLAIN = {
    "JobID": "1", "UserID": "0", "Partition": "shared", "State": "PENDING", "NumNodes": "1", "NumCPUs": "1",
    "MinMemory": "0", "TimeLimit": "1:00:00", "SubmitTime": "1796000000", "StartTime": "N/A", "PriorityLong": "1",
    "tres-alloc": "cpu=1,node=1", "tres-per-node": "N/A", "tres-per-job": "N/A", "Reason": "Priority", "NodeList": "",
    "QOS": "normal", "Account": "acct",
}  # fmt: skip


def job(**cells: str) -> str:
    """A row as ``squeue -O`` pads it."""
    widths = dict(field.split(":") for field in re.search(r'-O "([^"]+)"', SLURM.probe_script())[1].split(","))
    return "".join(({**PLAIN, **cells}[name]).ljust(int(width)) for name, width in widths.items()) + "\n"


@pytest.fixture
def commands(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    texts = {"scontrol": SCONTROL, "squeue": SQUEUE, "sinfo": "#!/bin/sh\necho slurm 22.05.8\n", "sacct": "#!/bin/sh\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return folder


@pytest.fixture
def probe(commands):
    def run(site: Path) -> Completed:
        env = {"PATH": f"{commands}:{os.environ['PATH']}", "SITE": str(site)}
        done = subprocess.run(
            ["/bin/sh", "-c", SLURM.probe_script()], env=env, capture_output=True, timeout=60, check=False
        )
        return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)

    return run


def read(answer: Completed):
    return SLURM.parse_probe("x", answer, read_at=NOW)


def test_a_busy_site_counts_only_what_a_job_could_get(probe):
    reading = read(probe(CAPTURES / "22.05" / "busy"))
    records = {record.partition: record for record in reading.records}
    # a01, a02 full, a03 down, a04 reserved
    assert (records["shared"].nodes_total, records["shared"].nodes_usable, records["shared"].cpus_free) == (4, 0, 0)
    assert sum(shape.nodes for shape in records["shared"].shapes) == 3  # the one that is down is out of service
    # g01 has free GPUs and free cores, but its memory is gone: nothing fits; g02 is idle (and planned)
    gpu = records["gpu"]
    assert (gpu.gpus_total, gpu.gpus_free, gpu.nodes_usable) == (8, 4, 1)
    assert [(node.cpus, node.gpus) for node in gpu.free_nodes] == [(128, 4)]
    # in maintenance
    assert records["highmem"].nodes_usable == 0
    assert (reading.cpus_total, reading.cpus_free) == (1088, 128)


def test_counts_that_cannot_be_had_are_unknown_not_zero(probe):
    reading = read(probe(CAPTURES / "22.05" / "busy"))
    assert reading.health == "degraded"
    assert (reading.pending, reading.running) == (None, None)
    assert {record.pending for record in reading.records} == {None}
    assert "the number of jobs is unknown" in reading.notes[0]
    assert "Socket timed out" in reading.notes[0]


def test_nodes_that_save_power_or_reboot_are_not_free(probe):
    reading = read(probe(CAPTURES / "22.05" / "powersave"))
    records = {record.partition: record for record in reading.records}
    assert (records["gh"].nodes_usable, records["gh"].whole_node) == (2, True)
    assert (records["gg"].nodes_total, records["gg"].nodes_usable) == (3, 0)
    assert sum(shape.nodes for shape in records["gg"].shapes) == 1


@pytest.mark.parametrize("version", ["24.11", "26.05"])
def test_gpus_in_use_are_known_from_tres_when_gres_used_is_not_shown(probe, version):
    records = {record.partition: record for record in read(probe(CAPTURES / version / "busy")).records}
    assert (records["ai"].gpus_total, records["ai"].gpus_free) == (8, 2)
    assert records["frac"].gpus_total == 6
    # one slice is in use; TRES do not tell on how many of two GPUs the 6 shards are, so none of them is surely free
    assert records["frac"].gpus_free == 3


def test_jobs_are_counted_once_a_site_and_once_a_partition(probe, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part", "node"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    me = os.getuid()
    jobs = [(me, "gpu,ai", "PENDING"), (me + 1, "gpu", "PENDING"), (me, "gpu", "RUNNING"), (me + 1, "ai", "COMPLETING")]
    (site / "jobs").write_text(
        "".join(job(UserID=str(uid), Partition=parts, State=state) for uid, parts, state in jobs) + "a banner\n"
    )
    reading = read(probe(site))
    assert (reading.pending, reading.running) == (2, 1)
    gpu = next(record for record in reading.records if record.partition == "gpu")
    ai = next(record for record in reading.records if record.partition == "ai")
    assert (gpu.pending, gpu.running, gpu.mine_pending, gpu.mine_running) == (2, 1, 1, 1)
    assert (ai.pending, ai.running, ai.mine_pending, ai.mine_running) == (1, 0, 1, 0)
    (site / "scontrol_config.out").write_text("ClusterName = x\nPrivateData = jobs,usage\n")
    hidden = read(probe(site))
    assert (hidden.pending, hidden.running) == (None, None)
    gpu = next(record for record in hidden.records if record.partition == "gpu")
    assert (gpu.pending, gpu.mine_pending) == (None, 1)


@pytest.fixture
def busy(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part", "node"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    return site


def test_the_same_answer_tells_of_each_job(probe, busy):
    me = str(os.getuid())
    (busy / "jobs").write_text(
        job(JobID="7", UserID=me, State="RUNNING", StartTime="1796003000", NodeList="a[01-02]", NumNodes="2",
            NumCPUs="256", **{"tres-alloc": "cpu=256,mem=500G,node=2"})
        + job(JobID="8", UserID="99", Partition="gpu,ai", PriorityLong="5", Reason="Resources", NumCPUs="8",
              **{"tres-per-node": "gres:gpu:2"})
        + job(JobID="9", UserID="99", PriorityLong="9", Reason="Dependency", TimeLimit="UNLIMITED")
    )  # fmt: skip
    queue = SLURM.parse_jobs("x", probe(busy), read_at=NOW)
    (runs,) = queue.running
    assert (runs.id, runs.mine, runs.nodes, runs.cpus, runs.nodes_held) == ("7", True, 2, 128, ("a01", "a02"))
    assert [(each.id, each.partitions, each.gpus, each.held, each.limit_s, each.mine) for each in queue.pending] == [
        ("9", ("shared",), 0, "Dependency", None, False), ("8", ("gpu", "ai"), 2, "", 3600.0, False),
    ]  # fmt: skip
    assert {node.name for node in queue.nodes} >= {"a01", "g02"}
    assert "a03" not in {node.name for node in queue.nodes}  # it is down
    assert (queue.hides_others, queue.cut) == (False, False)


def test_times_of_jobs_are_by_our_clock(probe, busy):
    (busy / "jobs").write_text(job(State="RUNNING", StartTime="1796003000", NodeList="a01"))
    answer = probe(busy)
    clock = int(re.search(rb"@@env [^\n]*\n[^\n]*\x1f([0-9]+)\n", answer.stdout)[1])
    (runs,) = SLURM.parse_jobs("x", answer, read_at=from_epoch(clock + 4000)).running
    assert runs.started_at == 1796003000 + 4000


def test_more_waiting_jobs_than_are_told_of_are_counted_and_the_queue_says_so(probe, busy):
    rows = [job(JobID=str(number), PriorityLong=str(9999 - number)) for number in range(6100)]
    (busy / "jobs").write_text(
        "".join(rows) + job(JobID="run", State="RUNNING", StartTime="1796003000", NodeList="a01")
    )
    answer = probe(busy)
    queue = SLURM.parse_jobs("x", answer, read_at=NOW)
    assert (read(answer).pending, len(queue.pending), len(queue.running), queue.cut) == (6100, 6000, 1, True)
    assert len(answer.stdout) < 1 << 20


def test_what_ones_own_jobs_hold_is_summed_up_from_the_same_rows(probe, busy):
    me = str(os.getuid())
    tres = {"tres-alloc": "cpu=4,mem=4G,node=1,billing=4,gres/gpu=2,gres/gpu:a100=2"}
    own = {"UserID": me, "QOS": "gpu", "Account": "acct1", "Partition": "gpu"}
    (busy / "jobs").write_text(
        2 * job(State="RUNNING", **own, **tres) + job(**own) + job(State="RUNNING", UserID="99", **tres)
    )
    (held,) = read(probe(busy)).own
    assert (held.account, held.qos, held.partition) == ("acct1", "gpu", "gpu")
    assert (held.pending, held.running, held.cpus, held.gpus) == (1, 2, 8, 4)


def test_an_answer_without_jobs_has_no_queue(probe):
    assert SLURM.parse_jobs("x", probe(CAPTURES / "22.05" / "busy"), read_at=NOW) is None


def test_partitions_that_are_not_for_this_user_are_left_out_with_a_reason(probe, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part", "node"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    partitions = (site / "scontrol_part.out").read_text()
    changed = partitions.replace("PartitionName=ai AllowGroups=ALL", "PartitionName=ai AllowGroups=no-such-group-here")
    (site / "scontrol_part.out").write_text(changed.replace("PartitionName=wide ", "PartitionName=wide Hidden=YES ", 1))
    reading = read(probe(site))
    assert "ai" not in {record.partition for record in reading.records}
    assert "Partition ai is left out: it is for members of no-such-group-here only." in reading.notes
    assert {record.partition for record in reading.records if record.hidden} == {"wide"}
    assert (reading.cpus_total, reading.gpus_total) == (1088 - 192, 8)


def test_a_controller_that_is_down_is_asked_once_and_judges_nothing(commands, probe, tmp_path):
    (commands / "scontrol").write_text(
        f"#!/bin/sh\necho asked >> {tmp_path}/asked\n"
        "echo 'slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)' >&2\nexit 1\n"
    )
    with pytest.raises(SchedulerError) as problem:
        read(probe(tmp_path))
    assert problem.value.transient
    assert "Unable to contact slurm controller" in problem.value.message
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_a_node_row_that_cannot_be_read_is_shown_and_the_rest_is_kept(probe, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part", "node"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    nodes = (site / "scontrol_node.out").read_text()
    odd = "NodeName=odd CPUTot=many State=IDLE Partitions=shared Reason=ECC errors | ticket #42 State=DOWN\n"
    (site / "scontrol_node.out").write_text(nodes + odd)
    reading = read(probe(site))
    assert len(reading.unreadable) == 1
    assert "ECC errors | ticket #42" in reading.unreadable[0]
    assert reading.cpus_total == 1088


def test_a_reason_cannot_change_what_is_read_of_a_node(probe, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    (site / "scontrol_node.out").write_text(
        "NodeName=b01 CPUAlloc=0 CPUEfctv=128 CPUTot=128 Gres=(null) RealMemory=1000 AllocMem=0 State=DOWN+DRAIN "
        "Partitions=highmem CfgTRES=cpu=128 AllocTRES= MCS_label=x State=IDLE Reason=was State=IDLE CPUAlloc=0 @@end 0 0 [root@2026]\n"
    )
    record = next(record for record in read(probe(site)).records if record.partition == "highmem")
    assert (record.nodes_total, record.nodes_usable, record.cpus_free) == (1, 0, 0)


def test_a_node_in_part_use_is_free_for_shared_work_and_not_for_whole_nodes(probe, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    (site / "scontrol_node.out").write_text(
        "NodeName=a01 CPUAlloc=1 CPUEfctv=128 CPUTot=128 Gres=(null) RealMemory=257400 AllocMem=1000 State=MIXED "
        "Partitions=shared,wholenode CfgTRES=cpu=128 AllocTRES=cpu=1\n"
        "NodeName=a02 CPUAlloc=0 CPUEfctv=128 CPUTot=128 Gres=(null) RealMemory=257400 AllocMem=0 State=IDLE "
        "Partitions=shared,wholenode CfgTRES=cpu=128 AllocTRES=\n"
    )
    reading = read(probe(site))
    records = {record.partition: record for record in reading.records}
    assert (records["shared"].nodes_usable, records["shared"].cpus_free) == (2, 255)
    assert (records["wholenode"].nodes_usable, records["wholenode"].cpus_free) == (1, 128)
    assert (reading.cpus_total, reading.cpus_free) == (256, 255)


def test_three_thousand_nodes_are_read_in_seconds(probe, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for name in ("config", "part"):
        (site / f"scontrol_{name}.out").write_bytes((CAPTURES / "22.05" / "busy" / f"scontrol_{name}.out").read_bytes())
    one = (CAPTURES / "22.05" / "busy" / "scontrol_node.out").read_text().splitlines()[-1]
    (site / "scontrol_node.out").write_text(
        "".join(one.replace("NodeName=h02", f"NodeName=h{number:04d}") + "\n" for number in range(3000))
    )
    answer = probe(site)
    assert len(answer.stdout) < 1 << 20
    record = next(record for record in read(answer).records if record.partition == "ai")
    assert record.nodes_total == 3000
