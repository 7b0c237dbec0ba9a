"""What an agent wants to do, what an approval of it is bound to, and what a user allows beforehand."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import UtcTime, Value
from .charge import Charge
from .envelope import Size

Act = Literal[
    "submit",
    "submit_group",
    "replan",
    "cancel",
    "hold",
    "release",
    "smoke",
    "put_file",
    "execute",
    "mismatch",
    "transfer",
    "cancel_transfer",
    "register_data",
]
"""What a proposal can be about. All of them change something somewhere, or run something."""
SPENDS: frozenset[Act] = frozenset({"submit", "submit_group", "replan", "release", "smoke", "mismatch"})
"""Acts that can cost something."""
ToolKind = Literal["read", "act", "spends"]
Standing = Literal["waiting", "approved", "denied", "done", "void", "expired"]
"""Of a proposal: waits for a word; may be done; may not; was done; is no longer what was approved; was too late."""

LASTS_S = 24 * 3600.0
"""How long a proposal waits for a word, and how long an approval holds."""
LONGEST_S = 7 * 86_400.0

OFF = (
    "Agents are switched off: they may look, and nothing is proposed, approved or done for them. Jobs that run go on. "
    "Switch them on in the sidebar, or with jupyter diamond agents on."
)
"""What is said to whoever asks for an act meanwhile."""

ProposalId = Annotated[str, Field(pattern=r"^p[0-9a-f]{10}$")]
BudgetId = Annotated[str, Field(pattern=r"^b[0-9a-f]{10}$")]
AgentName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,63}$")]
Channel = Annotated[str, Field(pattern=r"^(chat:|mcp:)[A-Za-z0-9_.:@-]{1,100}$|^(rest|cli|kernel|lab)$")]
"""Through what somebody speaks: one chat, one MCP client's session, or a face of ours."""


class Speaker(Value):
    """Who asks. ``user`` is whom the Jupyter server authenticated; ``agent`` None: that person, with their own hands.

    ``guest``: somebody in a shared chat who does not own this server: they may look, nothing else.
    """

    user: str
    agent: AgentName | None = None
    channel: Channel = "rest"
    guest: bool = False


class Terms(Value):
    """What an approval is bound to. Everything that decides what happens and what it costs is in here."""

    act: Act
    subject: str = ""
    """The task, group or site that it is about; empty for a new task."""
    site: str | None = None
    partition: str | None = None
    account: str | None = None
    size: Size | None = None
    request_sha256: str = ""
    """Of the request as it will be sent, without its client token: source, envelope, outputs, healing."""
    bundle_sha256: str = ""
    script_sha256: str = ""
    """Of the batch script, its token left out."""
    charge: Charge | None = None
    members: int | None = None
    """Of a group."""
    data: tuple[str, ...] = ()
    """What is moved, one sentence each."""
    arguments: dict[str, str] = Field(default_factory=dict)
    """Of other acts: a command's text, a file's name and digest."""

    @property
    def hash(self) -> str:
        """sha256 of the terms in one form only: sorted keys, no spaces. One changed byte gives another one."""
        plain = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(plain.encode("ascii")).hexdigest()


class Proposal(Value):
    """One act that an agent wants to do, as it is shown to the user before anything happens."""

    id: ProposalId
    hash: str
    terms: Terms
    title: str
    """One line: what would be done."""
    why: str = ""
    """Why there: the decision's sentence."""
    intent: str = ""
    """The larger goal, in the agent's words. Foreign text."""
    asked: str = ""
    """sha256 of what was asked for, before it was planned: the same question again finds this proposal."""
    source: str = ""
    """What would run, as written."""
    script: str = ""
    """The batch script as it would be sent."""
    starts_in_s: float | None = None
    runs_s: float | None = None
    predicted: float | None = None
    """What it is expected to cost, in the unit of its charge: it may be less than the most that was approved."""
    tries: int = 1
    """How many attempts may be made of it in all; each is charged."""
    notes: tuple[str, ...] = ()
    """What the user should know before saying yes: what is assumed, what is not known."""
    by: Speaker
    created_at: UtcTime
    expires_at: UtcTime
    standing: Standing = "waiting"
    reason: str = ""
    """Why it was denied, or is void."""
    decided_by: str | None = None
    decided_at: UtcTime | None = None
    budget: BudgetId | None = None
    """The standing budget that allowed it; None where a person did."""
    began_at: UtcTime | None = None
    """When it was begun to be done."""
    task: str | None = None
    """The task or group that came of it."""
    result: str = ""
    """What came of any other act. Foreign text."""
    told: bool = False
    """The agent has seen that it was done."""
    changed: tuple[str, ...] = ()
    """What is different now from what was proposed, one sentence each; only where it was looked for."""

    @property
    def at_most(self) -> float | None:
        """What it may cost with all its attempts and members, in the unit of its charge; None: not known."""
        charge = self.terms.charge
        return (
            None
            if charge is None or charge.at_most is None
            else charge.at_most * self.tries * (self.terms.members or 1)
        )


class Allowance(Value):
    """How much a standing budget lets pass. None: not limited by it; no amounts: nothing that costs."""

    amounts: tuple[str, ...] = ()
    """In units that sites charge in, ``2 GPU-hours``; an act in another unit, or of unknown charge, is not covered."""
    jobs: int | None = Field(default=None, ge=1, le=100_000)
    transferred_bytes: int | None = Field(default=None, ge=1)
    model_tokens: int | None = Field(default=None, ge=1)


class BudgetScope(Value):
    """Where a standing budget holds: everything that is given must agree."""

    channel: Channel | None = None
    agent: AgentName | None = None
    site: str | None = None
    per: Literal["day", "all"] = "all"
    """``day``: in any 24 hours; ``all``: in sum until it ends."""


class StandingBudget(Value):
    """What the user lets agents do without being asked each time."""

    id: BudgetId
    scope: BudgetScope
    allowance: Allowance
    set_by: str
    created_at: UtcTime
    expires_at: UtcTime
    revoked_at: UtcTime | None = None
    used: dict[str, float] = Field(default_factory=dict)
    """By unit, and ``jobs``, ``bytes``, ``tokens``."""

    @model_validator(mode="after")
    def _bounded(self) -> StandingBudget:
        if self.expires_at <= self.created_at:
            raise ValueError("a standing budget ends after it began")
        return self


class Need(Value):
    """What an act takes of a standing budget. ``unknown``: what it may cost is not known."""

    amounts: dict[str, float] = Field(default_factory=dict)
    unknown: bool = False
    jobs: int = 0
    transferred_bytes: int = 0


class Audited(Value):
    """One line of the audit: who did what, chained to the line before."""

    seq: int
    at: UtcTime
    what: str
    """``proposal.made``, ``proposal.approved``, ``act.done``, ``act.refused``, ``switch.off`` …"""
    by: Speaker
    subject: str = ""
    hash: str = ""
    """Of the terms, where there are any."""
    detail: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    before: str
    """The digest of the line before; 64 zeros for the first."""
    digest: str
    """sha256 over this line without ``digest``."""


class AgentSwitch(Value):
    """Whether agents may act at all. Off: they may look, nothing else."""

    on: bool = True
    by: str | None = None
    at: UtcTime | None = None


class AuditCheck(Value):
    """Whether the audit is as it was written. ``newest`` can be kept elsewhere, to prove later that nothing is gone."""

    lines: int
    newest: str
    problems: tuple[str, ...] = ()
    """What was changed, removed or put in, one sentence each; empty: nothing."""
