"""One row of the queue's answer as a value."""

from __future__ import annotations

from datetime import datetime

from pydantic import ValidationError

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import YOU, Allocated, JobRow, NativeJob
from jupyter_diamond.model.states import ReasonClass, State

from .agent import US

_STATES = {
    "QUEUED": State.PENDING,
    "TOO_LARGE": State.PENDING,
    "RUNNING": State.RUNNING,
    "STOPPING": State.COMPLETING,
    "ELSEWHERE": State.UNKNOWN,
    "UNREADABLE": State.UNKNOWN,
    "COMPLETED": State.COMPLETED,
    "FAILED": State.FAILED,
    "CANCELLED": State.CANCELLED,
    "TIMEOUT": State.TIMEOUT,
    "OUT_OF_MEMORY": State.OUT_OF_MEMORY,
    "NODE_FAIL": State.NODE_FAIL,
}
_REASONS = {"QUEUED": ReasonClass.WILL_RUN, "TOO_LARGE": ReasonClass.NEVER}


def read_row(fields: list[str]) -> JobRow | None:
    """The row's value; None when it cannot be read."""
    if len(fields) < 17 or fields[0] != "job":
        return None
    _, job_id, token, raw, code, signal, submitted, started, ended, walltime, rss, by, host = fields[:13]
    cpus, gpus, memory = fields[13:16]
    try:
        return JobRow(
            job=NativeJob(id=job_id),
            name=token,
            state=_STATES.get(raw, State.UNKNOWN),
            raw_state=raw,
            reason=US.join(fields[16:]),
            reason_class=_REASONS.get(raw),
            exit_code=_number(code),
            signal=_number(signal),
            partition="machine",
            nodes=host,
            submitted_at=_time(submitted),
            started_at=_time(started),
            ended_at=_time(ended),
            walltime_s=_number(walltime),
            max_rss_bytes=_number(rss),
            allocated=_allocated(cpus, gpus, memory),
            cancelled_by=YOU if by else None,  # the queue is a private folder: nobody else can
        )
    except (ValueError, ValidationError):
        return None


def _allocated(cpus: str, gpus: str, memory: str) -> Allocated | None:
    """One node, which all jobs share; memory only where a limit was asked for."""
    if not cpus:
        return None
    return Allocated(nodes=1, cpus=_number(cpus), gpus=_number(gpus), memory_bytes=_number(memory))


def _number(text: str) -> int | None:
    return int(text) if text else None


def _time(text: str) -> datetime | None:
    return from_epoch(float(text)) if text else None
