"""What a wall shows, made up: many sites, their last day, the wait at each partition, what was spent."""

from __future__ import annotations

import math
from datetime import timedelta

from canned_pool import GB, ago

from jupyter_diamond.model.base import Value
from jupyter_diamond.model.charge import AccountCharges, Charges, SpendingCap, Spent
from jupyter_diamond.model.forecast import Forecast
from jupyter_diamond.model.history import HistorySeries, SiteHistory
from jupyter_diamond.model.looks import Outlook, OutlookPlace
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record, SiteReading, Snapshot, gate

NAMES = ("delta", "anvil", "vista", "perlmutter", "frontera", "expanse", "bridges2", "stampede3", "darwin", "jetstream2",
         "ookami", "rockfish")  # fmt: skip
GPUS = (("a100", 40), ("a100", 80), ("h100", 80), ("gh200", 96), ("v100", 32), ("mi250x", 64))
WAYS = ("ssh", "globus-compute", "local")
HEALTHS = ("online", "online", "online", "online", "degraded", "online", "online", "offline", "online", "online",
           "needs_login", "online")  # fmt: skip
PROBLEMS = {
    "degraded": "{} did not answer for 4 min (login node refuses connections). Your jobs there are not affected.",
    "offline": "{} could not be reached: no route to host. Check your network, then ask again.",
    "needs_login": "You are logged out of Globus. Log in to see {}.",
}


def answer(path: str, snapshot: Snapshot, spent: Charges, site: str) -> Value | None:
    """What the REST API answers to the wall; None where the path is another's."""
    if path == "sites/history":
        return history(snapshot, site)
    return {"sites": snapshot, "outlook": outlook(snapshot), "charges": spent}.get(path)


def many(sites: int, partitions: int, name: str | None = None) -> Snapshot:
    """As many sites with as many partitions, in every state of health; the last one is simulated."""
    made = tuple(_site(at, partitions, name, last=at == sites - 1) for at in range(sites))
    return Snapshot(id=99, taken_at=ago(1), sites=made)


def _site(at: int, partitions: int, name: str | None, *, last: bool) -> SiteReading:
    site, health = f"{name}{at}" if name else NAMES[at % len(NAMES)], HEALTHS[at % len(HEALTHS)]
    age = {"degraded": 260.0, "offline": 5000.0}.get(health, 4.0 + 3 * at)
    records = tuple(_record(site, at, n, age) for n in range(partitions)) if health != "needs_login" else ()
    free = [gate(record).free or 0 for record in records if gate(record).unit == "GPU"]
    return SiteReading(
        site=site, transport=WAYS[at % 3], scheduler="slurm", health=health, read_at=ago(age) if records else None, tried_at=ago(age),
        problem=PROBLEMS.get(health, "").format(site), scheduler_version="24.05.3", cluster=site, user="ana", accounting=True,
        gpus_free=sum(free), gpus_total=40 * len(free), cpus_free=900 + 70 * at, cpus_total=4096, running=30 * at, pending=7 * at,
        records=records, simulated=last and at > 3,
    )  # fmt: skip


def _record(site: str, at: int, n: int, age: float) -> Record:
    has_gpus = n % 3 != 2
    model, memory = GPUS[(at + n) % len(GPUS)]
    partition = f"gpu{model.upper()}x4" if has_gpus else "cpu"
    shape = NodeShape(
        cpus=64, memory_bytes=256 * GB, gpus=4 if has_gpus else 0, gpu_model=model if has_gpus else None,
        gpu_memory_bytes=memory * GB if has_gpus else None, nodes=10,
    )  # fmt: skip
    soon = (FreeNode(cpus=64, gpus=4 if has_gpus else 0, free_for_s=7200, nodes=3),) if (at, n) == (5, 0) else ()
    return Record(
        site=site, partition=f"{partition}-{n}" if n else partition, default=n == 0, state="down" if n == 7 else "up",
        read_at=ago(age), shapes=(shape,), cpus_total=640, cpus_free=(37 * (at + 1) * (n + 2)) % 640,
        gpus_total=40 if has_gpus else 0, gpus_free=None if n == 4 else (at * 7 + n * 5) % 41 if has_gpus else 0,
        memory_free_bytes=512 * GB, nodes_total=10, nodes_usable=10 - n % 3, pending=(at * n * 13) % 220, running=9 + n,
        mine_running=1 if n == 0 else 0, mine_pending=2 if n == 1 else 0, walltime_cap_s=172_800 if has_gpus else 604_800,
        free_nodes=soon,
    )  # fmt: skip


def outlook(snapshot: Snapshot) -> Outlook:
    """Now where enough is free, in a while where many wait, not known, or not allowed."""
    places = []
    for site in snapshot.sites:
        for n, record in enumerate(site.records):
            unit, free, _ = gate(record)
            pending = record.pending or 0
            wait = 0.0 if free and pending < 20 else 60.0 * pending + 300
            forecast = Forecast(wait_s=wait, low_s=wait / 2, high_s=2.5 * wait or 600, method="replay" if wait else "fits_now",
                                because="behind 14 jobs" if wait else "enough is free")  # fmt: skip
            refused = n == 6
            unknown = free is None
            places.append(
                OutlookPlace(
                    site=site.site,
                    partition=record.partition,
                    unit=unit,
                    forecast=None if refused or unknown else forecast,
                    why="Your account is not allowed there." if refused else "",
                )
            )
    return Outlook(made_at=ago(1), places=tuple(places))


def history(snapshot: Snapshot, name: str) -> SiteHistory:
    """A day in ten-minute means, with two hours that nobody knows of."""
    site = next(each for each in snapshot.sites if each.site == name)
    start, times = ago(86_400), [n for n in range(144) if not 60 <= n < 72]
    series = []
    for n, record in enumerate(site.records):
        unit, _, total = gate(record)
        total = float(total or 100)
        free = tuple(total * (0.5 + 0.45 * math.sin(at / (9 + n))) for at in times)
        series.append(
            HistorySeries(
                partition=record.partition,
                unit=unit,
                at=tuple(start + timedelta(seconds=600 * at) for at in times),
                readings=(10,) * len(times),
                free=free,
                total=(total,) * len(times),
            )
        )
    return SiteHistory(site=name, since=start, span_s=600, series=tuple(series))


def charges(spent: float | None = None, unit: str = "SU", cap: float = 500.0) -> Charges:
    """Nothing, or so much of a daily cap."""
    if spent is None:
        return Charges(since=ago(86_400), read_at=ago(0))
    caps = (Spent(cap=SpendingCap(scope="day", amount=cap, unit=unit), spent=spent, reserved=12.5),)
    account = AccountCharges(site="delta", account="bbka-delta-gpu", unit=unit, attempts=3, actual=spent)
    return Charges(since=ago(86_400), read_at=ago(0), accounts=(account,), caps=caps)
