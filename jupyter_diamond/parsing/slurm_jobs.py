"""Rows about jobs: from ``squeue``, ``sacct`` (steps folded into their job) and ``scontrol show job``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import YOU, Allocated, JobRow, NativeJob
from jupyter_diamond.model.snapshot import Limit
from jupyter_diamond.model.states import State

from . import durations, gres, jobids, memory, states
from .numbers import whole
from .slurm_sections import FIELD

QUEUE_FORMAT = FIELD.join(("%A", "%F", "%i", "%T", "%P", "%l", "%V", "%S", "%e", "%N", "%r", "%j"))
"""job, array, shown id, state, partition, limit, submitted, start, end, nodes, reason, name: free text last (B14)."""

ACCOUNTING_FIELDS = (
    "JobIDRaw", "JobID", "State", "ExitCode", "Submit", "Start", "End", "TimelimitRaw", "MaxRSS", "Partition",
    "NodeList", "AllocTRES", "Reason", "JobName",
)  # fmt: skip
"""All of them exist from 22.05 to 26.05: one unknown field makes the whole of ``sacct`` fail."""

UNNAMED_FIELDS = tuple(name for name in ACCOUNTING_FIELDS if name != "AllocTRES")
"""Those of an answer that does not name its columns, as our scripts once did not."""

_LARGEST_SIGNAL = 64
_EPOCH_DIGITS = 11
"""More are no time at all; these reach into the year 5138."""
_NO_NODES = frozenset({"", "(null)", "none assigned", "n/a", "none"})
_EXIT = re.compile(r"([0-9]{1,5}):([0-9]{1,5})")


def when(text: str) -> datetime | None:
    """A time as ``%s`` writes it, or in ISO form (UTC); None for Slurm's words for *not yet*. Raises ParseError."""
    word = text.strip()
    if word.casefold() in ("", "n/a", "unknown", "none", "0", "(null)"):
        return None
    if word.isascii() and word.isdigit() and len(word) <= _EPOCH_DIGITS:
        return from_epoch(int(word))
    try:
        return datetime.fromisoformat(word).replace(tzinfo=timezone.utc)
    except ValueError as problem:
        raise ParseError(f"{text!r} is not a time of Slurm's.") from problem


def exit_status(text: str) -> tuple[int | None, int | None, bool]:
    """(exit code, signal, unreadable) of ``0:15``. A signal makes it 128 + signal; a malformed part is no 0 (B11)."""
    word = text.strip()
    if not word:
        return None, None, False
    found = _EXIT.fullmatch(word)
    if not found:
        return None, None, True
    code, signal = int(found.group(1)), int(found.group(2))
    if not signal:
        return code, None, False
    return (128 + signal if signal <= _LARGEST_SIGNAL and code == 0 else code), signal, False


def _nodes(text: str) -> str:
    return "" if text.strip().casefold() in _NO_NODES else text.strip()


def _seconds(limit: Limit) -> int | None:
    return limit if isinstance(limit, int) else None


def queue_row(line: str, *, cluster: str | None = None) -> JobRow:
    """One line in QUEUE_FORMAT. Raises ParseError."""
    values = line.split(FIELD, QUEUE_FORMAT.count(FIELD))
    if len(values) != QUEUE_FORMAT.count(FIELD) + 1:
        raise ParseError(f"{line[:200]!r} is not a row of the queue.")
    raw_id, array, shown, word, partition, limit, submitted, start, end, nodes, reason, name = values
    state = states.job_state(word)
    began = when(start)
    waits = state.state in (State.PENDING, State.CONFIGURING)
    return JobRow(
        job=_native(raw_id, array, shown, cluster),
        places=_places(shown),
        name=name,
        state=state.state,
        raw_state=state.raw,
        reason=_reason(reason),
        reason_class=states.reason_class(reason) if state.state is State.PENDING else None,
        partition=partition or None,
        nodes=_nodes(nodes),
        submitted_at=when(submitted),
        started_at=None if waits else began,
        expected_start_at=began if waits else None,
        ended_at=when(end) if state.state.terminal else None,
        walltime_s=_seconds(durations.parse_slurm(limit)),
        cancelled_by=state.cancelled_by,
        requeued=state.requeued,
    )


