"""The rules that come from what is known of a machine: architecture, fabric, containers, how to ask, which account.

Where nothing is known of a machine, only what the request itself names can be unknown; a request that names nothing
passes.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.policy import PartitionPolicy

from . import words
from .kinds import gpu_words, right_arch
from .place import NO_CHANGE, Change, Clock, Place, ask_for, verdict

_ALWAYS_GIVEN = frozenset({"nodes", "time", "walltime", "constraint"})
"""What every job script of ours says, or takes from the profile itself."""


def reality(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """A simulated site and a live one are never weighed against each other; one that is named may be looked at."""
    simulated = place.site.simulated or (place.reading is not None and place.reading.simulated)
    observed = "simulated" if simulated else "live"
    if simulated and envelope.site != place.site.name:
        option = f"--site {place.site.name}"
        change = Change(option, f"name {option} to see what it would say")
        sentence = "It is simulated, so nothing runs there."
        return verdict("reality", "fail", observed, "live", sentence, change=change)
    said = "It is simulated: nothing can be submitted to it." if simulated else "It is a live site."
    return verdict("reality", "pass", observed, "live", said)


def architecture(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Its processors run what was built for the architecture that is asked."""
    wanted = envelope.arch
    found = sorted({shape.arch for shape in place.shapes if shape.arch is not None})
    observed = ", ".join(found) or "unknown"
    if wanted is None:
        return verdict("architecture", "pass", observed, "any", "Any architecture will do.")
    answers = {right_arch(envelope, shape) for shape in place.shapes}
    if answers == {True}:
        return verdict("architecture", "pass", observed, wanted, f"Its nodes are {wanted}.")
    if answers == {False}:
        sentence, change = f"Its nodes are {' and '.join(found)}.", _leave_out(f"--arch {wanted}", f"--arch {found[0]}")
        return verdict("architecture", "fail", observed, wanted, sentence, change=change)
    if {True, False} <= answers:
        sentence = f"It mixes {' and '.join(found)} nodes, and which one a job gets is not known."
        return verdict("architecture", "unknown", observed, wanted, sentence)
    return verdict("architecture", "unknown", observed, wanted, "The architecture of its nodes is not known.")


