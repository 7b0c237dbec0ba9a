"""All rules that need no forecast, and how a place is judged by them.

Every rule is a pure function of (envelope, place, clock). Most of them read little of a place, and say the same of many
places: each names what it reads, so that a decision over a thousand candidates asks it once for each different thing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from jupyter_diamond.model.decision import Verdict
from jupyter_diamond.model.envelope import Envelope, Softenable
from jupyter_diamond.model.policy import PartitionPolicy
from jupyter_diamond.model.snapshot import NodeShape

from . import gpu_rules, limit_rules, machine_rules, rules
from .place import Clock, Judge, Place

Reads = Callable[["Seen"], Hashable]


class Seen(NamedTuple):
    """A place with what several rules read of it: its policy, and a number that stands for its kinds of node."""

    place: Place
    policy: PartitionPolicy | None
    shapes: int


class Rule(NamedTuple):
    """A rule. ``reads`` is all that its answer depends on, beside the envelope and the clock."""

    name: str
    judge: Judge
    reads: Reads
    wish: Softenable | None = None
    """By which name of ``Envelope.soft`` it is a wish."""
    about: str = ""
    """A field of the envelope: where it says nothing, the rule says the same of every place."""


def _site(seen: Seen) -> Hashable:
    return seen.place.site.name


def _reading(seen: Seen) -> Hashable:
    # a decision holds the readings that it looks at, so an address names one of them
    return id(seen.place.reading)


def _where(seen: Seen) -> Hashable:
    return seen.place.site.name, seen.place.partition


def _live(seen: Seen) -> Hashable:
    reading = seen.place.reading
    return seen.place.site.name, seen.place.site.simulated, reading is not None and reading.simulated


def _state(seen: Seen) -> Hashable:
    record = seen.place.record
    return record.state if record is not None else (id(seen.place.reading), seen.place.partition)


def _way_in(seen: Seen) -> Hashable:
    policy = seen.policy
    if policy is None:
        return None
    return (
        seen.place.site.name, policy.machine, policy.selectable, policy.lanes, policy.reached_through,
        policy.unavailable, policy.by_request, policy.min_nodes, policy.min_walltime_s,
    )  # fmt: skip


def _fabric(seen: Seen) -> Hashable:
    return None if seen.policy is None else seen.policy.fabric


def _counts(seen: Seen) -> Hashable:
    return () if seen.policy is None else seen.policy.gpu_counts


def _giving_way(seen: Seen) -> Hashable:
    return "" if seen.policy is None else seen.policy.preemptible


def _containers(seen: Seen) -> Hashable:
    return () if seen.policy is None else seen.policy.containers


def _options(seen: Seen) -> Hashable:
    policy = seen.policy
    if policy is None:
        return None
    required = tuple([(each.option, each.example, each.why) for each in policy.required_options])
    return seen.place.site.name, policy.machine, required, policy.forbidden_options


def _door(seen: Seen) -> Hashable:
    reading, record = seen.place.reading, seen.place.record
    limits = reading.limits if reading is not None else None
    door = record.door if record is not None else None
    account = seen.place.site.account
    return (account,) if limits is None and door is None else (account, seen.place.partition, id(limits), id(door))


def _shapes(seen: Seen) -> Hashable:
    return seen.shapes


def _gpus(seen: Seen) -> Hashable:
    refused = seen.policy.forbidden_options if seen.policy is not None else ()
    return seen.shapes, refused


def _size(seen: Seen) -> Hashable:
    record = seen.place.record
    return seen.shapes, None if record is None else record.max_nodes


def _time(seen: Seen) -> Hashable:
    record = seen.place.record
    if record is None:
        return None
    policy = seen.policy
    if not record.caps and (policy is None or not policy.walltime_by_nodes):
        return record.walltime_cap_s, None if policy is None else policy.min_nodes
    return record.walltime_cap_s, id(seen.policy), id(record.caps), seen.shapes


def _caps(seen: Seen) -> Hashable:
    reading, record = seen.place.reading, seen.place.record
    known = reading is not None and reading.limits is not None
    if record is None or not record.caps:
        return record is None, known
    return id(record.caps), record.whole_node, seen.shapes


def _whole(seen: Seen) -> Hashable:
    record = seen.place.record
    return record.whole_node if record is not None else None


def _account(seen: Seen) -> Hashable:
    reading, pattern = seen.place.reading, seen.policy.account_pattern if seen.policy is not None else None
    return pattern, seen.place.site.account, pattern and reading is not None and id(reading.limits)


RULES: tuple[Rule, ...] = (
    Rule("pin", rules.pin, _where, about="site"),
    Rule("sites", rules.sites, _site, "sites", "sites"),
    Rule("reality", machine_rules.reality, _live),
    Rule("health", rules.health, _reading),
    Rule("partition", rules.partition_open, _state),
    Rule("access", machine_rules.access, _way_in),
    Rule("admission", limit_rules.admission, _door),
    Rule("architecture", machine_rules.architecture, _shapes, "arch"),
    Rule("fabric", machine_rules.fabric, _fabric, "fabric"),
    Rule("accelerator", gpu_rules.accelerator, _gpus, "gpu_model"),
    Rule("GPU memory", gpu_rules.gpu_memory, _gpus, "gpu_memory", "gpu_memory_bytes"),
    Rule("capacity", rules.capacity, _size),
    Rule("GPU count", machine_rules.gpu_count, _counts),
    Rule("allowance", limit_rules.allowance, _caps),
    Rule("walltime", rules.walltime, _time),
    Rule("options", machine_rules.options, _options),
    Rule("preemptible", machine_rules.preemptible, _giving_way, "preemptible"),
    Rule("container", machine_rules.container, _containers, "container"),
    Rule("account", machine_rules.account, _account),
    Rule("whole node", rules.whole_node, _whole),
)

_CONDITIONS: dict[Softenable, tuple[str, Any]] = {
    "arch": ("arch", None), "gpu_model": ("gpu_model", None), "gpu_memory": ("gpu_memory_bytes", None),
    "fabric": ("fabric", None), "container": ("container", None), "sites": ("sites", ()),
    "deadline": ("deadline", None), "max_charge": ("max_charge", None), "preemptible": ("preemptible", True),
}  # fmt: skip


def without_wishes(envelope: Envelope) -> Envelope:
    """What is a condition: the envelope without all that is only wished for."""
    changes = dict(_CONDITIONS[name] for name in envelope.soft)
    return envelope.model_copy(update=changes) if changes else envelope


class Bench:
    """The rules for one envelope at one instant. It keeps what each rule said, so a place costs little after the first.

    It is for one decision: what it keeps names readings by their address.
    """

    def __init__(self, envelope: Envelope, clock: Clock) -> None:
        self.clock = clock
        self.asked = envelope
        self.conditions = without_wishes(envelope)
        self._asked = [_asked(rule, envelope, self.conditions) for rule in RULES]
        self._held: list[Place] = []
        self._shapes: dict[tuple[Hashable, ...], int] = {}

    def judge(self, place: Place) -> tuple[Verdict, ...]:
        """Every rule's verdict, in the order in which they are shown."""
        self._held.append(place)
        record = place.record
        shapes = tuple([_value(shape) for shape in record.shapes]) if record is not None else ()
        number = self._shapes.setdefault(shapes, len(self._shapes))
        seen = Seen(place, record.policy if record is not None else None, number)
        found: list[Verdict] = []
        for asked in self._asked:
            key = asked.reads(seen)
            verdict = asked.said.get(key)
            if verdict is None:
                verdict = asked.said[key] = asked.on(place, self.clock)
            found.append(verdict)
        return tuple(found)


