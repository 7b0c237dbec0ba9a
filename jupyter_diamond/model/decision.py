"""All candidates with their verdicts, the chosen one, and why. Written once, at dispatch."""

from __future__ import annotations

from typing import Literal

from .base import UtcTime, Value
from .envelope import Envelope, Objective, Size
from .forecast import Estimate

Answer = Literal["pass", "fail", "unknown"]
Heading = Literal[
    "health", "authorization", "partition", "architecture", "accelerator", "capacity", "walltime", "container",
    "user limits", "credit",
]  # fmt: skip
"""Under which rules are shown, in this order."""


class Verdict(Value):
    """One rule's answer for one candidate."""

    rule: str
    heading: Heading | None = None
    """None in decisions that were stored before rules had headings."""
    answer: Answer
    observed: str
    required: str
    sentence: str
    change: str = ""
    """On fail, the smallest change that would pass, as an option: ``--gpus 4``; empty where there is none, or where it
    would not be enough for the place."""
    advice: str = ""
    """What to do about it, as ``sentence`` says it at its end; empty where it would not let the job in."""
    moot: bool = False
    """Something else refuses the place that nothing can change, so this is not worth a word."""
    soft: bool = False
    """It is about a wish: it ranks, and refuses nothing."""


class Candidate(Value):
    """(site, partition, account, concrete size), judged. ``size`` is None when a rule failed before sizing."""

    site: str
    partition: str
    account: str | None = None
    size: Size | None = None
    verdicts: tuple[Verdict, ...] = ()
    feasible: bool
    """True: every rule passed. A candidate with an unknown is not placed automatically, but may be pinned."""
    starts_now: bool | None = None
    queue_ahead: int | None = None
    record_age_s: float | None = None
    rank: int | None = None
    simulated: bool = False
    qos: str | None = None
    estimate: Estimate | None = None
    sizes: tuple[tuple[Size, Estimate], ...] = ()
    """The other sizes that were weighed here, best first."""
    copy_allowed: bool = False
    """A second copy of the task may wait here beside another one (off unless the site's catalogue entry says so)."""


class Decision(Value):
    """The stored answer to *why here*."""

    made_at: UtcTime
    snapshot_id: int
    mode: Literal["rules", "pinned", "model"]
    """``model``: the user let a model reorder the places that passed every rule, and its order is the one here."""
    envelope: Envelope
    candidates: tuple[Candidate, ...]
    chosen: int | None
    """Index into ``candidates``; None when nothing is feasible."""
    sentence: str
    """Why here, for a human, in one sentence."""
    ties: tuple[int, ...] = ()
    tie_break: str = ""
    """What decided between equals; empty where there were none."""
    seed: int | None = None
    objective: Objective = "earliest_completion"
    alternatives: tuple[int, ...] = ()
    """The next best, for a move or a second copy."""
    warnings: tuple[str, ...] = ()
    ranking: str = ""
    """Where a model was asked for an order: what it put first and why, or why its answer does not count."""

    @property
    def choice(self) -> Candidate | None:
        """The chosen candidate."""
        return None if self.chosen is None else self.candidates[self.chosen]
