"""The numbers of the wall, of idle and of resources against scontrol's own, with real jobs on the GPUs."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.notebook.wall_view import wall
from tests.cli.conftest import Cli
from tests.live.jupyter import JupyterServer
from tests.live.slurm import wait_until

pytestmark = pytest.mark.slurm
GPU = ("-A", "bbka-delta-gpu")


@pytest.fixture(scope="module")
def server(testbed, tmp_path_factory):
    base = tmp_path_factory.mktemp("cli-slurm")
    sites = testbed.sites_yaml(base / "sites.yaml", base / "work")
    with JupyterServer(base, sites=sites, arguments=("--DiamondSites.this_machine=False",)) as started:
        yield started


@pytest.fixture
def cli(server):
    return Cli(server.env)


def free_by_scontrol(testbed, site, partition):
    """GPUs and cores that are not taken, from the nodes' own lines."""
    gpus = cpus = 0
    for line in testbed.run(site, "scontrol", "-d", "-o", "show", "node").stdout.splitlines():
        said = dict(re.findall(r"(\w+)=(\S*)", line))
        if partition in said["Partitions"].split(","):
            cpus += int(said["CPUTot"]) - int(said["CPUAlloc"])
            total, used = (
                sum(map(int, re.findall(r"gpu:\w+:(\d+)", said.get(key, "")))) for key in ("Gres", "GresUsed")
            )
            gpus += total - used
    return gpus, cpus


def test_the_wall_shows_what_scontrol_says_while_real_jobs_hold_gpus(testbed, server, cli):
    held = testbed.sbatch("delta", "sleep 300", "-p", "gpuA100x4", "--gres=gpu:3", "-c", "5", *GPU)
    full = [testbed.sbatch("delta", "sleep 300", "-p", "gpuA40x4", "--gres=gpu:4", *GPU) for _ in range(2)]
    for job in (held, *full):
        testbed.wait_running("delta", job)
    waiting = testbed.sbatch("delta", "sleep 300", "-p", "gpuA40x4", "--gres=gpu:4", *GPU)
    wait_until(lambda: testbed.queue_state("delta", waiting) == "PENDING", 20, "The last job does not wait")

    snapshot = Snapshot.model_validate(cli.json("resources", "--refresh"))
    rows = wall(snapshot, datetime.now(timezone.utc))["rows"]["delta"]
    for partition in ("gpuA100x4", "gpuA40x4", "gpuA100x8"):
        assert rows[partition]["free"] == free_by_scontrol(testbed, "delta", partition)[0], partition
    assert rows["cpu"]["free"] == free_by_scontrol(testbed, "delta", "cpu")[1]
    assert (rows["gpuA40x4"]["pending"], rows["gpuA40x4"]["mine_running"], rows["gpuA40x4"]["mine_pending"]) == (
        1,
        2,
        1,
    )

    found = cli.json("idle", "--gpus", "2", "--cpus", "4", "--site", "delta")
    jobs = {place["partition"]: place["jobs_now"] for place in found["places"]}
    assert jobs == {"gpuA100x4": 2, "gpuA100x4-preempt": 2, "gpuA100x8": 4}, "one node has one GPU left, the other four"
    assert "gpuA40x4" in {place["partition"] for place in found["full"]}


def test_every_job_that_idle_promises_starts(testbed, cli):
    """Two jobs of four GPUs fit into gpuA100x4: both start, and then none is promised any more."""
    asked = ("idle", "--gpus", "4", "--site", "delta:gpuA100x4", "--refresh")
    (place,) = cli.json(*asked)["places"]
    assert place["jobs_now"] == 2
    jobs = [testbed.sbatch("delta", "sleep 300", "-p", "gpuA100x4", "--gres=gpu:4", *GPU) for _ in range(2)]
    for job in jobs:
        testbed.wait_running("delta", job)
    nothing = cli(*asked, "--json")
    assert (nothing.status, nothing.json["places"]) == (1, [])


def test_a_site_that_hides_its_gpus_is_not_known_and_never_free(testbed, cli):
    """Vista's GPUs are not in its GRES: without a profile nobody knows that they are there."""
    found = cli.json("idle", "--cpus", "1")
    assert "vista" in {place["site"] for place in found["places"]}
    gpus = cli("idle", "--gpus", "1", "--site", "vista", "--json")
    assert gpus.json["places"] == []


