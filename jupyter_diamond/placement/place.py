"""What every rule is given, and how a verdict is made."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.policy import PartitionPolicy
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import NodeShape, Record, SiteReading


class Place(NamedTuple):
    """A partition of a site with what is known of it. ``record`` None: the site or the partition was never read."""

    site: Site
    partition: str
    reading: SiteReading | None
    record: Record | None

    @property
    def shapes(self) -> tuple[NodeShape, ...]:
        """Its kinds of node; empty when none is known."""
        return self.record.shapes if self.record is not None else ()

    @property
    def policy(self) -> PartitionPolicy | None:
        """What the machine's profile says of it; None where there is none."""
        return self.record.policy if self.record is not None else None


class Clock(NamedTuple):
    """The time, and up to which age a record counts as fresh and as usable."""

    now: datetime
    fresh_s: float
    stale_s: float


Rule = Callable[[Envelope, Place, Clock], Verdict]


def verdict(rule: str, answer: Answer, observed: object, required: object, sentence: str) -> Verdict:
    """One rule's answer."""
    return Verdict(rule=rule, answer=answer, observed=str(observed), required=str(required), sentence=sentence)
