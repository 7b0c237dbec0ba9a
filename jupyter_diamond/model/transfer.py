"""A durable movement of data between two locations."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jupyter_diamond.errors import DataFault

from .base import UtcTime, Value
from .data import Location

MoverKind = Literal["globus", "rsync", "stream", "chunks", "copy"]
"""How data moves: Globus Transfer; rsync over ssh; a tar or sftp stream over the ssh transport; small pieces through
Globus Compute; a plain copy where both ends see the same files."""

TransferState = Literal[
    "waiting", "submitting", "active", "stalled", "paused", "needs_you", "placing", "succeeded", "failed", "cancelled",
]  # fmt: skip
"""``stalled``: active, and nothing has moved, or only faults came, for minutes. ``needs_you``: a login, a consent or a
session that only the user can give. ``placing``: everything is there under its temporary name, and is renamed."""

NeedKind = Literal["login", "missing", "permission", "no_way", "offline", "session"]
ENDED: frozenset[TransferState] = frozenset({"succeeded", "failed", "cancelled"})
SyncLevel = Literal["exists", "size", "mtime", "checksum"]
Purpose = Literal["stage_in", "stage_out", "user", "agent"]


class Filter(Value):
    """Which names a recursive transfer takes or leaves, first match first, as Globus Transfer has them."""

    method: Literal["include", "exclude"]
    name: str = Field(min_length=1, max_length=255)
    type: Literal["file", "dir"] | None = None


class TransferRequest(Value):
    """What is asked for. ``client_token`` makes it idempotent: the same token always gives the same transfer.

    ``source`` is a file or a folder, told apart by looking; with ``files`` only these paths below it. ``sync`` None:
    everything is sent; else only what differs by that measure. ``deadline_s`` from now on.
    """

    client_token: str = Field(pattern=r"^[0-9a-z-]{16,80}$")
    source: Location
    destination: Location
    files: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    sync: SyncLevel | None = "checksum"
    verify: bool = True
    deadline_s: float = Field(default=86_400.0, gt=0, le=30 * 86_400)
    purpose: Purpose = "user"
    dataset: str | None = None
    task: str | None = None
    attempt: int | None = None
    by: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,63}$")
    """The agent that asks; None: the user, or his task."""


class Progress(Value):
    """How far it is. None: not known (yet). ``bytes_sent`` counts what was sent again, too."""

    bytes_total: int | None = None
    bytes_done: int = 0
    files_total: int | None = None
    files_done: int = 0
    files_skipped: int = 0
    bytes_sent: int | None = None
    faults: int = 0
    rate: float | None = None
    """Bytes a second, lately."""
    eta_s: float | None = None


class Transfer(Value):
    """A movement, as it is known. ``cause`` and ``next`` as an attempt has them; ``trouble`` while it goes on."""

    id: str
    request: TransferRequest
    mover: MoverKind
    why: str = ""
    """Why that mover, in one sentence."""
    state: TransferState = "waiting"
    progress: Progress = Progress()
    submission_id: str | None = None
    """Globus: fetched and stored before anything is submitted, so that a second submission is the same one."""
    native_id: str | None = None
    trouble: str = ""
    link: str = ""
    """Where the user gives what is needed; empty where nothing is."""
    cause: str = ""
    next: str = ""
    fault: DataFault | None = None
    """What kind of failure ended it; None where none did."""
    evidence: tuple[str, ...] = ()
    digest: str | None = None
    """``sha256:…`` over what arrived, where it was made."""
    compared: tuple[str, str] | None = None
    """What tells cheaply whether anything has changed at source and destination (names, sizes, times) since the last
    time that all of it was found the same by checksum: then nothing is read again."""
    log: tuple[str, ...] = ()
    """What was done, one line a step, the newest last; at most 200."""
    cancel_requested_by: str | None = None
    created_at: UtcTime
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    deadline: UtcTime
    state_since: UtcTime
    version: int = 0
    """The number of the newest event about it."""

    @property
    def ended(self) -> bool:
        """Nothing will follow."""
        return self.state in ENDED


class TransferNeed(Value):
    """What must be given, or known, before something moves. ``blocks`` False: it goes now, and may not go later.

    ``login``: a login or a consent, which ``link`` begins. ``session``: a login is good for that collection for a while
    only, so what runs unattended will stop and ask.
    """

    kind: NeedKind
    sentence: str
    link: str = ""
    blocks: bool = True


class TransferPlan(Value):
    """How something would move between two places. ``rate`` is bytes a second, as observed; None: nothing was yet."""

    mover: MoverKind
    why: str
    rate: float | None = None
    needs: tuple[TransferNeed, ...] = ()
