"""Every captured site, idle and busy, of every version: our script over what it printed, and what must hold of it."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.placement.caps import with_caps
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

CAPTURES = Path(__file__).parents[1] / "captures" / "slurm"
SITES = sorted(path.parent.relative_to(CAPTURES).as_posix() for path in CAPTURES.glob("*/*/scontrol_node.out"))
SLURM = SlurmScheduler()
NOW = from_epoch(1796003600)

COMMANDS = {
    "scontrol": """case "$*" in
  *config*) cat scontrol_config.out ;; *reservation*) cat scontrol_resv.out ;;
  *partition*) cat scontrol_part.out ;; *node*) cat scontrol_node.out ;;
esac""",
    "sacctmgr": """case "$*" in
  *withassoc*) echo root ;;
  *qos*) cat sacctmgr_qos.out ;;
  *"user=") sed 1q sacctmgr_assoc_all.out; grep '^[^|]*|[^|]*||' sacctmgr_assoc_all.out ;;
  *assoc*) sed 1q sacctmgr_assoc_all.out; grep '^[^|]*|[^|]*|root|' sacctmgr_assoc_all.out ;;
esac""",
    "squeue": ":", "sinfo": "echo slurm 0", "sacct": ":",
}  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def run(site):
        for name, body in COMMANDS.items():
            path = tmp_path / name
            path.write_text(f"#!/bin/sh\ncd {CAPTURES / site}\n{body}\n")
            path.chmod(stat.S_IRWXU)
        env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        script = ["/bin/sh", "-c", SLURM.probe_script(limits=True)]
        done = subprocess.run(script, env=env, capture_output=True, timeout=60, check=True)
        answer = Completed(exit=0, stdout=done.stdout, stderr=done.stderr)
        return with_caps(SLURM.parse_probe("x", answer, read_at=NOW), None)

    return run


def test_all_versions_are_there():
    assert {site.split("/")[0] for site in SITES} == {"22.05", "24.11", "26.05"}
    assert len(SITES) == 10


@pytest.mark.parametrize("site", SITES)
def test_every_capture_is_read_whole_and_its_sums_are_possible(read, site):
    reading = read(site)
    assert (reading.unreadable, reading.health, reading.accounting) == ((), "online", True)
    assert reading.records
    for record in reading.records:
        assert 0 <= record.cpus_free <= record.cpus_total
        assert record.gpus_total is not None
        assert record.gpus_free is None or 0 <= record.gpus_free <= record.gpus_total
        assert 0 <= record.nodes_usable <= record.nodes_total
        assert sum(shape.nodes for shape in record.shapes) <= record.nodes_total
        assert sum(node.nodes for node in record.free_nodes) == record.nodes_usable
        assert sum(node.nodes * node.cpus for node in record.free_nodes) == record.cpus_free
        assert {shape.arch for shape in record.shapes if shape.nodes} <= {"x86_64"}
    # each node once: no more than the partitions' own sums, and all of the largest partition
    assert max(record.cpus_total for record in reading.records) <= reading.cpus_total
    assert reading.cpus_total <= sum(record.cpus_total for record in reading.records)


@pytest.mark.parametrize("site", ["22.05/perl-busy", "22.05/delta-busy", "22.05/busy"])
def test_limits_of_older_captures(read, site):
    reading = read(site)
    if site.startswith("22.05/"):
        assert reading.limits is not None
        assert {each.account for each in reading.limits.associations} >= {"root"}
    if site == "22.05/busy":
        caps = {record.partition: [cap.sentence for cap in record.caps] for record in reading.records}
        assert caps["ai"] == ["QOS ai: at most 8 GPUs for you in all, 0 in use"]
        assert caps["gpu-debug"] == [
            "QOS gpudebug: at most 2 GPUs for you in all, 0 in use",
            "QOS gpudebug: at most 1 running job for you in all, 0 now",
        ]


def test_features_that_all_nodes_have_are_told(read):
    features = {shape.features for record in read("22.05/perl-busy").records for shape in record.shapes}
    assert ("cpu", "milan") in features


def test_vista_shows_no_gpus_and_says_so(read):
    records = {record.partition: record for record in read("22.05/vista-busy").records}
    assert (records["gh"].gpus_total, records["gh"].shapes[0].gpus) == (0, 0)  # its profile knows better
