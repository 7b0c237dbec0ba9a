"""Slurm's words for the state of a job or a node, and its reasons for letting a job wait, as our own vocabulary.

An unknown word is State.UNKNOWN, never an end (B12). Sources: squeue(1), sacct(1), sinfo(1), 22.05 to 26.05.
"""

from __future__ import annotations

import functools
import re

from jupyter_diamond.model.base import Value
from jupyter_diamond.model.states import ReasonClass, State

JOB_STATES: dict[str, State] = {
    "BOOT_FAIL": State.NODE_FAIL,
    "CANCELLED": State.CANCELLED,
    "COMPLETED": State.COMPLETED,
    "COMPLETING": State.COMPLETING,
    "CONFIGURING": State.CONFIGURING,
    "DEADLINE": State.DEADLINE,
    "EXPEDITING": State.PENDING,
    "FAILED": State.FAILED,
    "LAUNCH_FAILED": State.NODE_FAIL,
    "NODE_FAIL": State.NODE_FAIL,
    "OUT_OF_MEMORY": State.OUT_OF_MEMORY,
    "PENDING": State.PENDING,
    "POWER_UP_NODE": State.CONFIGURING,
    "PREEMPTED": State.PREEMPTED,
    "RECONFIG_FAIL": State.NODE_FAIL,
    "REQUEUED": State.PENDING,
    "REQUEUE_FED": State.PENDING,
    "REQUEUE_HOLD": State.PENDING,
    "RESIZING": State.RUNNING,
    "RESV_DEL_HOLD": State.PENDING,
    "REVOKED": State.UNKNOWN,  # a sibling of a federated job runs on another cluster
    "RUNNING": State.RUNNING,
    "SIGNALING": State.RUNNING,
    "SPECIAL_EXIT": State.PENDING,  # requeued and held
    "STAGE_OUT": State.COMPLETING,
    "STOPPED": State.SUSPENDED,
    "SUSPENDED": State.SUSPENDED,
    "TIMEOUT": State.TIMEOUT,
    "UPDATE_DB": State.UNKNOWN,
}

_CODES = {
    "BF": "BOOT_FAIL", "CA": "CANCELLED", "CD": "COMPLETED", "CF": "CONFIGURING", "CG": "COMPLETING",
    "DL": "DEADLINE", "F": "FAILED", "LF": "LAUNCH_FAILED", "NF": "NODE_FAIL", "OOM": "OUT_OF_MEMORY", "PD": "PENDING",
    "PR": "PREEMPTED", "PU": "POWER_UP_NODE", "R": "RUNNING", "RD": "RESV_DEL_HOLD", "RE": "RECONFIG_FAIL",
    "RF": "REQUEUE_FED", "RH": "REQUEUE_HOLD", "RQ": "REQUEUED", "RS": "RESIZING", "RV": "REVOKED", "S": "SUSPENDED",
    "SE": "SPECIAL_EXIT", "SI": "SIGNALING", "SO": "STAGE_OUT", "ST": "STOPPED", "TO": "TIMEOUT", "UD": "UPDATE_DB",
}  # fmt: skip

_SHORTEST_PREFIX = 4
"""Fewer letters of a cut word are not trusted, even when they are unique."""

_CANCELLED_BY = re.compile(r"CANCELLED(?:\+|\s)\s*by\s+(\S+)", re.IGNORECASE)


class JobState(Value):
    """One state text, read. ``word`` is the full documented word, empty when it was not understood."""

    state: State
    word: str
    raw: str
    cancelled_by: str | None = None
    requeued: bool = False


def job_state(text: str) -> JobState:
    """``RUNNING``, ``PD``, ``CANCELLED by 5001``, ``OUT_OF_ME+``, ``COMPLETIN``, ``completed``."""
    raw = text.strip()
    word = _word(raw)
    who = _CANCELLED_BY.match(raw)
    return JobState(
        state=JOB_STATES.get(word, State.UNKNOWN),
        word=word,
        raw=raw,
        cancelled_by=who.group(1) if who else None,
        requeued=word.startswith("REQUEUE"),
    )


def _word(raw: str) -> str:
    first, *flags = re.split(r"[+,]", raw.split(maxsplit=1)[0].upper()) if raw else [""]
    if any(flag.startswith("REQUEUE") for flag in flags):
        return "REQUEUED"  # PREEMPTED+REQUEUED is not an end
    if first in JOB_STATES:
        return first
    if first in _CODES:
        return _CODES[first]
    if len(first) >= _SHORTEST_PREFIX:
        longer = [word for word in JOB_STATES if word.startswith(first)]
        if len(longer) == 1:
            return longer[0]
    return ""


