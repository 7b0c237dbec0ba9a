"""What a site lets one user have: limits of QOS and associations, who may use a partition, and what the user has now.

None is unknown; an empty tuple is *no such rule*.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import UtcTime, Value

CapOn = Literal["gpus", "cpus", "memory_bytes", "nodes", "walltime_s", "running", "queued"]
CapFor = Literal["job", "you", "account", "everybody"]
"""What is counted together: one job, all jobs of the user, of an account, or of everybody under that QOS."""


class Cap(Value):
    """One limit. ``least`` turns it round: a job must ask for so much. ``used`` is what the user has of it now."""

    on: CapOn
    per: CapFor
    amount: int = Field(ge=0)
    gpu_model: str | None = None
    """The kind of GPU that is counted; None where all are."""
    least: bool = False
    source: str
    used: int | None = None
    sentence: str = ""

    @property
    def left(self) -> int | None:
        """What the user could still get under it; None where what is in use is not known."""
        return None if self.used is None else max(self.amount - self.used, 0)


class Qos(Value):
    """One QOS with its limits."""

    name: str
    flags: tuple[str, ...] = ()
    caps: tuple[Cap, ...] = ()


class Association(Value):
    """The user in one account: which QOS they may name there, and limits of the user's and of the account's own."""

    account: str
    partition: str | None = None
    """Set where it counts in one partition only."""
    qos: tuple[str, ...] = ()
    default_qos: str | None = None
    caps: tuple[Cap, ...] = ()


class SiteLimits(Value):
    """What accounting says of this user: asked seldom, as it changes seldom and costs the site's database."""

    read_at: UtcTime
    associations: tuple[Association, ...] = ()
    default_account: str | None = None
    qos: tuple[Qos, ...] = ()


class OwnUse(Value):
    """What the user's own jobs of one account, QOS and partition hold now, and how many wait."""

    account: str
    qos: str
    partition: str
    running: int = 0
    pending: int = 0
    cpus: int = 0
    nodes: int = 0
    gpus: int | None = 0
    memory_bytes: int | None = 0


class Door(Value):
    """Whom the scheduler lets into a partition, beyond what it hides. Empty: nobody is kept out by that rule."""

    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
