"""The verbs that only look."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from datetime import datetime, timezone
from statistics import mean

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.endpoint import Endpoints
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.history import HistorySeries
from jupyter_diamond.model.looks import Idle, IdlePlace
from jupyter_diamond.model.snapshot import Record, SiteReading, Snapshot
from jupyter_diamond.model.task import Attempt, Task, TaskSummary
from jupyter_diamond.notebook.card_text import printable
from jupyter_diamond.notebook.charge_text import charge_fact
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.needs import envelope_of
from jupyter_diamond.notebook.tables import by_reason
from jupyter_diamond.notebook.timeline import every_event, story
from jupyter_diamond.notebook.vocabulary import (
    LOOK,
    age,
    byte_size,
    clock,
    place_text,
    size_text,
    trouble_text,
    wall_clock,
)
from jupyter_diamond.notebook.wall_view import cap_text
from jupyter_diamond.placement.explain import explain as explained
from jupyter_diamond.sites.gpus import gpus_of

from . import groups
from .grammar import DONE, FAILED
from .output import UNKNOWN, as_json, number, of, pairs, say, table

LOG_BYTES = 65_536
FOLLOW_S = 0.7
TREND = 32
BLOCKS = "▁▂▃▄▅▆▇█"


def _now() -> datetime:
    return datetime.now(timezone.utc)


def _age(read_at: datetime | None) -> str:
    return "never read" if read_at is None else age((_now() - read_at).total_seconds())


def _name(site: str, *, simulated: bool) -> str:
    return f"{site} (simulated)" if simulated else site


def status(client: DiamondClient, said: Namespace) -> int:
    """Who serves, the sites in a line each, tasks under way."""
    found, snapshot = client.status(), client.sites()
    if said.json:
        as_json({"server": client.host, "status": found, "sites": snapshot})
        return DONE
    advances = "yes" if found.advances_work else f"no, {found.lease_holder or 'nobody'} does"
    pairs([
        ("server", f"{client.host} (jupyter_diamond {found.version})"), ("advances work", advances),
        ("store", found.store_path), ("tasks under way", str(found.active_tasks)),
    ])  # fmt: skip
    say()
    rows = [
        (_name(site.site, simulated=site.simulated), site.health, of(site.cpus_free, site.cpus_total),
         of(site.gpus_free, site.gpus_total), number(site.running), number(site.pending), _age(site.read_at),
         trouble_text(site, _now()))
        for site in snapshot.sites
    ]  # fmt: skip
    heads = ("site", "health", "free cores", "free GPUs", "running", "pending", "age", "problem")
    table(heads, rows, right=heads[2:7])
    return DONE


def endpoints(client: DiamondClient, said: Namespace) -> int:
    """What the sites are, and the user's endpoints."""
    snapshot, mine = client.sites(), client.endpoints()
    if said.json:
        sites = [site.model_dump(mode="json", exclude={"records"}) for site in snapshot.sites]
        as_json({"sites": sites, **mine.model_dump(mode="json")})
        return DONE
    rows = [
        (_name(site.site, simulated=site.simulated), site.transport, f"{site.scheduler} {site.scheduler_version or ''}",
         site.cluster or UNKNOWN, site.user or UNKNOWN, {True: "yes", False: "off", None: UNKNOWN}[site.accounting],
         site.health, trouble_text(site, _now()))
        for site in snapshot.sites
    ]  # fmt: skip
    table(("site", "transport", "scheduler", "cluster", "user", "accounting", "health", "problem"), rows)
    _endpoint_table(mine)
    return DONE


def _endpoint_table(mine: Endpoints) -> None:
    if mine.problem:
        say(f"\nYour Globus Compute endpoints are not known: {mine.problem}")
        return
    say()
    rows = [
        (row.display_name or row.name, {True: "online", False: "offline", None: UNKNOWN}[row.online],
         row.site or "in no site", row.machine or "", row.host or UNKNOWN, row.version or UNKNOWN, row.id)
        for row in mine.endpoints
    ]  # fmt: skip
    if rows:
        table(("endpoint", "status", "site", "machine", "ran on", "version", "id"), rows)
    else:
        say("You have no Globus Compute endpoint.")
    if mine.without:
        say(f"Known machines without one: {', '.join(mine.without)}. jupyter diamond endpoint-setup HOST makes one.")


def resources(client: DiamondClient, said: Namespace) -> int:
    """Every partition."""
    snapshot = client.refresh(said.site) if said.refresh else client.sites()
    sites = _only(snapshot, said.site)
    if said.json:
        as_json(snapshot.model_copy(update={"sites": sites}))
        return DONE
    rows = [_resource(site, record) for site in sites for record in site.records if not record.hidden]
    heads = (
        "site", "partition", "state", "free cores", "free GPUs", "usable nodes", "running", "pending", "yours", "limit",
        "age",
    )  # fmt: skip
    table(heads, rows, right=heads[3:])
    for site in sites:
        if site.problem:
            say(f"{site.site}: {trouble_text(site, _now())}")
    return DONE


