"""From proposed options to an envelope that our own parsers take: what cannot stand goes, and is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.parsing.envelopes import FLAGS, NEEDS, read_envelope
from jupyter_diamond.sites.gpus import check_gpus

_WEAKEST = (
    "serial", "runtime", "soft", "seed", "container", "fabric", "arch", "gpu-memory", "gpu-model", "deadline",
    "objective", "max-charge", "sites", "site", "memory", "cpus", "nodes", "time", "gpus",
)  # fmt: skip
"""What is given up first where two cannot stand together."""


def named(given: Mapping[str, str]) -> dict[str, str]:
    """Options by their names as they are written, without dashes in front. Raises InvalidRequest for an unknown one."""
    found = {name.lstrip("-").replace("_", "-"): value for name, value in given.items()}
    strange = next((name for name in found if name not in NEEDS), None)
    if strange is not None:
        raise InvalidRequest(f"There is no option --{strange[:40]}; the options are: {', '.join(NEEDS)}.")
    return found


def read(options: Mapping[str, str], now: datetime, gpus: Callable[[], Iterable[str]] = tuple) -> Envelope:
    """The envelope. Raises InvalidRequest with one sentence."""
    said: dict[str, Any] = {
        name.replace("-", "_"): value.lower() not in ("no", "false", "0") if name in FLAGS else value
        for name, value in options.items()
    }
    envelope = read_envelope(said, now=now)
    check_gpus(envelope, gpus)
    return envelope


def settle(
    options: Mapping[str, str], given: Mapping[str, str], now: datetime, gpus: Callable[[], Iterable[str]] = tuple
) -> tuple[Envelope, dict[str, str], list[str]]:
    """Envelope, options in their order, and what was given up, a sentence each. Raises InvalidRequest for ``given``."""
    read(given, now, gpus)
    kept, problems = dict(options), []
    for name in [*options]:
        alone = {**given, name: options[name], **_needs(name, kept)}
        if name not in given and (no := _refused(alone, now, gpus)):
            kept.pop(name)
            problems += [f"--{name} {options[name][:40]} was left out: {no}"]
    while (no := _refused(kept, now, gpus)) is not None:
        loser = next((name for name in _WEAKEST if name in kept and name not in given), None)
        if loser is None:
            kept = dict(given)
            break
        problems.append(f"--{loser} {kept.pop(loser)[:40]} was left out: {no}")
    ordered = {name: kept[name] for name in NEEDS if name in kept}
    return read(ordered, now, gpus), ordered, problems


def _needs(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """What an option cannot be read without."""
    needs = {
        "gpu-memory": ("gpus",), "gpu-model": ("gpus",), "serial": ("runtime", "time"), "runtime": ("time",),
        "soft": tuple(options),
    }  # fmt: skip
    return {each: options[each] for each in needs.get(name, ()) if each in options}


def _refused(options: Mapping[str, str], now: datetime, gpus: Callable[[], Iterable[str]]) -> str | None:
    try:
        read(options, now, gpus)
    except InvalidRequest as no:
        return no.message
    return None
