"""A proposed envelope: what was read in words and code, what it came to, and what it does not know."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from pydantic import Field

from .base import UtcTime, Value
from .envelope import Envelope, Size
from .states import State

Bytes = Annotated[int, Field(ge=0, le=1 << 60)]
DraftSource = Literal["rules", "model", "history"]
"""Our own reading of the code; a language model's; what the same code took before."""


class DraftRequest(Value):
    """What to draft for. ``code`` is the cell, or a notebook's code cells joined; ``words`` the user's description."""

    words: str = Field(default="", max_length=20_000)
    code: str = Field(default="", max_length=2_000_000)
    cell: str = Field(default="", max_length=2_000_000)
    """The cell alone, as it was written, where ``code`` holds more: what it took before is looked up by it."""
    language: Literal["python", "bash"] = "python"
    given: dict[str, str] = Field(default_factory=dict)
    """Options that the user has set, as on the cell's line (``gpus``: ``1-4``): they are kept as they are."""
    sizes: dict[str, Bytes] = Field(default_factory=dict, max_length=10_000)
    """Bytes of the files that the code names, as seen by whoever asks: the kernel, the command line."""
    values: dict[str, Bytes] = Field(default_factory=dict, max_length=10_000)
    """Bytes of the variables that would travel."""
    digest: str | None = None
    """Of the capture, where there is one: what the same code took before is looked up by it."""
    model: bool = True
    """Ask the language model, where one is set up."""


class PastRun(Value):
    """The newest attempt of an earlier task that ran the same code."""

    task: str
    name: str
    site: str
    same: Literal["digest", "source"]
    """The very same code and values; or the same cell, with other values."""
    state: State
    ended_at: UtcTime | None = None
    envelope: Envelope
    size: Size
    run_s: float | None = None
    max_rss_bytes: int | None = None


class Reason(Value):
    """Why one field is as it is. ``evidence`` is the line of code, the word, or the earlier task."""

    field: str
    value: str
    sentence: str
    evidence: str = ""
    source: DraftSource = "rules"


class Draft(Value):
    """A proposal, never an order: schema and rules always run on it, and the user sees it before it is used."""

    envelope: Envelope
    """Normalised: what would be placed."""
    options: dict[str, str]
    """The same as options of a cell's line, to be read and changed."""
    source: DraftSource
    rationale: str
    confidence: float = Field(ge=0, le=1)
    reasons: tuple[Reason, ...] = ()
    unknown: tuple[str, ...] = ()
    """What it does not know, one sentence each."""
    raw: dict[str, Any] | None = None
    """A model's own answer before it was normalised; None where no model was asked or none answered."""
    problems: tuple[str, ...] = ()
    """What was wrong with a model's answer, and what was used instead."""
    model: str | None = None
    seconds: float = 0.0
    feasible: bool | None = None
    """Whether the pool has a place for it now; None: it was not planned."""
    where: str = ""
    """The plan's own sentence: where it would go, or why nowhere."""
    refusals: tuple[str, ...] = ()
    """Why not, for each site that refuses it; only where all do."""

    @property
    def line(self) -> str:
        """The options as they stand on a cell's line, quoted where a shell would want it."""
        said = ((f"--{name}", value) for name, value in self.options.items())
        return " ".join(shlex.quote(word) for pair in said for word in pair if word)
