"""What every rule is given, and how a verdict is made."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.model.decision import Answer, Heading, Verdict
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


NOW = "capacity now"
"""The rule that never refuses, and is no wish either: waiting is what the forecast counts."""


class Change(NamedTuple):
    """The smallest change that would pass, as options, and what to do, which is said behind the fact."""

    option: str = ""
    advice: str = ""


NO_CHANGE = Change()


def ask_for(option: str, *, most: bool = False) -> Change:
    """``ask for at most --time 2h``; no change where there is no such option."""
    return Change(option, f"ask for {'at most ' if most else ''}{option}") if option else NO_CHANGE


Judge = Callable[[Envelope, Place, Clock], Verdict]

HEADINGS: dict[str, Heading] = {
    "pin": "partition", "sites": "partition", "reality": "health", "health": "health", "partition": "partition",
    "access": "authorization", "admission": "authorization", "account": "authorization", "options": "partition",
    "preemptible": "partition", "whole node": "partition", "architecture": "architecture", "fabric": "architecture",
    "accelerator": "accelerator", "GPU memory": "accelerator", "GPU count": "accelerator", "capacity": "capacity",
    NOW: "capacity", "walltime": "walltime", "deadline": "walltime", "container": "container",
    "environment": "container",
    "allowance": "user limits", "credit": "credit", "max charge": "credit",
    "budget": "credit", "reported": "partition", "data": "partition",
}  # fmt: skip
"""Every rule with the heading under which it is shown."""


def verdict(
    rule: str,
    answer: Answer,
    observed: object,
    required: object,
    sentence: str,
    *,
    change: Change = NO_CHANGE,
    soft: bool = False,
) -> Verdict:
    """One rule's answer. ``sentence`` is the fact; what to do about it follows, where there is something."""
    option, advice = change if answer == "fail" else NO_CHANGE
    said = f"{sentence.removesuffix('.')}: {advice}." if advice else sentence
    return Verdict(
        rule=rule, heading=HEADINGS[rule], answer=answer, observed=str(observed), required=str(required),
        sentence=said, change=option, advice=advice, soft=soft,
    )  # fmt: skip