_NODE_FLAGS = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "%": "POWERING_DOWN", "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED", "-": "PLANNED", "^": "REBOOT_ISSUED", "!": "POWER_DOWN",
}  # fmt: skip

_NODE_CODES = {
    "ALLOC": "ALLOCATED", "BLOCK": "BLOCKED", "COMP": "COMPLETING", "DRAIN": "DRAINED", "DRNG": "DRAINING",
    "FAILG": "FAILING", "FUTR": "FUTURE", "INVAL": "INVALID", "MAINT": "MAINTENANCE", "MIX": "MIXED",
    "NPC": "PERFCTRS", "PLND": "PLANNED", "POW_DN": "POWERING_DOWN", "POW_UP": "POWERING_UP", "RESV": "RESERVED",
    "UNK": "UNKNOWN", "BOOT": "REBOOT_ISSUED",
}  # fmt: skip

_HARMLESS = frozenset({"IDLE", "MIXED", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "PLANNED"})
"""All that a usable node may be. PLANNED: the backfill scheduler has plans, short jobs still fit before them."""


class NodeState(Value):
    """One node's state. ``free`` is True only when every word and mark is known to be harmless (B19)."""

    words: tuple[str, ...]
    raw: str
    free: bool


@functools.lru_cache(maxsize=1024)
def node_state(text: str) -> NodeState:
    """``idle*``, ``mixed-``, ``drng@``, ``IDLE+CLOUD+POWERED_DOWN``, ``DOWN*+DRAIN``, ``inval``."""
    words: list[str] = []
    for piece in text.strip().split("+"):
        base = piece.rstrip("".join(_NODE_FLAGS))
        word = base.upper()
        if word:
            words.append(_NODE_CODES.get(word, word))
        words.extend(_NODE_FLAGS[mark] for mark in piece[len(base) :])
    free = bool({"IDLE", "MIXED"}.intersection(words)) and _HARMLESS.issuperset(words)
    return NodeState(words=tuple(words), raw=text.strip(), free=free)


_NEVER = re.compile(
    r"DependencyNeverSatisfied|BadConstraints|PartitionTimeLimit|PartitionNodeLimit|AccountNotAllowed|QOSNotAllowed|"
    r"InvalidAccount|InvalidQOS|AccountingPolicy|"
    r"(Assoc|QOS)Max(Wall|Cpu|CPU|Node|GRES|Mem|BB|Billing|Energy|License|Unknown)\w*PerJob(Limit)?|"
    r"(Assoc|QOS)MaxWallDurationPerJobLimit|(Assoc|QOS)Max(GRES|Cpu|Mem|BB)PerNode\w*|QOSMin\w+|MaxMemPerLimit"
)
_ON_YOU = re.compile(
    r"JobHeldUser|JobHeldAdmin|JobArrayTaskLimit|JobHoldMaxRequeue|DependencyNotSatisfied|"
    r"launch failed requeued held|JobLaunchFailure|"
    r"(Assoc|QOS)(Grp|Max)\w+|MaxJobsPerAccount|QOSJobLimit|QOSResourceLimit|QOSTimeLimit|QOSUsageThreshold|"
    r"AssociationJobLimit|AssociationResourceLimit|AssociationTimeLimit"
)
_WILL_RUN = re.compile(
    r"Priority|Resources|BeginTime|Dependency|Cleaning|Licenses|Prolog|Reservation|WaitingForScheduling|"
    r"ReqNodeNotAvail|NodeDown|PartitionDown|PartitionInactive|FrontEndDown|BurstBuffer\w*|DelayBoot|"
    r"Nodes required for job are DOWN, DRAINED or reserved.*|PowerNotAvail|PowerReserved|"
    r"MaxPoweredUpNodes|SchedDefer|Reserved.*"
)


def reason_class(reason: str) -> ReasonClass | None:
    """What a pending reason means (B13): it will run, it waits on you, it will never run; None when none is given."""
    text = reason.strip().strip("()")
    if text in ("", "None"):
        return None
    first = text.partition(",")[0].strip()
    for pattern, meaning in (
        (_NEVER, ReasonClass.NEVER),
        (_ON_YOU, ReasonClass.WAITS_ON_YOU),
        (_WILL_RUN, ReasonClass.WILL_RUN),
    ):
        if pattern.fullmatch(first) or pattern.fullmatch(text):
            return meaning
    return ReasonClass.UNKNOWN
