"""The receipt of an attempt: where it ran, how it ended, what it took, and what it left. Large things by reference."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Param, UtcTime, Value
from .charge import Charge
from .data import Location
from .envelope import Envelope, Size
from .healing import FailureClass, Step
from .manifest import CellError, KeptFile
from .states import Outcome, State
from .task import Membership, NotebookCell
from .transfer import MoverKind, Purpose, TransferState

FileKind = Literal["kept", "value", "outputs", "log"]
"""A file that a ``--stage-out`` names; a variable that came back; what the cell showed; what the job printed."""


class Where(Value):
    """Where it ran. ``folder`` is the attempt's own at the site, ``run_folder`` what its cell ran in."""

    site: str
    partition: str | None = None
    account: str | None = None
    job: str = ""
    """The scheduler's own id."""
    nodes: str = ""
    host: str = ""
    size: Size
    folder: str = ""
    run_folder: str = ""


class Ended(Value):
    """How it ended, or what it is now. ``job`` is how its job ended while files are still brought away."""

    state: State
    job: State | None = None
    raw: str = ""
    exit_code: int | None = None
    signal: int | None = None
    failure: FailureClass | None = None
    cause: str = ""
    next: str = ""
    evidence: tuple[str, ...] = ()
    error: CellError | None = None
    """What the cell raised."""


class Took(Value):
    """Times and amounts, by accounting and by the runner. None is not known."""

    created_at: UtcTime
    submitted_at: UtcTime | None = None
    started_at: UtcTime | None = None
    cell_started_at: UtcTime | None = None
    cell_ended_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    waited_s: float | None = None
    ran_s: float | None = None
    max_rss_bytes: int | None = None
    core_hours: float | None = None
    """Cores that it had, by the time it ran."""
    gpu_hours: float | None = None
    charge: Charge | None = None


class RanIn(Value):
    """Software: what was asked for, and what was there. ``digest`` is of a built environment's requirements."""

    env: str = ""
    digest: str = ""
    container: str = ""
    python: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
    """Installed packages that the cell had imported, as far as they say their version."""
    modules: tuple[str, ...] = ()


class Code(Value):
    """What ran. ``digest`` is over cell, definitions, modules and values."""

    language: str
    source: str
    digest: str
    kernel_python: str = ""
    notebook: NotebookCell = NotebookCell()


class Decided(Value):
    """Why there. The whole decision is at ``tasks/ID/decision``; ``id`` names it: the task's, the attempt's number."""

    id: str
    made_at: UtcTime
    sentence: str
    mode: str
    objective: str
    candidates: int
    feasible: int
    snapshot_id: int


class Input(Value):
    """Data that was at the site before the job. ``digest`` is ``sha256:…`` where one was made."""

    name: str
    path: str
    source: Location | None = None
    digest: str = ""
    bytes: int | None = None
    transfer: str | None = None
    why: str = ""


class Moved(Value):
    """A transfer of this attempt."""

    id: str
    purpose: Purpose
    source: Location
    destination: Location
    mover: MoverKind
    state: TransferState
    bytes_done: int = 0
    files_done: int = 0
    cause: str = ""
    digest: str = ""


class TaskFile(Value):
    """One file that can be fetched. ``ask`` names it to whoever fetches it; ``path`` is its name for people."""

    kind: FileKind
    path: str
    ask: str
    bytes: int | None = None
    sha256: str = ""
    media_type: str = ""
    mtime: UtcTime | None = None
    about: str = ""
    """Of a value: its type and how it looks."""


class FileList(Value):
    """The files of an attempt. ``note`` says what is not among them, and why."""

    task: str
    name: str
    index: int | None = None
    """Which member of a group it is; None for a task of its own."""
    attempt: int
    site: str
    folder: str = ""
    files: tuple[TaskFile, ...] = ()
    note: str = ""


class GroupFiles(Value):
    """What a group's members left that have ended. ``next``: ask again with ``after`` this index; None: that is all."""

    group: str
    name: str
    members: tuple[FileList, ...] = ()
    next: int | None = None


class LogTail(Value):
    """The end of what the job printed; all of it is the file ``job.out``."""

    text: str = ""
    bytes: int | None = None
    cut: bool = False
    """There is more before it."""


class Earlier(Value):
    """An attempt before this one, and why it was followed."""

    n: int
    site: str
    partition: str | None = None
    job: str = ""
    step: Step = "first"
    why: str = ""
    state: State
    failure: FailureClass | None = None
    cause: str = ""
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    charge: Charge | None = None


class Receipt(Value):
    """All that is known of one attempt, compact facts first. It is there for what still runs, and for what failed, too.

    ``unknown`` says what could not be read now, one sentence each; nothing is left out in silence.
    """

    task: str
    name: str
    attempt: int
    attempts: int
    outcome: Outcome | None = None
    member: Membership | None = None
    params: dict[str, Param] = Field(default_factory=dict)
    by: str | None = None
    where: Where
    ended: Ended
    took: Took
    ran_in: RanIn
    code: Code
    decided: Decided | None = None
    asked: Envelope
    """The envelope as it was asked for."""
    inputs: tuple[Input, ...] = ()
    transfers: tuple[Moved, ...] = ()
    values: tuple[TaskFile, ...] = ()
    missing: tuple[str, ...] = ()
    """Variables that were asked for and did not come back, and why."""
    files: tuple[KeptFile, ...] = ()
    """The first of them; ``tasks/ID/files`` lists all."""
    files_count: int = 0
    files_bytes: int = 0
    files_note: str = ""
    """What was left out and why, and which patterns name nothing."""
    log: LogTail = LogTail()
    before: tuple[Earlier, ...] = ()
    actions: tuple[str, ...] = Field(default=(), max_length=8)
    """What can be done next, as lines of a notebook."""
    unknown: tuple[str, ...] = ()
    made_at: UtcTime


class CrateForm(Value):
    """Where an export goes on the machine of the Jupyter server, absolute or with ``~``; files up to ``copy_bytes``
    each are copied into it, larger ones are named with their digests.
    """

    folder: str = Field(min_length=1, max_length=4096)
    copy_bytes: int = Field(default=10 << 20, ge=0, le=2 << 30)


class Crate(Value):
    """An RO-Crate that was written. ``referenced`` files are named in it, and not copied."""

    folder: str
    tasks: int
    copied: int
    copied_bytes: int
    referenced: int
    notes: tuple[str, ...] = ()
