"""A thousand members as one job array, beside ``submitit``'s ``map_array`` and a bare ``sbatch --array``: one run.

Run: python -m tests.benchmarks.bench_group   (MEMBERS=1000, ROUNDS=5 of submission; TASKS=200 to all values, or 0).

Submission: on one real Slurm cluster, in turns; all jobs are held back by ``--begin=now+1hour``, ours by a site option.
Ours is from the request to the moment at which every member has its job's number in the store, with the plan; what the
site took for its one script is shown apart from our bookkeeping. Commands are counted by wrappers in front of them.

Values: trivial tasks, eight at a time, until all values are here; with the CPU time of our server for each member.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jupyter_diamond.model.task import Task
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from tests.benchmarks.stage import counted, counting, is_probe
from tests.benchmarks.table import load, median, verdict
from tests.engine import arrays
from tests.live.slurm import CLUSTERS, Testbed
from tests.live.slurm.testbed import sweep

SITE = "delta"
MEMBERS = int(os.environ.get("MEMBERS", "1000"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
TASKS = int(os.environ.get("TASKS", "200"))
AT_ONCE = 8
HELD = "now+1hour"
SETTLED_S = 4.0
"""After a submission the queue is asked why its jobs wait: that is no part of the next one."""

SUBMITIT = """
import json, sys, time
import submitit
folder, number, partition, account, begin, at_once, waits = sys.argv[1:]

def cell(index):
    return index * index

made = submitit.AutoExecutor(folder=folder, cluster="slurm")
more = {"slurm_additional_parameters": {"begin": begin}} if begin else {}
made.update_parameters(
    timeout_min=10, mem_gb=0.1, slurm_partition=partition, slurm_account=account, slurm_array_parallelism=int(at_once),
    **more
)
start, cpu = time.time(), time.process_time()
jobs = made.map_array(cell, range(int(number)))
submitted, cpu = time.time(), time.process_time() - cpu
if waits == "yes":
    assert [job.result() for job in jobs] == [n * n for n in range(int(number))]
