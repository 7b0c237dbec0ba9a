"""Two things that were asked and cannot both hold: which two, and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from jupyter_diamond.model.envelope import Envelope, Runtime

from .durations import to_friendly

_ABSENT = {
    "arch": "arch", "gpu_model": "gpu_model", "gpu_memory": "gpu_memory_bytes", "fabric": "fabric",
    "container": "container", "sites": "sites", "deadline": "deadline", "max_charge": "max_charge",
}  # fmt: skip
"""A wish, and the field without which there is nothing to wish."""


def contradiction(envelope: Envelope, said: Mapping[str, Any], now: datetime) -> str | None:
    """One sentence about the first two options that contradict each other; None where none do."""
    return _wishes(envelope) or _seed(envelope) or _limit(envelope, said) or _deadline(envelope, said, now)


def _wishes(envelope: Envelope) -> str | None:
    for wish in envelope.soft:
        option = wish.replace("_", "-")
        field = _ABSENT.get(wish)
        if field is not None and not getattr(envelope, field):
            return f"--soft {option} makes a wish of --{option}, which is not there: add --{option}, or leave it away."
    if envelope.preemptible and "preemptible" in envelope.soft:
        return (
            "--preemptible and --soft preemptible contradict each other: the one lets a job be cut short anywhere, the "
            "other only where nothing else will do. Keep one of them."
        )
    return None


def _seed(envelope: Envelope) -> str | None:
    if envelope.seed is not None and envelope.objective != "random":
        return (
            f"--seed {envelope.seed} and --objective {envelope.objective} contradict each other: only "
            "--objective random draws lots."
        )
    return None


def fastest(envelope: Envelope, runtime: Runtime) -> float:
    """The shortest time that the estimate gives within the sizes that are asked."""
    each = envelope.gpus if envelope.gpus.max else envelope.cpus
    least, most = max(1, envelope.nodes.min * each.min), max(1, envelope.nodes.max * each.max)
    within = (units for units, _ in runtime.curve if least < units < most)
    return min(runtime.at(units) for units in (least, most, *within))


def _limit(envelope: Envelope, said: Mapping[str, Any]) -> str | None:
    if envelope.runtime is None:
        return None
    shortest = round(fastest(envelope, envelope.runtime))
    if shortest <= envelope.walltime_s.max:
        return None
    limit = to_friendly(envelope.walltime_s.max)
    asked = f"--time {said['time']}" if said.get("time") else f"the time limit of {limit} (without --time)"
    return (
        f"--runtime {said.get('runtime')} and {asked} contradict each other: it would run for "
        f"{to_friendly(shortest)} at least and be ended after {limit}. Write --time {to_friendly(_roomy(shortest))}."
    )


def _roomy(seconds: int) -> int:
    """A quarter more, in whole steps of ten minutes: an estimate is no limit."""
    return -(-seconds * 5 // 4 // 600) * 600 if seconds > 600 else 600


def _deadline(envelope: Envelope, said: Mapping[str, Any], now: datetime) -> str | None:
    if envelope.deadline is None or envelope.runtime is None or "deadline" in envelope.soft:
        return None
    shortest = fastest(envelope, envelope.runtime)
    if now + timedelta(seconds=shortest) <= envelope.deadline:
        return None
    left = to_friendly(max(int((envelope.deadline - now).total_seconds()), 0))
    return (
        f"--deadline {said.get('deadline')} and --runtime {said.get('runtime')} contradict each other: {left} are "
        f"left, and it runs for {to_friendly(round(shortest))} at least. Write a later --deadline, or --soft deadline."
    )
