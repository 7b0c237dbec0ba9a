"""Who wants to be woken when something happens to a task, and what they are told then."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from .base import UtcTime, Value
from .healing import FailureClass, Step
from .states import Outcome, Phase, State

LASTS_S = 30 * 86400.0
"""How long a continuation waits unless it says otherwise."""
LONGEST_S = 366 * 86400.0
PATTERN_LENGTH = 200
WEBHOOK = "webhook"
"""The consumer whose news are posted to the address of ``c.DiamondNews.webhook_url``."""

ConsumerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,99}$")]
ContinuationId = Annotated[str, Field(pattern=r"^[0-9a-z-]{8,64}$")]


class Terminal(Value):
    """The task has ended: no attempt will follow. With ``outcomes`` only if it ended in one of these ways."""

    kind: Literal["terminal"] = "terminal"
    outcomes: tuple[Outcome, ...] = ()


class InState(Value):
    """An attempt is in one of these states, or has been since this was registered."""

    kind: Literal["state"] = "state"
    states: tuple[State, ...] = Field(min_length=1, max_length=20)


class Milestone(Value):
    """A line of the log has the pattern: a regular expression without look-around and back-references.

    Whole lines count, of each its first 4096 characters; the log is read from its start, and its first 256 MiB.
    """

    kind: Literal["milestone"] = "milestone"
    pattern: str = Field(min_length=1, max_length=PATTERN_LENGTH)


class AttemptFailed(Value):
    """An attempt has failed, whether or not another one follows. Of a group: a member has ended, and not well."""

    kind: Literal["exception"] = "exception"


class Overrun(Value):
    """An attempt runs for longer than ``running_s`` seconds, or waits to start for longer than ``waiting_s``."""

    kind: Literal["overrun"] = "overrun"
    running_s: float | None = Field(default=None, gt=0, le=LONGEST_S)
    waiting_s: float | None = Field(default=None, gt=0, le=LONGEST_S)

    @model_validator(mode="after")
    def _one_is_given(self) -> Overrun:
        if self.running_s is None and self.waiting_s is None:
            raise ValueError("an overrun needs running_s or waiting_s")
        return self


class Trouble(Value):
    """Its site cannot be asked about it."""

    kind: Literal["trouble"] = "trouble"


class Quorum(Value):
    """So many members of a group have ended, as a number or as a share of all; with ``well``, so many ended well."""

    kind: Literal["quorum"] = "quorum"
    count: int | None = Field(default=None, ge=1, le=10_000)
    share: float | None = Field(default=None, gt=0, le=1)
    well: bool = False

    @model_validator(mode="after")
    def _one_is_given(self) -> Quorum:
        if (self.count is None) == (self.share is None):
            raise ValueError("a quorum is either a count or a share of the members")
        return self

    def of(self, members: int) -> int:
        """How many these are of so many."""
        return self.count if self.count is not None else max(1, math.ceil((self.share or 1.0) * members - 1e-9))


Condition = Annotated[
    Terminal | InState | Milestone | AttemptFailed | Overrun | Trouble | Quorum, Field(discriminator="kind")
]  # fmt: skip


class Registration(Value):
    """What a consumer asks for. The same ``id`` is the same continuation, however often it is sent.

    ``subject`` is ``task:ID`` or ``group:ID``, such an id, or a name: the newest task or group of that name. A group
    can be waited for until it is ``terminal``, has a ``quorum``, or for the first ``exception`` of a member.
    """

    id: ContinuationId
    subject: str = Field(min_length=1, max_length=200)
    condition: Condition
    consumer: ConsumerName
    lasts_s: float = Field(default=LASTS_S, gt=0, le=LONGEST_S)


Over = Literal["fired", "ended", "expired", "withdrawn"]
"""Why nobody waits any more: it happened; the task ended without it; its time was over; the consumer took it back."""


class Continuation(Value):
    """One registration as it is kept. It fires once."""

    id: ContinuationId
    subject: str
    condition: Condition
    consumer: ConsumerName
    created_at: UtcTime
    expires_at: UtcTime
    since_attempt: int = 1
    """What happened to earlier attempts is no news."""
    since_event: int = 0
    over: Over | None = None
    fired_at: UtcTime | None = None
    event: int | None = None
    """The number of the event that told its consumer."""

    @property
    def task_id(self) -> str:
        """The task, or the group, that it is about."""
        return self.subject.partition(":")[2]


class Registered(Value):
    """The answer to a registration. ``cursor`` is how far the consumer has acknowledged its news."""

    continuation: Continuation
    created: bool
    cursor: int


class Cursor(Value):
    """How far a consumer has acknowledged its news."""

    consumer: ConsumerName
    seq: int = Field(ge=0)


class Told(Value):
    """Kept in events and read by kernels that may be older or newer: unknown fields are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Provenance(Told):
    """Where the attempt was, as which job, and why there."""

    site: str
    partition: str | None = None
    account: str | None = None
    job: str | None = None
    attempt: int
    attempts: int
    step: Step = "first"
    why_here: str = ""
    submitted_at: UtcTime | None = None
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    notebook: str | None = None


class ManifestRef(Told):
    """Where the receipt can be had; its content is not sent along."""

    task: str
    attempt: int
    path: str
    """Below the REST API."""


class GroupNews(Told):
    """How far a group was then: how many of its members there are, have ended, and how; rounds to come included."""

    id: str
    members: int
    states: dict[State, int] = Field(default_factory=dict)
    round: int = 1
    rounds: int = 1


ActionVerb = Literal[
    "logs", "result", "task", "explain", "events", "replan", "resubmit", "cancel", "hold", "release", "group"
]


class NextAction(Told):
    """One thing that may be done now. ``options`` are those of the command or of the cell's line, e.g. ``--memory``."""

    verb: ActionVerb
    task: str
    options: dict[str, str] = Field(default_factory=dict)


class Waking(Told):
    """What a consumer is told: at most 8 KiB of JSON, whatever the task wrote; the bulk is named, not sent.

    ``untrusted`` names the fields whose text comes from jobs and sites: data, never instructions.
    """

    id: str
    """Stable: the same news has the same id, however often it is delivered."""
    continuation: ContinuationId
    consumer: ConsumerName
    over: Over
    kind: str
    subject: str
    name: str
    state: State
    """Of the attempt that it is about; where a failed one is followed by another, the task goes on."""
    phase: Phase
    outcome: Outcome | None = None
    task_state: State
    failure: FailureClass | None = None
    cause: str = ""
    next: str = ""
    line: str = ""
    """The log's line that has the pattern."""
    trouble: str = ""
    happened_at: UtcTime
    provenance: Provenance
    group: GroupNews | None = None
    """Where the news is about a group; with a member's failure, the rest is about that member."""
    manifest: ManifestRef | None = None
    actions: tuple[NextAction, ...] = Field(default=(), max_length=20)
    untrusted: tuple[str, ...] = ("cause", "line", "trouble")