def _reason(text: str) -> str:
    word = text.strip()
    return "" if word in ("None", "(null)") else word


def allocated(text: str) -> Allocated | None:
    """What ``billing=2,cpu=2,gres/gpu=1,mem=4G,node=1`` gives; None where it says nothing, or nothing that is known.

    What cannot be read costs no row: it tells of a job's size, not of its state.
    """
    try:
        given, gpus = gres.tres(text), gres.tres_gpus(text)
        size = memory.parse_slurm(given.get("mem", ""))
    except ParseError:
        return None
    nodes, cpus = (whole(given.get(name)) for name in ("node", "cpu"))
    held = size if isinstance(size, int) else None
    found = Allocated(nodes=nodes, cpus=cpus, gpus=gpus, memory_bytes=held)
    return None if found == Allocated() else found


def _native(raw_id: str, array: str, shown: str, cluster: str | None) -> NativeJob:
    """A task of an array keeps its array's name (B15: its raw id is another number, and folded rows share one)."""
    name = shown if array != raw_id or "_" in shown else raw_id
    if not re.fullmatch(r"[0-9]+(_([0-9]+|\[.*\]))?(\+[0-9]+)?", name):
        raise ParseError(f"{name[:80]!r} is not a job id.")
    return NativeJob(id=name.partition("_[")[0], cluster=cluster)


def _places(shown: str) -> frozenset[int] | None:
    """Those that one row tells of at once; None for a row of one job. Raises ParseError."""
    return frozenset(jobids.parse(shown).indices) if "_[" in shown else None


def accounting_rows(
    lines: Iterable[str], *, cluster: str | None = None, uid: str = "", fields: Sequence[str] = ACCOUNTING_FIELDS
) -> tuple[list[JobRow], list[str]]:
    """Lines as jobs, steps folded into them, and the lines that cannot be read.

    ``fields`` are the columns: all or some of ACCOUNTING_FIELDS, in their order. ``uid`` is the asking user's: a job
    that they cancelled is ``cancelled_by`` YOU.
    """
    rows: dict[str, JobRow] = {}
    steps: dict[str, list[JobRow]] = {}
    unreadable: list[str] = []
    for line in lines:
        try:
            raw_id, row = _accounting_row(line, cluster, fields)
        except (ParseError, ValueError):
            unreadable.append(line)
            continue
        base, dot, _ = raw_id.partition(".")
        if dot:
            steps.setdefault(base, []).append(row)
        else:
            rows[base] = row  # a later line of the same id is the newer run of a requeued job
    whole = [_with_steps(row, steps.get(base, [])) for base, row in rows.items()]
    return [_yours(row, uid) for row in whole], unreadable


def _accounting_row(line: str, cluster: str | None, fields: Sequence[str]) -> tuple[str, JobRow]:
    values = line.split(FIELD, len(fields) - 1)
    if len(values) != len(fields):
        raise ParseError(f"{line[:200]!r} is not a row of accounting.")
    field = dict.fromkeys(ACCOUNTING_FIELDS, "") | dict(zip(fields, values, strict=True))
    raw_id, shown = field["JobIDRaw"], field["JobID"]
    base = raw_id.partition(".")[0]
    if whole(base) is None:
        raise ParseError(f"{raw_id[:80]!r} is not a job id.")
    state = states.job_state(field["State"])
    code, signal, unreadable = exit_status(field["ExitCode"])
    began, waits = when(field["Start"]), state.state in (State.PENDING, State.CONFIGURING)
    used = memory.parse_slurm(field["MaxRSS"], bare=1)
    name = shown.partition(".")[0] if "_" in shown else base
    return raw_id, JobRow(
        job=NativeJob(id=name.partition("_[")[0], cluster=cluster),
        places=_places(name),
        name=field["JobName"],
        state=state.state,
        raw_state=state.raw,
        reason=_reason(field["Reason"]),
        reason_class=states.reason_class(field["Reason"]) if state.state is State.PENDING else None,
        exit_code=code if state.state.terminal else None,
        signal=signal,
        exit_unreadable=unreadable,
        partition=field["Partition"] or None,
        nodes=_nodes(field["NodeList"]),
        submitted_at=when(field["Submit"]),
        started_at=None if waits else began,
        expected_start_at=began if waits else None,
        ended_at=when(field["End"]) if state.state.terminal or unreadable else None,
        walltime_s=_seconds(durations.parse_minutes(field["TimelimitRaw"])),
        max_rss_bytes=used if isinstance(used, int) else None,
        allocated=allocated(field["AllocTRES"]),
        cancelled_by=state.cancelled_by,
        requeued=state.requeued,
        step_trouble=f"{shown} ended {field['State']} {field['ExitCode']}".rstrip() if "." in raw_id else "",
    )


