"""What the site says now, completed by what is documented of its machine.

The live answer wins for all that changes: states, counts, what is free, how large nodes are. The profile wins for
rules: the smaller of two limits holds, and a partition that one of the two gives by the node is given by the node.
Unknown stays unknown: every number here is the probe's, the profile's, or free whole nodes times a node's GPUs.
What the two say differently is a Drift.
"""

from __future__ import annotations

from typing import Any

from jupyter_diamond.model.machine import Machine, MachinePartition
from jupyter_diamond.model.policy import Drift
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, Limit, NodeShape, Record, SiteReading

from . import words
from .matching import filled, with_profile_gpus


def merge(reading: SiteReading, profile: Machine) -> tuple[SiteReading, tuple[Drift, ...]]:
    """The reading with the profile's rules and shapes in its records, and where the two disagree.

    ``profile`` is what is confirmed of the machine. A reading of another scheduler is returned as it is.
    """
    if reading.scheduler != profile.scheduler:
        said = f"{profile.title} runs {profile.scheduler}, but this site answers as {reading.scheduler}."
        drift = Drift(
            site=reading.site, field="scheduler", profile=profile.scheduler, probe=reading.scheduler,
            sentence=f"{said} Its profile is not used.",
        )  # fmt: skip
        return _with_notes(reading, (drift,)), (drift,)
    drifts: list[Drift] = []
    by_name = profile.by != "constraint"
    live = [record for record in reading.records if by_name or record.partition not in profile.partitions]
    records = [_merged(record, profile, drifts) for record in live]
    records += _aliases(records, profile)
    if not by_name and reading.read_at is not None:
        records += _lanes(reading, profile)
    drifts += _missing(reading, profile)
    changes: dict[str, Any] = {"records": tuple(records), "machine": profile.name}
    if profile.gpu_visible_in_gres is not None and not profile.gpu_visible_in_gres.value:
        changes |= _site_gpus(records)
    return _with_notes(reading.model_copy(update=changes), tuple(drifts)), tuple(drifts)


def _with_notes(reading: SiteReading, drifts: tuple[Drift, ...]) -> SiteReading:
    return reading.model_copy(update={"notes": reading.notes + tuple(drift.sentence for drift in drifts)})


def _merged(record: Record, profile: Machine, drifts: list[Drift]) -> Record:
    part = profile.partitions.get(record.partition)
    changes: dict[str, Any] = {"policy": profile.policy(record.partition)}
    if part is not None and part.submit_as is None:
        changes |= _limits(record, profile, part, drifts)
    asked_whole = record.whole_node is True
    record = record.model_copy(update=changes)
    if record.whole_node and not asked_whole:
        record = _by_whole_nodes(record)
    record, found = with_profile_gpus(record, profile)
    drifts += found
    return record.model_copy(update={"hidden": record.hidden or not profile.policy(record.partition).selectable})


def _limits(record: Record, profile: Machine, part: MachinePartition, drifts: list[Drift]) -> dict[str, Any]:
    """The smaller of each pair of limits, and whether nodes are given whole."""
    everywhere = profile.whole_node.value if profile.whole_node is not None else None
    told = part.whole_node if part.whole_node is not None else everywhere
    steps = [step.walltime for step in part.walltime_by_nodes]
    longest = max([*steps, *([part.walltime] if part.walltime is not None else [])], default=None)
    for field, live, documented, say in (
        ("walltime", record.walltime_cap_s, longest, words.duration),
        ("max_nodes", record.max_nodes, part.max_nodes, lambda amount: words.count(amount, "node")),
    ):
        if isinstance(live, int) and documented is not None and live != documented:
            drifts.append(_drift(record, field, say(documented), say(live)))
    if told is not None and record.whole_node is not None and told != record.whole_node:
        said = {True: "whole nodes only", False: "parts of nodes"}
        drifts.append(_drift(record, "whole_node", said[told], said[record.whole_node]))
    return {
        "walltime_cap_s": _smaller(record.walltime_cap_s, longest),
        "max_nodes": _smaller(record.max_nodes, part.max_nodes),
        "whole_node": True if told or record.whole_node else (record.whole_node if told is None else told),
    }


