"""The rules that come from what a site lets this user have: who may use a partition, and how much of it.

What is not known keeps nobody away, unless the partition is known to be for some accounts only and ours is not known.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from jupyter_diamond.model.decision import Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.limits import Cap, Door, SiteLimits
from jupyter_diamond.model.snapshot import Record

from . import caps, words
from .place import NO_CHANGE, Change, Clock, Place, verdict


def admission(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The account and the QOS are ones that the partition takes, and the user's own."""
    reading = place.reading
    limits = reading.limits if reading is not None else None
    named = envelope.account or place.site.account
    account = caps.account_of(limits, named)
    qos = caps.qos_of(limits, named, place.partition, envelope.qos)
    door = (place.record.door if place.record is not None else None) or Door()
    observed = " under ".join(filter(None, (account or "the site's default account", f"QOS {qos}" if qos else "")))
    required = _doors(door)
    for name, allowed, denied, what in (
        (account, door.allow_accounts, door.deny_accounts, "account"), (qos, door.allow_qos, door.deny_qos, "qos"),
    ):  # fmt: skip
        if (allowed or denied) and name is None:
            said = f"It is not for every {_WORDS[what]}, and which one your job would have is not known: add --{what}."
            return verdict("admission", "unknown", "unknown", required, said)
        if name is not None and _among(name, denied):
            said = f"It does not take jobs of the {_WORDS[what]} {name}."
            change = _another(what, name, denied, limits)
            return verdict("admission", "fail", observed, required, said, change=change)
        if name is not None and allowed and not _among(name, allowed):
            said = f"It takes jobs of {_one_of(allowed)} only, not of the {_WORDS[what]} {name}."
            change = _allowed(what, allowed, limits)
            return verdict("admission", "fail", observed, required, said, change=change)
    return _own(envelope, place, account, observed, required)


def _own(envelope: Envelope, place: Place, account: str | None, observed: str, required: str) -> Verdict:
    """The account is one of the user's, and the QOS one that they may name on it."""
    limits = place.reading.limits if place.reading is not None else None
    if limits is None or not limits.associations:
        return verdict("admission", "pass", observed, required, "Nothing is known that keeps you out.")
    yours = tuple(dict.fromkeys(each.account for each in limits.associations))
    if account is not None and "*" not in account and not _among(account, yours):
        said = f"You have no account {account} there."
        change = Change(f"--account {yours[0]}", f"add --account with one of {_one_of(yours)}")
        return verdict("admission", "fail", observed, _one_of(yours), said, change=change)
    mine = caps.association(limits, account, place.partition)
    if envelope.qos is not None and mine is not None and mine.qos and not _among(envelope.qos, mine.qos):
        said = f"On {mine.account} you may not name QOS {envelope.qos}."
        change = Change(f"--qos {mine.qos[0]}", f"choose one of {_one_of(mine.qos)}")
        return verdict("admission", "fail", observed, _one_of(mine.qos), said, change=change)
    return verdict("admission", "pass", observed, required, "It takes jobs of your account.")


_WORDS = {"account": "account", "qos": "QOS"}


def _another(what: str, name: str, denied: tuple[str, ...], limits: SiteLimits | None) -> Change:
    """An account of the user's own that is not kept out; none is named where none is known."""
    own = [each.account for each in limits.associations] if limits is not None and what == "account" else []
    open_ = [each for each in own if each != name and not _among(each, denied)]
    if own and not open_:
        return NO_CHANGE
    return Change(f"--{what} {open_[0]}" if open_ else "", f"add another --{what}")


def _allowed(what: str, allowed: tuple[str, ...], limits: SiteLimits | None) -> Change:
    """One of those that are let in: of accounts, one of the user's own where these are known."""
    own = [each.account for each in limits.associations] if limits is not None and what == "account" else []
    names = [each for each in own if _among(each, allowed)] if own else [each for each in allowed if "*" not in each]
    if own and not names:
        return NO_CHANGE
    return Change(f"--{what} {names[0]}" if names else "", f"add --{what}")


def _among(name: str, names: tuple[str, ...]) -> bool:
    """Slurm keeps accounts in small letters, whatever is typed."""
    return any(fnmatchcase(each.casefold(), name.casefold()) or each.casefold() == name.casefold() for each in names)