def _with_steps(row: JobRow, steps: list[JobRow]) -> JobRow:
    used = [size for size in (row.max_rss_bytes, *(step.max_rss_bytes for step in steps)) if size is not None]
    worse = [step for step in steps if step.state.terminal and _went_wrong(step)]
    # a job that ended badly says so itself; its steps then only echo it
    hidden = worse if row.state is State.COMPLETED else []
    return row.model_copy(
        update={
            "max_rss_bytes": max(used) if used else None,
            "step_trouble": "; ".join(f"step {step.step_trouble}" for step in hidden),
        }
    )


def _went_wrong(step: JobRow) -> bool:
    return step.state is not State.COMPLETED or step.exit_unreadable or bool(step.exit_code or step.signal)


def _yours(row: JobRow, uid: str) -> JobRow:
    return row.model_copy(update={"cancelled_by": YOU}) if uid and row.cancelled_by == uid else row


_SHOWN = re.compile(r"(?:^|\s)([A-Za-z]+(?:[:/][A-Za-z:/]+)?)=(\S*)")


def shown_job(line: str, *, cluster: str | None = None) -> JobRow:
    """One line of ``scontrol -o show job``: the last source where accounting is off. Raises ParseError."""
    head = re.match(r"JobId=([0-9]+)(.*?) JobName=(.*) UserId=\S+\([0-9]+\) GroupId=(.*)", line.strip())
    if not head:
        raise ParseError(f"{line[:200]!r} is not a job as scontrol shows it.")
    job, array, name, rest = head.groups()
    field: dict[str, str] = {}
    for key, value in _SHOWN.findall(rest):
        field.setdefault(key, value)  # what a user may write (Comment, Command) comes after what Slurm writes
    if not {"JobState", "ExitCode"} <= field.keys():
        raise ParseError(f"{line[:200]!r} is not a whole job as scontrol shows it.")
    index = re.search(r"ArrayJobId=([0-9]+) ArrayTaskId=(\S+)", array)
    shown = job if index is None else f"{index[1]}_{index[2] if whole(index[2]) is not None else f'[{index[2]}]'}"
    state = states.job_state(field["JobState"])
    code, signal, unreadable = exit_status(field["ExitCode"])
    reason = re.search(r" Reason=(.*?) Dependency=", rest)
    began, waits = when(field.get("StartTime", "")), state.state in (State.PENDING, State.CONFIGURING)
    return JobRow(
        job=NativeJob(id=shown.partition("_[")[0], cluster=cluster),
        places=_places(shown),
        name=name,
        state=state.state,
        raw_state=state.raw,
        reason=_reason(reason.group(1)) if reason else "",
        reason_class=states.reason_class(reason.group(1)) if reason and state.state is State.PENDING else None,
        exit_code=code if state.state.terminal else None,
        signal=signal,
        exit_unreadable=unreadable,
        partition=field.get("Partition") or None,
        nodes=_nodes(field.get("NodeList", "")),
        submitted_at=when(field.get("SubmitTime", "")),
        started_at=None if waits else began,
        expected_start_at=began if waits else None,
        ended_at=when(field.get("EndTime", "")) if state.state.terminal else None,
        walltime_s=_seconds(durations.parse_slurm(field.get("TimeLimit", ""))),
        allocated=None if waits else allocated(field.get("AllocTRES") or field.get("TRES", "")),
        requeued=state.requeued,
    )
