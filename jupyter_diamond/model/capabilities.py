"""What a site's scheduler commands can do, as tried there once (B06)."""

from __future__ import annotations

from pydantic import Field

from .base import UtcTime, Value


class Capabilities(Value):
    """Of one site's commands, of the version that they said. None is *it could not be found out*.

    ``flags`` maps an option, as ``squeue --json``, to whether the command takes it.
    """

    scheduler: str
    version: str | None
    tried_at: UtcTime
    accounting: bool | None = None
    """Whether the site's accounting was on when this was tried."""
    flags: dict[str, bool | None] = Field(default_factory=dict)
    accounting_fields: tuple[str, ...] = ()
    """What ``sacct`` can be asked for; empty when it did not say."""
    relative_times: bool | None = None
    """Whether ``sacct -S now-90minutes`` is understood."""
    clusters: tuple[str, ...] = ()
    """The clusters that share its accounting, its own included."""
    notes: tuple[str, ...] = ()
    """What is asked in an older way here, and why."""
