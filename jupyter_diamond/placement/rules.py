"""The rules: each is a pure function from (envelope, place, clock) to one verdict. Unknown is neither pass nor fail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NO_LIMIT, NodeShape, Record, SiteReading

from . import words


class Place(NamedTuple):
    """A partition of a site with what is known of it. ``record`` None: the site or the partition was never read."""

    site: Site
    partition: str
    reading: SiteReading | None
    record: Record | None


class Clock(NamedTuple):
    """The time, and up to which age a record counts as fresh and as usable."""

    now: datetime
    fresh_s: float
    stale_s: float


Rule = Callable[[Envelope, Place, Clock], Verdict]


def _verdict(rule: str, answer: Answer, observed: object, required: object, sentence: str) -> Verdict:
    return Verdict(rule=rule, answer=answer, observed=str(observed), required=str(required), sentence=sentence)


def pin(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Where the user pinned it."""
    site, partition, here = envelope.site, envelope.partition, place.site.name
    observed = words.place(here, place.partition)
    required = "anywhere" if site is None else words.place(site, partition or "")
    if site not in (None, here) or partition not in (None, place.partition):
        return _verdict("pin", "fail", observed, required, f"You pinned it to {required}.")
    return _verdict("pin", "pass", observed, required, "Not pinned." if site is None else "You pinned it here.")


def health(_envelope: Envelope, place: Place, clock: Clock) -> Verdict:
    """The site answers, and what it said is not stale: stale and offline never pass."""
    answer, observed, sentence = _freshness(place.reading, clock)
    return _verdict("health", answer, observed, f"read within {words.duration(clock.stale_s)}", sentence)


def _freshness(reading: SiteReading | None, clock: Clock) -> tuple[Answer, str, str]:
    because = f" ({words.clause(reading.problem)})" if reading is not None and reading.problem else ""
    if reading is None or reading.read_at is None:
        if reading is not None and reading.health == "offline":
            return "fail", "offline", f"It does not answer{because}."
        return "unknown", "never read", f"It has not answered yet{because}."
    age = max((clock.now - reading.read_at).total_seconds(), 0.0)
    said = words.duration(age)
    if reading.health == "offline":
        return "fail", "offline", f"It has not answered for {said}{because}."
    if age > clock.stale_s:
        return "fail", f"{said} old", f"What is known of it is {said} old{because}."
    if age > clock.fresh_s:
        return "pass", f"{said} old", f"What is known of it is {said} old, which is usable."
    return "pass", f"{said} old", "It answers."


