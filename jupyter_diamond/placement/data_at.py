"""How the data that a task needs stands at one site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jupyter_diamond.model.transfer import MoverKind

CAUTIOUS: Mapping[MoverKind, float] = {
    "globus": 50e6, "rsync": 20e6, "stream": 15e6, "copy": 100e6, "chunks": 0.2e6,
}  # fmt: skip
"""Bytes a second that are assumed of a way that was never taken: less than most ways do, so nothing is promised."""


@dataclass(frozen=True, slots=True)
class DataAt:
    """How one name stands at one site. ``there``: it lies there. ``comes``: it is brought from ``source``."""

    name: str
    there: Literal["there", "comes", "no_way", "unknown"]
    bytes: int | None = None
    source: str = ""
    mover: MoverKind | None = None
    rate: float | None = None
    """Bytes a second that were seen on that way; None: none were."""
    said: str = ""
    """Why it cannot get there, or why that is not known."""

    @property
    def seconds(self) -> float | None:
        """How long it takes to get there; None where nobody can say."""
        if self.there == "there":
            return 0.0
        if self.there != "comes" or self.bytes is None or self.mover is None:
            return None
        return self.bytes / (self.rate or CAUTIOUS[self.mover])
