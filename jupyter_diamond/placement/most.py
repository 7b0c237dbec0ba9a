"""Where one thing is asked for that no place has: the most of it that would let the job in, and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jupyter_diamond.model.decision import Candidate
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.parsing.durations import parse_friendly as seconds
from jupyter_diamond.parsing.memory import parse_friendly as size

from . import words
from .comparison import blockers, distinct, name

_Asked = Callable[[Envelope], str]
_AMOUNTS: dict[str, tuple[Callable[[str], float], _Asked]] = {
    "--gpu-memory": (size, lambda envelope: f"{words.memory(envelope.gpu_memory_bytes or 0)} per GPU"),
    "--memory": (size, lambda envelope: f"{_memory(envelope)} of memory per node"),
    "--time": (seconds, lambda envelope: f"a time limit of {words.duration(envelope.walltime_s.min)}"),
    "--gpus": (float, lambda envelope: f"{words.count(envelope.gpus.min, 'GPU')} per node"),
    "--cpus": (float, lambda envelope: f"{words.count(envelope.cpus.min, 'core')} per node"),
    "--nodes": (float, lambda envelope: words.count(envelope.nodes.min, "node")),
}


def _memory(envelope: Envelope) -> str:
    return words.memory(envelope.memory_bytes.min) if envelope.memory_bytes is not None else ""


class Most(NamedTuple):
    """What is said of it, and the sites of which some place would take less."""

    sentence: str
    sites: frozenset[str]


def most_anywhere(envelope: Envelope, candidates: Sequence[Candidate]) -> Most | None:
    """``you asked for 200G per GPU; the most anywhere is 96G (vista:gh): --gpu-memory 96G``.

    None where no one amount alone stands between the job and two places at least.
    """
    found: dict[str, list[tuple[float, Candidate]]] = {}
    for candidate in candidates:
        option, amount = lacking(candidate)
        if option:
            found.setdefault(option, []).append((amount, candidate))
    option, offers = max(found.items(), key=lambda each: len(each[1]), default=("", []))
    if len(offers) < 2:
        return None
    most = max(amount for amount, _ in offers)
    there = [candidate for amount, candidate in offers if amount == most]
    change = distinct(blockers(there[0]))[0].change
    asked = _AMOUNTS[option][1](envelope)
    where = ", ".join(name(each) for each in there)
    sentence = f"You asked for {asked}; the most that you can get is {change.split()[1]} ({where}): {change}"
    return Most(sentence, frozenset(each.site for _, each in offers))


def lacking(candidate: Candidate) -> tuple[str, float]:
    """The option of which less would let the job in, and how much of it; empty where it is not one alone."""
    against = distinct(blockers(candidate))
    if len(against) != 1 or not against[0].advice.startswith("ask for at most"):
        return "", 0.0
    option, _, value = against[0].change.partition(" ")
    if option not in _AMOUNTS or " " in value:
        return "", 0.0
    return option, _AMOUNTS[option][0](value)
