"""What a look at the pool or at one site's login node gives: idle places, facts, checks, a command's output."""

from __future__ import annotations

from typing import Literal

from .base import UtcTime, Value
from .envelope import Envelope, Size
from .forecast import Forecast
from .jobs import JobRow, NativeJob
from .snapshot import Limit

CheckAnswer = Literal["ok", "warn", "fail"]
PUT_BYTES = 2_000_000
"""The most that one file put at a site this way may have."""


class IdlePlace(Value):
    """A partition that could start such a job now. ``jobs_now`` is how many of the least size fit into what is free.

    Partitions of a site may share nodes: rows of one site must not be added up.
    """

    site: str
    partition: str
    account: str | None = None
    size: Size
    jobs_now: int
    gpus_free: int | None = None
    cpus_free: int | None = None
    memory_free_bytes: int | None = None
    nodes_usable: int | None = None
    gpu_model: str | None = None
    gpu_memory_bytes: int | None = None
    """Of one GPU; None where it is not known, or where kinds are mixed."""
    pending: int | None = None
    walltime_cap_s: Limit = None
    """For a job of this size."""
    read_at: UtcTime
    simulated: bool = False


class OtherPlace(Value):
    """A partition that is not among the idle ones, and why: the fact that is missing, or what stands against it."""

    site: str
    partition: str
    why: str
    simulated: bool = False


class Idle(Value):
    """Where a job of this envelope could start now. What is not known is listed apart, never as zero."""

    envelope: Envelope
    made_at: UtcTime
    places: tuple[IdlePlace, ...]
    unknown: tuple[OtherPlace, ...] = ()
    full: tuple[OtherPlace, ...] = ()
    """Could run it, but nothing large enough is free."""
    refused: tuple[OtherPlace, ...] = ()


class OutlookPlace(Value):
    """When a small job would start at one partition: of one GPU where it has any, else of one core; for one hour.

    ``forecast`` is None where such a job may not run, or where what decides it is not known: ``why`` says which.
    """

    site: str
    partition: str
    unit: Literal["GPU", "CPU"]
    forecast: Forecast | None = None
    why: str = ""


class Outlook(Value):
    """The wait at every partition at one instant."""

    made_at: UtcTime
    places: tuple[OutlookPlace, ...] = ()


class Fact(Value):
    """One fact of a login node. ``value`` None: the site did not say."""

    name: str
    value: str | None


class SiteEnv(Value):
    """What a site's login node says of itself; read, never changed."""

    site: str
    read_at: UtcTime
    seconds: float
    facts: tuple[Fact, ...]
    accounts: tuple[str, ...] | None = None
    """The user's own accounts there; None when the site did not say."""

    def fact(self, name: str) -> str | None:
        """One fact by name; None when it is not known."""
        return next((fact.value for fact in self.facts if fact.name == name), None)


class Check(Value):
    """One line of a check: ``sentence`` says what is, and what to do when it is not ``ok``."""

    name: str
    answer: CheckAnswer
    sentence: str


class Preflight(Value):
    """A real, timed try of one site."""

    site: str
    checks: tuple[Check, ...]
    probe_s: float | None = None

    @property
    def answer(self) -> CheckAnswer:
        """The worst of the checks."""
        answers = {check.answer for check in self.checks}
        return "fail" if "fail" in answers else "warn" if "warn" in answers else "ok"


class Executed(Value):
    """What a look-around command printed. ``cut`` when there was more than is kept, ``timed_out`` when it was ended."""

    site: str
    argv: tuple[str, ...]
    exit: int
    stdout: str
    stderr: str
    seconds: float
    cut: bool = False
    timed_out: bool = False


class PutFile(Value):
    """A file that was put into a site's work folder."""

    site: str
    path: str
    bytes: int
    replaced: bool = False


class Accounted(Value):
    """What a site's accounting says of the newest attempt's job; no rows when it does not know it (yet)."""

    task_id: str
    site: str
    job: NativeJob | None
    rows: tuple[JobRow, ...] = ()
    notes: tuple[str, ...] = ()
