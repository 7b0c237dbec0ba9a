"""The federated sites of a scenario: a log, a machine of the right size for it, and what its probe would show."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Literal

import numpy as np
import pandas as pd

from jupyter_diamond.model.policy import PartitionPolicy
from jupyter_diamond.model.queue import PastJob, QueuedJob, QueueNode, SiteQueue
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record, SiteReading
from jupyter_diamond.placement.forecast.runtimes import Runtimes

from . import simulator as sim
from .logs import DAY
from .simulator import Log, State

Kind = Literal["nodes", "cores", "gpus"]
"""What a unit is: a whole node, a core of a shared node, a GPU."""
CORES, CORES_PER_GPU, WEEK = 32, 8, 7 * DAY
GPU_COUNTS = (1, 2, 4, 8)
"""What a job may have of one node; the sizes of sizing rounds."""
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
PARTITION = "main"


def clock(seconds: float) -> datetime:
    """An instant of the simulation as a date."""
    return EPOCH + timedelta(seconds=seconds)


@dataclass
class SimSite:
    """One site: its machine, its log and its scheduler's habits."""

    name: str
    kind: Kind
    log: Log
    caps: np.ndarray
    speed: float
    prepare_s: float
    days: float
    hidden: bool = False
    starts: np.ndarray = field(default_factory=lambda: np.empty(0))
    ends: np.ndarray = field(default_factory=lambda: np.empty(0))
    runtimes: Runtimes = field(default_factory=Runtimes)
    _by_end: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    _learnt: int = 0

    @property
    def capacity(self) -> int:
        """All units."""
        return int(self.caps.sum())

    @property
    def load(self) -> float:
        """The offered load."""
        return float((self.log.run * self.log.nodes * self.log.units).sum() / (self.capacity * self.days * DAY))

    @property
    def site(self) -> Site:
        """As a catalogue would list it."""
        return Site(name=self.name, scheduler="slurm")

    def empty(self) -> State:
        """The site before its first job."""
        return sim.empty(self.caps, int(self.log.par[sim.USERS]))

    def play(self) -> None:
        """Run the whole log once: when each job starts and ends without us."""
        record = np.full((len(self.log.sub), 2), np.inf)
        sim.run_until(self.empty(), self.log, self.days * DAY, 0, record)
        self.starts, self.ends = record[:, 0], record[:, 1]
        order = np.argsort(self.ends, kind="stable")
        self._by_end = order[np.isfinite(self.ends[order])]

    def learn_until(self, now: float) -> None:
        """Take in the jobs that have ended by now, as a collector that watches the queue does."""
        log = self.log
        while self._learnt < len(self._by_end) and self.ends[self._by_end[self._learnt]] <= now:
            job = self._by_end[self._learnt]
            self.runtimes.learn(
                PastJob(
                    user=str(log.user[job]), limit_s=float(log.lim[job]), units=self.size_of(job),
                    used_s=float(self.ends[job] - self.starts[job]), ended_at=float(self.ends[job]),
                )
            )  # fmt: skip
            self._learnt += 1

    def size_of(self, job: int) -> int:
        """A job's size as ``QueuedJob.units`` counts it."""
        each = int(self.log.nodes[job] * self.log.units[job])
        return each * CORES if self.kind == "nodes" else each

    def shape(self, units: int) -> tuple[int, int]:
        """(cores, GPUs) per node of a job that has so many units of each node."""
        if self.kind == "gpus":
            return units * CORES_PER_GPU, units
        return (CORES if self.kind == "nodes" else units), 0


