r"""The seam between us and a batch system: every method makes text or reads text, so all is testable without one.

Scripts are POSIX shell, run by a Transport in a clean shell. Free text comes last in every row, fields are parted by
US (\x1f), and the caller's SQUEUE_*/SACCT_*/SINFO_* variables are unset (B14).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

from jupyter_diamond.model.capabilities import Capabilities
from jupyter_diamond.model.jobs import JobReading, JobRequest, NativeJob
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.transport.base import Completed


class Scheduler(Protocol):
    """One batch system. A parser raises SchedulerError (transient) when the *command* failed: that judges no job."""

    kind: str
    end_notice: bytes
    """What the scheduler itself writes into a job's log when it ends the job; empty when it writes nothing."""

    def probe_script(self, *, limits: bool = False) -> str:
        """One read-only round trip that tells the state of the whole site.

        With ``limits`` also what this user may have there; asked seldom, because it costs accounting's database.
        """

    def parse_probe(self, site: str, answer: Completed, *, read_at: datetime) -> SiteReading:
        """The probe's answer as values; what it does not say stays None."""

    def parse_jobs(self, site: str, answer: Completed, *, read_at: datetime) -> SiteQueue | None:
        """The queue in the probe's answer, job by job; None where there is none to forecast from."""

    def job_script(self, job: JobRequest) -> str:
        """The batch script: its head claims and writes ``started.json``, its tail writes ``end.json`` if nobody did."""

    def submit_command(self, job: JobRequest) -> str:
        """A shell line, run in the attempt's folder, that hands ``job.sh`` to the scheduler and prints its answer."""

    def parse_submit(self, answer: Completed) -> NativeJob:
        """The job's id. Raises SubmitRefused, SubmitOutputUnreadable, or SchedulerError (it may be queued)."""

    def lookup_script(self, tokens: Sequence[str], *, since: datetime) -> str:
        """Ask queue and accounting for jobs by token; the answer tells them apart from *cannot say*."""

    def parse_lookup(self, answer: Completed) -> JobReading:
        """Rows named by token. ``complete`` is True only when every source that could know the job answered."""

    def queue_script(self, jobs: Sequence[NativeJob]) -> str:
        """One query for all jobs."""

    def parse_queue(self, answer: Completed) -> JobReading:
        """Rows of the queue. A job that is absent has left the queue, which is not an end (B07)."""

    def accounting_script(self, jobs: Sequence[NativeJob], *, since: datetime) -> str:
        """One accounting query for all jobs, steps included (B11)."""

    def parse_accounting(self, answer: Completed) -> JobReading:
        """Rows of accounting: authoritative for final state and times."""

    def cancel_script(self, jobs: Sequence[NativeJob], *, waiting_only: bool = False) -> str:
        """Cancel jobs; cancelling one that is gone is not an error. ``waiting_only``: those that run are left alone."""

    def parse_cancel(self, answer: Completed) -> tuple[str, ...]:
        """Sentences about what could not be cancelled; empty when all was accepted."""


@runtime_checkable
class Adapting(Protocol):
    """A scheduler that asks each site in a way which its commands understand (B06).

    What they can do is tried there once, and given to it as ``capabilities``; without them it asks in the oldest way.
    It drops them when an answer contradicts them.
    """

    capabilities: Capabilities | None

    def trial_script(self) -> str:
        """One round trip that tries every optional form, without a question to the scheduler's controller."""

    def parse_trial(self, answer: Completed, reading: SiteReading, *, tried_at: datetime) -> Capabilities:
        """What was found, as belonging to the version and the accounting that the site's reading tells of."""


@runtime_checkable
class Arrays(Protocol):
    """A scheduler that takes many jobs in one submission: ``job_script`` and ``submit_command`` know ``job.array``."""

    def member(self, job: NativeJob, at: int) -> NativeJob:
        """The job at a place of the array that ``job`` is."""

    def array_of(self, job: NativeJob) -> NativeJob:
        """The array that a job is a member of; any other job itself."""


@runtime_checkable
class Estimating(Protocol):
    """A scheduler that says itself when a job would start, without taking it."""

    def estimate_script(self, jobs: Sequence[JobRequest]) -> str:
        """One round trip that asks for each job. It costs a site about as much as a submission: ask for few."""

    def parse_estimate(self, answer: Completed) -> tuple[float | None, ...]:
        """Seconds until each job would start, in order; None where it was refused or not said."""