def test_a_controller_that_is_down_takes_its_numbers_out_of_the_sums(testbed, cli):
    testbed.stop_controller("vista")
    for _ in range(3):  # the third failure in a row calls it offline
        snapshot = Snapshot.model_validate(cli.json("resources", "--refresh"))
    view = wall(snapshot, datetime.now(timezone.utc))
    assert view["sites"]["vista"]["health"] == "offline"
    assert "does not answer" in view["sites"]["vista"]["problem"]
    assert view["strip"]["sums"][1]["without"] == ["vista"]
    assert view["rows"]["vista"]["gg"]["free"] is not None, "old numbers stand, with their age"
    checks = cli("preflight", "vista", "--json")
    assert (checks.status, checks.json[0]["checks"][0]["answer"]) == (1, "fail")


@pytest.mark.parametrize("site", ["delta", "anvil", "vista"])
def test_the_smoke_job_is_verified_through_slurms_accounting(testbed, cli, site):
    said = cli.json("smoke", site, "--yes")
    assert said["verdict"]["answer"] == "ok", said
    (row,) = said["accounting"]["rows"]
    assert testbed.accounting_state(site, row["job"]["id"]) == "COMPLETED"
    assert row["walltime_s"] in (300, None)


def test_a_smoke_job_that_cannot_start_is_cancelled_and_leaves_nothing(testbed, cli):
    testbed.run("delta", "scontrol", "update", "partitionname=cpu", "state=down")
    testbed.run("delta", "scontrol", "update", "nodename=cn[01-02]", "state=drain", "reason=drill")
    said = cli("smoke", "delta", "--yes", "--wait", "3", "--json")
    if said.status == 2:  # the rules see that the partition takes no job
        assert "cpu" in said.json["message"]
    else:
        assert said.json["verdict"]["answer"] in ("warn", "fail")
    assert testbed.run("delta", "squeue", "-h", "-t", "running,pending", "-o", "%i").stdout == ""


def test_the_login_nodes_accounts_are_those_of_this_cluster(testbed, cli):
    said = cli.json("env", "delta")
    assert sorted(account.partition(" ")[0] for account in said["accounts"] if "bbka" in account) == [
        "bbka-delta-cpu", "bbka-delta-gpu",
    ]  # fmt: skip
    assert not any("cis220051" in account for account in said["accounts"])


def test_a_look_around_reads_the_queue(testbed, cli):
    job = testbed.sbatch("anvil", "sleep 60", "-p", "shared")
    said = cli("exec", "anvil", f"squeue -h -j {job} -o %i")
    assert (said.status, said.out.strip()) == (0, job)
    assert cli("exec", "anvil", f"scancel {job}").status == 2
    assert testbed.queue_state("anvil", job) in ("PENDING", "RUNNING")


def test_what_waits_is_held_released_and_planned_anew_from_a_terminal(testbed, cli):
    """The smoke job waits behind a job that has both nodes."""
    whole = ("-p", "cpu", "-N", "2", "-n", "2", "-c", "128")
    blocker = testbed.sbatch("delta", "sleep 600", *whole)
    testbed.wait_running("delta", blocker)
    cli.json("resources", "--refresh")
    with subprocess.Popen(
        [sys.executable, "-c", "from jupyter_diamond.cli import main; main()", "smoke", "delta", "--yes", "--wait", "90"],
        env=cli.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as smoke:  # fmt: skip
        wait_until(lambda: "pending" in cli("tasks", "--active").out, 30, "The smoke job does not wait")
        assert "is held" in cli("hold", "smoke_delta").out
        wait_until(lambda: len(queued(testbed)) == 1, 30, "Its job was not taken back")
        assert cli.json("task", "smoke_delta")["held_by"] == "you"
        assert cli("release", "smoke_delta").out == "smoke_delta goes on.\n"
        wait_until(lambda: len(queued(testbed)) == 2, 30, "It did not go on")
        assert "delta:cpu is still the best place" in cli("replan", "smoke_delta").out
        testbed.run("delta", "scancel", blocker)
        assert smoke.wait(90) == 0
    story = cli("task", "smoke_delta").out
    for said in ("you held it", "you released it", "still the best place", "attempt 2 ended: succeeded"):
        assert said in story, story


def queued(testbed):
    return testbed.run("delta", "squeue", "-h", "-t", "running,pending", "-o", "%i").stdout.split()