class _Asked(NamedTuple):
    """A rule with the envelope that it is about, and what it has said."""

    rule: Judge
    reads: Reads
    envelope: Envelope
    wish: bool
    said: dict[Hashable, Verdict]

    def on(self, place: Place, clock: Clock) -> Verdict:
        verdict = self.rule(self.envelope, place, clock)
        return verdict.model_copy(update={"soft": True}) if self.wish else verdict


def _asked(rule: Rule, envelope: Envelope, conditions: Envelope) -> _Asked:
    wish = rule.wish is not None and rule.wish in envelope.soft
    about = envelope if wish else conditions
    quiet = bool(rule.about) and getattr(about, rule.about) in (None, ())
    return _Asked(rule.judge, _same if quiet else rule.reads, about, wish, {})


def _same(_seen: Seen) -> Hashable:
    return None


def judge(envelope: Envelope, place: Place, clock: Clock) -> tuple[Verdict, ...]:
    """Every rule's verdict on one place."""
    return Bench(envelope, clock).judge(place)


def _value(shape: NodeShape) -> Hashable:
    """All that rules read of a kind of node."""
    return (
        shape.cpus, shape.memory_bytes, shape.gpus, shape.gpu_model, shape.gpu_memory_bytes,
        shape.gpu_memory_at_most_bytes, shape.gpu_memory_at_least_bytes, shape.gpu_kinds, shape.arch, shape.nodes,
    )  # fmt: skip
