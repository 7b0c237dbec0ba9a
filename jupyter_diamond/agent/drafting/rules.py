"""The draft without a model: what the user gave, then words, then what the same code took before, then its lines.

Pure: no clock, no files, no network. Confidence is counted by rules that can be read:

- 0.4 to begin with; 0.3 for a run of the same code before, 0.2 of the same cell with other values;
- 0.15 where words say the size (GPUs, CPUs or nodes), 0.1 where the code shows it;
- 0.1 where time is known (words, a run before), 0.1 where memory is (words, a run before, sizes that were seen);
- less 0.2 where the code cannot be read, less 0.15 where something was given up or contradicts;
- between 0.1 and 0.95. What the user gave counts for nothing here: it is not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone

from jupyter_diamond.cell.reading.code import read_code
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.draft import Draft, DraftRequest, DraftSource, PastRun, Reason
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.parsing.durations import to_friendly
from jupyter_diamond.parsing.spans import parse_span

from .guesses import Guesses
from .past import reasons_of
from .pool import Pool
from .settle import named, settle
from .words import Words

_SIZE = ("gpus", "cpus", "nodes")
_ON_GPU = ("gpu-model", "gpu-memory")


def draft(request: DraftRequest, *, pool: Pool, now: datetime, past: tuple[PastRun, ...] = ()) -> Draft:
    """The draft of our own rules. Raises InvalidRequest where what the user gave cannot stand."""
    given = named(request.given)
    facts = read_code(request.code, request.language)
    words = Words(request.words, pool, now)
    before = reasons_of(past)
    said = next((each.value for each in (*words.reasons.values(), *before) if each.field == "gpus"), None)
    guesses = Guesses(facts, request.sizes, request.values, _span(given.get("gpus") or said))
    reasons: dict[str, Reason] = {}
    for source in (words.reasons.values(), before, guesses.reasons.values()):
        for reason in source:
            if reason.field not in reasons and reason.field not in given:
                reasons[reason.field] = reason
    problems = [*_contradictions(given, words, guesses), *_gpu_sense(reasons, given)]
    _start_in_time(reasons, given, words)
    options = {**{name: reason.value for name, reason in reasons.items()}, **given}
    envelope, options, left_out = settle(options, given, now, lambda: pool.gpu_models)
    kept = tuple(reason for name, reason in reasons.items() if name in options)
    unknown = [*words.notes, *_unknown(guesses, kept, given)]
    if facts.unreadable:
        unknown.append(f"The code could not be read: {facts.unreadable}.")
    if re.search(r"^#SBATCH", request.code, re.MULTILINE):
        unknown.append("Lines of #SBATCH were not read: %diamond import turns them into options.")
    if not request.code.strip():
        unknown.append("There is no code, so the draft knows what the words say, and nothing else.")
    problems += left_out
    return Draft(
        envelope=envelope, options=options, source=_source(kept), rationale=_rationale(envelope, kept),
        confidence=_confidence(kept, past, unreadable=bool(facts.unreadable), trouble=bool(problems)),
        reasons=kept, unknown=tuple(dict.fromkeys(unknown)), problems=tuple(problems),
    )  # fmt: skip


def _span(text: str | None) -> Span | None:
    """How many, where that can be read; what cannot is told when the options are settled."""
    try:
        return None if text is None else parse_span(text, "count", what="--gpus")
    except InvalidRequest:
        return None


def _contradictions(given: Mapping[str, str], words: Words, guesses: Guesses) -> list[str]:
    """Where what the user gave, the words and the code do not agree: said, and the user's own kept."""
    found = [
        f"{reason.evidence} asks for --{name} {reason.value}, and --{name} {given[name]} was given, which was kept."
        for name, reason in words.reasons.items()
        if name in given and given[name] != reason.value
    ]
    said = given.get("gpus", words.reasons["gpus"].value if "gpus" in words.reasons else None)
    if said == "0" and guesses.hard_gpu and "gpus" in guesses.reasons:
        line = guesses.reasons["gpus"].evidence
        found.append(
            f"No GPU is asked for, but the code works on one: {line}. It will fail there, unless that is changed."
        )
    return found


