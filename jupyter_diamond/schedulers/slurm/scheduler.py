"""The Scheduler protocol for Slurm: scripts out, sections in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone

from jupyter_diamond.errors import ParseError, SchedulerError
from jupyter_diamond.model.capabilities import Capabilities
from jupyter_diamond.model.jobs import JobReading, JobRequest, JobRow, NativeJob
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.parsing import slurm_jobs, slurm_sections, slurm_site, slurm_submit, slurm_trial
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.parsing.slurm_sections import Section
from jupyter_diamond.transport.base import Completed

from . import job_script, scripts

_GONE = ("Invalid job id specified", "already completing or completed", "already completed")


class SlurmScheduler:
    """Text methods for Slurm. What the site's commands can do is all that it remembers of it."""

    kind = "slurm"
    end_notice = b"slurmstepd"  # slurmstepd-cn01: error: *** JOB 12 ON cn01 CANCELLED AT ... DUE TO TIME LIMIT ***

    def __init__(self) -> None:
        self.capabilities: Capabilities | None = None

    def trial_script(self) -> str:
        """Each optional form once, in one script: a quarter of a second, when its Slurm is new to us."""
        return scripts.TRIAL

    def parse_trial(self, answer: Completed, reading: SiteReading, *, tried_at: datetime) -> Capabilities:
        """What was found. What could not be tried is not known, which is no reason to fail."""
        return slurm_trial.capabilities(
            self._sections(answer), version=reading.scheduler_version, accounting=reading.accounting, tried_at=tried_at
        )

    def probe_script(self, *, limits: bool = False) -> str:
        """Partitions, nodes, jobs, reservations, version and whether accounting answers: 0.2 s on a small site."""
        return scripts.probe(limits=limits)

    def parse_probe(self, site: str, answer: Completed, *, read_at: datetime) -> SiteReading:
        """The site's reading. ``transport`` is left empty: only the caller knows it."""
        reading = slurm_site.reading(site, self._sections(answer), read_at=read_at)
        return reading.model_copy(update={"probe_s": answer.seconds or None})

    def parse_jobs(self, site: str, answer: Completed, *, read_at: datetime) -> SiteQueue | None:
        """The queue as a forecast needs it, from the very same answer."""
        return slurm_site.queue(site, self._sections(answer), read_at=read_at)

    def job_script(self, job: JobRequest) -> str:
        """The batch script of one attempt."""
        return job_script.job_script(job)

    def submit_command(self, job: JobRequest) -> str:
        """``sbatch --parsable job.sh`` in a subshell whose status is sbatch's own."""
        return scripts.submit(job)

    def member(self, job: NativeJob, at: int) -> NativeJob:
        """``812_17``, which is its name in every answer, whatever its raw number (B15)."""
        return NativeJob(id=f"{job.id}_{at}", cluster=job.cluster)

    def array_of(self, job: NativeJob) -> NativeJob:
        """``812``."""
        return NativeJob(id=job.id.partition("_")[0], cluster=job.cluster)

    def estimate_script(self, jobs: Sequence[JobRequest]) -> str:
        """``sbatch --test-only`` for each; a site's own rules for submissions run, and a job's number is used up."""
        return scripts.estimate(jobs, [job_script.directives(job) for job in jobs])

    def parse_estimate(self, answer: Completed) -> tuple[float | None, ...]:
        """The waits, in the order of the question."""
        sections = self._sections(answer)
        clocks = {section.cluster: section.text.strip() for section in sections if section.name == "clock"}
        return tuple(
            None
            if (clock := whole(clocks[section.cluster])) is None
            else slurm_submit.expected_wait(section.text, clock=clock)
            for section in sections
            if section.name == "estimate" and section.cluster in clocks
        )

    def parse_submit(self, answer: Completed) -> NativeJob:
        """The job's id, by the rules of B01 to B04."""
        return slurm_submit.submitted(answer.exit, answer.out, answer.err)

    def lookup_script(self, tokens: Sequence[str], *, since: datetime) -> str:
        """Ask queue and accounting for jobs that carry a token as their name."""
        return scripts.lookup(tokens, since=since, now=datetime.now(timezone.utc), form=self._form)

    def parse_lookup(self, answer: Completed) -> JobReading:
        """Rows by token, accounting's word before the queue's. ``complete`` when no source failed to answer.

        A site without accounting can only be asked for its queue, which forgets a job some minutes after its end: a
        note says so.
        """
        sections = self._sections(answer)
        queue, accounting = _one(sections, "queue"), _one(sections, "accounting")
        self._contradicted(accounting)
        off = "disabled" in accounting.err + accounting.text
        if queue.rc != 0 and accounting.rc != 0:
            raise slurm_sections.failed(queue, "squeue")
        rows: dict[NativeJob, JobRow] = {}
        unreadable: list[str] = []
        notes: list[str] = []
        if queue.rc == 0:
            seen, bad = _queue_rows(queue)
            rows.update({row.job: row for row in seen})
            unreadable += bad
        else:
            notes.append(f"The queue could not be asked: {queue.problem}")
        if accounting.rc == 0:
            seen, bad = slurm_jobs.accounting_rows(accounting.lines, uid=_uid(sections), fields=_fields(sections))
            rows.update({row.job: row for row in seen if row.state.terminal or row.job not in rows})
            unreadable += bad
        elif off:
            notes.append("Accounting is off here: only the queue was asked, which forgets jobs soon after their end.")
        else:
            notes.append(f"Accounting could not be asked: {accounting.problem}")
        complete = queue.rc == 0 and (accounting.rc == 0 or off) and not unreadable
        return JobReading(
            rows=tuple(rows.values()), unreadable=tuple(unreadable), complete=complete, notes=tuple(notes)
        )

    def queue_script(self, jobs: Sequence[NativeJob]) -> str:
        """One query for all jobs."""
        return scripts.queue(jobs)

    def parse_queue(self, answer: Completed) -> JobReading:
        """Rows of the queue; absence is not an end (B07). Raises SchedulerError when no cluster answered (B08)."""
        return _gather(self._sections(answer), "queue", "squeue", _queue_rows)

    def accounting_script(self, jobs: Sequence[NativeJob], *, since: datetime) -> str:
        """One accounting query for all jobs, steps included; ``scontrol show job`` where accounting does not answer."""
        return scripts.accounting(jobs, since=since, now=datetime.now(timezone.utc), form=self._form)

    def parse_accounting(self, answer: Completed) -> JobReading:
        """Rows with final states. Not ``complete`` where only the controller's short memory could be asked."""
        sections = self._sections(answer)
        uid, fields = _uid(sections), _fields(sections)

        def read(section: Section) -> tuple[list[JobRow], list[str]]:
            return slurm_jobs.accounting_rows(section.lines, cluster=section.cluster, uid=uid, fields=fields)

        rescued = {section.cluster: section for section in sections if section.name == "shown"}
        asked = [section for section in sections if section.name == "accounting"]
        rows: list[JobRow] = []
        unreadable: list[str] = []
        notes: list[str] = []
        for section in asked:
            self._contradicted(section)
            fallback = rescued.get(section.cluster)
            if section.rc == 0:
                seen, bad = read(section)
            elif fallback is not None and fallback.rc == 0:
                seen, bad = _parsed(fallback, slurm_jobs.shown_job)
                notes.append(f"Accounting did not answer ({section.problem}); the controller was asked instead.")
            else:
                notes.append(f"Accounting did not answer: {section.problem}")
                if len(asked) == 1:
                    raise slurm_sections.failed(section, "accounting")
                continue
            rows += seen
            unreadable += bad
        return JobReading(
            rows=tuple(rows),
            unreadable=tuple(unreadable),
            complete=not unreadable and all(section.rc == 0 for section in asked),
            notes=tuple(notes),
        )

    def cancel_script(self, jobs: Sequence[NativeJob], *, waiting_only: bool = False) -> str:
        """Cancel jobs; those that are gone are passed over, and with ``waiting_only`` those that run, too."""
        return scripts.cancel(jobs, waiting_only=waiting_only)

    def parse_cancel(self, answer: Completed) -> tuple[str, ...]:
        """Sentences about what was not cancelled. Raises SchedulerError when Slurm did not take the order at all."""
        sentences: list[str] = []
        for section in self._sections(answer):
            said = [line.strip() for line in (section.err + section.text).split("\n") if line.strip()]
            worries = [line for line in said if not any(gone in line for gone in _GONE)]
            if any(slurm_submit.UNREACHABLE.search(line) for line in worries) or (section.rc != 0 and not said):
                raise slurm_sections.failed(section, "scancel")
            sentences += [f"Slurm did not cancel: {line.removeprefix('scancel: error: ')}" for line in worries]
        return tuple(sentences)

    @property
    def _form(self) -> scripts.Form:
        known = self.capabilities
        if known is None:
            return scripts.Form()
        fields = [name for name in slurm_jobs.ACCOUNTING_FIELDS if name in known.accounting_fields]
        return scripts.Form(fields=tuple(fields) or slurm_jobs.ACCOUNTING_FIELDS, relative=known.relative_times is True)

    def _contradicted(self, section: Section) -> None:
        """A command does not know a form any more, as after a change of its version: ask in the oldest way (B06)."""
        if section.rc != 0 and slurm_trial.UNKNOWN.search(section.err + section.text):
            self.capabilities = None

    @staticmethod
    def _sections(answer: Completed) -> tuple[Section, ...]:
        if answer.truncated:
            raise SchedulerError(
                "The answer of the site's Slurm commands is larger than allowed and was cut; no job is judged by it.",
                transient=True,
            )
        return slurm_sections.split(answer.stdout, answer.stderr)


