"""What a refresh of a large Slurm site costs us: bytes on the wire, seconds and memory here, at 1, 3 and 10 times a size.

Run: python -m tests.benchmarks.bench_probe   (NODES=3000 JOBS=10000 ROUNDS=3). Seconds are of a core, but for "site s". Our own script runs in a real shell over
generated answers of scontrol and squeue; parse, merge with a machine's profile, limits and JSON are timed as the
collector does them. Beside it, in the same run, the plain way: fetch all text, split every line into a dictionary, and
add up free GPUs by partition. It answers less (no fit, no limits, nodes of several partitions counted again and again).
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.placement.caps import with_caps
from jupyter_diamond.placement.gpu_memory import with_gpu_memory
from jupyter_diamond.placement.merge import merge
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.sites import gpus, machines
from jupyter_diamond.transport.base import Completed
from tests.benchmarks.table import load, median

NODES = int(os.environ.get("NODES", "3000"))
JOBS = int(os.environ.get("JOBS", "10000"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SCALES = (1, 3, 10)
CAPTURES = Path(__file__).parents[1] / "captures" / "slurm"
PARTITIONS = ("cpu", "cpu-preempt", "gpuA100x4", "gpuA100x4-preempt", "gpuA40x4")
SLURM = SlurmScheduler()


def node(number: int) -> str:
    """One line of ``scontrol -d -o show node``: two thirds CPU nodes; every third is busy, in part or drained."""
    gpu = number % 3 == 0
    used, state = ((0, "IDLE"), (17 + number % 40, "MIXED"), (64, "ALLOCATED"), (0, "IDLE+DRAIN"))[number % 4]
    held = number % 4 if state == "MIXED" else (4 if used == 64 else 0)
    gres = ("gpu:a100:4(S:0-1)", f"gpu:a100:{held}(IDX:0-{held})") if gpu else ("(null)", "gpu:0")
    parts = "gpuA100x4,gpuA100x4-preempt" if gpu else "cpu,cpu-preempt"
    return (
        f"NodeName=n{number:05d} Arch=x86_64 CoresPerSocket=32 CPUAlloc={used} CPUEfctv=64 CPUTot=64 CPULoad=0.52 "
        f"AvailableFeatures=rack{number // 40},ib ActiveFeatures=rack{number // 40},ib Gres={gres[0]} GresDrain=N/A "
        f"GresUsed={gres[1]} NodeAddr=10.0.{number // 250}.{number % 250} NodeHostName=n{number:05d} Version=24.11.5 "
        f"OS=Linux 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC RealMemory=257000 AllocMem={used * 4000} FreeMem=200000 "
        f"Sockets=2 Boards=1 State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions={parts} "
        f"BootTime=1795000000 SlurmdStartTime=1795000100 LastBusyTime=1795900000 ResumeAfterTime=None "
        f"CfgTRES=cpu=64,mem=257000M,billing=64{',gres/gpu=4,gres/gpu:a100=4' if gpu else ''} "
        f"AllocTRES=cpu={used},mem={used * 4000}M{f',gres/gpu={held}' if gpu and held else ''} CurrentWatts=0 AveWatts=0"
    )


def job(number: int, uid: int, part: str, state: str) -> str:
    """One line of the ``squeue -O`` that we ask: columns of fixed width."""
    runs = state == "RUNNING"
    asked = re.search(r'-O "([^"]+)"', SLURM.probe_script())
    cells = {
        "JobID": 100000 + number, "UserID": uid, "Partition": part, "State": state, "NumNodes": 1 + number % 4 // 3,
        "NumCPUs": 16, "MinMemory": "64000M", "TimeLimit": "1-00:00:00", "SubmitTime": 1796000000 + number,
        "StartTime": 1796003000 if runs else "N/A", "PriorityLong": 900000 - number,
        "tres-alloc": "cpu=16,mem=64000M,node=1,billing=16,gres/gpu=1,gres/gpu:a100=1", "tres-per-node": "gres:gpu:a100:1",
        "tres-per-job": "N/A", "Reason": "None" if runs else "Priority", "NodeList": f"n{number % 3000:05d}" if runs else "",
        "QOS": "normal", "Account": f"acct-{uid}",
    }  # fmt: skip
    widths = (field.split(":") for field in (asked[1] if asked else "").split(","))
    return "".join(str(cells[name]).ljust(int(width)) for name, width in widths) + "\n"


def site(folder: Path, scale: int) -> None:
    """What the commands of a site of that size print, and the commands that print it."""
    nodes, jobs = NODES * scale, JOBS * scale
    (folder / "node").write_text("".join(node(number) + "\n" for number in range(nodes)))
    busy = [
        (number % 300 + 1000, PARTITIONS[number % 5], "RUNNING" if number % 3 else "PENDING") for number in range(jobs)
    ]
    (folder / "counts").write_text("".join(f"{uid}\x1f{part}\x1f{state}\n" for uid, part, state in busy))
    with (folder / "jobs").open("w") as file:
        file.writelines(job(number, *each) for number, each in enumerate(busy))
    text = (CAPTURES / "22.05-no-accounting" / "probe.out").read_text()
    rows = re.findall(r"^PartitionName=.*$", text, flags=re.MULTILINE)
    (folder / "part").write_text("\n".join(rows) + "\n")
    (folder / "config").write_text("ClusterName = big\nAccountingStorageType   = (null)\nSLURM_VERSION = 24.11.5\n")
    commands = {
        "scontrol": 'case "$*" in *config*) cat config ;; *partition*) cat part ;; *node*) cat node ;; esac',
        "squeue": "cat jobs", "sinfo": "echo slurm 24.11.5", "sacct": ":",
    }  # fmt: skip
    for name, body in commands.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\ncd {folder}\n{body}\n")
        path.chmod(stat.S_IRWXU)


def asked(folder: Path) -> tuple[Completed, float]:
    """Our script's answer, and how long the site's shell and awk took for it."""
    begun = time.perf_counter()
    done = subprocess.run(
        ["/bin/sh", "-c", SLURM.probe_script()], env={"PATH": f"{folder}:{os.environ['PATH']}"}, capture_output=True,
        check=True,
    )  # fmt: skip
    return Completed(exit=0, stdout=done.stdout, stderr=done.stderr), time.perf_counter() - begun


def ours(answer: Completed) -> dict[str, float]:
    """Seconds of each step, as the collector takes them."""
    profile, table, marks = machines.machine("delta"), gpus.table(), [time.process_time()]
    reading: SiteReading = SLURM.parse_probe("big", answer, read_at=datetime.now(timezone.utc))
    marks.append(time.process_time())
    SLURM.parse_jobs("big", answer, read_at=datetime.now(timezone.utc))
    marks.append(time.process_time())
    reading, _ = merge(reading, profile)
    reading = with_caps(with_gpu_memory(reading, table), None)
    marks.append(time.process_time())
    text = reading.model_dump_json()
    marks.append(time.process_time())
    steps = {name: marks[at + 1] - marks[at] for at, name in enumerate(("parse", "jobs", "merge", "json"))}
    return {**steps, "all": marks[-1] - marks[0], "json_bytes": len(text)}


def plain(nodes: str, jobs: str) -> float:
    """The plain way over the whole text; seconds."""
    begun = time.process_time()
    free: dict[str, int] = {}
    for line in nodes.splitlines():
        row = dict(word.split("=", 1) for word in line.split() if "=" in word)
        total = sum(int(number) for number in re.findall(r"gpu:\w+:(\d+)", row["Gres"]))
        used = sum(int(number) for number in re.findall(r"gpu:\w+:(\d+)", row["GresUsed"]))
        for part in row["Partitions"].split(","):
            free[part] = free.get(part, 0) + (total - used if row["State"] in ("IDLE", "MIXED") else 0)
    counts: dict[tuple[str, str], int] = {}
    for line in jobs.splitlines():
        _, part, state = line.split("\x1f")
        counts[part, state] = counts.get((part, state), 0) + 1
    return time.process_time() - begun


def peak(act: Callable[[], Any]) -> int:
    """Bytes of Python objects at the most."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> None:
    """Print one row a scale."""
    print(load())
    machines.machine("delta"), gpus.table()  # read once in a server's life
    heads = (
        "nodes",
        "jobs",
        "wire kB",
        "raw kB",
        "site s",
        "parse s",
        "jobs s",
        "merge s",
        "json s",
        "all s",
        "x",
        "peak MB",
        "json kB",
        "plain s",
        "ours/plain",
    )
    print("  ".join(head.rjust(9) for head in heads))
    first = 0.0
    for scale in SCALES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            site(folder, scale)
            answer, there = asked(folder)
            runs = [ours(answer) for _ in range(ROUNDS)]
            step = {key: median([run[key] for run in runs]) for key in runs[0]}
            texts = (folder / "node").read_text(), (folder / "counts").read_text()
            naive = median([plain(*texts) for _ in range(ROUNDS)])
            memory = peak(lambda answer=answer: ours(answer))
            first = first or step["all"]
            row = (
                f"{NODES * scale}", f"{JOBS * scale}", f"{len(answer.stdout) / 1e3:.0f}",
                f"{sum(map(len, texts)) / 1e3:.0f}", f"{there:.2f}", f"{step['parse']:.3f}", f"{step['jobs']:.3f}", f"{step['merge']:.3f}",
                f"{step['json']:.3f}", f"{step['all']:.3f}", f"{step['all'] / first:.1f}", f"{memory / 1e6:.1f}",
                f"{step['json_bytes'] / 1e3:.0f}", f"{naive:.3f}", f"{step['all'] / naive:.1f}",
            )  # fmt: skip
            print("  ".join(cell.rjust(9) for cell in row))


if __name__ == "__main__":
    main()
