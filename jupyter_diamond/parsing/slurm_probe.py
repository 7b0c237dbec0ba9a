"""The probe's answer as values: nodes, partitions and counts of one Slurm site."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.limits import Door
from jupyter_diamond.model.snapshot import Limit
from jupyter_diamond.model.states import State

from . import durations, gres, memory, states
from .numbers import whole
from .slurm_sections import FIELD

NODE_FIELDS = (
    "NodeName", "State", "CPUAlloc", "CPUEfctv", "CPUTot", "RealMemory", "AllocMem", "MemSpecLimit", "Gres", "GresUsed",
    "Partitions", "CfgTRES", "AllocTRES", "ThreadsPerCore", "Arch", "ActiveFeatures",
)  # fmt: skip
"""What the probe asks of every node, in this order; the node's reason, free text, comes last."""

_OUT_OF_SERVICE = frozenset(
    {"DOWN", "DRAINED", "DRAINING", "FAIL", "FAILING", "FUTURE", "INVALID", "NOT_RESPONDING", "UNKNOWN", "ERROR"}
)


class Gpus(Value):
    """GPUs of one kind on one node. ``free`` None: nobody knows how many are in use."""

    model: str | None
    total: int
    free: int | None


class Node(NamedTuple):
    """One node, counted once whatever the number of its partitions. None is unknown. A site has thousands of them."""

    name: str
    state: states.NodeState
    partitions: tuple[str, ...] = ()
    cpus: int | None = None
    cpus_free: int | None = None
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None
    gpus: int | None = None
    gpus_free: int | None = None
    gpu_model: str | None = None
    kinds: tuple[Gpus, ...] = ()
    """Its GPUs by kind, where it has more than one."""
    shares: tuple[tuple[str, int, int], ...] = ()
    """Shards and MPS: name, all, free."""
    arch: str | None = None
    features: tuple[str, ...] = ()

    @property
    def in_service(self) -> bool:
        """It works, or will again without an administrator: busy, powered down and reserved nodes are in service."""
        return not _OUT_OF_SERVICE.intersection(self.state.words)


_NO_WORDS = frozenset({"", "(null)", "N/A", "NONE", "None"})


def node(line: str) -> Node:
    """One line of the probe's ``nodes`` section. Raises ParseError."""
    values = line.split(FIELD, len(NODE_FIELDS))
    if len(values) != len(NODE_FIELDS) + 1 or not values[0]:
        raise ParseError(f"{line[:200]!r} is not a row about a node.")
    field = dict(zip(NODE_FIELDS, values, strict=False))
    cpus = _count(field["CPUEfctv"]) if field["CPUEfctv"] else _count(field["CPUTot"])
    size, held = _mebibytes(field["RealMemory"]), _mebibytes(field["AllocMem"])
    if size is not None:
        size -= _mebibytes(field["MemSpecLimit"]) or 0
    gpus, gpus_used, model, kinds, shares = _gpu_facts(
        field["Gres"], _in_use(field["Gres"], field["GresUsed"], field["CfgTRES"], field["AllocTRES"])
    )
    features = field["ActiveFeatures"]
    return Node(
        name=field["NodeName"],
        state=states.node_state(field["State"]),
        partitions=tuple(name for name in field["Partitions"].split(",") if name not in _NO_WORDS),
        cpus=cpus,
        cpus_free=_left(cpus, _count(field["CPUAlloc"])),
        memory_bytes=size,
        memory_free_bytes=_left(size, held),
        gpus=gpus,
        gpus_free=_left(gpus, gpus_used),
        gpu_model=model,
        kinds=kinds,
        shares=shares,
        arch=field["Arch"] if field["Arch"] not in _NO_WORDS else None,
        features=tuple(name for name in features.split(",") if name) if features not in _NO_WORDS else (),
    )


def _in_use(gres_there: str, gres_used: str, tres_there: str, tres_used: str) -> str | None:
    """What of its GRES is in use: as the controller tells it, else as TRES; None where GPUs are not tracked at all."""
    if gres_used.strip():
        return gres_used
    if "gpu" not in gres_there:
        return ""
    return None if gres.tres_gpus(tres_there) is None else tres_used


_GpuFacts = tuple[int, int | None, str | None, tuple[Gpus, ...], tuple[tuple[str, int, int], ...]]


@functools.lru_cache(maxsize=4096)
def _gpu_facts(there: str, used: str | None) -> _GpuFacts:
    """GPUs, GPUs in use, their models, kinds and shares: thousands of nodes say the same. Raises ParseError."""
    by_type = gres.gpus_by_type(there)
    gpus = sum(by_type.values())
    model = ", ".join(kind for kind in by_type if kind) or None
    kinds = _kinds(by_type, used) if len(by_type) > 1 else ()
    return gpus, _gpus_used(gpus, used), model, kinds, _shares(gpus, there, used)


def _gpus_used(gpus: int, used: str | None) -> int | None:
    """GPUs that no job can have whole: given away, or shared out in parts."""
    if gpus == 0:
        return 0
    return None if used is None else gres.gpus(used) + gres.gpus_in_shares(used, gpus)


def _kinds(by_type: dict[str, int], used: str | None) -> tuple[Gpus, ...]:
    taken = None if used is None else gres.gpus_by_type(used)
    if taken is not None and taken.get(gres.UNTYPED) and gres.UNTYPED not in by_type:
        taken = None  # a count over all kinds: which of them are in use is not told
    if used is not None and gres.gpus_in_shares(used, 1):
        taken = None
    return tuple(
        Gpus(model=kind or None, total=total, free=None if taken is None else max(total - taken.get(kind, 0), 0))
        for kind, total in by_type.items()
    )