def partition_open(_envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The partition exists and takes jobs."""
    record = place.record
    if record is None:
        known = [each.partition for each in place.reading.records] if place.reading is not None else []
        if not known:
            return _verdict("partition", "unknown", "unknown", "up", "Its partitions are not known yet.")
        sentence = f"It has no partition {place.partition}: choose one of {', '.join(known)}."
        return _verdict("partition", "fail", "no such partition", place.partition, sentence)
    if record.state == "up":
        return _verdict("partition", "pass", "up", "up", "It takes jobs.")
    if record.state == "unknown":
        return _verdict("partition", "unknown", "unknown", "up", "Whether it takes jobs is not known.")
    return _verdict(
        "partition", "fail", record.state, "up", f"It takes no jobs now: the site set it to {record.state}."
    )


def fits(envelope: Envelope, shape: NodeShape) -> bool | None:
    """An empty node of this shape could hold the least that is asked; None when a fact is missing."""
    needs = [(shape.cpus, envelope.cpus.min)]
    if envelope.gpus.min:
        needs.append((shape.gpus, envelope.gpus.min))
    if envelope.memory_bytes is not None:
        needs.append((shape.memory_bytes, envelope.memory_bytes.min))
    if any(has is not None and has < least for has, least in needs):
        return False
    return None if any(has is None for has, _ in needs) else True


def capacity(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Some kind of node could ever hold the least that is asked, and there are enough of them."""
    shapes = place.record.shapes if place.record is not None else ()
    required = _least(envelope)
    if not shapes:
        return _verdict("capacity", "unknown", "unknown", required, "What its nodes can hold is not known.")
    answers = [(shape, fits(envelope, shape)) for shape in shapes]
    nodes = sum(shape.nodes for shape, answer in answers if answer)
    observed = f"{words.count(nodes, 'node')} that large"
    if any(answer for _, answer in answers):
        return _enough_nodes(envelope, place, nodes, observed, required)
    if any(answer is None for _, answer in answers):
        return _verdict("capacity", "unknown", "unknown", required, "Not all that its nodes can hold is known.")
    return _verdict("capacity", "fail", "no node that large", required, _too_small(envelope, shapes))


def _enough_nodes(envelope: Envelope, place: Place, nodes: int, observed: str, required: str) -> Verdict:
    asked = envelope.nodes.min
    most = place.record.max_nodes if place.record is not None else None
    if isinstance(most, int) and most < asked:
        sentence = f"It gives one job at most {words.count(most, 'node')}: ask for at most --nodes {most}."
        return _verdict("capacity", "fail", words.count(most, "node"), words.count(asked, "node"), sentence)
    if nodes == 0:
        sentence = "None of its nodes that are large enough is in service now."
        return _verdict("capacity", "unknown", observed, required, sentence)
    if nodes < asked:
        sentence = f"It has {words.count(nodes, 'node')} that large in service: ask for at most --nodes {nodes}."
        return _verdict("capacity", "fail", observed, required, sentence)
    if most is None and asked > 1:
        sentence = "How many nodes it gives one job is not known."
        return _verdict("capacity", "unknown", "unknown", words.count(asked, "node"), sentence)
    return _verdict("capacity", "pass", observed, required, "It has nodes that are large enough.")


def _least(envelope: Envelope) -> str:
    parts = [words.count(envelope.cpus.min, "core")]
    if envelope.gpus.min:
        parts.append(words.count(envelope.gpus.min, "GPU"))
    if envelope.memory_bytes is not None:
        parts.append(words.memory(envelope.memory_bytes.min))
    node = ", ".join(parts)
    return f"{envelope.nodes.min} nodes x {node}" if envelope.nodes.min > 1 else node


def _too_small(envelope: Envelope, shapes: tuple[NodeShape, ...]) -> str:
    """What is too small, and the smallest change that would pass."""
    cpus = max((shape.cpus for shape in shapes if shape.cpus is not None), default=0)
    gpus = max((shape.gpus for shape in shapes if shape.gpus is not None), default=0)
    held = max((shape.memory_bytes for shape in shapes if shape.memory_bytes is not None), default=None)
    lacks, changes = [], []
    if envelope.gpus.min > gpus:
        lacks.append(words.count(gpus, "GPU") if gpus else "no GPU")
        changes.append(f"--gpus {gpus}")
    if envelope.cpus.min > cpus:
        lacks.append(words.count(cpus, "core"))
        changes.append(f"--cpus {cpus}")
    if envelope.memory_bytes is not None and held is not None and envelope.memory_bytes.min > held:
        lacks.append(f"{words.memory(held)} of memory")
        changes.append(f"--memory {words.memory(held)}")
    if lacks:
        return f"Its largest node has {' and '.join(lacks)}: ask for at most {' '.join(changes)}."
    return f"None of its nodes has {_least(envelope)} at once: ask for less of one of them."


def walltime(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The partition lets a job run for the least that is asked."""
    required = words.duration(envelope.walltime_s.min)
    cap = place.record.walltime_cap_s if place.record is not None else None
    if cap is NO_LIMIT:
        return _verdict("walltime", "pass", "no limit", required, "It has no time limit.")
    if cap is None:
        return _verdict("walltime", "unknown", "unknown", required, "Its time limit is not known.")
    said = words.duration(cap)
    if cap < envelope.walltime_s.min:
        sentence = f"It allows {said}: ask for at most --time {words.time_option(cap)}."
        return _verdict("walltime", "fail", said, required, sentence)
    return _verdict("walltime", "pass", said, required, "Its time limit is long enough.")


def whole_node(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """A note, never a refusal: some partitions give, and charge, nothing less than a node."""
    whole = place.record.whole_node if place.record is not None else None
    required = _least(envelope)
    if whole:
        return _verdict("whole node", "pass", "whole nodes only", required, "It gives, and charges, whole nodes only.")
    if whole is None:
        return _verdict("whole node", "pass", "unknown", required, "Whether it charges whole nodes is not known.")
    return _verdict("whole node", "pass", "shared", required, "It gives parts of nodes.")


RULES: tuple[Rule, ...] = (pin, health, partition_open, capacity, walltime, whole_node)


def judge(envelope: Envelope, place: Place, clock: Clock) -> tuple[Verdict, ...]:
    """Every rule's verdict, in the order in which they are shown."""
    return tuple(rule(envelope, place, clock) for rule in RULES)
