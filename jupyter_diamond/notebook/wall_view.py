"""What the wall says about a snapshot, as plain data: the same for the live widget, static HTML and plain text. Pure.

A wall's data is ``{"strip": …, "order": [site, …], "sites": {site: …}, "rows": {site: {partition: …}}}``; ``patch``
gives what of it is new. Unknown numbers are None all the way, and show as ``?``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jupyter_diamond.model.snapshot import NO_LIMIT, Limit, Record, SiteReading, Snapshot, gate
from jupyter_diamond.placement import words
from jupyter_diamond.placement.caps import most, on_all

from .vocabulary import GLYPH, HEALTH, TRANSPORT, byte_size

Wall = dict[str, Any]

USABLE_S = 600.0
"""Numbers older than this are not counted as free: placement does not take them either."""
UNIT = {"GPU": "GPU", "CPU": "core"}


def wall(snapshot: Snapshot, now: datetime, trouble: str = "") -> Wall:
    """The whole wall. Simulated sites stand behind the real ones."""
    ordered = sorted(snapshot.sites, key=lambda site: site.simulated)
    return {
        "strip": strip(snapshot, now, trouble),
        "order": [site.site for site in ordered],
        "sites": {site.site: _site(site) for site in ordered},
        "rows": {
            site.site: {record.partition: _row(record) for record in site.records if not record.hidden}
            for site in ordered
        },
    }


def strip(snapshot: Snapshot, now: datetime, trouble: str = "") -> dict[str, Any]:
    """The four sums over all sites. A site whose number is not known, or too old, is named, never counted as zero.

    Simulated sites are left out, unless there are no others.
    """
    real = [site for site in snapshot.sites if not site.simulated]
    counted = real or list(snapshot.sites)
    return {
        "now": now.timestamp(),
        "trouble": trouble,
        "simulated": not real and bool(counted),
        "sums": [
            _sum("free GPUs", counted, "gpus_free", now),
            _sum("free cores", counted, "cpus_free", now),
            _sum("running", counted, "running", now),
            _sum("pending", counted, "pending", now),
        ],
    }


def _sum(label: str, sites: list[SiteReading], field: str, now: datetime) -> dict[str, Any]:
    known = [(site, getattr(site, field)) for site in sites if _counts(site, now)]
    numbers = [number for _, number in known if number is not None]
    told = {site.site for site, number in known if number is not None}
    return {
        "label": label,
        "value": sum(numbers) if numbers else None,
        "without": [site.site for site in sites if site.site not in told],
    }


def _counts(site: SiteReading, now: datetime) -> bool:
    if site.read_at is None or site.health in ("offline", "needs_login", "unknown"):
        return False
    return (now - site.read_at).total_seconds() <= USABLE_S


def _site(site: SiteReading) -> dict[str, Any]:
    look = HEALTH[site.health]
    return {
        "name": site.site,
        "means": means_text(site),
        "simulated": site.simulated,
        "health": site.health, "mark": GLYPH[look.mark], "tone": look.tone, "word": look.word,
        "read_at": _epoch(site.read_at),
        "problem": site.problem, "since": _epoch(site.failing_since), "again": _epoch(site.next_try_at),
        "gpus_free": site.gpus_free, "cpus_free": site.cpus_free, "pending": site.pending,
        "partitions": [record.partition for record in site.records if not record.hidden],
        "title": _site_title(site),
    }  # fmt: skip


def means_text(site: SiteReading) -> str:
    """How a site is reached and what it speaks: ``ssh · slurm``."""
    if site.simulated:
        return "simulated"
    return " · ".join(filter(None, (TRANSPORT.get(site.transport, site.transport), site.scheduler)))


def _epoch(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _site_title(site: SiteReading) -> str:
    facts = [
        f"{site.scheduler} {site.scheduler_version}" if site.scheduler_version else "",
        f"cluster {site.cluster}" if site.cluster else "",
        f"you are {site.user}" if site.user else "",
        {True: "accounting answers", False: "no accounting", None: ""}[site.accounting],
        f"known machine: {site.machine}" if site.machine else "",
        f"GPUs free: {_count(site.gpus_free)} of {_count(site.gpus_total)}, each counted once",
        f"cores free: {_count(site.cpus_free)} of {_count(site.cpus_total)}, each counted once",
        f"read in {int(site.probe_s * 10) / 10:.1f} s" if site.probe_s is not None else "",
        f"{words.count(len(site.unreadable), 'line')} could not be read" if site.unreadable else "",
        *site.notes,
    ]
    return "\n".join(fact for fact in facts if fact)


def _row(record: Record) -> dict[str, Any]:
    gating = gate(record)
    return {
        "name": record.partition,
        "open": record.state in ("up", "unknown"),
        "state": record.state,
        "unit": UNIT[gating.unit], "free": gating.free, "total": gating.total, "busy": gating.busy,
        "pending": record.pending, "mine_running": record.mine_running, "mine_pending": record.mine_pending,
        "cap": limit_text(record),
        "kind": kind_text(record),
        "facts": _row_facts(record),
    }  # fmt: skip


def cap_text(cap: Limit) -> str:
    """The walltime cap: ``2 d``, ``none``, ``?``."""
    if cap is NO_LIMIT:
        return "none"
    return words.duration(cap) if isinstance(cap, int) else "?"


def limit_text(record: Record) -> str:
    """The time limit, and how much of the gating resource one user may have: ``2 d · 8 GPUs``."""
    gating = gate(record)
    on = "gpus" if gating.unit == "GPU" else "cpus"
    amounts = [cap.amount for cap in record.caps if cap.on == on and not cap.least and on_all(cap, record)]
    own = f" · {words.count(min(amounts), UNIT[gating.unit])}" if amounts else ""
    longest, mine = record.walltime_cap_s, most(record, "walltime_s")
    return cap_text(longest if mine is None else min(mine, longest) if isinstance(longest, int) else mine) + own


def kind_text(record: Record) -> str:
    """Kind and memory of its GPUs, where they are known: ``a100 40 GB``."""
    kinds = dict.fromkeys(
        (shape.gpu_model, shape.gpu_memory_bytes) for shape in record.shapes if shape.gpus and shape.gpu_model
    )
    return ", ".join(f"{model} {byte_size(memory) if memory else ''}".rstrip() for model, memory in kinds)


def _row_facts(record: Record) -> list[str]:
    kind = kind_text(record)
    memory = "?" if record.memory_free_bytes is None else byte_size(record.memory_free_bytes)
    return [
        f"{_count(record.gpus_free)} of {_count(record.gpus_total)} GPUs free" + (f", {kind}" if kind else ""),
        f"{_count(record.cpus_free)} of {_count(record.cpus_total)} cores free",
        f"{memory} of memory free",
        f"{_count(record.nodes_usable)} of {_count(record.nodes_total)} nodes usable",
        f"{_count(record.running)} running, {_count(record.pending)} pending",
        f"yours: {_count(record.mine_running)} running, {_count(record.mine_pending)} pending",
        f"limit {cap_text(record.walltime_cap_s)}" + (", whole nodes only" if record.whole_node else ""),
        f"state {record.state}" + (", the default" if record.default else ""),
        *(f"{_count(share.free)} of {_count(share.total)} {_SHARES[share.kind]} free" for share in record.gpu_shares),
        *(cap.sentence for cap in record.caps),
        *_held_out(record),
    ]


_SHARES = {"shard": "shards", "mps": "MPS shares"}


def _held_out(record: Record) -> list[str]:
    """Who may not use it, and what only some may."""
    door = record.door
    if door is None:
        return []
    lists = (
        ("accounts", door.allow_accounts), ("all accounts but", door.deny_accounts), ("QOS", door.allow_qos),
        ("all QOS but", door.deny_qos),
    )  # fmt: skip
    return [f"for {who} {', '.join(names)}" for who, names in lists if names]


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def patch(old: Wall, new: Wall) -> Wall | None:
    """What of the new wall the old one lacks; None when it is nothing but the clock. A row that is gone is None."""
    told: Wall = {}
    if old["order"] != new["order"]:
        told["order"] = new["order"]
    sites = {name: site for name, site in new["sites"].items() if old["sites"].get(name) != site}
    rows: dict[str, dict[str, Any]] = {}
    for name, fresh in new["rows"].items():
        stale = old["rows"].get(name, {})
        changed = {part: row for part, row in fresh.items() if stale.get(part) != row}
        changed |= {part: None for part in stale if part not in fresh}
        if changed:
            rows[name] = changed
    if sites:
        told["sites"] = sites
    if rows:
        told["rows"] = rows
    before, after = ({**each["strip"], "now": 0} for each in (old, new))
    if not told and before == after:
        return None
    return {**told, "strip": new["strip"]}
