"""This machine's queue as a Scheduler: every method makes a command for ``agent`` or reads its answer."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from jupyter_diamond.errors import SchedulerError, SubmitOutputUnreadable, SubmitRefused
from jupyter_diamond.model.jobs import JobReading, JobRequest, JobRow, NativeJob
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.schedulers.batch_script import body, shebang
from jupyter_diamond.transport.base import Completed

from .agent import DONE, REFUSED, UNUSABLE, US
from .rows import read_row

PARTITION = "machine"
"""The one partition that this machine has."""
_ID = re.compile(r"p\d+-[0-9a-f]{6}")
_ROOT = str(Path(__file__).resolve().parents[3])


class ProcessScheduler:
    """Jobs as process groups on this machine, first in, first out."""

    kind = "process"
    end_notice = b""

    def probe_script(self, *, limits: bool = False) -> str:  # noqa: ARG002 - it has none
        """One command that tells what the machine has, what is free, and who waits."""
        return _command("probe")

    def parse_probe(self, site: str, answer: Completed, *, read_at: datetime) -> SiteReading:
        """The machine as a site with one partition of one node."""
        rows, _ = _rows(answer)
        facts = {fields[1]: US.join(fields[2:]) for fields in rows if fields[0] == "fact" and len(fields) > 2}
        number = {name: count for name, text in facts.items() if (count := whole(text)) is not None}
        cpus, memory, gpus = number.get("cpus"), number.get("memory_bytes"), number.get("gpus")
        record = Record(
            site=site,
            partition=PARTITION,
            default=True,
            state="up",
            read_at=read_at,
            shapes=(
                NodeShape(cpus=cpus, memory_bytes=memory, gpus=gpus, gpu_model=facts.get("gpu_model") or None, nodes=1),
            ),
            nodes_total=1,
            nodes_usable=1,
            cpus_total=cpus,
            cpus_free=number.get("cpus_free"),
            gpus_total=gpus,
            gpus_free=number.get("gpus_free"),
            memory_free_bytes=number.get("memory_free_bytes"),
            free_nodes=_free_nodes(number),
            pending=number.get("pending"),
            running=number.get("running"),
            mine_pending=number.get("pending"),
            mine_running=number.get("running"),
            walltime_cap_s=NO_LIMIT,
            max_nodes=1,
            whole_node=False,
        )
        note = facts.get("note")
        return SiteReading(
            site=site, transport="local", scheduler=self.kind, health="online", read_at=read_at, tried_at=read_at,
            cluster=facts.get("host"), user=facts.get("user"), accounting=True, records=(record,),
            cpus_total=cpus, cpus_free=record.cpus_free, gpus_total=gpus, gpus_free=record.gpus_free,
            pending=record.pending, running=record.running, notes=(note,) if note else (),
        )  # fmt: skip

    def parse_jobs(self, site: str, answer: Completed, *, read_at: datetime) -> SiteQueue | None:  # noqa: ARG002
        """None: what waits here starts as soon as what it asks for is free."""
        return None

    def job_script(self, job: JobRequest) -> str:
        """The batch script; this machine needs no directives."""
        return f"{shebang(job)}\n{body(job, native_id='$DIAMOND_JOB_ID')}"

    def submit_command(self, job: JobRequest) -> str:
        """Takes a ticket for ``job.sh`` in the current folder."""
        size = job.size
        asked = {
            "token": job.token,
            "name": job.name,
            "cpus": size.cpus,
            "gpus": size.gpus,
            "memory_bytes": size.memory_bytes,
            "walltime_s": size.walltime_s,
            "login": job.modules.kind == "login_shell",
            "nodes": size.nodes,
            "warn_before_end_s": job.warn_before_end_s,
            "warn_signal": job.warn_signal,
        }
        return _command("submit", json.dumps(asked))

    def parse_submit(self, answer: Completed) -> NativeJob:
        """The ticket's id."""
        said = answer.err.strip()
        ids = [line for line in answer.out.split("\n") if _ID.fullmatch(line)]
        if answer.exit in (REFUSED, UNUSABLE):
            large = answer.exit == REFUSED
            raise SubmitRefused(
                _sentence(said),
                permanent=large,
                reason_code="TooLarge" if large else "QueueUnusable",
                evidence=tuple(said.splitlines()),
            )
        if answer.exit != 0:
            raise SchedulerError(_sentence(said), transient=True, evidence=tuple(said.splitlines()))
        if len(ids) != 1:
            raise SubmitOutputUnreadable(
                "This machine's queue did not say one job id; the job is looked for.",
                evidence=tuple((answer.out + said).splitlines()[:20]),
            )
        return NativeJob(id=ids[0])

    def lookup_script(self, tokens: Sequence[str], *, since: datetime) -> str:  # noqa: ARG002 - all are indexed
        """The jobs with these tokens, ended or not."""
        return _command("lookup", *tokens)

    def parse_lookup(self, answer: Completed) -> JobReading:
        """Rows named by token."""
        return _reading(answer)

    def queue_script(self, jobs: Sequence[NativeJob]) -> str:
        """The jobs that have not ended."""
        return _command("query", *(job.id for job in jobs))

    def parse_queue(self, answer: Completed) -> JobReading:
        """Rows of jobs in the line or running."""
        return _reading(answer)

    def accounting_script(self, jobs: Sequence[NativeJob], *, since: datetime) -> str:  # noqa: ARG002 - all are indexed
        """The given jobs, ended or not."""
        return _command("accounting", *(job.id for job in jobs))

    def parse_accounting(self, answer: Completed) -> JobReading:
        """Rows with final state, times and peak memory."""
        return _reading(answer)

    def cancel_script(self, jobs: Sequence[NativeJob], *, waiting_only: bool = False) -> str:
        """SIGTERM to the jobs, and SIGKILL five seconds later; with ``waiting_only`` those that run are left alone."""
        return _command("withdraw" if waiting_only else "cancel", *(job.id for job in jobs))

    def parse_cancel(self, answer: Completed) -> tuple[str, ...]:
        """What could not be cancelled."""
        rows, _ = _rows(answer)
        return tuple(
            f"Job {fields[1]} was not cancelled: {US.join(fields[2:])}." for fields in rows if fields[0] == "cannot"
        )


