"""The rules: each is a pure function from (envelope, place, clock) to one verdict. Unknown is neither pass nor fail."""

from __future__ import annotations

from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.snapshot import NO_LIMIT, NodeShape, SiteReading

from . import words
from .kinds import gpus_for, suits
from .limits import allows, node_choices, walltime_cap
from .place import NO_CHANGE, Change, Clock, Place, ask_for, verdict


def pin(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Where the user pinned it."""
    site, partition, here = envelope.site, envelope.partition, place.site.name
    if site is None:
        return verdict("pin", "pass", "not pinned", "anywhere", "Not pinned.")
    observed, required = words.place(here, place.partition), words.place(site, partition or "")
    if site != here or partition not in (None, place.partition):
        change = f"--site {here}:{place.partition}" if partition is not None else f"--site {here}"
        return verdict("pin", "fail", observed, required, f"You pinned it to {required}.", change=Change(change))
    return verdict("pin", "pass", observed, required, "You pinned it here.")


def sites(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The site is one of those that will do."""
    here, named = place.site.name, envelope.sites
    if not named:
        return verdict("sites", "pass", "any", "any", "Any site will do.")
    required = ", ".join(named)
    if here in named:
        return verdict("sites", "pass", here, required, "It is one of the sites that you named.")
    change = ask_for(f"--sites {','.join((*named, here))}")
    return verdict("sites", "fail", here, required, f"You named {required} only.", change=change)


def health(_envelope: Envelope, place: Place, clock: Clock) -> Verdict:
    """The site answers, and what it said is not stale: stale and offline never pass."""
    answer, observed, sentence = _freshness(place.reading, clock)
    return verdict("health", answer, observed, f"read within {words.duration(clock.stale_s)}", sentence)


def _freshness(reading: SiteReading | None, clock: Clock) -> tuple[Answer, str, str]:
    because = f" ({words.clause(reading.problem)})" if reading is not None and reading.problem else ""
    health = "unknown" if reading is None else reading.health
    age = None if reading is None or reading.read_at is None else (clock.now - reading.read_at).total_seconds()
    said = "" if age is None else words.duration(max(age, 0.0))
    if health == "needs_login":
        return "fail", "needs login", f"It needs your login{because}."
    if health == "offline":
        silent = f"has not answered for {said}" if said else "does not answer"
        return "fail", "offline", f"It {silent}{because}."
    if age is None:
        return "unknown", "never read", f"It has not answered yet{because}."
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
            return verdict("partition", "unknown", "unknown", "up", "Its partitions are not known yet.")
        sentence = f"It has no partition {place.partition}."
        option = f"--site {place.site.name}:{known[0]}" if len(known) == 1 else ""
        change = Change(option, f"choose {option or 'one of ' + ', '.join(known)}")
        return verdict("partition", "fail", "no such partition", place.partition, sentence, change=change)
    if record.state == "up":
        return verdict("partition", "pass", "up", "up", "It takes jobs.")
    if record.state == "unknown":
        return verdict("partition", "unknown", "unknown", "up", "Whether it takes jobs is not known.")
    return verdict("partition", "fail", record.state, "up", f"It takes no jobs now: the site set it to {record.state}.")


def fits(envelope: Envelope, shape: NodeShape) -> bool | None:
    """An empty node of this shape could hold the least that is asked; None when a fact is missing."""
    needs = [(shape.cpus, envelope.cpus.min)]
    if envelope.gpus.min:
        needs.append((gpus_for(envelope, shape), envelope.gpus.min))
    if envelope.memory_bytes is not None:
        needs.append((shape.memory_bytes, envelope.memory_bytes.min))
    if any(has is not None and has < least for has, least in needs):
        return False
    return None if any(has is None for has, _ in needs) else True


def capacity(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Some kind of node could ever hold the least that is asked, and there are enough of them."""
    required, asked = _least(envelope), envelope.nodes.min
    most = place.record.max_nodes if place.record is not None else None
    # what is of the wrong kind is another rule's matter, unless there is nothing else
    shapes = tuple(shape for shape in place.shapes if suits(envelope, shape) is not False) or place.shapes
    answers = [(shape, fits(envelope, shape)) for shape in shapes]
    too_small = bool(shapes) and all(answer is False for _, answer in answers)
    if isinstance(most, int) and most < asked:
        change = ask_for(f"--nodes {most}" if most else "", most=True)
        said = f"It gives one job at most {words.count(most, 'node')}."
        if too_small:
            why, less = _too_small(envelope, shapes)
            said = f"{said.removesuffix('.')}, and {words.clause(why)}."
            change = ask_for(f"{change.option} {less.option}" if change.option and less.option else "", most=True)
        return verdict("capacity", "fail", words.count(most, "node"), words.count(asked, "node"), said, change=change)
    if not shapes:
        return verdict("capacity", "unknown", "unknown", required, "What its nodes can hold is not known.")
    if too_small:
        said, change = _too_small(envelope, shapes)
        return verdict("capacity", "fail", "no node that large", required, said, change=change)
    return _enough_nodes(asked, answers, required, limit_known=most is not None)


def _enough_nodes(
    asked: int, answers: list[tuple[NodeShape, bool | None]], required: str, *, limit_known: bool
) -> Verdict:
    """There are as many nodes as are asked of the kinds that hold it; of a kind out of service, who knows how many."""
    large = sum(shape.nodes for shape, answer in answers if answer)
    perhaps = sum(shape.nodes for shape, answer in answers if answer is not False)
    away = any(shape.nodes == 0 for shape, answer in answers if answer is not False)
    observed = f"{words.count(large, 'node')} that large"
    if perhaps < asked and not away:
        sentence = f"It has {words.count(perhaps, 'node')} that large in service."
        change = ask_for(f"--nodes {perhaps}" if perhaps else "", most=True)
        return verdict("capacity", "fail", observed, required, sentence, change=change)
    if all(answer is not True for _, answer in answers):
        return verdict("capacity", "unknown", "unknown", required, "Not all that its nodes can hold is known.")
    if large < asked:
        few = "Too few of its nodes that are large enough are in service now."
        sentence = few if large else "None of its nodes that are large enough is in service now."
        return verdict("capacity", "unknown", observed, required, sentence)
    if asked > 1 and not limit_known:
        sentence = "How many nodes it gives one job is not known."
        return verdict("capacity", "unknown", "unknown", words.count(asked, "node"), sentence)
    return verdict("capacity", "pass", observed, required, "It has nodes that are large enough.")


def _least(envelope: Envelope) -> str:
    parts = [words.count(envelope.cpus.min, "core")]
    if envelope.gpus.min:
        parts.append(words.count(envelope.gpus.min, "GPU"))
    if envelope.memory_bytes is not None:
        parts.append(words.memory(envelope.memory_bytes.min))
    node = ", ".join(parts)
    return f"{envelope.nodes.min} nodes x {node}" if envelope.nodes.min > 1 else node


def _too_small(envelope: Envelope, shapes: tuple[NodeShape, ...]) -> tuple[str, Change]:
    """What is too small, and the smallest change that one kind of node would pass."""
    cpus = max((shape.cpus for shape in shapes if shape.cpus is not None), default=0)
    gpus = max((shape.gpus for shape in shapes if shape.gpus is not None), default=0)
    held = max((shape.memory_bytes for shape in shapes if shape.memory_bytes is not None), default=None)
    lacks, changes = [], []
    if envelope.gpus.min and not gpus:
        return "It has no GPUs.", NO_CHANGE
    if envelope.gpus.min > gpus > 0:
        lacks.append(words.count(gpus, "GPU"))
        changes.append(f"--gpus {gpus}")
    if envelope.cpus.min > cpus:
        lacks.append(words.count(cpus, "core"))
        changes.append(f"--cpus {cpus}")
    if envelope.memory_bytes is not None and held is not None and envelope.memory_bytes.min > held:
        lacks.append(f"{words.memory(held)} of memory")
        changes.append(f"--memory {words.memory(held)}")
    change = _nearest(envelope, shapes)
    if lacks and change == " ".join(changes):
        return f"Its largest node has {' and '.join(lacks)}.", ask_for(change, most=True)
    less = ask_for(change, most=True) if change else Change("", "ask for less of one of them")
    return f"None of its nodes has {_least(envelope)} at once.", less


def _nearest(envelope: Envelope, shapes: tuple[NodeShape, ...]) -> str:
    """The change that fits the kind of node which needs the fewest; a kind without a GPU is none for GPU work."""
    found = []
    for shape in shapes:
        gpus, lacks = gpus_for(envelope, shape) if envelope.gpus.min else None, []
        if gpus is not None and gpus < envelope.gpus.min:
            lacks.append(f"--gpus {gpus}")
        if shape.cpus is not None and shape.cpus < envelope.cpus.min:
            lacks.append(f"--cpus {shape.cpus}")
        memory = envelope.memory_bytes
        if memory is not None and shape.memory_bytes is not None and shape.memory_bytes < memory.min:
            lacks.append(f"--memory {words.memory(shape.memory_bytes)}")
        if 0 < shape.nodes < envelope.nodes.min:
            lacks.append(f"--nodes {shape.nodes}")
        if gpus != 0:
            found.append((len(lacks), -(shape.cpus or 0), lacks))
    return " ".join(min(found)[2]) if found else ""


def walltime(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """A job of the size that is asked may run for the least that is asked."""
    least = envelope.walltime_s.min
    required = words.duration(least)
    caps = {nodes: walltime_cap(place.record, nodes) for nodes in node_choices(envelope, place.record)}
    if NO_LIMIT in caps.values():
        return verdict("walltime", "pass", "no limit", required, "It has no time limit.")
    known = {nodes: cap for nodes, cap in caps.items() if isinstance(cap, int)}
    if any(allows(cap, least) for cap in known.values()):
        said = words.duration(max(known.values()))
        return verdict("walltime", "pass", said, required, "Its time limit is long enough.")
    if len(known) < len(caps):
        return verdict("walltime", "unknown", "unknown", required, "Its time limit is not known.")
    longest = max(known, key=lambda nodes: known[nodes])
    said = words.duration(known[longest])
    sentence, change = _too_long(envelope, place, longest, known[longest])
    return verdict("walltime", "fail", said, required, sentence, change=change)


def _too_long(envelope: Envelope, place: Place, nodes: int, cap: int) -> tuple[str, Change]:
    steps = place.policy.walltime_by_nodes if place.policy is not None else ()
    allowed = f"allows {words.duration(cap)}" + (f" to a job of {words.count(nodes, 'node')}" if steps else "")
    shorter = ask_for(f"--time {words.time_option(cap)}" if cap > 0 else "", most=True)
    edges = (step.nodes + 1 for step in steps if step.nodes >= envelope.nodes.max)
    larger = [n for n in edges if allows(walltime_cap(place.record, n), envelope.walltime_s.min)]
    more = f", or for --nodes {larger[0]}" if larger and shorter.option else ""
    return f"It {allowed}.", shorter._replace(advice=shorter.advice + more)


def whole_node(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """A note, never a refusal: some partitions give, and charge, nothing less than a node."""
    whole = place.record.whole_node if place.record is not None else None
    required = _least(envelope)
    if whole:
        return verdict("whole node", "pass", "whole nodes only", required, "It gives, and charges, whole nodes only.")
    if whole is None:
        return verdict("whole node", "pass", "unknown", required, "Whether it charges whole nodes is not known.")
    return verdict("whole node", "pass", "shared", required, "It gives parts of nodes.")
