"""A pool of every documented machine, and a service over it that plans for real and starts nothing."""

from __future__ import annotations

import functools
from types import SimpleNamespace

from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.placement.gpu_memory import with_gpu_memory
from jupyter_diamond.placement.merge import merge
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.sites.gpus import table
from jupyter_diamond.sites.machines import machine, names
from tests.placement.profiles import NOW, live


@functools.cache
def pool() -> tuple[Snapshot, tuple[Site, ...]]:
    """Each machine that Slurm runs as its profile says it is, idle."""
    readings, sites = [], []
    for name in names():
        profile = machine(name)
        if profile.scheduler != "slurm":  # the others have no scheduler of ours yet
            continue
        read, _ = merge(live(profile), profile)
        records = tuple(record.model_copy(update={"site": name}) for record in read.records)
        read = with_gpu_memory(read.model_copy(update={"site": name, "records": records}), table())
        readings.append(read)
        sites.append(Site(name=name, scheduler=profile.scheduler, account="ab123"))
    return Snapshot(id=7, taken_at=NOW, sites=tuple(readings)), tuple(sites)


class PlanningService:
    """What a drafter asks of a service."""

    def __init__(self, *, past=(), only=None):
        snapshot, sites = pool()
        keep = tuple(each for each in snapshot.sites if only is None or each.site in only)
        self.snapshot, self._sites = snapshot.model_copy(update={"sites": keep}), sites
        self.planned = []
        self.asked_past = []

        def past_runs(digest, source):
            self.asked_past.append((digest, source))
            return past

        async def do(method, *args):
            return method(*args)

        self.ledger = SimpleNamespace(do=do, store=SimpleNamespace(past_runs=past_runs))

    async def sites(self):
        return self.snapshot

    async def plan(self, envelope):
        self.planned.append(envelope)
        here = {each.site for each in self.snapshot.sites}
        sites = tuple(each for each in self._sites if each.name in here)
        return decide(envelope, self.snapshot, sites, now=NOW)
