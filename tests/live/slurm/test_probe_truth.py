"""The probe's numbers against another way to count: what jobs say that they hold, subtracted from what nodes have.

Real jobs of several shapes fill real clusters in rounds, with nodes drained, resumed and reserved between them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed
from tests.live.slurm import Testbed
from tests.live.slurm.daemons import wait_until
from tests.live.slurm.lone import LoneCluster

SLURM = SlurmScheduler()
MIB = 1 << 20


def probed(conf: object, *, limits: bool = False) -> SiteReading:
    script = SLURM.probe_script(limits=limits)
    done = subprocess.run(
        ["/bin/sh", "-c", script], env={**os.environ, "SLURM_CONF": str(conf)}, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip
    answer = Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)
    return SLURM.parse_probe("x", answer, read_at=datetime.now(timezone.utc))


def field(text: str, name: str) -> str:
    found = re.search(rf"(?:^|\s){name}=(\S*)", text)
    return found.group(1) if found else ""


def held(jobs: str) -> Iterator[tuple[str, int, int, int]]:
    """(node, CPUs, MiB, GPUs) of everything that runs, from ``scontrol -d show job``."""
    for job in jobs.split("JobId=")[1:]:
        if field(job, "JobState") not in ("RUNNING", "COMPLETING"):
            continue
        for names, ids, size, gres in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)", job):
            cpus = sum(int(end or start) - int(start) + 1 for start, end in re.findall(r"(\d+)(?:-(\d+))?", ids))
            gpus = sum(int(number) for number in re.findall(r"gpu:[a-z0-9]+:(\d+)", gres))
            for name in expanded(names):
                yield name, cpus, int(size), gpus


def expanded(names: str) -> list[str]:
    found = re.fullmatch(r"(.*)\[(\d+)-(\d+)\]", names)
    if not found:
        return names.split(",")
    prefix, first, last = found.groups()
    return [f"{prefix}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]


def counted(testbed: Testbed, site: str) -> dict[str, Any]:
    """What a job could get in each partition, and in all, by jobs and nodes alone."""
    nodes = testbed.run(site, "scontrol", "-a", "-o", "show", "node").stdout.splitlines()
    jobs = testbed.run(site, "scontrol", "-a", "-d", "show", "job").stdout
    parts = testbed.run(site, "scontrol", "-a", "-o", "show", "partition").stdout.splitlines()
    exclusive = {field(line, "PartitionName"): field(line, "OverSubscribe") == "EXCLUSIVE" for line in parts}
    usage = list(held(jobs))
    free: dict[str, list[int]] = {name: [0, 0, 0] for name in exclusive}
    total = {"cpus": 0, "gpus": 0}
    for line in nodes:
        name = field(line, "NodeName")
        mine = [each for each in usage if each[0] == name]
        gpus = sum(int(number) for number in re.findall(r"gpu:[a-z0-9]+:(\d+)", field(line, "Gres")))
        cpus_left = int(field(line, "CPUTot")) - sum(each[1] for each in mine)
        memory_left = int(field(line, "RealMemory")) - sum(each[2] for each in mine)
        gpus_left = gpus - sum(each[3] for each in mine)
        works = field(line, "State").replace("+PLANNED", "") in ("IDLE", "MIXED")
        usable = (
            works and cpus_left > 0 and (memory_left > 0 or "CR_CPU" in testbed.conf(site).read_text().split("=CR"))
        )
        open_to = [part for part in field(line, "Partitions").split(",") if usable and not (exclusive[part] and mine)]
        for part in open_to:
            free[part] = [free[part][0] + cpus_left, free[part][1] + gpus_left, free[part][2] + 1]
        if open_to:
            total = {"cpus": total["cpus"] + cpus_left, "gpus": total["gpus"] + gpus_left}
    queue = testbed.run(site, "squeue", "-a", "-r", "-h", "-o", "%P %T").stdout.split("\n")
    return {
        "free": {part: tuple(amounts) for part, amounts in free.items()},
        "total": total,
        "running": sorted(line.split()[0] for line in queue if line.endswith(" RUNNING")),
        "pending": sorted(line.split()[0] for line in queue if line.endswith(" PENDING")),
    }


def said(reading: SiteReading) -> dict[str, Any]:
    def names(field: str) -> list[str]:
        return sorted(name for each in reading.records for name in [each.partition] * (getattr(each, field) or 0))

    assert names("running") == names("mine_running")
    assert names("pending") == names("mine_pending")
    assert (reading.running, reading.pending) == (len(names("running")), len(names("pending")))
    for each in reading.records:
        assert each.nodes_usable == sum(node.nodes for node in each.free_nodes)
        assert each.cpus_free == sum(node.nodes * node.cpus for node in each.free_nodes)
        assert each.gpus_free == sum(node.nodes * (node.gpus or 0) for node in each.free_nodes)
    return {
        "free": {each.partition: (each.cpus_free, each.gpus_free, each.nodes_usable) for each in reading.records},
        "total": {"cpus": reading.cpus_free, "gpus": reading.gpus_free},
        "running": names("running"),
        "pending": names("pending"),
    }


def compare(testbed: Testbed, site: str) -> dict[str, Any]:
    """Both ways agree while nothing moves."""
    seen: dict[str, Any] = {}

    def still() -> bool:
        before = counted(testbed, site)
        seen["said"] = said(probed(testbed.conf(site)))
        seen["counted"] = counted(testbed, site)
        return bool(before == seen["counted"])

    wait_until(still, 20, f"{site} did not stand still")
    assert seen["said"] == seen["counted"]
    return seen["said"]


SLEEP = "sleep 600"
GPU = ("-A", "cis220051-gpu", "-p", "gpu")


def test_free_gpus_cpus_and_jobs_are_what_jobs_leave(testbed: Testbed) -> None:
    empty = compare(testbed, "anvil")
    assert (empty["free"]["gpu"], empty["running"]) == ((256, 8, 2), [])

    jobs = [
        testbed.sbatch("anvil", SLEEP, *GPU, "--gres=gpu:2", "-c", "8", "--mem=10G", "-w", "g01"),
        testbed.sbatch("anvil", SLEEP, *GPU, "--gpus=1", "-c", "3", "--mem=4G", "-w", "g01"),
        testbed.sbatch(
            "anvil", SLEEP, "-A", "cis220051-ai", "-p", "ai", "--gres=gpu:h100:1", "-w", "h01"
        ),  # all memory
        testbed.sbatch("anvil", SLEEP, "-p", "wholenode", "-n", "1", "-w", "a01"),
        testbed.sbatch("anvil", SLEEP, "-p", "shared", "-c", "5", "-w", "a02"),
    ]
    for job in jobs:
        testbed.wait_running("anvil", job)
    testbed.sbatch("anvil", SLEEP, "-p", "shared", "--begin=now+1hour")
    testbed.sbatch("anvil", SLEEP, "-p", "shared,highmem", "--begin=now+1hour")
    mixed = probed(testbed.conf("anvil"))
    waiting = {each.partition: each.mine_pending for each in mixed.records if each.pending}
    assert (waiting, mixed.pending) == ({"shared": 2, "highmem": 1}, 2)  # one job names two partitions
    testbed.run("anvil", "scancel", "-t", "PD", "-u", "root")
    testbed.sbatch("anvil", SLEEP, "-p", "shared", "--begin=now+1hour", "--array=1-3")
    filled = compare(testbed, "anvil")
    assert filled["free"]["gpu"] == (256 - 11, 5, 2)
    assert filled["free"]["ai"] == (96, 4, 1)  # three GPUs of h01 are idle, and its memory is gone
    assert filled["pending"] == ["shared"] * 3

    testbed.run("anvil", "scontrol", "update", "nodename=g02,a02", "state=drain", "reason=drill")
    assert compare(testbed, "anvil")["free"]["gpu"] == (128 - 11, 1, 1)
    testbed.run("anvil", "scontrol", "update", "nodename=g02", "state=resume")

    def resumed() -> bool:
        return testbed.run("anvil", "sinfo", "-h", "-n", "g02", "-o", "%t").stdout.split()[0] in ("idle", "mix")

    wait_until(resumed, 30, "The node does not come back")
    testbed.run("anvil", "scancel", jobs[0], jobs[3])
    wait_until(lambda: testbed.queue_state("anvil", jobs[0]) != "COMPLETING", 20, "The job did not end")
    assert compare(testbed, "anvil")["free"]["gpu"] == (256 - 3, 7, 2)


def test_whole_nodes_and_preemptible_jobs(testbed: Testbed) -> None:
    job = testbed.sbatch("vista", SLEEP, "-p", "gg", "-N", "2")
    testbed.wait_running("vista", job)
    assert compare(testbed, "vista")["free"]["gg"] == (144, 0, 1)
    job = testbed.sbatch(
        "delta", SLEEP, "-A", "bbka-delta-gpu", "-p", "gpuA100x4", "--gres=gpu:a100:4", "-n", "4", "--mem=8G", "-w", "gpua01",
    )  # fmt: skip
    whole = testbed.sbatch("delta", SLEEP, "-p", "cpu", "--exclusive", "-w", "cn01", "--mem=1G")
    testbed.wait_running("delta", job)
    testbed.wait_running("delta", whole)
    free = compare(testbed, "delta")["free"]
    assert free["gpuA100x4"] == free["gpuA100x4-preempt"] == (60 + 64, 4, 2)
    assert free["cpu"] == (128, 0, 1)


def test_what_a_reservation_holds_a_job_cannot_get_and_the_rest_it_can(testbed: Testbed) -> None:
    made = ("reservationname=held", "starttime=now", "duration=30", "users=root", "nodes=b01", "corecnt=16")
    testbed.run("anvil", "scontrol", "create", "reservation", *made)
    later = ("reservationname=later", "starttime=now+2hours", "duration=30", "users=root", "nodes=h01", "flags=maint")
    testbed.run("anvil", "scontrol", "create", "reservation", *later)
    try:
        wait_until(lambda: probed(testbed.conf("anvil")).notes != (), 10, "The reservation is not seen")
        records = {each.partition: each for each in probed(testbed.conf("anvil")).records}
        assert records["highmem"].cpus_free == 112
        job = testbed.sbatch("anvil", SLEEP, "-p", "highmem", "-c", "112", "--mem=1G")
        testbed.wait_running("anvil", job)
        left = sorted(node.free_for_s or 0 for node in records["ai"].free_nodes)
        assert left == [0, pytest.approx(7200, abs=60)]
    finally:
        for name in ("held", "later"):
            testbed.run("anvil", "scontrol", "delete", f"reservation={name}", check=False)


def test_limits_are_what_accounting_enforces(testbed: Testbed) -> None:
    job = testbed.sbatch(
        "anvil", SLEEP, "-A", "cis220051-gpu", "-p", "gpu-debug", "--gres=gpu:2", "-c", "2", "--mem=1G"
    )
    testbed.wait_running("anvil", job)
    reading = probed(testbed.conf("anvil"), limits=True)
    assert reading.limits is not None
    assert reading.limits.default_account == "root"
    assert {each.account for each in reading.limits.associations} >= {"cis220051", "cis220051-gpu", "cis220051-ai"}
    (own,) = reading.own or ()
    assert (own.account, own.partition, own.running, own.gpus, own.cpus) == ("cis220051-gpu", "gpu-debug", 1, 2, 2)
    assert next(each.qos for each in reading.records if each.partition == "gpu-debug") == "gpudebug"
    debug = next(each for each in reading.limits.qos if each.name == "gpudebug")
    assert {(cap.on, cap.per, cap.amount) for cap in debug.caps} == {("gpus", "you", 2), ("running", "you", 1)}


def test_a_real_site_without_accounting_is_whole_and_its_limits_unknown() -> None:
    with LoneCluster() as lone:
        lone.run(
            "sbatch", "-N1", "-t5", "-o", "/dev/null", "-p", "gpuA40x4", "--gres=gpu:3", stdin=f"#!/bin/sh\n{SLEEP}\n"
        )
        wait_until(lambda: probed(lone.conf).running == 1, 20, "The job did not start")
        reading = probed(lone.conf, limits=True)
        assert (reading.health, reading.accounting, reading.limits, reading.own) == ("online", False, None, None)
        gpu = next(each for each in reading.records if each.partition == "gpuA40x4")
        assert (gpu.gpus_total, gpu.gpus_free, gpu.mine_running) == (8, 5, 1)


def test_accounting_that_is_down_costs_limits_and_nothing_else(testbed: Testbed) -> None:
    testbed.stop_accounting()
    reading = probed(testbed.conf("anvil"), limits=True)
    assert (reading.health, reading.limits) == ("degraded", None)
    assert any("Accounting does not answer" in note for note in reading.notes)
    assert next(each for each in reading.records if each.partition == "gpu").gpus_free == 8
