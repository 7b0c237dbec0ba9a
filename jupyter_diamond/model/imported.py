"""A batch script that somebody has already, as a cell: what became of each of its options."""

from __future__ import annotations

from typing import Literal

from .base import Value
from .envelope import Envelope
from .task import Language

Fate = Literal["kept", "mapped", "approximated", "dropped", "unsupported"]
"""*kept*: the same thing under the same name. *mapped*: the same thing said otherwise. *approximated*: nearly the same.
*dropped*: means nothing here, or is seen to already. *unsupported*: it did something that a task does not do."""


class ImportedOption(Value):
    """One option of the script. ``written`` is how it stands there, ``sentence`` what became of it and why."""

    line: int
    written: str
    fate: Fate
    sentence: str


class Imported(Value):
    """A script as a task. ``magic`` is the cell's first line, ``command`` all below it."""

    name: str
    envelope: Envelope
    language: Language = "bash"
    magic: str
    idle: str
    """The line for a terminal that says where such a job could start now."""
    command: str
    options: tuple[ImportedOption, ...] = ()
    notes: tuple[str, ...] = ()
    """What no option says: a time limit that was the site's default, a program that would start too few processes."""

    @property
    def cell(self) -> str:
        """The whole cell."""
        return f"{self.magic}\n{self.command}"
