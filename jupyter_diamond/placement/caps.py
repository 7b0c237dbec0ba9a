"""Which limits hold for a user's jobs in a partition, on an account and under a QOS.

The order is Slurm's: the partition's QOS, the job's QOS (turned round by the flag OverPartQOS), the association. Where
two of them limit the same thing, the first one counts; limits of a whole account or QOS hold beside them.
"""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.limits import Association, Cap, OwnUse, SiteLimits
from jupyter_diamond.model.snapshot import Record, SiteReading

from . import words

_NOUNS = {"gpus": "GPU", "cpus": "core", "nodes": "node", "running": "running job", "queued": "job"}
_WHOSE = {
    "job": "for one job", "you": "for you in all", "account": "for the account in all", "everybody": "for all users",
}  # fmt: skip


def with_caps(reading: SiteReading, account: str | None) -> SiteReading:
    """The reading with the limits that hold for the account of the site, or else for the user's default account."""
    if reading.limits is None:
        return reading
    records = tuple(capped(record, reading, account=account) for record in reading.records)
    return reading.model_copy(update={"records": records})


def capped(record: Record, reading: SiteReading | None, *, account: str | None, qos: str | None = None) -> Record:
    """The record with the limits that hold on this account and under this QOS."""
    if reading is None or reading.limits is None:
        return record
    return record.model_copy(update={"caps": caps(record, reading, account=account, qos=qos)})


def for_envelope(record: Record, reading: SiteReading | None, envelope: Envelope, account: str | None) -> Record:
    """The record with the limits that hold for what is asked."""
    return capped(record, reading, account=envelope.account or account, qos=envelope.qos)


def account_of(limits: SiteLimits | None, account: str | None) -> str | None:
    """The account that pays: the one that is named, or the user's default; None when that is not known."""
    return account if account is not None or limits is None else limits.default_account


def association(limits: SiteLimits | None, account: str | None, partition: str) -> Association | None:
    """The user's association with the account there; one for just this partition goes first."""
    name = (account_of(limits, account) or "").casefold()
    mine = [each for each in (limits.associations if limits is not None else ()) if each.account.casefold() == name]
    fitting = [each for each in mine if each.partition in (partition, None)]
    return min(fitting, key=lambda each: each.partition is None, default=None)


def qos_of(limits: SiteLimits | None, account: str | None, partition: str, qos: str | None) -> str | None:
    """The QOS of a job that names ``qos``, or none; None when it is not known."""
    if qos is not None:
        return qos
    own = association(limits, account, partition)
    if own is None:
        return None
    if own.default_qos is not None or len(own.qos) == 1:
        return own.default_qos or own.qos[0]
    return "normal" if "normal" in own.qos else None


def caps(record: Record, reading: SiteReading, *, account: str | None, qos: str | None) -> tuple[Cap, ...]:
    """All limits that hold, each with what the user has of it now."""
    limits = reading.limits
    by_name = {each.name: each for each in limits.qos} if limits is not None else {}
    partition_qos = by_name.get(record.qos or "")
    job_qos = by_name.get(qos_of(limits, account, record.partition, qos) or "")
    order = [each for each in (partition_qos, job_qos) if each is not None]
    if job_qos is not None and "OverPartQOS" in job_qos.flags:
        order.reverse()
    own = association(limits, account, record.partition)
    found: dict[tuple[object, ...], Cap] = {}
    sources = [*((each.caps, f"QOS {each.name}") for each in order), (own.caps if own is not None else (), "")]
    for group, _ in sources:
        for cap in group:
            alone = cap.source if cap.per in ("account", "everybody") else ""
            found.setdefault((cap.on, cap.per, cap.gpu_model, cap.least, alone), cap)
    partitions = {each.partition for each in reading.records if each.qos and each.qos == record.qos}
    return tuple(_told(cap, _used(cap, reading.own, own, partitions, record.qos)) for cap in found.values())


def _used(
    cap: Cap, own: tuple[OwnUse, ...] | None, mine: Association | None, partitions: set[str], partition_qos: str | None
) -> int | None:
    """What the user has of it; None where others count too, or it is not known."""
    if own is None or cap.per != "you" or cap.on == "walltime_s" or cap.gpu_model is not None:
        return None
    if cap.source == f"QOS {partition_qos}":
        counted = [use for use in own if partitions.intersection(use.partition.split(",")) or use.qos == partition_qos]
    elif cap.source.startswith("QOS "):
        counted = [use for use in own if f"QOS {use.qos}" == cap.source]
    else:
        counted = [use for use in own if mine is not None and use.account == mine.account]
    if cap.on in ("running", "queued"):
        return sum(use.running + (use.pending if cap.on == "queued" else 0) for use in counted)
    amounts = [getattr(use, cap.on) for use in counted]
    return None if None in amounts else sum(amounts)


def _told(cap: Cap, used: int | None) -> Cap:
    bound = "at least" if cap.least else "at most"
    word = "now" if cap.on in ("running", "queued") else "in use"
    held = words.memory(used) if used and cap.on == "memory_bytes" else used
    now = f", {held} {word}" if used is not None else ""
    sentence = f"{cap.source}: {bound} {amount_text(cap, cap.amount)} {_WHOSE[cap.per]}{now}"
    return cap.model_copy(update={"used": used, "sentence": sentence})


def amount_text(cap: Cap, amount: int) -> str:
    """``8 GPUs``, ``2 d``, ``64G of memory``."""
    if cap.on == "walltime_s":
        return words.duration(amount)
    if cap.on == "memory_bytes":
        return f"{words.memory(amount)} of memory"
    noun = f"{cap.gpu_model} GPU" if cap.gpu_model else _NOUNS[cap.on]
    return words.count(amount, noun)


def on_all(cap: Cap, record: Record) -> bool:
    """The limit counts every GPU of the partition; one on a single kind does so where there is no other."""
    models = {shape.gpu_model for shape in record.shapes if shape.gpus != 0}
    return cap.gpu_model is None or {(model or "").casefold() for model in models} == {cap.gpu_model.casefold()}


def most(record: Record | None, on: str, *, free: bool = False) -> int | None:
    """The smallest limit on it; with ``free``, less what the user has already. None when there is none."""
    if record is None or not record.caps:
        return None
    amounts = [
        cap.left if free and cap.left is not None else cap.amount
        for cap in _holding(record)
        if cap.on == on and not cap.least
    ]
    return min(amounts, default=None)


def _holding(record: Record | None) -> Iterable[Cap]:
    return [cap for cap in record.caps if on_all(cap, record)] if record is not None else []
