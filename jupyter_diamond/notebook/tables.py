"""Tables that magics answer with, as pandas DataFrames, and the preflight as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jupyter_diamond.model.event import Event
from jupyter_diamond.model.forecast import Forecasts
from jupyter_diamond.model.group import INDEX, Group, Member
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.looks import Idle, OtherPlace
from jupyter_diamond.model.snapshot import SiteReading, Snapshot
from jupyter_diamond.model.task import Captured, TaskSummary

from .group_words import group_word, progress
from .vocabulary import LOOK, age, byte_size, clock, place_text, trouble_text, wall_clock
from .wall_view import cap_text

if TYPE_CHECKING:
    import pandas as pd


def tasks_table(tasks: Iterable[TaskSummary], now: datetime, groups: Iterable[Group] = ()) -> pd.DataFrame:
    """One row a task and one a group, newest first."""
    made = [(task.created_at, _task_row(task, now)) for task in tasks]
    made += [(group.created_at, _group_row(group, now)) for group in groups]
    rows = [row for _, row in sorted(made, key=lambda each: each[0], reverse=True)]
    return frame_of(rows, ["name", "state", "where", "job", "elapsed", "limit", "submitted", "why", "id"])


def _task_row(task: TaskSummary, now: datetime) -> dict[str, Any]:
    elapsed = ""
    if task.started_at is not None:
        elapsed = clock(((task.ended_at or now) - task.started_at).total_seconds())
    return {
        "name": task.name,
        "state": LOOK[task.state].word,
        "where": place_text(task.site, task.partition) if task.site else "",
        "job": task.native_id or "",
        "elapsed": elapsed,
        "limit": clock(task.walltime_s) if task.walltime_s else "",
        "submitted": wall_clock(task.created_at, now),
        "why": task.cause or task.trouble,
        "id": task.id,
    }


def _group_row(group: Group, now: datetime) -> dict[str, Any]:
    places = [place_text(share.site, share.partition) for share in group.shares]
    limit = group.envelope.walltime_s.max
    return {
        "name": group.name,
        "state": f"{group_word(group)} {progress(group)}",
        "where": ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else ""),
        "job": "",
        "elapsed": clock(((group.ended_at or now) - group.created_at).total_seconds()),
        "limit": clock(limit),
        "submitted": wall_clock(group.created_at, now),
        "why": group.cause or group.next,
        "id": group.id,
    }


def members_table(members: Sequence[Member], most: int = 10) -> pd.DataFrame:
    """The first members of a group that is to be: number, what each is given, and its round where there are several."""
    names = [name for name in members[0].params if name != INDEX]
    rounds = ["round"] if members[-1].round > 1 else []
    rows = [{"member": each.index, **each.params, "round": each.round} for each in members[:most]]
    return frame_of(
        [{key: row[key] for key in ("member", *names, *rounds)} for row in rows], ["member", *names, *rounds]
    )


def sites_table(snapshot: Snapshot, now: datetime) -> pd.DataFrame:
    """One row a partition, with the site's totals counted once in its own row; unknown numbers stay empty."""
    rows: list[dict[str, Any]] = []
    for site in snapshot.sites:
        rows.append(_site_row(site, now))
        rows += [
            {
                "site": site.site,
                "partition": record.partition,
                "health": record.state,
                "free cpus": record.cpus_free,
                "cpus": record.cpus_total,
                "free gpus": record.gpus_free,
                "gpus": record.gpus_total,
                "running": record.running,
                "pending": record.pending,
                "age": age((now - record.read_at).total_seconds()),
                "problem": "",
            }
            for record in site.records
            if not record.hidden
        ]
    columns = [
        "site", "partition", "health", "free cpus", "cpus", "free gpus", "gpus", "running", "pending", "age", "problem",
    ]  # fmt: skip
    frame = frame_of(rows, columns)
    counts = ["free cpus", "cpus", "free gpus", "gpus", "running", "pending"]
    typed: pd.DataFrame = frame.astype(dict.fromkeys(counts, "Int64"))
    return typed


def _site_row(site: SiteReading, now: datetime) -> dict[str, Any]:
    return {
        "site": site.site + (" (simulated)" if site.simulated else ""),
        "partition": "",
        "health": site.health,
        "free cpus": site.cpus_free,
        "cpus": site.cpus_total,
        "free gpus": site.gpus_free,
        "gpus": site.gpus_total,
        "running": site.running,
        "pending": site.pending,
        "age": "never read" if site.read_at is None else age((now - site.read_at).total_seconds()),
        "problem": trouble_text(site, now),
    }


def history_table(past: SiteHistory) -> pd.DataFrame:
    """One row a partition and span of time, oldest first: what was free of its GPUs (of its cores where it has none).

    A number that was not known is missing, never 0. ``readings`` is how many a mean is over.
    """
    names = {
        "free": "free", "total": "total", "pending": "pending", "running": "running", "mine_running": "yours running",
        "mine_pending": "yours pending", "readings": "readings",
    }  # fmt: skip
    rows = [
        {"at": moment, "partition": each.partition, "unit": each.unit}
        | {name: getattr(each, column)[place] for column, name in names.items()}
        for each in past.series
        for place, moment in enumerate(each.at)
    ]
    frame = frame_of(rows, ["at", "partition", "unit", *names.values()])
    typed = frame.astype(dict.fromkeys(names.values(), "Float64") | {"readings": "Int64"})
    ordered: pd.DataFrame = typed.sort_index(kind="stable")
    return ordered


