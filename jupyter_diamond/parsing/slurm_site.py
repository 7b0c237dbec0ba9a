"""From the probe's parts to one site's reading: records per partition, site totals with each node once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.limits import OwnUse, SiteLimits
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading

from . import slurm_limits, slurm_queue, slurm_records
from . import slurm_probe as probe
from .numbers import whole
from .slurm_reservations import Reservation, free_for, held, reservation
from .slurm_sections import FIELD, Section, failed

_VERSION = re.compile(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-\w+)?")
_MOST_MEMBERS = re.compile(r"\bmax_array_tasks=([0-9]{1,9})\b")
_T = TypeVar("_T")
_MOST_UNREADABLE, _LONGEST = 50, 500
"""So much is kept of lines that cannot be read; a note counts them all."""


def reading(site: str, sections: Sequence[Section], *, read_at: datetime) -> SiteReading:
    """The whole site. Raises SchedulerError (transient) when Slurm's controller does not answer."""
    by_name = {section.name: section for section in sections}
    for name in ("config", "partitions"):
        if name not in by_name or by_name[name].rc != 0:
            raise failed(by_name.get(name, Section(name=name, rc=1, text="")), "controller")
    unreadable: list[str] = []
    notes: list[str] = []
    env = _environment(by_name.get("env"))
    settings = probe.config(by_name["config"].lines)
    partitions = _rows(by_name["partitions"], lambda line: probe.partition(line, groups=env.groups), unreadable)
    nodes = _rows(by_name.get("nodes"), probe.node, unreadable)
    nodes_known = _answered(by_name.get("nodes"), "the state of its nodes is unknown", notes)
    counted = _counted(by_name.get("counts"), settings, notes, unreadable)
    accounting, accounting_works = _accounting(by_name.get("sacct"), settings, notes)
    notes += [f"Partition {part.name} is left out: {part.closed}." for part in partitions if part.closed]
    open_partitions = [part for part in partitions if not part.closed]
    limits, own = _yours(by_name, open_partitions, read_at, unreadable)
    reservations = _reservations(by_name.get("reservations"), notes, unreadable)
    nodes = slurm_records.without_reserved(nodes, held(reservations))
    # without the site's own clock nothing is known of when a node will be taken away
    left = free_for(reservations, env.clock) if env.clock is not None else {}
    if unreadable:
        notes.append(f"{len(unreadable)} line(s) of the probe could not be read.")
    whole = nodes_known and counted is not None and accounting_works and not unreadable
    return SiteReading(
        site=site, transport="", scheduler="slurm",
        health="online" if whole else "degraded",
        read_at=read_at, tried_at=read_at, clock_at=None if env.clock is None else from_epoch(env.clock),
        scheduler_version=settings.get("SLURM_VERSION") or env.version,
        cluster=settings.get("ClusterName"), user=env.user, accounting=accounting,
        records=slurm_records.records(
            slurm_records.Site(site, read_at, nodes if nodes_known else None, counted, left), open_partitions
        ),
        pending=counted.total_pending if counted and not counted.hides_others else None,
        running=counted.total_running if counted and not counted.hides_others else None,
        limits=limits, own=own, **_arrays(settings),
        notes=tuple(notes),
        unreadable=tuple(line[:_LONGEST] for line in unreadable[:_MOST_UNREADABLE]),
        **(slurm_records.totals(nodes, open_partitions) if nodes_known else {}),
    )  # fmt: skip


def queue(site: str, sections: Sequence[Section], *, read_at: datetime) -> SiteQueue | None:
    """The queue in the same answer; None where it tells of no jobs, or of no nodes that they could have."""
    by_name = {section.name: section for section in sections}
    told = [by_name[name] for name in ("config", "nodes", "jobs") if name in by_name and by_name[name].rc == 0]
    if len(told) < 3:
        return None
    settings, nodes, jobs = told
    usable = slurm_records.without_reserved(
        _rows(nodes, probe.node, []), held(_reservations(by_name.get("reservations"), [], []))
    )
    env = _environment(by_name.get("env"))
    return slurm_queue.site_queue(
        site, jobs.lines, usable, me=env.uid, read_at=read_at, hides_others=_hides_others(probe.config(settings.lines)),
        behind_s=0.0 if env.clock is None else read_at.timestamp() - env.clock,
    )  # fmt: skip