def _only(snapshot: Snapshot, name: str | None) -> tuple[SiteReading, ...]:
    if name is None:
        return snapshot.sites
    sites = tuple(site for site in snapshot.sites if site.site == name)
    if not sites:
        known = ", ".join(site.site for site in snapshot.sites) or "none"
        raise NotFound(f"There is no site {name!r}; the sites are: {known}.")
    return sites


def _resource(site: SiteReading, record: Record) -> tuple[str, ...]:
    mine = "/".join(number(count) for count in (record.mine_running, record.mine_pending))
    return (
        _name(site.site, simulated=site.simulated), record.partition, record.state,
        of(record.cpus_free, record.cpus_total), of(record.gpus_free, record.gpus_total),
        of(record.nodes_usable, record.nodes_total), number(record.running), number(record.pending), mine,
        cap_text(record.walltime_cap_s), _age(record.read_at),
    )  # fmt: skip


def idle(client: DiamondClient, said: Namespace) -> int:
    """Where such a job could start now."""
    envelope = envelope_of(said, lambda: gpus_of(client.sites()))
    if said.refresh:
        client.refresh(envelope.site)
    found = client.idle(envelope)
    if said.json:
        as_json(found)
    else:
        _idle_table(found)
    return DONE if found.places else FAILED


def _gpu(place: IdlePlace) -> str:
    memory = "" if place.gpu_memory_bytes is None else f" {byte_size(place.gpu_memory_bytes)}"
    return f"{place.gpu_model}{memory}" if place.gpu_model else "-"


def _idle_table(found: Idle) -> None:
    heads = ("place", "jobs now", "free GPUs", "GPU", "free cores", "free memory", "pending", "limit", "age")
    rows = [
        (_name(place_text(place.site, place.partition), simulated=place.simulated), number(place.jobs_now),
         number(place.gpus_free), _gpu(place), number(place.cpus_free),
         UNKNOWN if place.memory_free_bytes is None else byte_size(place.memory_free_bytes), number(place.pending),
         cap_text(place.walltime_cap_s), _age(place.read_at))
        for place in found.places
    ]  # fmt: skip
    if rows:
        table(heads, rows, right=[*heads[1:3], *heads[4:]])
    else:
        say("Nothing is free for such a job now.")
    for title, others in (("Not known", found.unknown), ("Full", found.full), ("Cannot run it", found.refused)):
        groups = by_reason(found, others)
        if groups:
            say(f"\n{title}:")
        for why, places in groups.items():
            say(f"  {', '.join(places)}: {why}")


def history(client: DiamondClient, said: Namespace) -> int:
    """A site's past, a line a partition."""
    past = client.history(said.site, said.hours)
    if said.json:
        as_json(past)
        return DONE
    if not past.series:
        say(f"Nothing is kept of {past.site} in that time: sites are read while a server of yours runs.")
        return DONE
    rows = [_past(each, past.since) for each in past.series]
    heads = (
        "partition", "free", "least", "mean", "most", "of", "pending", "running", "readings",
        f"share free since {wall_clock(past.since, _now())}",
    )  # fmt: skip
    table(heads, rows, right=heads[2:9])
    return DONE


def _past(past: HistorySeries, since: datetime) -> tuple[str, ...]:
    free, pending, running, total = (_known(each) for each in (past.free, past.pending, past.running, past.total))
    return (
        past.partition, f"{past.unit}s", _amount(min(free, default=None)), _amount(mean(free) if free else None),
        _amount(max(free, default=None)), _amount(max(total, default=None)),
        _amount(mean(pending) if pending else None), _amount(mean(running) if running else None),
        number(sum(past.readings)), _trend(past, since),
    )  # fmt: skip


def _known(numbers: Iterable[float | None]) -> list[float]:
    return [each for each in numbers if each is not None]


def _amount(amount: float | None) -> str:
    return UNKNOWN if amount is None else f"{amount:,.1f}".removesuffix(".0")


def _trend(past: HistorySeries, since: datetime) -> str:
    """The share of what was free, oldest first, in equal times; a dot where nothing is known."""
    shares: list[list[float]] = [[] for _ in range(TREND)]
    each_s = max(1.0, (_now() - since).total_seconds() / TREND)
    for moment, free, total in zip(past.at, past.free, past.total, strict=True):
        if free is not None and total:
            place = int((moment - since).total_seconds() / each_s)
            shares[min(max(place, 0), TREND - 1)].append(min(1.0, free / total))
    return "".join(BLOCKS[round(mean(known) * (len(BLOCKS) - 1))] if known else "·" for known in shares)