def build(
    name: str, table: pd.DataFrame, *, kind: Kind, per_node: int, load: float, days: float, fairshare: float,
    size: float, interval: float, depth: int, speed: float, prepare_s: float,
) -> SimSite:  # fmt: skip
    """A machine on which this log makes about this load; jobs that no machine of that size holds are left out."""
    table = table.assign(submit=table.submit - table.submit.min())
    table = table[table.submit < days * DAY]
    if kind == "nodes":  # a unit is a node
        table = table.assign(nodes=table.nodes * table.units, units=1)
        per_node = 1
    table = table[table.units <= per_node]
    run = np.minimum(np.maximum(table.run, 1), table.limit)
    work = float((run * table.nodes * table.units).sum())
    number = max(4, round(work / (load * days * DAY * per_node)))
    caps = np.full(number, per_node, np.int64)
    fits = (table.nodes <= number // 2).to_numpy()
    table, run = table[fits], run[fits]
    users = pd.factorize(table.user)[0]
    par = np.array([
        interval, depth, 1 << 30, 1.0, fairshare, size, WEEK, WEEK, caps.sum(), users.max(initial=0) + 1,
    ], float)  # fmt: skip
    log = Log(
        sub=table.submit.to_numpy(float), run=run.to_numpy(float), lim=table.limit.to_numpy(float),
        nodes=table.nodes.to_numpy(np.int64), units=table.units.to_numpy(np.int64), user=users.astype(np.int64), par=par,
    )  # fmt: skip
    return SimSite(name=name, kind=kind, log=log, caps=caps, speed=speed, prepare_s=prepare_s, days=days)


def reading(site: SimSite, state: State) -> SiteReading:
    """What a probe would say of it: no run time of any job is in it."""
    at = clock(float(state.f[sim.NOW]))
    free = [
        FreeNode.model_construct(
            cpus=cpus, memory_bytes=None, gpus=gpus, gpu_model=None, whole=bool(units == whole)
        )
        for units, whole in zip(state.free.tolist(), site.caps.tolist(), strict=True)
        if units
        for cpus, gpus in (site.shape(units),)
    ]  # fmt: skip
    cpus, gpus = site.shape(int(site.caps[0]))
    n, waiting, running = len(site.caps), int(state.i[sim.WAITING]), int(state.i[sim.RUNNING])
    record = Record.model_construct(
        site=site.name, partition=PARTITION, default=True, state="up", read_at=at,
        shapes=(NodeShape(cpus=cpus, gpus=gpus, nodes=n),), nodes_total=n, nodes_usable=n,
        cpus_total=n * cpus, cpus_free=sum(node.cpus for node in free), gpus_total=n * gpus,
        gpus_free=sum(node.gpus for node in free), memory_free_bytes=None, free_nodes=tuple(free), pending=waiting,
        running=running, mine_pending=0, mine_running=0, walltime_cap_s=30 * 86400, max_nodes=n,
        whole_node=site.kind == "nodes", hidden=False,
        policy=PartitionPolicy(machine=site.name, gpu_counts=GPU_COUNTS) if site.kind == "gpus" else None,
    )  # fmt: skip
    return SiteReading.model_construct(
        site=site.name, transport="ssh", scheduler="slurm", health="online", read_at=at, tried_at=at,
        records=(record,), simulated=False, problem="", notes=(), unreadable=(),
    )  # fmt: skip


def queue(site: SimSite, state: State, *, own_units: int, fairshare: float = 0.5) -> SiteQueue:
    """What ``squeue`` would show of it, in the order of service."""
    multifactor = bool(site.log.par[sim.W_FAIRSHARE] or site.log.par[sim.W_SIZE])
    if multifactor:
        sim.prioritise(state, site.log, only_new=False)
    names = [f"n{node}" for node in range(len(site.caps))]
    nodes = tuple(
        QueueNode(name, (PARTITION,), *_held(site, whole, free))
        for name, whole, free in zip(names, site.caps.tolist(), state.free.tolist(), strict=True)
    )
    n = int(state.i[sim.WAITING])
    pending = tuple(
        _job(site, ids, limit, submit=submit, priority=priority if multifactor else None)
        for ids, (submit, _, limit, priority) in zip(
            state.qi[:n].tolist(), state.qf[:n].tolist(), strict=True
        )
    )  # fmt: skip
    own = None
    if multifactor:
        par = site.log.par
        own = float(par[sim.W_FAIRSHARE] * fairshare + par[sim.W_SIZE] * own_units / par[sim.TOTAL])
    return SiteQueue(
        site=site.name, read_at=clock(float(state.f[sim.NOW])).timestamp(), nodes=nodes, pending=pending,
        running=tuple(_running(site, state, names)), hides_others=site.hidden, own_priority=own,
    )  # fmt: skip


def _held(site: SimSite, whole: int, free: int) -> tuple[int, int, int, int]:
    cpus, gpus = site.shape(whole)
    free_cpus, free_gpus = site.shape(free) if free else (0, 0)
    return cpus, free_cpus, gpus, free_gpus


def _job(site: SimSite, ids: list[int], limit: float, *, submit: float, priority: float | None) -> QueuedJob:
    cpus, gpus = site.shape(ids[sim.UNITS])
    return QueuedJob(
        id=str(ids[sim.ID]), user=str(ids[sim.USER]), partitions=(PARTITION,), nodes=ids[sim.NODES], cpus=cpus,
        gpus=gpus, limit_s=limit, submitted_at=clock(submit).timestamp(), mine=ids[sim.ID] == sim.OURS,
        priority=priority,
    )  # fmt: skip


def _running(site: SimSite, state: State, names: list[str]) -> list[QueuedJob]:
    found = []
    link_node, link_next = state.slot_node, state.slot_next
    for slot in state.order[: int(state.i[sim.RUNNING])].tolist():
        held, link = [], int(state.ri[slot, sim.R_FIRST])
        while link >= 0:
            held.append(names[int(link_node[link])])
            link = int(link_next[link])
        start, _, limit_end = state.rf[slot].tolist()
        cpus, gpus = site.shape(int(state.ri[slot, sim.R_UNITS]))
        found.append(
            QueuedJob(
                id=str(int(state.ri[slot, sim.R_ID])), user=str(int(state.ri[slot, sim.R_USER])),
                partitions=(PARTITION,), nodes=len(held), cpus=cpus, gpus=gpus, limit_s=limit_end - start,
                started_at=clock(start).timestamp(), nodes_held=tuple(held),
            )
        )  # fmt: skip
    return found
