"""The probe's rows about jobs and nodes as a queue that can be forecast from.

A row that cannot be read is left out: a forecast is a guess anyhow, and nothing else is decided by it. What would make
the guess a lie (a queue that is cut, or that hides others' jobs) is said in the queue itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.queue import QueuedJob, QueueNode, SiteQueue

from . import durations, gres, memory, nodelists
from .numbers import whole
from .slurm_probe import Node
from .slurm_sections import FIELD

QUEUE_FIELDS = (
    "JobID:20", "UserID:12", "Partition:200", "State:16", "NumNodes:10", "NumCPUs:12", "MinMemory:16", "TimeLimit:20",
    "SubmitTime:22", "StartTime:22", "PriorityLong:16", "tres-alloc:300", "tres-per-node:40", "tres-per-job:40",
    "Reason:30", "NodeList:400",
)  # fmt: skip
"""What the probe asks of every job, as ``squeue -O`` takes it: columns of fixed width, which the site's awk parts."""
MOST_ROWS = 6000
"""More waiting jobs than this are counted, not listed: those of highest priority are here."""
MOST_RUNNING = 12_000
"""As many of them at once are some megabytes; with more, the queue is as good as not seen."""

_STARTABLE = frozenset({"", "None", "Priority", "Resources", "Nodes_required_for_job_are_DOWN", "ReqNodeNotAvail"})
"""Reasons of waiting jobs that go away as nodes become free; with any other one a job stands aside."""
_BUSY = frozenset({"RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED"})
_SKEW_S = 30.0
"""Clocks that differ by less are as good as ours: an answer takes its time."""
_ENTER = 300.0
"""The priority of a job submitted this short a time ago is what a new one would have."""


def site_queue(
    site: str,
    rows: Iterable[str],
    nodes: Sequence[Node],
    *,
    me: str,
    read_at: datetime,
    hides_others: bool,
    behind_s: float = 0.0,
) -> SiteQueue:
    """The queue of one site, waiting jobs by falling priority.

    ``me`` is the user's number there. ``behind_s``: the site's clock is so far behind ours, by which all times are.
    """
    pending: list[QueuedJob] = []
    running: list[QueuedJob] = []
    for row in rows:
        try:
            found = job(row, me=me)
        except (ParseError, ValueError):
            continue
        if found is not None:
            if abs(behind_s) > _SKEW_S:
                found = found._replace(
                    submitted_at=_moved(found.submitted_at, behind_s), started_at=_moved(found.started_at, behind_s)
                )
            (running if found.running else pending).append(found)
    pending.sort(key=lambda each: (-(each.priority or 0.0), each.submitted_at or 0.0, len(each.id), each.id))
    cut = len(pending) >= MOST_ROWS or len(running) >= MOST_RUNNING
    return SiteQueue(
        site=site, read_at=read_at.timestamp(), nodes=tuple(map(_node, (n for n in nodes if _usable(n)))),
        pending=tuple(pending), running=tuple(running), hides_others=hides_others, cut=cut,
        own_priority=_own_priority(pending, read_at.timestamp()), me=me,
    )  # fmt: skip


def job(row: str, *, me: str) -> QueuedJob | None:
    """One row; None for a job that has ended. Raises ParseError, ValueError."""
    field = row.split(FIELD)
    if len(field) != len(QUEUE_FIELDS):
        raise ParseError(f"{row[:200]!r} is not a row about a job.")
    state = field[3]
    if state != "PENDING" and state not in _BUSY:
        return None
    nodes, cpus = max(1, int(field[4].partition("-")[0])), int(field[5])
    busy = state in _BUSY
    limit = durations.slurm_seconds(field[7])
    return QueuedJob(
        id=field[0], user=field[1], partitions=tuple(field[2].split(",")), nodes=nodes, cpus=-(-cpus // nodes),
        gpus=-(-_gpus(field, busy=busy, nodes=nodes) // nodes), memory_bytes=_memory(field, nodes, cpus),
        limit_s=float(limit) if isinstance(limit, (int, float)) else None, submitted_at=_epoch(field[8]),
        started_at=(_epoch(field[9]) if busy else None), nodes_held=nodelists.expand(field[15]) if busy else (),
        held="" if busy else _held(field[14]), mine=field[1] == me, priority=float(field[10]),
    )  # fmt: skip


def _gpus(field: Sequence[str], *, busy: bool, nodes: int) -> int:
    """GPUs in all."""
    if busy and "gres/gpu" in field[11]:
        return gres.tres_gpus(field[11]) or 0
    if field[12] not in ("", "N/A"):
        return gres.gpus(field[12]) * nodes
    return gres.gpus(field[13]) if field[13] not in ("", "N/A") else 0


def _memory(field: Sequence[str], nodes: int, cpus: int) -> int | None:
    """Bytes per node: of what is, or would be, allocated in all, else as asked; a ``c`` behind that means per CPU.

    Slurm 22.05 shows ``--mem-per-cpu`` without any mark.
    """
    allocated = gres.tres(field[11]).get("mem", "") if "mem=" in field[11] else ""
    whole = memory.parse_slurm(allocated) if allocated else None
    if isinstance(whole, int) and whole:
        return -(-whole // nodes)
    text = field[6]
    if text.endswith("c"):
        each = memory.parse_slurm(text[:-1])
        return each * -(-cpus // nodes) if isinstance(each, int) and each else None
    amount = memory.parse_slurm(text.removesuffix("n"))
    return amount if isinstance(amount, int) and amount else None


def _moved(moment: float | None, seconds: float) -> float | None:
    return None if moment is None else moment + seconds


def _epoch(text: str) -> float | None:
    moment = whole(text)
    return None if moment is None else float(moment)


def _held(reason: str) -> str:
    plain = reason.strip("()").partition(",")[0]
    return "" if plain in _STARTABLE else plain


def _own_priority(pending: Sequence[QueuedJob], now: float) -> float | None:
    """What a new job of this user would have: that of the newest one of theirs that waits; None when none does."""
    own = [each for each in pending if each.mine and each.priority is not None and each.submitted_at is not None]
    newest = max(own, key=lambda each: each.submitted_at or 0.0, default=None)
    if newest is None or newest.submitted_at is None or now - newest.submitted_at > _ENTER:
        return None
    return newest.priority


def _usable(node: Node) -> bool:
    return node.in_service and node.cpus is not None and node.cpus_free is not None


def _node(node: Node) -> QueueNode:
    return QueueNode(
        node.name, node.partitions, node.cpus or 0, node.cpus_free or 0, node.gpus, node.gpus_free, node.memory_bytes,
        node.memory_free_bytes,
    )  # fmt: skip
