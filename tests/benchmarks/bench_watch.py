"""What watching jobs costs a site, and how soon an end is heard of, beside submitit: one real Slurm cluster, one run.

Run: python -m tests.benchmarks.bench_watch   (MINUTES=6 of counting, N=30 ends; either may be 0).

Counting: ``MOST`` real jobs sleep on one cluster. Services watch 1, 100 and all of them, over a local transport and
over ssh, each from a store in which they have run for an hour; submitit watches the same jobs. All at once, each
with its own wrappers in front of the scheduler's commands. Nobody looks at a wall; the probes of the site are counted
apart. The first minutes are those after a restart. Then 200 of the jobs end within 20 s.

Ends: a service on this machine's files, one over ssh, and submitit as it comes and at its fastest submit cells at
random moments; each cell returns the time of its own end. Cells take 6 s: slurmctld tells slurmdbd of new jobs every
5 s, and of a shorter one accounting may not have heard when it ends. That is the site's own delay, not a watcher's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from jupyter_diamond.store import Store
from tests.benchmarks.stage import counted, counting, is_probe
from tests.benchmarks.table import load, median, p95, verdict
from tests.engine import cells
from tests.engine.looks import value
from tests.live.slurm import CLUSTERS, Testbed, wait_until
from tests.live.slurm.testbed import sweep
from tests.live.sshd import Sshd
from tests.store.store_samples import a_decision, a_request, an_attempt

SITE = "anvil"
MOST = int(os.environ.get("MOST", "1000"))
COUNTS = tuple(dict.fromkeys((1, min(100, MOST), MOST)))
ROOM = {"shared": 512, "gpu": 256, "ai": 192, "highmem": 128}
"""Cores of the cluster's partitions that share no nodes."""
PYTHON = sys.executable

WATCHING = """
import sys, submitit
folder, *jobs = sys.argv[1:]
jobs = [submitit.SlurmJob(folder=folder, job_id=job, tasks=[0]) for job in open(jobs[0]).read().split()]
print("ready", flush=True)
jobs[0].result()
"""

ENDING = """
import json, sys, time, asyncio, random
import submitit
folder, rounds, partition, account = sys.argv[1:]

def executor(**more):
    made = submitit.AutoExecutor(folder=folder, cluster="slurm")
    made.update_parameters(timeout_min=5, mem_gb=0.5, slurm_partition=partition, slurm_account=account, **more)
    return made

def cell():
    import time
    time.sleep(6)
    return time.time()

async def one(executor, poll):
    await asyncio.sleep(random.uniform(0, 2))
    job = executor.submit(cell)
    end = await job.awaitable().result(poll_interval=poll) if poll else await asyncio.to_thread(job.result)
    return time.time() - end

async def main():
    default, fastest = executor(), executor(slurm_use_srun=False)
    for _ in range(int(rounds)):
        taken = await asyncio.gather(one(default, None), one(fastest, 0.05))
        print(json.dumps(taken), flush=True)

asyncio.run(main())
"""


@dataclass
class Place:
    """Where it all happens."""

    base: Path
    testbed: Testbed
    node: Sshd

    def site(self, transport: str, name: str, *, counts: bool) -> tuple[Path, Path]:
        """A catalogue with the cluster alone, and the folder that counts its commands."""
        site = self.testbed.site(SITE, self.base / name)
        wrappers = self.base / name / "count"
        path = f"{counting(wrappers)}:/usr/local/bin:/usr/bin:/bin" if counts else os.environ["PATH"]
        env = {**self.testbed.env(SITE), "PATH": path}
        if transport == "ssh":
            site |= {"transport": "ssh", "host": SITE, "ssh_config": str(self.node.config), "python": PYTHON}
        catalogue = self.base / name / "sites.yaml"
        catalogue.parent.mkdir(parents=True, exist_ok=True)
        catalogue.write_text(json.dumps({"sites": [{**site, "env": env}]}))
        return catalogue, wrappers

    def service(self, catalogue: Path) -> DiamondService:
        """A service that knows the cluster alone."""
        return DiamondService(
            store=DiamondStore(path=str(catalogue.parent / "diamond" / "store.sqlite")),
            sites=DiamondSites(path=str(catalogue), this_machine=False),
            engine=DiamondEngine(), limits=DiamondLimits(), log=logging.getLogger("bench"),
        )  # fmt: skip


@contextmanager
def place() -> Iterator[Place]:
    """The clusters and a login node, for as long as the block lasts."""
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    os.environ["XDG_RUNTIME_DIR"] = str(base)
    sweep()
    testbed = Testbed()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        stack.callback(testbed.down)
        testbed.up()
        node = Sshd(base / "ssh", SITE, env=testbed.env(SITE), extra="MaxSessions 100")
        stack.callback(node.close)
        yield Place(base, testbed, node)


# -- what watching costs