def fabric(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The network between its nodes is the one that is asked: every word of it is in the documented name."""
    wanted = envelope.fabric
    known = place.policy.fabric if place.policy is not None else None
    if wanted is None:
        return verdict("fabric", "pass", known or "unknown", "any", "Any network will do.")
    if known is None:
        return verdict("fabric", "unknown", "unknown", wanted, "The network between its nodes is not known.")
    if gpu_words(wanted) <= gpu_words(known):
        return verdict("fabric", "pass", known, wanted, f"Its nodes are connected by {known}.")
    change = _leave_out(f"--fabric {wanted}", f"--fabric {words.option(known)}")
    return verdict("fabric", "fail", known, wanted, f"Its nodes are connected by {known}.", change=change)


def _leave_out(asked: str, passes: str) -> Change:
    return Change(passes, f"leave out {asked}, or choose another place")


_SAME_RUNTIME = {"singularity": "apptainer"}
"""Singularity's name since it joined the Linux Foundation."""


def container(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The container runtime that is asked is there."""
    wanted = envelope.container
    known = place.policy.containers if place.policy is not None else ()
    observed = ", ".join(known) or "unknown"
    if wanted is None:
        return verdict("container", "pass", observed, "none", "No container is asked for.")
    if not known:
        return verdict("container", "unknown", observed, wanted, "Which container runtimes it has is not known.")
    name = wanted.casefold()
    if _SAME_RUNTIME.get(name, name) in {_SAME_RUNTIME.get(each, each) for each in known}:
        return verdict("container", "pass", observed, wanted, f"It has {wanted}.")
    option = f"--container {known[0]}"
    change = Change(option, f"ask for {option}, or choose another place")
    return verdict("container", "fail", observed, wanted, f"It has {_one_of(known)}, not {wanted}.", change=change)


def preemptible(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Its jobs do not give way to others, unless the user said that they may."""
    how = place.policy.preemptible if place.policy is not None else ""
    required = "may give way" if envelope.preemptible else "keeps its nodes"
    if not how:
        return verdict("preemptible", "pass", "not known to give way", required, "Its jobs are not known to give way.")
    observed = f"gives way: {how}"
    if envelope.preemptible:
        return verdict("preemptible", "pass", observed, required, "Its jobs give way to others, as you allow.")
    more = "" if "give way" in how else f" ({how})"
    change = Change("--preemptible", "add --preemptible to allow it")
    return verdict("preemptible", "fail", observed, required, f"Its jobs may be ended for others{more}.", change=change)


def gpu_count(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Some places give GPUs in certain numbers only (Sophia: 1, 2, 4 or 8)."""
    counts = place.policy.gpu_counts if place.policy is not None else ()
    required = words.span(envelope.gpus)
    if not counts:
        return verdict("GPU count", "pass", "any", required, "It has no rule about the number of GPUs.")
    said = f"{', '.join(map(str, counts[:-1]))} or {counts[-1]}" if len(counts) > 1 else str(counts[0])
    if any(envelope.gpus.min <= count <= envelope.gpus.max for count in counts):
        return verdict("GPU count", "pass", said, required, f"It gives {said} GPUs.")
    nearest = min(counts, key=lambda count: (abs(count - envelope.gpus.min), -count))
    change = ask_for(f"--gpus {nearest}")
    return verdict("GPU count", "fail", said, required, f"It gives a job {said} GPUs.", change=change)


def access(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Jobs may name it themselves, it is there for everybody, and it takes jobs of this size."""
    policy = place.policy
    if policy is None:
        return verdict("access", "pass", "no profile", "open to jobs", "Nothing is known that keeps jobs away.")
    answer, observed, sentence, change = _way_in(policy, place.site.name) or _least_job(envelope, policy) or _OPEN
    return verdict("access", answer, observed, "open to jobs", sentence, change=change)


_Finding = tuple[Answer, str, str, Change]
"""An answer, what was observed, the sentence, and the change."""
_OPEN: _Finding = ("pass", "open", "Jobs may name it.", NO_CHANGE)


def _way_in(policy: PartitionPolicy, site: str) -> _Finding | None:
    if not policy.selectable:
        sentence = f"{policy.machine} takes a constraint and a QOS, never a partition."
        if not policy.lanes:
            return "fail", "not to be named", sentence, NO_CHANGE
        only = f"--site {site}:{policy.lanes[0]}" if len(policy.lanes) == 1 else ""
        change = Change(only, f"choose {_one_of(policy.lanes)}")
        return "fail", "not to be named", sentence, change
    if policy.reached_through is not None:
        through = policy.reached_through
        change = Change(f"--site {site}:{through}", "choose that one")
        return "fail", f"through {through}", f"Jobs come here through {through}.", change
    if policy.unavailable:
        return "unknown", "unavailable", f"Of it, {policy.unavailable}.", NO_CHANGE
    if policy.by_request:
        return "unknown", "on request", "It is given on request; whether to you is not known.", NO_CHANGE
    return None


def _least_job(envelope: Envelope, policy: PartitionPolicy) -> _Finding | None:
    nodes, seconds = policy.min_nodes, policy.min_walltime_s
    if nodes is not None and nodes > envelope.nodes.max:
        sentence = f"It is for jobs of {nodes} nodes and more."
        return "fail", f"from {words.count(nodes, 'node')}", sentence, ask_for(f"--nodes {nodes}")
    if seconds is not None and seconds > envelope.walltime_s.max:
        sentence = f"It takes no job shorter than {words.duration(seconds)}."
        change = ask_for(f"--time {words.time_option(seconds)}")
        return "fail", f"from {words.duration(seconds)}", sentence, change
    return None


def _one_of(names: tuple[str, ...]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def options(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The options that the site requires are given, and what it refuses is not said."""
    policy = place.policy
    if policy is None:
        return verdict("options", "pass", "no profile", "none", "No option is known to be required or refused.")
    required = ", ".join(each.option for each in policy.required_options) or "none"
    for each in policy.required_options:
        if each.option in _ALWAYS_GIVEN or _given(each.option, envelope, place):
            continue
        why = f" ({each.why})" if each.why else ""
        sentence = f"{policy.machine} requires {_option_word(each.option)}{why}."
        option = f"--{each.option} {each.example}".strip() if each.option in ("account", "qos") and each.example else ""
        change = Change(option, _how(each.option, each.example))
        return verdict("options", "fail", f"no {each.option}", required, sentence, change=change)
    if "--mem" in policy.forbidden_options and envelope.memory_bytes is not None:
        sentence = "It refuses to be asked for memory, which comes with the node; the job does not ask."
        return verdict("options", "pass", "--mem refused", required, sentence)
    return verdict("options", "pass", "given", required, "All that it requires is given.")


def _given(option: str, envelope: Envelope, place: Place) -> bool:
    if option == "account":
        return (envelope.account or place.site.account) is not None
    return (option == "qos" and envelope.qos is not None) or option in place.site.options


def _option_word(option: str) -> str:
    return {"account": "an account", "qos": "a QOS"}.get(option, f"the option {option}")


def _how(option: str, example: str) -> str:
    if option == "account":
        return "set account in the site catalogue, or add --account" + (f" {example}" if example else "")
    if option == "qos":
        return "add --qos"
    return f"set options: {{{option}: {example or '…'}}} in the site catalogue"


def account(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """The account is one that pays for this kind of resource."""
    policy, name = place.policy, envelope.account or place.site.account
    pattern = policy.account_pattern if policy is not None else None
    if pattern is None or name is None:
        return verdict("account", "pass", name or "the site's default", pattern or "any", "Nothing speaks against it.")
    if fnmatchcase(name, pattern):
        return verdict("account", "pass", name, pattern, "The account is of the right kind.")
    said = f"Accounts that pay here are named like {pattern}, not {name}"
    limits = place.reading.limits if place.reading is not None else None
    if limits is None or not limits.associations:
        change = Change("", "add --account with one of yours that is")
        return verdict("account", "fail", name, pattern, f"{said}.", change=change)
    payers = [each.account for each in limits.associations if fnmatchcase(each.account, pattern)]
    if not payers:
        return verdict("account", "fail", name, pattern, f"{said}; you have none that may pay here.")
    option = f"--account {payers[0]}"
    return verdict("account", "fail", name, pattern, f"{said}.", change=Change(option, f"add {option}"))