def forecast_table(found: Forecasts) -> pd.DataFrame:
    """One row a site: how many starts were forecast, and how far off; seconds, missing where nothing is known yet."""
    rows = [
        {
            "site": each.site, "starts": each.n, "error s": each.error_s, "bias s": each.bias_s, "banded": each.banded,
            "in band": each.coverage, "regret s": each.regret_s, "learnt from": each.learnt, "queue": each.queue,
            "by": ", ".join(f"{name} {count}" for name, count in sorted(each.methods.items())),
            "trusts replay": each.trusts_replay, "ready s": each.prepare_s, "run time": each.speed,
        }
        for each in found.sites
    ]  # fmt: skip
    heads = ["site", "starts", "error s", "bias s", "banded", "in band", "regret s", "by", "learnt from", "queue",
             "trusts replay", "ready s", "run time"]  # fmt: skip
    unknown = dict.fromkeys(("error s", "bias s", "in band", "regret s", "ready s", "run time"), "Float64")
    typed: pd.DataFrame = frame_of(rows, heads).astype(unknown)
    return typed


def idle_table(found: Idle, now: datetime) -> pd.DataFrame:
    """One row a place that could start it now. Places of one site may share nodes: rows are not to be added up.

    ``frame.attrs`` holds what is not known, what is full and what cannot run it.
    """
    rows = [
        {
            "site": place.site + (" (simulated)" if place.simulated else ""),
            "partition": place.partition,
            "jobs now": place.jobs_now,
            "free gpus": place.gpus_free,
            "gpu": place.gpu_model or "",
            "gpu memory": "" if place.gpu_memory_bytes is None else byte_size(place.gpu_memory_bytes),
            "free cpus": place.cpus_free,
            "free memory": "" if place.memory_free_bytes is None else byte_size(place.memory_free_bytes),
            "pending": place.pending,
            "limit": cap_text(place.walltime_cap_s),
            "age": age((now - place.read_at).total_seconds()),
        }
        for place in found.places
    ]
    columns = [
        "site", "partition", "jobs now", "free gpus", "gpu", "gpu memory", "free cpus", "free memory", "pending",
        "limit", "age",
    ]  # fmt: skip
    frame = frame_of(rows, columns)
    typed: pd.DataFrame = frame.astype(dict.fromkeys(["jobs now", "free gpus", "free cpus", "pending"], "Int64"))
    for kind in ("unknown", "full", "refused"):
        typed.attrs[kind] = {
            (other.site, other.partition): other.why for other in getattr(found, kind)
        }  # plain values: attrs are compared and copied
    return typed


def idle_text(found: Idle) -> str:
    """What stands apart from the table: what is not known, and why nothing is listed when nothing is."""
    lines = [] if found.places else ["Nothing is free for such a job now."]
    groups = [("Not known", found.unknown)]
    if not found.places:
        groups += [("Full", found.full), ("Cannot run it", found.refused)]
    for title, others in groups:
        lines += [f"{title}: {', '.join(places)}: {why}" for why, places in by_reason(found, others).items()]
    return "\n".join(lines)


def by_reason(found: Idle, others: Iterable[OtherPlace]) -> dict[str, list[str]]:
    """Places that share a reason stand together. Simulated ones are told only where they were asked for."""
    groups: dict[str, list[str]] = {}
    for other in others:
        if other.simulated and found.envelope.site != other.site:
            continue
        place = place_text(other.site, other.partition or None) + (" (simulated)" if other.simulated else "")
        groups.setdefault(other.why, []).append(place)
    return groups


def events_table(events: Iterable[Event]) -> pd.DataFrame:
    """One row an event, oldest first."""
    rows = [
        {
            "seq": event.seq,
            "at": f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}",
            "type": event.type,
            "subject": event.subject,
            "data": json.dumps(event.data, ensure_ascii=False) if event.data else "",
        }
        for event in events
    ]
    return frame_of(rows, ["seq", "at", "type", "subject", "data"])


def captured_table(captured: Iterable[Captured]) -> pd.DataFrame:
    """The preflight: every name of the cell and how it travels."""
    rows = [
        {
            "name": item.name,
            "type": item.type,
            "travels as": item.travels,
            "size": "" if item.bytes is None else byte_size(item.bytes),
            "detail": item.detail,
        }
        for item in captured
    ]
    return frame_of(rows, ["name", "type", "travels as", "size", "detail"])


def frame_of(rows: list[dict[str, Any]], columns: list[str]) -> pd.DataFrame:
    """A table whose first column is its index."""
    import pandas as pd  # takes a second: not when the extension is loaded

    frame: pd.DataFrame = pd.DataFrame(rows, columns=pd.Index(columns))
    if rows:
        frame.index = pd.Index(frame.pop(columns[0]), name=columns[0])
    return frame
