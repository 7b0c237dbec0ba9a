"""What a scheduler is asked, and what it said about jobs."""

from __future__ import annotations

from pydantic import Field

from .base import UtcTime, Value
from .envelope import Size
from .environment import Container, ModuleStart
from .healing import Signal
from .states import ReasonClass, State

YOU = "you"
"""Who cancelled a job, when it was the user who asks. Schedulers name all others by number."""


class NativeJob(Value):
    """A job as its scheduler names it. ``cluster`` is kept for every later command when the id came with one (B02)."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+\[\]-]{0,63}$")
    cluster: str | None = None

    def __str__(self) -> str:
        return f"{self.id};{self.cluster}" if self.cluster else self.id


class Dialect(Value):
    """How a site's rules change a batch script. ``names_gpus`` False: GPUs come with their nodes, unasked (Vista)."""

    forbidden_options: tuple[str, ...] = ()
    names_gpus: bool = True
    constraint: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_&|.:*-]+$")
    options: dict[str, str] = Field(default_factory=dict)
    """Further options that the site wants, by long name."""


class JobArray(Value):
    """The members of a job array, by their places in it; at most ``at_once`` of them run at the same time.

    Each runs in the folder that is named like its place, below the array's. ``own``: options of the command, with the
    value of each, behind which ``-<place>`` is put for a member.
    """

    ats: tuple[int, ...] = Field(min_length=1)
    at_once: int | None = None
    own: tuple[tuple[str, str], ...] = ()


class JobRequest(Value):
    """All that a batch script says. ``folder`` is the attempt's folder at the site, absolute there.

    ``command`` is the argv that runs the cell, started in ``folder``. ``warn_before_end_s``: the scheduler
    shall send ``warn_signal`` to the batch shell so long before it ends the job; 0 for no warning. With ``array`` it
    is many jobs in one, and ``folder`` the one that they share.
    """

    token: str = Field(pattern=r"^dmd-[0-9a-z]{8,32}(-[0-9]{1,7})?$")
    name: str
    folder: str
    size: Size
    command: tuple[str, ...]
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    modules: ModuleStart = ModuleStart()
    warn_before_end_s: int = 0
    warn_signal: Signal = "USR2"
    dialect: Dialect = Dialect()
    container: Container | None = None
    """The command runs inside of it; head and tail of the script do not."""
    seen_inside: tuple[str, ...] = ()
    """Folders, beside ``folder``, that a container is to see."""
    activate_d: str | None = None
    """The prefix of a conda environment whose own ``etc/conda/activate.d`` is sourced first."""
    array: JobArray | None = None


class Allocated(Value):
    """What a job was given, in sum over its nodes. None: its scheduler does not say."""

    nodes: int | None = None
    cpus: int | None = None
    gpus: int | None = None
    memory_bytes: int | None = None


class JobRow(Value):
    """One job in a queue or accounting answer. ``raw_state`` is always the scheduler's own word."""

    job: NativeJob
    places: frozenset[int] | None = None
    """Members of an array that are told of in one row (B15); ``job`` is the array's then. None: it is one job."""
    name: str = ""
    state: State
    raw_state: str
    reason: str = ""
    reason_class: ReasonClass | None = None
    exit_code: int | None = None
    signal: int | None = None
    exit_unreadable: bool = False
    partition: str | None = None
    nodes: str = ""
    submitted_at: UtcTime | None = None
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    expected_start_at: UtcTime | None = None
    walltime_s: int | None = None
    max_rss_bytes: int | None = None
    allocated: Allocated | None = None
    """None: it was given nothing yet, or that source does not say."""
    cancelled_by: str | None = None
    """A user of the site, or ``YOU``."""
    step_trouble: str = ""
    """Set when a step ended worse than its job says (B11)."""
    requeued: bool = False


class JobReading(Value):
    """The rows of one answer. ``unreadable`` lines are kept raw and shown, never dropped in silence (B14).

    ``complete`` is True when a job that is absent from the rows is surely not known to that source.
    """

    rows: tuple[JobRow, ...] = ()
    unreadable: tuple[str, ...] = ()
    complete: bool = True
    notes: tuple[str, ...] = ()