print(json.dumps({"submit": submitted - start, "all": time.time() - start, "cpu": cpu}))
"""


@dataclass
class Place:
    """The cluster, and where everything writes."""

    base: Path
    testbed: Testbed

    def env(self, whose: str) -> dict[str, str]:
        """The environment of one of them, its scheduler commands counted."""
        folder = self.base / f"count-{whose}"
        if not folder.exists():
            counting(folder)
        return {**self.testbed.env(SITE), "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"}

    def commands(self, whose: str) -> Counter[str]:
        """How often each command was called, but for the readings of the site."""
        return Counter(line.split()[0] for _, line in counted(self.base / f"count-{whose}") if not is_probe(line))

    def service(self, name: str, **options: str) -> DiamondService:
        """A service of this process that knows the cluster alone."""
        site = self.testbed.site(SITE, self.base / name / "work") | {"env": self.env(name), "options": options}
        catalogue = self.base / name / "sites.yaml"
        catalogue.parent.mkdir(parents=True, exist_ok=True)
        catalogue.write_text(json.dumps({"sites": [site]}))
        return DiamondService(
            store=DiamondStore(path=str(self.base / name / "diamond" / "store.sqlite")),
            sites=DiamondSites(path=str(catalogue), this_machine=False),
            engine=DiamondEngine(), limits=DiamondLimits(), log=logging.getLogger("bench"),
        )  # fmt: skip


@contextmanager
def place() -> Iterator[Place]:
    """Bring it up for as long as the block lasts."""
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    sweep()
    testbed = Testbed()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        stack.callback(testbed.down)
        testbed.up()
        yield Place(base, testbed)


class Site:
    """How long the site takes for the scripts of submissions."""

    def __init__(self, service: DiamondService) -> None:
        link = service.links[SITE]
        self._run = link.run
        self.seconds = 0.0
        link.run = self.run  # type: ignore[method-assign]

    async def run(self, script: str, *, stdin: bytes = b"", timeout_s: float):  # type: ignore[no-untyped-def]
        start = time.perf_counter()
        done = await self._run(script, stdin=stdin, timeout_s=timeout_s)
        if "sbatch" in script:
            self.seconds += time.perf_counter() - start
        return done


class Count:
    """Waits until so many events of a kind were told: without a look into the store."""

    def __init__(self, service: DiamondService, kind: str, number: int) -> None:
        self._kind, self._left, self._all = kind, number, asyncio.Event()
        service._ledger.listen(self._hear)

    def _hear(self, event) -> None:  # type: ignore[no-untyped-def]
        self._left -= event.type == self._kind
        if self._left <= 0:
            self._all.set()

    async def wait(self, seconds: float = 900.0) -> None:
        """Until then."""
        await asyncio.wait_for(self._all.wait(), seconds)


def bare(place: Place) -> float:
    """A bare ``sbatch --array`` of a script that does nothing."""
    script = place.base / "true.sh"
    script.write_text("#!/bin/sh\n:\n")
    env = {**os.environ, **place.env("bare")}
    partition, account = CLUSTERS[SITE].default_partition, CLUSTERS[SITE].accounts[0]
    argv = ["sbatch", "--parsable", f"--array=0-{MEMBERS - 1}", f"--begin={HELD}", "-A", account, "-p", partition,
            "--mem=100M", "-t", "10", "-o", "/dev/null", str(script)]  # fmt: skip
    start = time.perf_counter()
    subprocess.run(argv, env=env, check=True, capture_output=True)
    return time.perf_counter() - start


def peer(place: Place, number: int, *, begin: str = "", at_once: int = 1000, waits: bool = False) -> dict[str, float]:
    """``map_array`` in a process of its own; its import is not counted."""
    env = {**os.environ, **place.env("submitit")}
    arguments = [
        str(place.base / "submitit"),
        str(number),
        CLUSTERS[SITE].default_partition,
        CLUSTERS[SITE].accounts[0],
    ]
    argv = [sys.executable, "-c", SUBMITIT, *arguments, begin, str(at_once), "yes" if waits else "no"]
    done = subprocess.run(argv, env=env, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


async def ours(service: DiamondService, site: Site) -> tuple[float, float, float]:
    """Seconds of a submission, of its one script at the site, and of our CPU."""
    count, site.seconds = Count(service, "attempt.submitted", MEMBERS), 0.0
    start, cpu = time.perf_counter(), time.process_time()
    asked, data = arrays.group(range(MEMBERS), source="answer = index * index", outputs=("answer",))
    await service.groups.submit(asked, data)
    await count.wait()
    return time.perf_counter() - start, site.seconds, time.process_time() - cpu


def cleared(place: Place) -> None:
    """No job is left from the round before."""
    place.testbed.heal()


async def submissions(place: Place) -> None:
    """Who hands in a thousand jobs how fast."""
    service = place.service("ours", begin=HELD)
    await service.start()
    site = Site(service)
    await service.engine.collector.refresh([SITE])
    rows: list[tuple[float, float, float, float, float, float]] = []
    for _ in range(ROUNDS):
        plain = await asyncio.to_thread(bare, place)
        told = await asyncio.to_thread(peer, place, MEMBERS, begin=HELD)
        await asyncio.to_thread(place.testbed.run, SITE, "scancel", "--name=true.sh,submitit")
        rows.append((plain, told["submit"], told["cpu"], *await ours(service, site)))
        await asyncio.sleep(SETTLED_S)
    await service.stop()
    plain, theirs, their_cpu, wall, trip, cpu = (median(each) for each in zip(*rows, strict=True))
    print(f"\nSubmission of {MEMBERS} held jobs, medians of {ROUNDS} (seconds); {load()}")
    print(f"  bare sbatch --array   {plain:7.3f}   {dict(place.commands('bare'))}")
    print(f"  submitit map_array    {theirs:7.3f}   {dict(place.commands('submitit'))}")
    print(f"    its bookkeeping     {theirs - plain:7.3f}   a pickle a member, no store; CPU {their_cpu:.3f}")
    print(f"  ours                  {wall:7.3f}   {dict(place.commands('ours'))}")
    print(f"    round trip          {trip:7.3f}   {trip / plain:.2f}x bare (at most 1.5: {verdict(trip / plain, 1.5)})")
    print(f"    our bookkeeping     {wall - trip:7.3f}   CPU of all {cpu:.3f}, {1e3 * cpu / MEMBERS:.2f} ms a member")
    print(f"    against submitit    {wall / theirs:6.2f}x   (at most 0.3: {verdict(wall / theirs, 0.3)})")
    cleared(place)


async def values(place: Place) -> None:
    """Who has all values of trivial tasks when, and what that costs our server."""
    theirs = await asyncio.to_thread(peer, place, TASKS, at_once=AT_ONCE, waits=True)
    service = place.service("values")
    await service.start()
    await service.engine.collector.refresh([SITE])
    count = Count(service, "attempt.result_ready", TASKS)
    over = Count(service, "attempt.terminal", TASKS)
    start, cpu = time.perf_counter(), time.process_time()
    asked, data = arrays.group(range(TASKS), source="answer = index * index", outputs=("answer",), at_once=AT_ONCE)
    group = (await service.groups.submit(asked, data)).group
    await count.wait()
    ready = time.perf_counter() - start
    await over.wait()
    spent = time.process_time() - cpu
    tasks = await service._ledger.do(service._ledger.store.groups.members, group.id)
    got = await asyncio.to_thread(lambda: sum(1 for task in tasks if value_of(service, task)))
    await service.stop()
    print(f"\n{TASKS} trivial tasks, {AT_ONCE} at a time, to all values (seconds); {load()}")
    print(f"  submitit map_array    {theirs['all']:7.1f}")
    print(f"  ours                  {ready:7.1f}   {got} values; {ready / theirs['all']:.2f}x submitit")
    print(f"    CPU of our server   {spent:7.2f}   {1e3 * spent / TASKS:.2f} ms a member from submission to its end")
    print(f"    commands            {dict(place.commands('values'))}")


def value_of(service: DiamondService, task: Task) -> bool:
    """Whether its value is there."""
    attempt = service._ledger.store.task(task.id).attempt
    return attempt is not None and attempt.folder is not None and (Path(attempt.folder) / "manifest.json").exists()


async def main() -> None:
    """Print both."""
    with place() as here:
        if ROUNDS:
            await submissions(here)
        if TASKS:
            await values(here)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())
