"""The rules that come from what is known of a machine: architecture, accelerator, how to ask, and on which account.

Where nothing is known of a machine, only what the request itself names can be unknown; a request that names nothing
passes.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.policy import PartitionPolicy
from jupyter_diamond.model.snapshot import NodeShape

from . import words
from .kinds import gpu_type, right_arch, right_gpu, variants
from .place import Clock, Place, verdict

_ALWAYS_GIVEN = frozenset({"nodes", "time", "walltime", "constraint"})
"""What every job script of ours says, or takes from the profile itself."""


def reality(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """A simulated site and a live one are never weighed against each other; one that is named may be looked at."""
    simulated = place.site.simulated or (place.reading is not None and place.reading.simulated)
    observed = "simulated" if simulated else "live"
    if simulated and envelope.site != place.site.name:
        sentence = f"It is simulated, so nothing runs there; name --site {place.site.name} to see what it would say."
        return verdict("reality", "fail", observed, "live", sentence)
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
        sentence = f"Its nodes are {' and '.join(found)}: leave out --arch {wanted}, or choose another place."
        return verdict("architecture", "fail", observed, wanted, sentence)
    if {True, False} <= answers:
        sentence = f"It mixes {' and '.join(found)} nodes, and which one a job gets is not known."
        return verdict("architecture", "unknown", observed, wanted, sentence)
    return verdict("architecture", "unknown", observed, wanted, "The architecture of its nodes is not known.")


def accelerator(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Its GPUs are of the kind that is asked, each with enough memory."""
    required = _wanted_gpu(envelope)
    gpus = [each for shape in place.shapes if shape.gpus != 0 for each in variants(shape)]
    observed = ", ".join(dict.fromkeys(_gpu(shape) for shape in gpus)) or ("no GPU" if place.shapes else "unknown")
    if not required:
        return verdict("accelerator", "pass", observed, "any", "Any GPU will do.")
    answer, sentence = _judged_gpus(envelope, place, gpus)
    return verdict("accelerator", answer, observed, required, sentence)


def _judged_gpus(envelope: Envelope, place: Place, gpus: list[NodeShape]) -> tuple[Answer, str]:
    answers = {right_gpu(envelope, shape) for shape in gpus}
    if place.shapes and not gpus:
        return "fail", "It has no GPU."
    if answers == {True}:
        return "pass", "Its GPUs are of the kind that you asked for."
    if answers == {False}:
        return "fail", _wrong_gpu(envelope, gpus)
    if True in answers:
        name = gpu_type(envelope, place.record)
        if name is not None:
            return "pass", f"It mixes kinds of GPU; the job asks for {name}."
        return "unknown", "It mixes kinds of GPU, and a job cannot name there the one that you asked for."
    what = "kind" if any(shape.gpu_model is None for shape in gpus) else "memory"
    return "unknown", f"The {what} of its GPUs is not known."


def _wanted_gpu(envelope: Envelope) -> str:
    memory = envelope.gpu_memory_bytes
    parts = [envelope.gpu_model or "", "" if memory is None else f"{words.memory(memory)} each"]
    return ", ".join(part for part in parts if part)


def _gpu(shape: NodeShape) -> str:
    memory = "" if shape.gpu_memory_bytes is None else f" {words.memory(shape.gpu_memory_bytes)}"
    return (shape.gpu_model or "unknown GPU") + memory


def _wrong_gpu(envelope: Envelope, gpus: list[NodeShape]) -> str:
    """What is wrong with all of them, and the smallest change that would pass."""
    any_size = envelope.model_copy(update={"gpu_memory_bytes": None})
    right_model = [shape for shape in gpus if right_gpu(any_size, shape) is not False]
    if envelope.gpu_memory_bytes is not None and right_model:
        most = max(shape.gpu_memory_bytes or shape.gpu_memory_at_most_bytes or 0 for shape in right_model)
        return f"Its GPUs have {words.memory(most)} each: ask for at most --gpu-memory {words.memory(most)}."
    have = " and ".join(dict.fromkeys(shape.gpu_model for shape in gpus if shape.gpu_model is not None))
    return f"Its GPUs are {have}: leave out --gpu-model {envelope.gpu_model}, or choose another place."


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
    sentence = f"It gives a job {said} GPUs: ask for --gpus {nearest}."
    return verdict("GPU count", "fail", said, required, sentence)


def access(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Jobs may name it themselves, it is there for everybody, and it takes jobs of this size."""
    policy = place.policy
    if policy is None:
        return verdict("access", "pass", "no profile", "open to jobs", "Nothing is known that keeps jobs away.")
    answer, observed, sentence = (
        _way_in(policy) or _least_job(envelope, policy) or ("pass", "open", "Jobs may name it.")
    )
    return verdict("access", answer, observed, "open to jobs", sentence)


_Finding = tuple[Answer, str, str]
"""An answer, what was observed, and the sentence."""


def _way_in(policy: PartitionPolicy) -> _Finding | None:
    if not policy.selectable:
        sentence = f"{policy.machine} takes a constraint and a QOS, never a partition: choose {_one_of(policy.lanes)}."
        return "fail", "not to be named", sentence
    if policy.reached_through is not None:
        through = policy.reached_through
        return "fail", f"through {through}", f"Jobs come here through {through}: choose that one."
    if policy.unavailable:
        return "unknown", "unavailable", f"Of it, {policy.unavailable}."
    if policy.by_request:
        return "unknown", "on request", "It is given on request; whether to you is not known."
    return None


def _least_job(envelope: Envelope, policy: PartitionPolicy) -> _Finding | None:
    nodes, seconds = policy.min_nodes, policy.min_walltime_s
    if nodes is not None and nodes > envelope.nodes.max:
        sentence = f"It is for jobs of {nodes} nodes and more: ask for --nodes {nodes}."
        return "fail", f"from {words.count(nodes, 'node')}", sentence
    if seconds is not None and seconds > envelope.walltime_s.max:
        sentence = (
            f"It takes no job shorter than {words.duration(seconds)}: ask for --time {words.time_option(seconds)}."
        )
        return "fail", f"from {words.duration(seconds)}", sentence
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
        sentence = f"{policy.machine} requires {_option_word(each.option)}{why}: {_how(each.option, each.example)}."
        return verdict("options", "fail", f"no {each.option}", required, sentence)
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
    sentence = f"Accounts that pay here are named like {pattern}, not {name}: add --account {pattern}."
    return verdict("account", "fail", name, pattern, sentence)