def _command(*words: str) -> str:
    # isolated: neither the attempt's folder nor PYTHON* variables may decide what runs; without site-packages where
    # the standard library is enough, because start-up files there may take longer than the command itself
    flags = "-IS" if sys.platform == "linux" else "-I"
    code = (
        f"import sys; sys.path.append({_ROOT!r}); "
        "from jupyter_diamond.schedulers.process.agent import main; sys.exit(main(sys.argv[1:]))"
    )
    return shlex.join([sys.executable, flags, "-c", code, *words])


def _rows(answer: Completed) -> tuple[list[list[str]], bool]:
    """The answer's rows, and whether it is whole. Raises SchedulerError when the command failed."""
    if answer.exit != 0:
        raise SchedulerError(
            _sentence(answer.err.strip()), transient=True, evidence=tuple(answer.err.splitlines()[:20])
        )
    lines = [line for line in answer.out.split("\n") if line]
    whole = bool(lines) and lines[-1] == DONE and not answer.truncated
    return [line.split(US) for line in lines if line != DONE], whole


def _reading(answer: Completed) -> JobReading:
    rows, whole = _rows(answer)
    read: list[JobRow] = []
    unreadable = []
    for fields in rows:
        row = read_row(fields)
        if row is None:
            unreadable.append(US.join(fields))
        else:
            read.append(row)
    return JobReading(rows=tuple(read), unreadable=tuple(unreadable), complete=whole and not unreadable)


def _free_nodes(number: dict[str, int]) -> tuple[FreeNode, ...]:
    """What a newcomer could get now: nothing while somebody waits, because nobody overtakes here."""
    if number.get("pending", 0) or not number.get("cpus_free", 0):
        return ()
    return (
        FreeNode(
            cpus=number["cpus_free"], memory_bytes=number.get("memory_free_bytes"), gpus=number.get("gpus_free", 0)
        ),
    )


def _sentence(said: str) -> str:
    last = said.splitlines()[-1].strip() if said else "it gave no reason"
    return f"{last[:1].upper()}{last[1:].rstrip('.')}."
