"""All candidates with their verdicts, the chosen one, and why. Written once, at dispatch."""

from __future__ import annotations

from typing import Literal

from .base import UtcTime, Value
from .envelope import Envelope, Size

Answer = Literal["pass", "fail", "unknown"]


class Verdict(Value):
    """One rule's answer for one candidate."""

    rule: str
    answer: Answer
    observed: str
    required: str
    sentence: str


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


class Decision(Value):
    """The stored answer to *why here*."""

    made_at: UtcTime
    snapshot_id: int
    mode: Literal["rules", "pinned"]
    envelope: Envelope
    candidates: tuple[Candidate, ...]
    chosen: int | None
    """Index into ``candidates``; None when nothing is feasible."""
    sentence: str
    """Why here, for a human, in one sentence."""
    ties: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def choice(self) -> Candidate | None:
        """The chosen candidate."""
        return None if self.chosen is None else self.candidates[self.chosen]
