"""How long the work would run on a size, by what the user says of it."""

from __future__ import annotations

from typing import NamedTuple

from jupyter_diamond.model.envelope import Envelope, Runtime, Size

ASSUMED_SERIAL = 0.1
"""Where a range is asked and nothing is said of the run time: more units help, but not without end."""


class Run(NamedTuple):
    """A run time in seconds; None is unknown. ``assumed``: nobody said so, the range that was asked suggests it."""

    seconds: float | None
    assumed: bool = False


def units(size: Size) -> int:
    """What is counted for a run time: GPUs of the whole job where it has any, else cores."""
    return size.nodes * (size.gpus or size.cpus)


def run_of(envelope: Envelope, size: Size, *, speed: float = 1.0) -> Run:
    """The run time of a size at a site of that speed."""
    said = envelope.runtime
    if said is not None:
        return Run(said.at(units(size)) * speed)
    least = _least_units(envelope)
    if units(size) == least and not _ranges(envelope):
        return Run(None)
    assumed = Runtime(seconds=float(envelope.walltime_s.min), units=least, serial=ASSUMED_SERIAL)
    return Run(assumed.at(units(size)) * speed, assumed=True)


def _ranges(envelope: Envelope) -> bool:
    spans = (envelope.nodes, envelope.gpus) if envelope.gpus.max else (envelope.nodes, envelope.cpus)
    return any(span.min != span.max for span in spans)


def _least_units(envelope: Envelope) -> int:
    per_node = envelope.gpus.min if envelope.gpus.max else envelope.cpus.min
    return max(1, envelope.nodes.min * per_node)
