"""What the sites have now, what was, and what is to be expected."""

from __future__ import annotations

from datetime import datetime, timezone
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.history import HistorySeries, Mean
from jupyter_diamond.model.looks import IdlePlace, OtherPlace
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.snapshot import Record, SiteReading, Snapshot, gate

from .answers import UNKNOWN, age, at, foreign, known, size_of, time_limit, without_empty, word
from .needs import Needs, as_parameters
from .parameters import SiteName
from .registry import tool
from .views import candidate_view, decision_view, size_words

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk


def now() -> datetime:
    """This instant."""
    return datetime.now(timezone.utc)


def chosen_sites(snapshot: Snapshot, site: str | None) -> tuple[SiteReading, ...]:
    """One site's reading, or all. Raises NotFound with the names that there are."""
    found = tuple(each for each in snapshot.sites if site is None or each.site == site)
    if not found and site is not None:
        names = ", ".join(each.site for each in snapshot.sites)
        raise NotFound(f"There is no site {site[:60]!r}; there are: {names}.")
    return found


def kinds_of_gpu(record: Record) -> list[str]:
    """``a100 40G`` …, as the partition's nodes have them."""
    found: dict[str, None] = {}
    for shape in record.shapes:
        for kind in (shape, *shape.gpu_kinds):
            model = getattr(kind, "gpu_model", None) or getattr(kind, "model", None)
            memory = getattr(kind, "gpu_memory_bytes", None) or getattr(kind, "memory_bytes", None)
            if model:
                found[f"{word(model)} {size_of(memory)}" if memory else word(model)] = None
    return list(found)


def partition_view(record: Record) -> dict[str, Any]:
    """One partition in a line."""
    gating = gate(record)
    return without_empty({
        "partition": word(record.partition),
        "state": record.state if record.state != "up" else None,
        "free": f"{known(gating.free)} of {known(gating.total)} {gating.unit}s",
        "gpu": kinds_of_gpu(record),
        "free_cpus": known(record.cpus_free) if gating.unit == "GPU" else None,
        "nodes_usable": known(record.nodes_usable),
        "pending": known(record.pending),
        "running": known(record.running),
        "yours": f"{known(record.mine_running)} running, {known(record.mine_pending)} pending",
        "time_at_most": time_limit(record.walltime_cap_s),
    })  # fmt: skip


_MANY = 20
"""More partitions than these are told in a line each."""


def partition_line(record: Record) -> str:
    """The same in few words: ``gpuA100x4: 6 of 32 GPUs free (a100 40G), 14 pending, at most 2d``."""
    gating, kinds = gate(record), ", ".join(kinds_of_gpu(record))
    free = f"{known(gating.free)} of {known(gating.total)} {gating.unit}s free"
    said = [f"{free} ({kinds})" if kinds else free, f"{known(record.pending)} pending"]
    said += [f"at most {time_limit(record.walltime_cap_s)}", *([record.state] if record.state != "up" else [])]
    return f"{word(record.partition)}: {', '.join(said)}"


def site_view(site: SiteReading, moment: datetime) -> dict[str, Any]:
    """One site and how old what is known of it is."""
    return without_empty({
        "site": site.site,
        "health": site.health,
        "facts_are": f"{age(site.read_at, moment)} old" if site.read_at else "none yet",
        "problem": foreign(site.problem, f"{site.site}: what the last try gave", 300),
        "simulated": "yes: recorded numbers, nothing can be submitted there" if site.simulated else None,
        "scheduler": site.scheduler,
        "transport": site.transport,
        "machine": site.machine,
    })  # fmt: skip


@tool("read", "pool", first=True, long=True)
async def list_resources(
    desk: AgentDesk, _speaker: Speaker, *, site: SiteName | None = None, refresh: bool = False
) -> dict[str, Any]:
    """Every site and partition that the user can reach: what is free, what waits, limits, how old the facts are.

    Use it first, to see the pool. "unknown" means that nobody has said: it is not zero. Numbers of two sites are never
    added up, and partitions of one site may share nodes. To find places for a certain job, find_idle or plan_placement
    says more in fewer words.

    Args:
        site: this site only
        refresh: ask the sites now; takes up to 30 s, and is seldom worth it: facts are a minute old at most
    """
    snapshot = await (desk.service.refresh(site) if refresh else desk.service.sites())
    moment, shown = now(), chosen_sites(snapshot, site)
    view = partition_view if sum(len(each.records) for each in shown) <= _MANY else partition_line
    sites = [site_view(each, moment) | {"partitions": [view(record) for record in each.records]} for each in shown]
    return {"taken_at": at(snapshot.taken_at), "sites": sites}