def tasks(client: DiamondClient, said: Namespace) -> int:
    """Task lines."""
    if said.group is not None:
        found = tuple(each for each in groups.members(client, said.group) if not (said.active and each.state.terminal))
    else:
        found = client.tasks(phase="active" if said.active else None, limit=said.limit)
    if said.json:
        as_json({"tasks": found})
        return DONE
    heads = ("name", "state", "where", "job", "elapsed", "submitted", "why", "id")
    table(heads, [_task_line(task) for task in found], right=["elapsed"])
    return DONE


def _task_line(task: TaskSummary) -> tuple[str, ...]:
    now = _now()
    elapsed = "" if task.started_at is None else clock(((task.ended_at or now) - task.started_at).total_seconds())
    return (
        task.name, LOOK[task.state].word, place_text(task.site, task.partition) if task.site else "",
        task.native_id or "", elapsed, wall_clock(task.created_at, now), task.cause or task.trouble, task.id,
    )  # fmt: skip


def task(client: DiamondClient, said: Namespace) -> int:
    """One task, or the group of that name."""
    found = groups.of_task_or_group(lambda: client.task(said.task), lambda: client.group(said.task))
    if isinstance(found, Group):
        return groups.show(client, found, said)
    if said.json:
        as_json(found)
        return DONE
    print_task(found)
    say("\n" + story(found, every_event(client, found.id), _now()))
    return DONE


def explain(client: DiamondClient, said: Namespace) -> int:
    """The stored decision, as it is or in words."""
    found = client.decision(said.task)
    if said.json:
        as_json(found)
        return DONE
    say(explained(found))
    return DONE


def print_task(found: Task) -> None:
    """State, times and reasons, without colours."""
    now, attempt = _now(), found.attempt
    pairs([
        ("task", f"{found.name}  {found.id}"), ("state", f"{LOOK[found.state].word}  {found.cause}".rstrip()),
        ("next", found.next), ("submitted", wall_clock(found.created_at, now)),
        *(_attempt_lines(attempt, now) if attempt else ()), ("why here", found.why_here),
    ])  # fmt: skip


def _attempt_lines(attempt: Attempt, now: datetime) -> list[tuple[str, str]]:
    ran = ""
    if attempt.started_at is not None:
        seconds = ((attempt.ended_at or now) - attempt.started_at).total_seconds()
        ran = f"{clock(seconds)} of {clock(attempt.size.walltime_s)}"
    lines = [
        ("where", place_text(attempt.site, attempt.partition)), ("job", str(attempt.native or "")),
        ("size", size_text(attempt.size)), ("ran", ran), ("nodes", attempt.nodes), ("reason", attempt.reason),
        ("trouble", attempt.trouble), ("charge", charge_fact(attempt)), ("folder", attempt.folder or ""),
    ]  # fmt: skip
    return [*lines, ("attempts", str(attempt.n))] if attempt.n > 1 else lines


def logs(client: DiamondClient, said: Namespace) -> int:
    """A job's log, as text or as the last piece with its offsets."""
    if said.json:
        as_json(client.logs(said.task, tail=LOG_BYTES))
        return DONE
    if said.tail is not None:
        chunk = client.logs(said.task, tail=LOG_BYTES)
        _write("".join(chunk.text.splitlines(keepends=True)[-max(said.tail, 0) :] if said.tail > 0 else []))
        offset = chunk.next_offset
    else:
        offset = _write_from(client, said.task, 0)
    while said.follow:
        ended = client.task(said.task).state.terminal  # asked before the log: what comes after the end is not lost
        offset = _write_from(client, said.task, offset)
        if ended:
            break
        time.sleep(FOLLOW_S)
    return DONE


def _write_from(client: DiamondClient, ref: str, offset: int) -> int:
    while (chunk := client.logs(ref, offset, limit=LOG_BYTES)).next_offset > offset:
        _write(chunk.text)
        offset = chunk.next_offset
    return offset


def _write(text: str) -> None:
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def events(client: DiamondClient, said: Namespace) -> int:
    """What happened."""
    if said.task is not None:
        page = groups.of_task_or_group(
            lambda: client.task_events(said.task, limit=1000), lambda: client.group_events(said.task, limit=1000)
        )
        found = page.events[-said.limit :]
    else:
        found = client.events(max(0, client.events(-1).cursor - said.limit), limit=said.limit).events
    if said.json:
        as_json({"events": found})
        return DONE
    table(("seq", "at", "type", "subject", "data"), [_event_line(event) for event in found], right=["seq"])
    return DONE


def _event_line(event: Event) -> tuple[str, ...]:
    data = json.dumps(event.data, ensure_ascii=False) if event.data else ""
    return str(event.seq), f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}", event.type, event.subject, data
