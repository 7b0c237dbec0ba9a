"""The three clusters as the product sees them, and jobs on them.

Jobs here last seconds. What the product assumes of a batch site (a pass of the scheduler every minute, bands of a
minute and more) is of sites whose jobs last minutes to days, so all times of a probe that are relative to now are
stretched before it is given to the product: one real second counts as SCALE seconds, which makes a pass a second, and
forecasts are read back the same way. Slurm itself plans with its own limits, whole minutes: hours after stretching, of
which jobs use a tenth or a quarter, as they do at real sites.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.reading import Heard, read
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.limits import SiteLimits
from jupyter_diamond.model.queue import PastJob, QueuedJob, SiteQueue
from jupyter_diamond.model.site import Site
from jupyter_diamond.settings import DiamondGlobus
from tests.live.slurm import CLUSTERS, Testbed

SCALE = 60.0
_BUSY = ("RUNNING", "COMPLETING", "COMPLETED", "TIMEOUT", "FAILED")
_ENDED = ("COMPLETED", "TIMEOUT", "FAILED")


class Sleep(NamedTuple):
    """A job that sleeps: how long, and what it asks of its site."""

    seconds: float
    nodes: int
    cpus: int
    minutes: int


class Times(NamedTuple):
    """When Slurm took a job and when it started it, in whole seconds."""

    submitted: float
    started: float


class Federation:
    """The sites by name, each with its usual partition."""

    def __init__(self, testbed: Testbed, workdir: Path) -> None:
        self._testbed = testbed
        catalogue = tuple(Site.model_validate(testbed.site(name, workdir)) for name in CLUSTERS)
        self.links = SiteLinks(catalogue, Globus(DiamondGlobus(), logging.getLogger("diamond.matched")))
        self.began = datetime.now()  # noqa: DTZ005 - sacct takes the site's own time
        self.jobs: dict[str, set[str]] = {name: set() for name in CLUSTERS}
        """All that were ever submitted."""
        self._limits: dict[str, SiteLimits] = {}

    async def run(self, site: str, *argv: str, stdin: str = "", seconds: float = 30) -> str:
        """What a command says; it fails where the command does."""
        process = await asyncio.create_subprocess_exec(
            *argv, env={**os.environ, **self._testbed.env(site)}, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), seconds)
        if process.returncode:
            raise RuntimeError(f"{' '.join(argv)} on {site}: {err.decode().strip()}")
        return out.decode()

    async def submit(self, site: str, job: Sleep, *, name: str) -> str:
        """Queue one, and give back its id."""
        cluster = CLUSTERS[site]
        whole = ("-n", str(job.nodes)) if site == "vista" else ("--ntasks-per-node=1", "-c", str(job.cpus))
        said = await self.run(
            site, "sbatch", "--parsable", "-J", name, "-A", cluster.accounts[0], "-p", cluster.default_partition,
            "-N", str(job.nodes), *whole, "-t", str(job.minutes), "-o", "/dev/null",
            stdin=f"#!/bin/sh\nexec sleep {job.seconds:.2f}\n",
        )  # fmt: skip
        found = said.strip().split(";")[0]
        self.jobs[site].add(found)
        return found

    async def cancel(self, site: str, jobs: Collection[str]) -> None:
        """End jobs that wait or run."""
        if jobs:
            await self.run(site, "scancel", "-Q", *sorted(jobs))

    async def probe(self, site: str) -> Heard:
        """The product's own probe, read by the product; limits are asked for once."""
        link, known, sent = self.links[site], self._limits.get(site), datetime.now(timezone.utc)
        done = await link.run(link.scheduler.probe_script(limits=known is None), timeout_s=60)
        heard = read(link, done, known, sent=sent, heard=datetime.now(timezone.utc))
        if heard.reading.limits is not None:
            self._limits[site] = heard.reading.limits
        return heard

    async def times(self, jobs: Mapping[str, str]) -> dict[str, Times]:
        """The times of those of the jobs, one by site, that have started."""
        told = await asyncio.gather(*(self.run(at, "scontrol", "-o", "show", "job", job) for at, job in jobs.items()))
        found = {}
        for site, line in zip(jobs, told, strict=True):
            field = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if field["JobState"] in _BUSY:
                found[site] = Times(_epoch(field["SubmitTime"]), _epoch(field["StartTime"]))
        return found

    async def ended(self, site: str, user: str) -> dict[str, PastJob]:
        """By id, in the order of their ends, others' jobs that came to their own end, stretched: by accounting."""
        since = self.began.isoformat(timespec="seconds")
        fields = "JobIDRaw,State,Start,End,TimelimitRaw,AllocCPUS"
        said = await self.run(site, "sacct", "-X", "-n", "-P", "--name=background", "-S", since, "-o", fields)
        found = {}
        for job, state, start, end, minutes, cpus in (line.split("|") for line in said.splitlines()):
            if state in _ENDED and "Unknown" not in (start, end):
                used = SCALE * (_epoch(end) - _epoch(start))
                found[job] = PastJob(user, SCALE * 60 * int(minutes), int(cpus), used, _epoch(end))
        return dict(sorted(found.items(), key=lambda each: (each[1].ended_at, each[0])))

    async def waiting(self, site: str) -> int:
        """How many jobs wait there."""
        return len((await self.run(site, "squeue", "-h", "-t", "PD", "-o", "%A")).split())

    async def left(self) -> list[str]:
        """Jobs of ours that are in any queue."""
        found = []
        for site, ours in self.jobs.items():
            queue = (await self.run(site, "squeue", "-a", "-h", "-o", "%A")).split()
            found += [f"{site}:{job}" for job in queue if job in ours]
        return found


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def stretched(queue: SiteQueue) -> SiteQueue:
    """The queue with all times relative to now, and all limits, made SCALE times longer."""

    def moment(then: float | None) -> float | None:
        return None if then is None else queue.read_at - SCALE * (queue.read_at - then)

    def job(each: QueuedJob) -> QueuedJob:
        limit = None if each.limit_s is None else SCALE * each.limit_s
        return each._replace(limit_s=limit, submitted_at=moment(each.submitted_at), started_at=moment(each.started_at))

    return dataclasses.replace(queue, pending=tuple(map(job, queue.pending)), running=tuple(map(job, queue.running)))