def _gpu_sense(reasons: dict[str, Reason], given: Mapping[str, str]) -> list[str]:
    """Memory and kind of a GPU need one; without GPUs they mean nothing."""
    gpus = given.get("gpus") or (reasons["gpus"].value if "gpus" in reasons else None)
    wanted = [name for name in _ON_GPU if name in reasons or name in given]
    if gpus in (None, "0") and wanted and "gpus" not in given:
        first = reasons.get(wanted[0])
        if gpus is None or first is None or first.evidence.startswith("“"):
            evidence = first.evidence if first is not None else f"--{wanted[0]} {given[wanted[0]]}"
            sentence = f"--{wanted[0]} needs a GPU."
            reasons["gpus"] = Reason(field="gpus", value="1", sentence=sentence, evidence=evidence)
            return []
    if gpus == "0":
        return [
            f"--{name} {reasons.pop(name).value} was left out: no GPU is asked for."
            for name in _ON_GPU
            if name in reasons
        ]
    return []


def _start_in_time(reasons: dict[str, Reason], given: Mapping[str, str], words: Words) -> None:
    """*Starts today* as a deadline: what starts before midnight has ended its time limit later."""
    if words.starts_by is None or "deadline" in given or "deadline" in reasons:
        return
    moment, evidence = words.starts_by
    limit = given.get("time") or (reasons["time"].value if "time" in reasons else "30m")
    longest = parse_span(limit, "duration", what="--time").max
    until = (moment + timedelta(seconds=longest)).astimezone(timezone.utc)
    sentence = f"It is to start today: with a time limit of {to_friendly(longest)} it has then ended by this."
    reasons["deadline"] = Reason(
        field="deadline", value=f"{until:%Y-%m-%dT%H:%MZ}", sentence=sentence, evidence=evidence
    )


def _unknown(guesses: Guesses, kept: Iterable[Reason], given: Mapping[str, str]) -> list[str]:
    """What the code does not tell, unless something else told it."""
    told = {reason.field for reason in kept if reason.source == "history" or reason.evidence.startswith("“")} | set(
        given
    )
    about = {"How long it runs": "time", "How much memory it takes": "memory", "How much main memory": "memory",
             "How many GPUs": "gpus", "It would run without a GPU": "gpus", "How many CPUs": "cpus",
             "How much memory of a GPU": "gpu-memory", "Activations": "gpu-memory"}  # fmt: skip
    return [
        sentence
        for sentence in guesses.unknown
        if not any(sentence.startswith(begin) and field in told for begin, field in about.items())
    ]


def _source(kept: tuple[Reason, ...]) -> DraftSource:
    return "history" if any(reason.source == "history" for reason in kept) else "rules"


def needs_text(envelope: Envelope) -> str:
    """What is asked for, in a few words."""

    def between(least: int, most: int, unit: str) -> str:
        return f"{least if least == most else f'{least} to {most}'} {unit}{'' if most == 1 else 's'}"

    parts = [between(envelope.nodes.min, envelope.nodes.max, "node")] if envelope.nodes.max > 1 else []
    if envelope.gpus.max:
        kind = f" ({envelope.gpu_model})" if envelope.gpu_model else ""
        parts.append(f"{between(envelope.gpus.min, envelope.gpus.max, 'GPU')}{kind}")
    parts.append(between(envelope.cpus.min, envelope.cpus.max, "CPU"))
    parts.append(f"at most {to_friendly(envelope.walltime_s.max)}")
    return ", ".join(parts)


def _rationale(envelope: Envelope, kept: tuple[Reason, ...]) -> str:
    first = [reason for name in (*_SIZE, "gpu-memory", "memory", "time") for reason in kept if reason.field == name][:2]
    why = " ".join(reason.sentence for reason in first)
    return (
        f"{needs_text(envelope)}. {why}".strip() if why else f"{needs_text(envelope)}: nothing says that it needs more."
    )


def _confidence(kept: tuple[Reason, ...], past: tuple[PastRun, ...], *, unreadable: bool, trouble: bool) -> float:
    words = {reason.field for reason in kept if reason.evidence.startswith("“")}
    before = {reason.field for reason in kept if reason.source == "history"}
    shown = {reason.field for reason in kept if reason.evidence} - words - before
    score = 0.4
    if before:
        score += 0.3 if past[0].same == "digest" else 0.2
    if words & set(_SIZE):
        score += 0.15
    elif shown & set(_SIZE):
        score += 0.1
    score += 0.1 * bool({"time"} & (words | before)) + 0.1 * bool({"memory"} & (words | before | shown))
    score -= 0.2 * unreadable + 0.15 * trouble
    return round(min(0.95, max(0.1, score)), 2)