def _doors(door: Door) -> str:
    parts = [_one_of(door.allow_accounts), f"not {_one_of(door.deny_accounts)}" if door.deny_accounts else ""]
    parts += [f"QOS {_one_of(door.allow_qos)}" if door.allow_qos else ""]
    parts += [f"not QOS {_one_of(door.deny_qos)}" if door.deny_qos else ""]
    return ", ".join(part for part in parts if part) or "any account"


def _one_of(names: tuple[str, ...]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def allowance(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """What one user may have there is enough for the least that is asked; what is in use now only makes it wait."""
    record = place.record
    held = [cap for cap in record.caps if caps.on_all(cap, record)] if record is not None else []
    if record is None or not held:
        known = place.reading is not None and place.reading.limits is not None
        said = "No limit of yours is known there." if known else "What limits apply to you is not known."
        return verdict("allowance", "pass", "none known" if known else "unknown", "any", said)
    for cap in held:
        asked = _least(envelope, record, cap)
        if asked is not None and (asked < cap.amount if cap.least else asked > cap.amount):
            said, change = _refusal(envelope, cap)
            has, wants = (caps.amount_text(cap, amount) for amount in (cap.amount, asked))
            return verdict("allowance", "fail", has, wants, said, change=change)
    for cap in held:
        asked = _least(envelope, record, cap)
        if cap.left is not None and asked is not None and not cap.least and asked > cap.left:
            said = f"{cap.sentence}: your job waits until some of it is free."
            observed = f"{caps.amount_text(cap, cap.left)} left"
            return verdict("allowance", "pass", observed, caps.amount_text(cap, asked), said)
    tightest = "; ".join(cap.sentence for cap in held)
    return verdict("allowance", "pass", tightest, "any", "It is within what you may have there.")


def _least(envelope: Envelope, record: Record, cap: Cap) -> int | None:
    """The least of it that a job would have; with ``least``, the most. None where it cannot be said."""
    end = "max" if cap.least else "min"
    nodes = int(getattr(envelope.nodes, end))
    if cap.on == "gpus":
        return nodes * int(getattr(envelope.gpus, end))
    if cap.on == "cpus":
        whole = min((shape.cpus for shape in record.shapes if shape.cpus is not None), default=0)
        cpus = int(getattr(envelope.cpus, end))
        return nodes * (max(cpus, whole) if record.whole_node else cpus)
    if cap.on == "memory_bytes":
        return None if envelope.memory_bytes is None else nodes * int(getattr(envelope.memory_bytes, end))
    if cap.on == "walltime_s":
        return envelope.walltime_s.min
    return nodes if cap.on == "nodes" else 1


def _refusal(envelope: Envelope, cap: Cap) -> tuple[str, Change]:
    least = "at least" if cap.least else "at most"
    said = f"{cap.source} gives {least} {caps.amount_text(cap, cap.amount)} {_FOR[cap.per]}"
    if cap.least:
        said = f"{cap.source} is for jobs of at least {caps.amount_text(cap, cap.amount)}"
    if cap.amount == 0 or cap.on in ("running", "queued"):
        return f"{said}.", Change("", "add another --qos or --account")
    each = cap.amount // max(envelope.nodes.min, 1) if not cap.least else -(-cap.amount // envelope.nodes.max)
    change = {
        "gpus": f"--gpus {each}", "cpus": f"--cpus {each}", "nodes": f"--nodes {cap.amount}",
        "memory_bytes": f"--memory {words.memory(each)}", "walltime_s": f"--time {words.time_option(cap.amount)}",
    }.get(cap.on, "")  # fmt: skip
    if each == 0 and cap.on in ("gpus", "cpus", "memory_bytes"):
        per_node = {"gpus": envelope.gpus.min, "cpus": envelope.cpus.min}.get(cap.on, 0)
        fewer = cap.amount // per_node if per_node else 0
        return f"{said}.", Change(f"--nodes {fewer}" if fewer else "", "ask for fewer nodes")
    return f"{said}.", Change(change, f"ask for {least} {change}")


_FOR = {
    "job": "to one job", "you": "to one user", "account": "to one account", "everybody": "to all users together",
}  # fmt: skip