def sleepers(place: Place) -> list[str]:
    """Real jobs that run, each with the name of its attempt's token."""
    # a thousand steps that each look through all processes every two seconds are more than this machine has
    conf = place.testbed.conf(SITE)
    conf.write_text(conf.read_text().replace("JobAcctGatherFrequency=task=2", "JobAcctGatherFrequency=task=600"))
    place.testbed.run(SITE, "scontrol", "reconfigure")
    place.testbed.wait_ready(SITE)
    rooms, jobs = dict(ROOM), []
    script = place.base / "sleep.sh"
    script.write_text("#!/bin/sh\nexec sleep 3600\n")
    usual = ("--parsable", "-A", CLUSTERS[SITE].accounts[0], "-N1", "-n1", "--mem=1M", "-t", "120", "-o", "/dev/null")
    for number in range(MOST):
        partition = next(name for name, room in rooms.items() if room)
        rooms[partition] -= 1
        argv = ("sbatch", *usual, "-p", partition, "-J", token(number), str(script))
        jobs.append(place.testbed.run(SITE, *argv).stdout.strip().partition(";")[0])

    def run() -> bool:
        return len(place.testbed.run(SITE, "squeue", "-h", "-t", "R", "-o", "%A").stdout.split()) == MOST

    wait_until(run, 600, "Not all jobs began to run")
    return jobs


def token(number: int) -> str:
    return f"dmd-{number:08d}"


def fill(catalogue: Path, jobs: list[str]) -> None:
    """A store in which the jobs have run for an hour, and the folders that they have made."""
    folder = catalogue.parent / "diamond"
    folder.mkdir(mode=0o700, exist_ok=True)
    store = Store(folder / "store.sqlite")
    now = datetime.now(timezone.utc)
    begun, size = now - timedelta(hours=1), Size(cpus=1, memory_bytes=1 << 20, walltime_s=36_000)
    for number, job in enumerate(jobs):
        attempt = an_attempt(token(number)).model_copy(
            update={"site": SITE, "partition": "shared", "size": size, "created_at": begun, "state_since": begun}
        )
        task, _ = store.create_task(
            a_request(f"token-{number:010d}", f"nap{number}"), task_id=f"t{number:07d}", key="ab" * 32,
            decision=a_decision(), attempt=attempt, why_here="", at=begun,
        )  # fmt: skip
        changes = {
            "state": State.RUNNING, "native": NativeJob(id=job), "folder": f"{catalogue.parent}/attempts/{number}",
            "submissions": 1, "submitted_at": begun, "started_at": begun,
        }  # fmt: skip
        store.update_attempt(task.id, 1, at=begun, type="attempt.submitted", data={}, changes=changes)
    store.close()


async def watch(place: Place, minutes: int) -> None:
    """Count what each asks for, minute by minute."""
    begun = time.monotonic()
    jobs = await asyncio.to_thread(sleepers, place)
    print(f"{MOST} jobs run after {time.monotonic() - begun:.0f} s; {load()}", flush=True)
    watchers: list[tuple[str, Path]] = []
    services, peers = [], []
    for n in COUNTS:
        for transport in ("local", "ssh"):
            catalogue, wrappers = place.site(transport, f"{transport}{n}", counts=True)
            await asyncio.to_thread(fill, catalogue, jobs[:n])
            services.append(place.service(catalogue))
            watchers.append((f"jupyter_diamond, {transport:5} {n:5} jobs", wrappers))
        peers.append(_submitit(place, jobs[:n]))
        watchers.append((f"submitit, local        {n:5} jobs", place.base / f"submitit{n}" / "count"))
    try:
        await asyncio.gather(*(service.start() for service in services))
        started = time.time()
        await asyncio.sleep(60.0 * minutes)
        for who, wrappers in watchers:
            _say(who, counted(wrappers), started, minutes)
        await _storm(place, jobs, watchers[-3:-1], services[-2:])
        print(f"still watched: {[len(await service.tasks(phase='active', limit=2000)) for service in services]}")
    finally:
        for service in services:
            before = time.monotonic()
            await service.stop()
            print(f"stop() took {time.monotonic() - before:.2f} s", flush=True)
        for peer in peers:
            peer.kill()
            peer.wait()
        place.testbed.heal()


async def _storm(
    place: Place, jobs: list[str], watchers: list[tuple[str, Path]], services: list[DiamondService]
) -> None:
    """End many jobs within seconds, and count what it takes until the last word on each is known."""
    ending = jobs[: min(200, MOST - 1)]
    begun = time.time()
    for number, job in enumerate(ending):
        end = {"format": 1, "token": token(number), "by": "shell", "outcome": "FAILED", "exit_code": 143, "why": ""}
        for _, wrappers in watchers:
            folder = wrappers.parent / "attempts" / str(number)
            folder.mkdir(parents=True)
            (folder / "end.tmp").write_text(json.dumps({**end, "at": time.time()}))
            (folder / "end.tmp").rename(folder / "end.json")
        await asyncio.to_thread(place.testbed.run, SITE, "scancel", job)
        await asyncio.sleep(max(0.0, begun + 0.1 * (number + 1) - time.time()))
    spread = time.time() - begun
    for (who, wrappers), service in zip(watchers, services, strict=True):
        while len(await service.tasks(phase="active", limit=2000)) > MOST - len(ending):  # noqa: ASYNC110
            await asyncio.sleep(0.5)
        took = time.time() - begun
        asked = [line.split()[0] for at, line in counted(wrappers) if begun <= at and not is_probe(line)]
        print(
            f"{who}: {len(ending)} ends in {spread:.0f} s, the last word on all after {took:.0f} s, "
            f"by {asked.count('sacct')} sacct and {asked.count('squeue')} squeue"
        )