_SUBJECTS = {"walltime": "a time limit of", "max_nodes": "at most", "whole_node": ""}


def _drift(record: Record, field: str, profile: str, probe: str) -> Drift:
    what = f"{_SUBJECTS[field]} {profile}".strip()
    sentence = f"The profile of {record.site} gives {record.partition} {what}; the site itself says {probe}."
    return Drift(
        site=record.site, partition=record.partition, field=field, profile=profile, probe=probe, sentence=sentence
    )


def _smaller(live: Limit, documented: int | None) -> Limit:
    if documented is None:
        return live
    return documented if live is None or live is NO_LIMIT else min(live, documented)


def _by_whole_nodes(record: Record) -> Record:
    """Nodes are given whole, which the probe did not know: only nodes that nobody uses are free."""
    if any(node.whole is None for node in record.free_nodes):
        return record.model_copy(
            update={"free_nodes": (), "nodes_usable": None, "cpus_free": None, "gpus_free": None,
                    "memory_free_bytes": None}
        )  # fmt: skip
    free = tuple(node for node in record.free_nodes if node.whole)
    memory = [None if node.memory_bytes is None else node.memory_bytes * node.nodes for node in free]
    return record.model_copy(
        update={
            "free_nodes": free, "nodes_usable": sum(node.nodes for node in free),
            "cpus_free": sum(node.cpus * node.nodes for node in free),
            "gpus_free": _gpus(free),
            "memory_free_bytes": None if None in memory else sum(size for size in memory if size is not None),
        }
    )  # fmt: skip


def _gpus(free: tuple[FreeNode, ...]) -> int | None:
    amounts = [None if node.gpus is None else node.gpus * node.nodes for node in free]
    return None if None in amounts else sum(amount for amount in amounts if amount is not None)


def _aliases(records: list[Record], profile: Machine) -> list[Record]:
    """Documented ways into a live partition by another QOS: the same nodes under limits of their own."""
    live = {record.partition: record for record in records}
    found = []
    for name, part in profile.partitions.items():
        base = live.get(part.submit_as.partition or "") if part.submit_as is not None else None
        if base is not None and name not in live:
            found.append(
                base.model_copy(
                    update={
                        "partition": name, "default": False, "policy": profile.policy(name),
                        "walltime_cap_s": part.walltime, "max_nodes": part.max_nodes,
                        "pending": None, "running": None, "mine_pending": None, "mine_running": None,
                    }
                )
            )  # fmt: skip
    return found


def _lanes(reading: SiteReading, profile: Machine) -> list[Record]:
    """Where jobs name constraints, the documented lanes; which partition stands behind one is not known."""
    assert reading.read_at is not None, "only a reading has lanes"
    return [
        Record(
            site=reading.site, partition=name, read_at=reading.read_at,
            shapes=tuple(filled(NodeShape(nodes=kind.count or 0), (kind,)) for kind in profile.kinds(name)),
            walltime_cap_s=part.walltime, max_nodes=part.max_nodes, whole_node=part.whole_node,
            policy=profile.policy(name),
        )
        for name, part in profile.partitions.items()
    ]  # fmt: skip


def _missing(reading: SiteReading, profile: Machine) -> list[Drift]:
    """Documented partitions that the site does not show: closed to this user, or no longer there."""
    shown = {record.partition for record in reading.records}
    left_out = " ".join(note for note in reading.notes if "left out" in note)
    missing = [
        name
        for name, part in profile.partitions.items()
        if name not in shown and part.submit_as is None and f"Partition {name} is left out" not in left_out
    ]
    if not shown or not missing:
        return []
    names = ", ".join(missing)
    sentence = f"The profile of {reading.site} names {names}, which the site does not show to you."
    return [Drift(site=reading.site, field="partitions", profile=names, probe="not shown", sentence=sentence)]


def _site_gpus(records: list[Record]) -> dict[str, Any]:
    """Totals of GPUs that no scheduler counts: known where they stand in one partition only, else nodes count twice."""
    having = [record for record in records if record.gpus_total != 0]
    if len(having) == 1:
        return {"gpus_total": having[0].gpus_total, "gpus_free": having[0].gpus_free}
    return {"gpus_total": None, "gpus_free": None} if having else {}
