"""The Scheduler protocol for the toy cluster: text out, text in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from jupyter_diamond.errors import SchedulerError, SubmitOutputUnreadable, SubmitRefused
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import YOU, JobReading, JobRequest, JobRow, NativeJob
from jupyter_diamond.model.machine import Machine
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import NO_LIMIT, FreeNode, NodeShape, Record, SiteReading
from jupyter_diamond.model.states import State
from jupyter_diamond.transport.base import Completed

from .cluster import US, WALLTIME_S

DONE = "toy: done"
_SKEW_S = 3600.0
_SAID: dict[str, Any] = {"source": "doc"}
MACHINE = Machine.model_validate({
    "name": "toy", "title": "Toy", "scheduler": "slurm", **_SAID,
    "sources": {"doc": {"title": "The toy's own rules", "read": "2026-01-01"}},
    "hosts": [{"pattern": "login.toy.example", **_SAID}], "nodes": {"cpu": {"cpus": 64, "memory": "256 GiB", **_SAID}},
    "partitions": {"cpu": {"nodes": "cpu", "charge_factor": 1.0, **_SAID}},
    "charges": [{"resource": "cpu", "unit": "toy-hour", "cores_per_unit": 1, "nodes": "cpu", **_SAID}],
})  # fmt: skip
"""What is documented of the toy: an hour of a core costs a toy-hour."""


class ToyScheduler:
    """Stateless, as all of them are."""

    kind = "slurm"
    end_notice = b""

    def probe_script(self, *, limits: bool = False) -> str:
        return "toy probe"

    def parse_probe(self, site: str, answer: Completed, *, read_at: datetime) -> SiteReading:
        _whole(answer)
        record = Record(
            site=site, partition="cpu", default=True, state="up", read_at=read_at,
            shapes=(NodeShape(cpus=64, memory_bytes=1 << 38, gpus=0, nodes=4),), nodes_total=4, nodes_usable=4,
            cpus_total=256, cpus_free=256, gpus_total=0, gpus_free=0, memory_free_bytes=1 << 40,
            free_nodes=(FreeNode(cpus=64, memory_bytes=1 << 38, whole=True, nodes=4),), pending=0, running=0,
            walltime_cap_s=NO_LIMIT, max_nodes=NO_LIMIT, whole_node=False,
        )  # fmt: skip
        return SiteReading(
            site=site, transport="ssh", scheduler=self.kind, health="online", read_at=read_at, tried_at=read_at,
            accounting=True, records=(record,), array_places=1001,
        )  # fmt: skip

    def parse_jobs(self, site: str, answer: Completed, *, read_at: datetime) -> SiteQueue | None:
        return None

    def job_script(self, job: JobRequest) -> str:
        words = dict(job.array.own) if job.array else dict(pairwise(job.command))
        return f"#!/bin/sh\n{words.get('--checkpoints', '')}\n"

    def submit_command(self, job: JobRequest) -> str:
        ats = ",".join(map(str, job.array.ats)) if job.array else "-"
        return f"toy-submit {shlex.quote(job.token)} {ats}"

    def member(self, job: NativeJob, at: int) -> NativeJob:
        return NativeJob(id=f"{job.id}_{at}")

    def array_of(self, job: NativeJob) -> NativeJob:
        return NativeJob(id=job.id.partition("_")[0])

    def parse_submit(self, answer: Completed) -> NativeJob:
        lines = answer.out.split()
        if answer.exit == 0 and len(lines) == 1 and lines[0].isdigit():
            return NativeJob(id=lines[0])
        if answer.exit == 3:
            raise SubmitRefused("The toy takes no more jobs at the moment.", permanent=False, reason_code="Full")
        if answer.exit == 0:
            raise SubmitOutputUnreadable("The toy's answer names no job.", evidence=tuple(answer.out.splitlines()))
        raise SchedulerError("The toy's controller did not answer.", transient=True)

    def lookup_script(self, tokens: Sequence[str], *, since: datetime) -> str:
        return f"toy lookup {','.join(tokens)} {since.timestamp() - _SKEW_S}"

    def parse_lookup(self, answer: Completed) -> JobReading:
        return _reading(answer)

    def queue_script(self, jobs: Sequence[NativeJob]) -> str:
        return f"toy queue {','.join(job.id for job in jobs)}"

    def parse_queue(self, answer: Completed) -> JobReading:
        return _reading(answer)

    def accounting_script(self, jobs: Sequence[NativeJob], *, since: datetime) -> str:
        return f"toy accounting {','.join(job.id for job in jobs)} {since.timestamp() - _SKEW_S}"

    def parse_accounting(self, answer: Completed) -> JobReading:
        return _reading(answer)

    def cancel_script(self, jobs: Sequence[NativeJob], *, waiting_only: bool = False) -> str:
        return f"toy cancel {','.join(job.id for job in jobs)}{' waiting' if waiting_only else ''}"

    def parse_cancel(self, answer: Completed) -> tuple[str, ...]:
        _whole(answer)
        return ()


def _whole(answer: Completed) -> list[str]:
    lines = answer.out.splitlines()
    if answer.exit != 0 or answer.truncated or not lines or lines[-1] != DONE:
        raise SchedulerError("The toy's command failed.", transient=True, evidence=tuple(answer.err.splitlines()))
    return lines[:-1]


def _reading(answer: Completed) -> JobReading:
    lines = _whole(answer)
    rows = tuple(_row(line) for line in lines if US in line)
    return JobReading(rows=rows, complete="incomplete" not in lines)


def _row(line: str) -> JobRow:
    job, token, raw, code, signal, by, requeued, submitted, started, ended = line.split(US)
    state = State(raw.lower())

    def at(text: str) -> datetime | None:
        return from_epoch(float(text)) if text else None

    return JobRow(
        job=NativeJob(id=job), name=token, state=state, raw_state=raw, exit_code=int(code) if code else None,
        signal=int(signal) if signal else None, cancelled_by=(YOU if by == "me" else by) or None,
        requeued=bool(requeued), submitted_at=at(submitted), started_at=at(started), ended_at=at(ended),
        walltime_s=WALLTIME_S, partition="cpu", nodes="n1" if started else "",
    )  # fmt: skip
