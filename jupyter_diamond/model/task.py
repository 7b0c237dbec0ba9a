"""The user's durable unit, its attempts, and the request that made it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from .base import UtcTime, Value
from .charge import Charge
from .data import Staged
from .envelope import Envelope, Size
from .healing import Checkpoint, FailureClass, Healing, Mismatch, Step, Withdrawal
from .jobs import NativeJob
from .states import Outcome, Phase, ReasonClass, State

Language = Literal["python", "bash"]
Travel = Literal["value", "source", "import", "module", "refused"]


class Captured(Value):
    """One name of the cell and how it travels. ``bytes`` is None where size has no meaning (an import)."""

    name: str
    type: str
    travels: Travel
    bytes: int | None = None
    detail: str = ""


class KernelPython(Value):
    """The interpreter of the kernel that asks."""

    executable: str
    version: tuple[int, int, int]


class NotebookCell(Value):
    """Where the request came from."""

    path: str | None = None
    cell_id: str | None = None


class TaskRequest(Value):
    """What a kernel asks for. The sealed inputs travel beside it as a bundle (a tar, see ``cell.pack``).

    ``client_token`` makes the request idempotent: the same token always gives the same task.
    """

    client_token: str = Field(pattern=r"^[0-9a-z-]{16,64}$")
    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")
    language: Language = "python"
    envelope: Envelope = Envelope()
    outputs: tuple[str, ...] = ()
    source: str
    """The cell's text, as the user wrote it."""
    digest: str
    """sha256 of what would run: cell, definitions, modules and values."""
    bundle_sha256: str
    python: KernelPython
    captured: tuple[Captured, ...] = ()
    imports: tuple[str, ...] = ()
    """Modules that the cell imports and that do not travel with it: they must be at the site."""
    notebook: NotebookCell = NotebookCell()
    cwd: str | None = None
    """The kernel's folder: the cell runs there when the site sees this machine's files, else in the attempt's own."""
    again: bool = False
    """Submit even though the same cell is still active."""
    healing: Healing = Healing()
    by: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,63}$")
    """The agent that asks; None: the user."""

    @field_validator("outputs")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not name.isidentifier():
                raise ValueError(f"--out {name!r} is not a variable name")
        if len(set(names)) != len(names):
            raise ValueError("--out names a variable twice")
        return names


class ArrayPlace(Value):
    """Where an attempt stands in a job array: the array's token, which names its job and its folder, and its index."""

    token: str
    at: int


class Membership(Value):
    """Which member of which group a task is, and what it is given that the others are not."""

    group: str
    name: str
    index: int
    params: dict[str, bool | int | float | str | None] = Field(default_factory=dict)


class Attempt(Value):
    """One submission of a task to one site."""

    n: int
    token: str
    array: ArrayPlace | None = None
    """Submitted as one of a job array: its folder is below the array's. None: as a job of its own."""
    step: Step = "first"
    why: str = ""
    """Why this attempt follows another one, in one sentence; empty for the first."""
    segment: int = 1
    """Which part of the work this attempt does, where wall times cut it into several."""
    withdrawal: Withdrawal | None = None
    """It is being taken back from its site's queue; None while it is not."""
    mismatch: Mismatch | None = None
    """Why its site is wrong for the task; None while nobody has said so."""
    site: str
    partition: str | None = None
    account: str | None = None
    size: Size
    folder: str | None = None
    submissions: int = 0
    """How often the scheduler has been called for this attempt; all but the last were sure refusals."""
    may_come: bool = False
    """A submission was given up whose job nobody knew: before the attempt ends without a job, its claim is taken."""
    native: NativeJob | None = None
    state: State = State.WAITING
    raw_state: str = ""
    reason: str = ""
    reason_class: ReasonClass | None = None
    created_at: UtcTime
    submitted_at: UtcTime | None = None
    started_at: UtcTime | None = None
    requeued_at: UtcTime | None = None
    """When it was heard that its scheduler had sent the job back to its queue: what began before counts no more."""
    cell_started_at: UtcTime | None = None
    """When the cell itself began, by its receipt: between the two the job got ready."""
    ended_at: UtcTime | None = None
    expected_start_at: UtcTime | None = None
    nodes: str = ""
    exit_code: int | None = None
    signal: int | None = None
    ran_s: float | None = None
    """How long accounting says that it ran; 0 without a start: it proves that it never did. None: nobody has said."""
    max_rss_bytes: int | None = None
    result_ready: bool = False
    staged: tuple[Staged, ...] = ()
    """What is brought to its site before it is submitted, or was there."""
    staged_out: tuple[str, ...] = ()
    """The transfers that bring its files away, by their ids."""
    job_state: State | None = None
    """How its job ended, where files are still being brought away, or could not be; None: as the attempt."""
    charge: Charge | None = None
    """What it is charged; None where nobody pays: on this machine."""
    failure: FailureClass | None = None
    """What went wrong; None while nothing has."""
    checkpoint: Checkpoint | None = None
    """The newest one that its task had at the site when it ended; None also where nobody looked."""
    cause: str = ""
    next: str = ""
    evidence: tuple[str, ...] = ()
    state_since: UtcTime
    last_seen_at: UtcTime | None = None
    trouble: str = ""
    """Why the site cannot be asked at the moment; says nothing about the job (B08)."""


class Task(Value):
    """A task as its owner sees it, with the newest attempt's state as its own."""

    id: str
    name: str
    language: Language
    state: State
    phase: Phase
    outcome: Outcome | None = None
    cause: str = ""
    next: str = ""
    created_at: UtcTime
    ended_at: UtcTime | None = None
    cancel_requested_by: str | None = None
    by: str | None = None
    """The agent that asked for it; None: the user."""
    member: Membership | None = None
    """Of which group it is; None for a task of its own."""
    held_by: str | None = None
    """Who asked that nothing of it is submitted for now."""
    healing: Healing = Healing()
    source: str
    digest: str
    outputs: tuple[str, ...] = ()
    envelope: Envelope
    captured: tuple[Captured, ...] = ()
    notebook: NotebookCell = NotebookCell()
    why_here: str = ""
    attempts: tuple[Attempt, ...] = ()
    version: int = 0
    """The number of the newest event about this task."""

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None


class Submitted(Value):
    """The answer to a submission. ``attached`` is True when the same cell was active already and nothing was sent.

    ``created`` is False when the client token was known, or when it attached.
    """

    task: Task
    attached: bool = False
    created: bool = True


class TaskSummary(Value):
    """One row of a task list."""

    id: str
    name: str
    group: str | None = None
    index: int | None = None
    """Which member of which group it is."""
    state: State
    phase: Phase
    outcome: Outcome | None = None
    site: str | None = None
    partition: str | None = None
    native_id: str | None = None
    created_at: UtcTime
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    walltime_s: int | None = None
    reason_class: ReasonClass | None = None
    cause: str = ""
    trouble: str = ""
    attempts: int = 0
    version: int = 0
    notebook: str | None = None
    """The path of the notebook that it came from."""