@tool("read", "pool", first=True)
async def find_idle(
    desk: AgentDesk, _speaker: Speaker, *, needs: Needs, limit: Annotated[int, Field(ge=1, le=50)] = 10
) -> dict[str, Any]:
    """Where such a job could start now, best first; what is not known, full or refused stands apart with its reason.

    Use it when the user asks what is free for a kind of job. It looks at free capacity only: plan_placement also weighs
    queues, run time and charge, and is what a submission follows.

    Args:
        limit: how many places of each kind are listed
    """
    found = await desk.service.idle(needs.envelope())
    return {
        "idle": [_idle_view(place) for place in found.places[:limit]],
        "places_in_all": len(found.places),
        "not_known": _others(found.unknown, limit),
        "full": _others(found.full, limit),
        "refused": _others(found.refused, limit),
    }


def _idle_view(place: IdlePlace) -> dict[str, Any]:
    return without_empty({
        "place": f"{place.site}:{word(place.partition)}",
        "account": word(place.account) if place.account else None,
        "fits_now": f"{place.jobs_now} such jobs of {size_words(place.size)}",
        "gpus_free": known(place.gpus_free),
        "cpus_free": known(place.cpus_free),
        "gpu": word(place.gpu_model) if place.gpu_model else None,
        "gpu_memory": size_of(place.gpu_memory_bytes) if place.gpu_memory_bytes else None,
        "pending": known(place.pending),
        "time_at_most": time_limit(place.walltime_cap_s),
        "facts_are": f"{age(place.read_at, now())} old",
        "simulated": place.simulated or None,
    })  # fmt: skip


def _others(places: tuple[OtherPlace, ...], most: int) -> list[str]:
    return [f"{each.site}:{word(each.partition)}: {as_parameters(each.why)}" for each in places[:most]]


@tool("read", "pool", long=True)
async def queue_status(desk: AgentDesk, _speaker: Speaker, *, site: SiteName | None = None) -> dict[str, Any]:
    """How deep the queues are: per partition what waits and runs, what is yours, and how busy it is.

    Use it to compare queues. How long a certain job would wait, forecast says.

    Args:
        site: this site only
    """
    snapshot, moment = await desk.service.sites(), now()
    lines = []
    for each in chosen_sites(snapshot, site):
        for record in each.records:
            gating = gate(record)
            busy = UNKNOWN if gating.busy is None or not gating.total else f"{100 * gating.busy / gating.total:.0f} %"
            lines.append({
                "place": f"{each.site}:{word(record.partition)}",
                "pending": known(record.pending),
                "running": known(record.running),
                "your_pending": known(record.mine_pending),
                "your_running": known(record.mine_running),
                "busy": f"{busy} of {known(gating.total)} {gating.unit}s",
                "facts_are": f"{age(record.read_at, moment)} old",
            })  # fmt: skip
    return {"partitions": lines}


@tool("read", "pool", long=True)
async def resource_history(
    desk: AgentDesk,
    _speaker: Speaker,
    *,
    site: SiteName,
    hours: Annotated[float, Field(gt=0, le=4320)] = 24.0,
    partition: str | None = None,
) -> dict[str, Any]:
    """What was free at a site and who waited there over the last hours: least, mean, most, and up to 24 points.

    Use it to judge whether it is worth waiting, or at what time of day a site is free.

    Args:
        site: which site
        hours: how far back, at most half a year
        partition: this one only
    """
    past = await desk.service.history(site, hours)
    series = [each for each in past.series if partition is None or each.partition == partition]
    if partition is not None and not series:
        raise NotFound(f"{site} has no past of a partition {partition[:60]!r}: {len(past.series)} others have one.")
    return {"site": site, "since": at(past.since), "partitions": [_past_view(each) for each in series]}


def _past_view(series: HistorySeries) -> dict[str, Any]:
    step = max(1, -(-len(series.at) // 24))
    return {
        "partition": word(series.partition),
        f"free_{series.unit}s": _range(series.free),
        "pending": _range(series.pending),
        "readings": sum(series.readings),
        "points": [
            {"at": at(series.at[index]), "free": known(series.free[index]), "pending": known(series.pending[index])}
            for index in range(0, len(series.at), step)
        ],
    }


def _range(column: tuple[Mean, ...]) -> dict[str, Any] | str:
    numbers = [each for each in column if each is not None]
    if not numbers:
        return UNKNOWN
    return {"least": min(numbers), "mean": round(fmean(numbers), 1), "most": max(numbers), "last": known(column[-1])}


@tool("read", "pool", long=True)
async def forecast(desk: AgentDesk, _speaker: Speaker, *, needs: Needs) -> dict[str, Any]:
    """When such a job would start at each place, with its band, and how far such forecasts were off there before.

    Use it when the user asks how long the wait is.
    """
    decision = await desk.service.plan(needs.envelope())
    judged = await desk.service.forecasts()
    places = [candidate_view(each) for each in decision.candidates if each.estimate is not None]
    return {
        "places": places or decision_view(decision, now())["sentence"],
        "forecasts_before": [each.model_dump(mode="json", exclude_none=True) for each in judged.sites][:12],
        "made_at": at(decision.made_at),
    }