class _Env(NamedTuple):
    user: str | None = None
    uid: str = ""
    groups: tuple[str, ...] | None = None
    version: str | None = None
    clock: int | None = None


def _environment(section: Section | None) -> _Env:
    parts = section.text.strip("\n").split(FIELD) if section else []
    if len(parts) < 4:
        return _Env()
    found = _VERSION.search(parts[3])
    clock = int(parts[4]) if len(parts) > 4 and re.fullmatch(r"[0-9]{1,10}", parts[4]) else None
    return _Env(parts[0] or None, parts[1], tuple(parts[2].split()), found.group() if found else None, clock)


def _arrays(settings: Mapping[str, str]) -> dict[str, Any]:
    """How large a job array may be. MaxArraySize is one more than the largest place, and 0 where there are none."""
    told: dict[str, Any] = {}
    places = whole(settings.get("MaxArraySize"))
    if places is not None and places > 1:
        told["array_places"] = places
    members = _MOST_MEMBERS.search(settings.get("SchedulerParameters", ""))
    return told | ({"array_members": int(members[1])} if members else {})


def _yours(
    by_name: dict[str, Section], partitions: Sequence[probe.Partition], read_at: datetime, unreadable: list[str]
) -> tuple[SiteLimits | None, tuple[OwnUse, ...] | None]:
    """What accounting lets the user have, and what the user's jobs hold; each None where it was not told."""
    wanted = {part.qos for part in partitions if part.qos}
    limits, bad = slurm_limits.limits(by_name, read_at=read_at, wanted=wanted)
    unreadable += bad
    section = by_name.get("own")
    if section is None or section.rc != 0:
        return limits, None
    own, bad = slurm_limits.own_use(section.lines)
    unreadable += bad
    return limits, own


def _reservations(section: Section | None, notes: list[str], unreadable: list[str]) -> list[Reservation]:
    if section is None or section.rc != 0:
        return []
    told = [line for line in section.lines if not line.startswith("No reservations")]
    found = _rows(section.model_copy(update={"text": "\n".join(told)}), reservation, unreadable)
    active = {node for each in found if each.active for node in each.nodes}
    if active:
        notes.append(f"Reservations hold {len(active)} node(s) now, or parts of them, which are not counted as free.")
    return found


def _rows(section: Section | None, parse: Callable[[str], _T], unreadable: list[str]) -> list[_T]:
    rows = []
    for line in section.lines if section and section.rc == 0 else []:
        try:
            rows.append(parse(line))
        except ParseError:  # noqa: PERF203 - one bad row must not cost the others (B14)
            unreadable.append(line)
    return rows


def _answered(section: Section | None, otherwise: str, notes: list[str]) -> bool:
    if section is not None and section.rc == 0:
        return True
    notes.append(f"Slurm did not tell everything, so {otherwise}: {section.problem if section else 'no answer'}")
    return False


def _counted(
    section: Section | None, settings: dict[str, str], notes: list[str], unreadable: list[str]
) -> probe.Counts | None:
    if not _answered(section, "the number of jobs is unknown", notes) or section is None:
        return None
    counted = probe.counts(section.lines)
    unreadable.extend(counted.unreadable)
    if _hides_others(settings):
        # other people's jobs are hidden: what is seen is only a part of what is there
        notes.append("This site hides other users' jobs: how many are queued or running is unknown.")
        return counted.model_copy(update={"hides_others": True})
    return counted


def _hides_others(settings: dict[str, str]) -> bool:
    return "jobs" in settings.get("PrivateData", "").casefold().split(",")


def _accounting(section: Section | None, settings: dict[str, str], notes: list[str]) -> tuple[bool | None, bool]:
    kind = settings.get("AccountingStorageType", "").casefold()
    if kind in ("accounting_storage/none", "(null)", "none") or (section and "disabled" in section.err + section.text):
        notes.append(
            "Accounting is off here: how a job ended is known from its own files and, briefly, from the queue."
        )
        return False, True
    if section is None or section.rc != 0:
        notes.append(f"Accounting does not answer: {section.problem if section else 'not asked'}")
        return (True if kind else None), False
    return True, True