def _one(sections: Sequence[Section], name: str) -> Section:
    return next((section for section in sections if section.name == name), Section(name=name, rc=1, text=""))


def _uid(sections: Sequence[Section]) -> str:
    return _one(sections, "me").text.strip()


def _fields(sections: Sequence[Section]) -> tuple[str, ...]:
    """The columns of accounting, as the answer itself names them."""
    return tuple(_one(sections, "fields").text.split()) or slurm_jobs.UNNAMED_FIELDS


def _queue_rows(section: Section) -> tuple[list[JobRow], list[str]]:
    return _parsed(section, slurm_jobs.queue_row)


def _parsed(section: Section, parse: Callable[..., JobRow]) -> tuple[list[JobRow], list[str]]:
    rows: list[JobRow] = []
    unreadable: list[str] = []
    for line in section.lines:
        try:
            rows.append(parse(line, cluster=section.cluster))
        except (ParseError, ValueError):  # noqa: PERF203 - one bad row must not cost the others (B14)
            unreadable.append(line)
    return rows, unreadable


def _gather(
    sections: Sequence[Section],
    name: str,
    command: str,
    read: Callable[[Section], tuple[list[JobRow], list[str]]],
) -> JobReading:
    asked = [section for section in sections if section.name == name]
    good = [section for section in asked if section.rc == 0]
    if asked and not good:
        raise slurm_sections.failed(asked[0], command)
    rows: list[JobRow] = []
    unreadable: list[str] = []
    for section in good:
        seen, bad = read(section)
        rows += seen
        unreadable += bad
    notes = [
        f"Cluster {section.cluster or 'of the site'} did not answer: {section.problem}"
        for section in asked
        if section.rc != 0
    ]
    return JobReading(
        rows=tuple(rows), unreadable=tuple(unreadable), complete=not notes and not unreadable, notes=tuple(notes)
    )