def _submitit(place: Place, jobs: list[str]) -> subprocess.Popen[str]:
    folder = place.base / f"submitit{len(jobs)}"
    path = f"{counting(folder / 'count')}:{os.environ['PATH']}"
    (folder / "jobs").write_text(" ".join(jobs))
    argv = [PYTHON, "-c", WATCHING, str(folder), str(folder / "jobs")]
    env = {**os.environ, **place.testbed.env(SITE), "PATH": path}
    peer = subprocess.Popen(argv, env=env, text=True, stdout=subprocess.PIPE)
    assert peer.stdout is not None
    peer.stdout.readline()
    return peer


def _say(who: str, seen: list[tuple[float, str]], started: float, minutes: int) -> None:
    def by_minute(*, probes: bool) -> list[int]:
        found = [at for at, line in seen if is_probe(line) is probes]
        return [sum(started + 60 * m <= at < started + 60 * (m + 1) for at in found) for m in range(minutes)]

    asked, probes = by_minute(probes=False), by_minute(probes=True)
    steady = sum(asked[2:]) / max(len(asked[2:]), 1)
    print(
        f"{who}: commands in each minute {asked}, {steady:.2f} a minute from the third on "
        f"(target: at most 1): {verdict(steady, 1.0)}"
        + (f"; probes of the site {probes}" if any(probes) else "")
    )  # fmt: skip


# -- how soon an end is heard of


class Heard:
    """When a service told of each end."""

    def __init__(self, service: DiamondService) -> None:
        self.service = service
        self.at: dict[tuple[str, str], float] = {}
        service.on_change(lambda event: self.at.setdefault((event.type, event.subject), time.time()))

    async def once(self) -> tuple[float, float]:
        """One cell: seconds from its end to the news of its result, and to the last word."""
        await asyncio.sleep(random.uniform(0, 2))
        source = "import time; time.sleep(6); at = time.time()"
        data = cells.bundle(source, outputs=("at",))
        envelope = Envelope(site=SITE, walltime_s=Span.exactly(300), memory_bytes=Span.exactly(500 << 20))
        request = cells.request(source, data, outputs=("at",), envelope=envelope)
        task: Task = (await self.service.submit(request, data)).task
        last = ("attempt.terminal", f"task:{task.id}")
        while last not in self.at:  # noqa: ASYNC110 - when it was told of was noted by the listener
            await asyncio.sleep(0.05)
        end = await value(self.service, task)
        return self.at["attempt.result_ready", f"task:{task.id}"] - end, self.at[last] - end


async def ends(place: Place, rounds: int) -> None:
    """Ours and submitit's, each once a round, at random moments of it."""
    heard = [Heard(place.service(place.site(how, f"ends-{how}", counts=False)[0])) for how in ("local", "ssh")]
    for each in heard:
        await each.service.start()
        await each.service.refresh(None)
    cluster = CLUSTERS[SITE]
    argv = [PYTHON, "-c", ENDING, str(place.base / "peer"), str(rounds), cluster.default_partition, cluster.accounts[0]]
    env = {**os.environ, **place.testbed.env(SITE)}
    peer = await asyncio.create_subprocess_exec(*argv, env=env, stdout=asyncio.subprocess.PIPE)
    assert peer.stdout is not None
    taken: dict[str, list[float]] = {}
    for _ in range(rounds):
        (local, local_last), (ssh, ssh_last) = await asyncio.gather(*(each.once() for each in heard))
        default, fastest = json.loads(await peer.stdout.readline())
        for who, seconds in (
            ("submitit, result()", default), ("submitit, no srun, polls every 50 ms", fastest),
            ("result is told of, local", local), ("result is told of, ssh", ssh),
            ("last word is told, local", local_last), ("last word is told, ssh", ssh_last),
        ):  # fmt: skip
            taken.setdefault(who, []).append(1000 * seconds)
    await peer.wait()
    for each in heard:
        await each.service.stop()
    base = median(taken["submitit, result()"])
    print(f"\nfunction end -> told of, {rounds} ends, ms     median     p95   ratio to submitit's default")
    for who, found in taken.items():
        print(f"{who:42} {median(found):8.0f} {p95(found):8.0f}   {median(found) / base:6.2f}")


def main() -> None:
    minutes, rounds = int(os.environ.get("MINUTES", "6")), int(os.environ.get("N", "30"))
    with place() as here:
        print(f"Slurm {'.'.join(map(str, here.testbed.slurm_version))}, cluster {SITE}; {load()}", flush=True)
        if rounds:
            asyncio.run(ends(here, rounds))
        if minutes:
            asyncio.run(watch(here, minutes))
        print(load())


if __name__ == "__main__":
    main()
