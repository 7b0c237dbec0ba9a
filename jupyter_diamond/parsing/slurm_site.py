"""From the probe's parts to one site's reading: records per partition, site totals with each node once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record, SiteReading

from . import slurm_probe as probe
from .slurm_sections import FIELD, Section, failed

_VERSION = re.compile(r"[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-\w+)?")
_T = TypeVar("_T")


def reading(site: str, sections: Sequence[Section], *, read_at: datetime) -> SiteReading:
    """The whole site. Raises SchedulerError (transient) when Slurm's controller does not answer."""
    by_name = {section.name: section for section in sections}
    for name in ("config", "partitions"):
        if name not in by_name or by_name[name].rc != 0:
            raise failed(by_name.get(name, Section(name=name, rc=1, text="")), "controller")
    unreadable: list[str] = []
    notes: list[str] = []
    user, groups, version = _environment(by_name.get("env"))
    settings = probe.config(by_name["config"].lines)
    partitions = _rows(by_name["partitions"], lambda line: probe.partition(line, groups=groups), unreadable)
    nodes = _rows(by_name.get("nodes"), probe.node, unreadable)
    nodes_known = _answered(by_name.get("nodes"), "the state of its nodes is unknown", notes)
    counted = _counted(by_name.get("counts"), settings, notes, unreadable)
    accounting, accounting_works = _accounting(by_name.get("sacct"), settings, notes)
    notes += [f"Partition {part.name} is left out: {part.closed}." for part in partitions if part.closed]
    if unreadable:
        notes.append(f"{len(unreadable)} line(s) of the probe could not be read.")
    open_partitions = [part for part in partitions if not part.closed]
    records = tuple(_record(site, part, nodes if nodes_known else None, counted, read_at) for part in open_partitions)
    whole = nodes_known and counted is not None and accounting_works and not unreadable
    return SiteReading(
        site=site,
        transport="",
        scheduler="slurm",
        health="online" if whole else "degraded",
        read_at=read_at,
        tried_at=read_at,
        scheduler_version=settings.get("SLURM_VERSION") or version,
        cluster=settings.get("ClusterName"),
        user=user,
        accounting=accounting,
        records=records,
        pending=counted.total_pending if counted and not counted.hides_others else None,
        running=counted.total_running if counted and not counted.hides_others else None,
        notes=tuple(notes),
        unreadable=tuple(unreadable),
        **(_totals(nodes, open_partitions) if nodes_known else {}),
    )


def _environment(section: Section | None) -> tuple[str | None, tuple[str, ...] | None, str | None]:
    parts = section.text.split(FIELD) if section else []
    if len(parts) < 4:
        return None, None, None
    found = _VERSION.search(parts[3])
    return parts[0] or None, tuple(parts[2].split()), found.group() if found else None


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
    if "jobs" in settings.get("PrivateData", "").casefold().split(","):
        # other people's jobs are hidden: what is seen is only a part of what is there
        notes.append("This site hides other users' jobs: how many are queued or running is unknown.")
        return counted.model_copy(update={"hides_others": True})
    return counted


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


def _usable(node: probe.Node, part: probe.Partition) -> bool:
    """A job of this partition could start on it now: fit is the least of CPUs, memory and GPUs."""
    if part.state != "up" or not node.state.free or not node.cpus_free:
        return False
    if part.whole_node and ("IDLE" not in node.state.words or node.cpus_free != node.cpus):
        return False
    return node.memory_free_bytes is None or node.memory_free_bytes > 0


def _record(
    site: str, part: probe.Partition, nodes: list[probe.Node] | None, counted: probe.Counts | None, read_at: datetime
) -> Record:
    members = None if nodes is None else [node for node in nodes if part.name in node.partitions]
    amounts: dict[str, Any] = {} if members is None else _amounts(members, part)
    others = counted is not None and not counted.hides_others
    name = part.name
    return Record(
        site=site,
        partition=name,
        default=part.default,
        state=part.state,
        read_at=read_at,
        pending=counted.pending.get(name, 0) if counted and others else None,
        running=counted.running.get(name, 0) if counted and others else None,
        mine_pending=counted.mine_pending.get(name, 0) if counted else None,
        mine_running=counted.mine_running.get(name, 0) if counted else None,
        walltime_cap_s=part.walltime_cap_s,
        max_nodes=part.max_nodes,
        whole_node=part.whole_node,
        hidden=part.hidden,
        **amounts,
    )


def _amounts(members: list[probe.Node], part: probe.Partition) -> dict[str, Any]:
    usable = [node for node in members if _usable(node, part)]
    return {
        "shapes": _shapes(members),
        "nodes_total": len(members),
        "nodes_usable": len(usable),
        "cpus_total": _sum(node.cpus for node in members),
        "cpus_free": _sum(node.cpus_free for node in usable),
        "gpus_total": _sum(node.gpus for node in members),
        "gpus_free": _sum(node.gpus_free for node in usable),
        "memory_free_bytes": _sum(node.memory_free_bytes for node in usable),
        "free_nodes": tuple(
            FreeNode(
                cpus=node.cpus_free or 0,
                memory_bytes=node.memory_free_bytes,
                gpus=node.gpus_free,
                gpu_model=node.gpu_model,
                whole="IDLE" in node.state.words and node.cpus_free == node.cpus,
            )
            for node in usable
        ),
    }


def _shapes(members: list[probe.Node]) -> tuple[NodeShape, ...]:
    kinds: dict[tuple[int | None, int | None, int | None, str | None], int] = {}
    for node in members:
        kind = (node.cpus, node.memory_bytes, node.gpus, node.gpu_model)
        kinds[kind] = kinds.get(kind, 0) + node.in_service
    return tuple(
        NodeShape(cpus=cpus, memory_bytes=size, gpus=gpus, gpu_model=model, nodes=number)
        for (cpus, size, gpus, model), number in kinds.items()
    )


def _totals(nodes: list[probe.Node], partitions: list[probe.Partition]) -> dict[str, Any]:
    # B19 and the triple count: a node of four partitions is one node
    by_name = {part.name: part for part in partitions}
    reachable = [node for node in nodes if any(name in by_name for name in node.partitions)]
    usable = [
        node for node in reachable if any(_usable(node, by_name[name]) for name in node.partitions if name in by_name)
    ]
    return {
        "cpus_total": _sum(node.cpus for node in reachable),
        "cpus_free": _sum(node.cpus_free for node in usable),
        "gpus_total": _sum(node.gpus for node in reachable),
        "gpus_free": _sum(node.gpus_free for node in usable),
    }


def _sum(amounts: Iterable[int | None]) -> int | None:
    """The sum; None as soon as one part is unknown: unknown is never zero."""
    total = 0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total