def _shares(gpus: int, there: str, used: str | None) -> tuple[tuple[str, int, int], ...]:
    """Shards and MPS; those of a GPU that is given away whole are gone too."""
    totals = gres.shares(there)
    if not totals:
        return ()
    taken, whole = gres.shares(used or ""), gres.gpus(used or "")
    return tuple(
        (name, total, max(total - taken.get(name, 0) - (total // gpus * whole if gpus else 0), 0))
        for name, total in totals.items()
    )


def _left(total: int | None, used: int | None) -> int | None:
    return None if total is None or used is None else max(total - used, 0)


def _count(text: str) -> int | None:
    if (number := whole(text)) is not None:
        return number
    if text in ("", "N/A", "(null)"):
        return None
    raise ParseError(f"{text[:100]!r} is not a count.")


def _mebibytes(text: str) -> int | None:
    amount = memory.parse_slurm(text) if text else None
    return amount if isinstance(amount, int) else None


class Partition(Value):
    """One partition's own limits. ``closed`` says why this user cannot use it; empty when nothing speaks against it."""

    name: str
    default: bool = False
    hidden: bool = False
    state: Literal["up", "down", "drain", "inactive", "unknown"] = "unknown"
    walltime_cap_s: Limit = None
    max_nodes: Limit = None
    whole_node: bool | None = None
    qos: str | None = None
    door: Door = Door()
    closed: str = ""


_PARTITION_STATES: dict[str, Literal["up", "down", "drain", "inactive"]] = {
    "UP": "up", "DOWN": "down", "DRAIN": "drain", "INACTIVE": "inactive",
}  # fmt: skip


def partition(line: str, *, groups: Iterable[str] | None = None) -> Partition:
    """One line of ``scontrol -o show partition``. ``groups`` are the user's, None when unknown. Raises ParseError."""
    field: dict[str, str] = {}
    for word in line.split():
        key, equals, amount = word.partition("=")
        if equals:
            field.setdefault(key, amount)
    if "PartitionName" not in field:
        raise ParseError(f"{line[:200]!r} is not a partition.")
    share = field.get("OverSubscribe") or field.get("Shared")  # its name before 16.05
    return Partition(
        name=field["PartitionName"],
        default=field.get("Default") == "YES",
        hidden=field.get("Hidden") == "YES",
        state=_PARTITION_STATES.get(field.get("State", ""), "unknown"),
        walltime_cap_s=durations.parse_slurm(field.get("MaxTime", "")),
        max_nodes=_node_limit(field.get("MaxNodes", "")),
        whole_node=None if share is None else share.startswith("EXCLUSIVE") or field.get("Exclusive") == "NODE",
        qos=field["QoS"] if field.get("QoS", "N/A") not in _NO_WORDS else None,
        door=Door(
            allow_accounts=_names(field.get("AllowAccounts", "ALL")),
            deny_accounts=_names(field.get("DenyAccounts", "")),
            allow_qos=_names(field.get("AllowQos", "ALL")),
            deny_qos=_names(field.get("DenyQos", "")),
        ),
        closed=_closed(field, None if groups is None else set(groups)),
    )


def _names(text: str) -> tuple[str, ...]:
    """Names of a list; empty for *all* and for *none*: both are no such rule."""
    return () if text in _NO_WORDS or text == "ALL" else tuple(name for name in text.split(",") if name)


def _node_limit(text: str) -> Limit:
    number = whole(text)
    return durations.parse_slurm(text) if number is None else number


def _closed(field: dict[str, str], groups: set[str] | None) -> str:
    if field.get("ReqResv") == "YES":
        return "it takes jobs of a reservation only"
    allowed = field.get("AllowGroups", "ALL")
    if groups is not None and allowed not in ("ALL", "(null)") and not groups.intersection(allowed.split(",")):
        return f"it is for members of {allowed} only"
    if field.get("RootOnly") == "YES" and groups is not None and "root" not in groups:
        return "it is for administrators only"
    return ""


class Counts(Value):
    """Jobs of a site: by partition, and in all (a job that names two partitions is one job)."""

    pending: dict[str, int]
    running: dict[str, int]
    mine_pending: dict[str, int]
    mine_running: dict[str, int]
    total_pending: int = 0
    total_running: int = 0
    hides_others: bool = False
    unreadable: tuple[str, ...] = ()


def counts(lines: Sequence[str]) -> Counts:
    """Lines ``<number> US <1 when mine> US <partitions> US <state>``."""
    tables = {key: Counter[str]() for key in ("pending", "running", "mine_pending", "mine_running")}
    totals = Counter[str]()
    unreadable: list[str] = []
    for line in lines:
        parts = line.strip().split(FIELD)
        if len(parts) != 4 or (number := whole(parts[0])) is None:
            unreadable.append(line)
            continue
        state = states.job_state(parts[3]).state
        if state not in (State.PENDING, State.RUNNING, State.CONFIGURING):
            continue
        kind = "pending" if state is State.PENDING else "running"
        totals[kind] += number
        for name in parts[2].split(","):
            tables[kind][name] += number
            if parts[1] == "1":
                tables[f"mine_{kind}"][name] += number
    return Counts(
        pending=dict(tables["pending"]),
        running=dict(tables["running"]),
        mine_pending=dict(tables["mine_pending"]),
        mine_running=dict(tables["mine_running"]),
        total_pending=totals["pending"],
        total_running=totals["running"],
        unreadable=tuple(unreadable),
    )


def config(lines: Iterable[str]) -> dict[str, str]:
    """Lines of ``scontrol show config`` by name."""
    pairs = (line.partition("=") for line in lines)
    return {key.strip(): amount.strip() for key, equals, amount in pairs if equals}
