"""What an answer about a job changes in its attempt. Pure: the clock comes in as an argument."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from jupyter_diamond.engine.attempt_folder import Seen
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import YOU, JobRow, NativeJob
from jupyter_diamond.model.manifest import EndFile, Manifest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt
from jupyter_diamond.parsing.outcomes import READ_LOG, READ_TRACEBACK, Ending, outcome_of

_LONGEST_CAUSE = 300
_FACTS = ("started_at", "expected_start_at", "nodes", "max_rss_bytes")


class Rows:
    """The rows of one answer, found by their jobs' ids: an array has a thousand, and as many who look for theirs."""

    def __init__(self, rows: Iterable[JobRow]) -> None:
        self._rows = tuple(rows)
        self._by_id: dict[str, list[JobRow]] = {}
        for row in self._rows:
            self._by_id.setdefault(row.job.id, []).append(row)

    def __iter__(self) -> Iterator[JobRow]:
        """All of them."""
        return iter(self._rows)

    def of(self, job: NativeJob, at: int | None) -> Iterator[JobRow]:
        """A job's own rows; then, for a member of an array, those that tell of several of its members at once."""
        yield from self._by_id.get(job.id, ())
        if at is not None:
            yield from (row for row in self._by_id.get(job.id.partition("_")[0], ()) if row.places and at in row.places)


def row_of(attempt: Attempt, rows: Iterable[JobRow]) -> JobRow | None:
    """The row of the attempt's job: ids begin anew, or run over, and then another's job has ours. Names do not lie."""
    native, place = attempt.native, attempt.array
    if native is None:
        return None
    token, at = (attempt.token, None) if place is None else (place.token, place.at)
    if attempt.started_at is not None:
        at = None  # what is told of several members at once is told of such as have not started
    mine = (rows if isinstance(rows, Rows) else Rows(rows)).of(native, at)
    return next((row for row in mine if row.name in ("", token)), None)


def from_queue(attempt: Attempt, row: JobRow, *, now: datetime) -> dict[str, Any]:
    """Changes that a queue row makes. A queue row never ends an attempt: accounting and the end-file do."""
    state = State.COMPLETING if row.state.terminal else row.state
    if attempt.state is State.COMPLETING and not row.requeued:
        state = State.COMPLETING
    wanted: dict[str, Any] = {
        "state": state,
        "raw_state": row.raw_state,
        "reason": row.reason,
        "reason_class": row.reason_class,
        "trouble": "",
    }
    if not row.state.terminal:  # it may have been turned away by the claim: accounting says so, and whose it is
        wanted |= {name: getattr(row, name) for name in _FACTS if getattr(row, name)}
    if row.requeued:
        wanted |= {"started_at": None, "state": State.PENDING if state is State.COMPLETING else state}
        if attempt.started_at is not None or attempt.requeued_at is None:
            wanted |= {"requeued_at": now}
    changes = {name: value for name, value in wanted.items() if getattr(attempt, name) != value}
    if changes:
        changes["last_seen_at"] = now
    return changes


def from_folder(attempt: Attempt, seen: Seen) -> dict[str, Any]:
    """Changes that the job's own files make: it has started, its result is there."""
    changes: dict[str, Any] = {}
    if seen.started is not None and attempt.started_at is None and not _of_an_earlier_run(attempt, seen.started.at):
        changes |= {"started_at": from_epoch(seen.started.at), "state": State.RUNNING, "trouble": ""}
        if seen.started.host:
            changes["nodes"] = seen.started.host
        native = attempt.native
        if seen.started.native and native is not None and not same_job(native, seen.started.native):
            # two jobs carried the token; the one that made the claim is the one that runs
            changes["native"] = NativeJob(id=seen.started.native, cluster=native.cluster)
    if seen.end is not None and not attempt.result_ready:
        changes |= {"state": State.COMPLETING, "result_ready": seen.manifest is not None, "trouble": ""}
        changes |= _from_receipt(seen.manifest)
        if seen.manifest is not None and seen.manifest.max_rss_bytes:
            changes["max_rss_bytes"] = seen.manifest.max_rss_bytes
    return changes


def _of_an_earlier_run(attempt: Attempt, at: float) -> bool:
    """Whether a start is that of a run that the scheduler has taken back to its queue since."""
    return attempt.requeued_at is not None and at <= attempt.requeued_at.timestamp()


def same_job(native: NativeJob | None, claimed: str) -> bool:
    """Whether the job is the one that made the claim, which a task of an array makes in its own name."""
    return native is not None and claimed.partition("_")[0] == native.id.partition("_")[0]


def _from_receipt(manifest: Manifest | None) -> dict[str, Any]:
    """When the cell began; nothing where the receipt names no moment that there is."""
    try:
        return {} if manifest is None else {"cell_started_at": from_epoch(manifest.started_at)}
    except (ValueError, OverflowError, OSError):  # foreign text is data: it may say 1e300, or no number at all
        return {}


def final(
    row: JobRow, end: EndFile | None, manifest: Manifest | None, *, attempt: Attempt, cancelled_by: str | None
) -> dict[str, Any]:
    """How the attempt ended: accounting and the end-file must agree, a disagreement is said (B11)."""
    ending = outcome_of(row, end, cancel_requested=cancelled_by is not None, memory_bytes=attempt.size.memory_bytes)
    by = cancelled_by if row.cancelled_by in (None, YOU) else None  # else another was faster
    changes: dict[str, Any] = {
        "state": ending.state, "raw_state": row.raw_state, "cause": _cause(ending, manifest, by),
        "next": _next(ending, manifest), "evidence": ending.evidence, "exit_code": row.exit_code, "signal": row.signal,
        "trouble": "",
    }  # fmt: skip
    changes |= _from_receipt(manifest)
    changes |= {name: getattr(row, name) for name in ("started_at", "ended_at", "max_rss_bytes") if getattr(row, name)}
    if _never_ran(row):
        changes.pop("started_at", None)
        changes["ran_s"] = 0.0 if attempt.started_at is None else None
    elif row.started_at is not None and row.ended_at is not None:
        changes["ran_s"] = max(0.0, (row.ended_at - row.started_at).total_seconds())
    if row.nodes:
        changes["nodes"] = row.nodes
    return changes


def _never_ran(row: JobRow) -> bool:
    """It ended in the queue. Slurm gives such a job the time of its end as its start, too, and no node."""
    return row.started_at is None or (row.started_at == row.ended_at and not row.nodes)


def _cause(ending: Ending, manifest: Manifest | None, cancelled_by: str | None) -> str:
    """The cell's own words where it was the cell that failed."""
    if ending.state is State.CANCELLED and cancelled_by is not None:
        return f"Cancelled by {cancelled_by}."
    if ending.state is not State.FAILED or manifest is None:
        return ending.cause
    error = manifest.error
    if error is not None:
        # without a traceback it is the runner's sentence, and the name before it is no word of the user's
        if error.traceback:
            return one_sentence(f"{error.ename}: {error.evalue}", capital=False)
        return one_sentence(error.evalue or error.ename)
    if manifest.missing:
        names = ", ".join(f"`{value.name}`" for value in manifest.missing)
        return f"The cell ended without error, but {names} did not come back: {manifest.missing[0].why}"
    return ending.cause


def _next(ending: Ending, manifest: Manifest | None) -> str:
    error = manifest.error if manifest is not None else None
    if error is not None and not error.traceback and ending.next == READ_TRACEBACK:
        return READ_LOG
    return ending.next


def one_sentence(text: str, *, capital: bool = True) -> str:
    """The first line of foreign words, as a sentence: an exception's text may be a page, its name keeps its case."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = line if len(line) <= _LONGEST_CAUSE else f"{line[:_LONGEST_CAUSE]}…"
    if capital:
        line = line[:1].upper() + line[1:]
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def never_started(cancelled_by: str | None, *, now: datetime) -> dict[str, Any]:
    """What to say of a job that was to be taken back, has made no claim and can make none, and is known to nobody.

    Accounting need not tell of a member of an array that was cancelled while it waited.
    """
    return {
        "state": State.CANCELLED, "ended_at": now, "ran_s": 0.0, "trouble": "",
        "cause": f"Cancelled by {cancelled_by} before it started." if cancelled_by else "Taken back before it started.",
        "evidence": ("neither queue nor accounting knows its job any more, and nothing of it can begin",),
    }  # fmt: skip


def lost(end: EndFile | None, *, now: datetime, silent_s: float) -> dict[str, Any]:
    """What to say when every source has been silent about a job for long (B07)."""
    minutes = max(1, round(silent_s / 60))
    if end is not None:
        good = end.outcome == "OK"
        return {
            "state": State.COMPLETED if good else State.FAILED,
            "ended_at": from_epoch(end.at),
            "exit_code": end.exit_code,
            "cause": "" if good else end.why or f"The cell ended with exit code {end.exit_code}.",
            "evidence": (
                f"the scheduler has not known this job for {minutes} min; its own end-file says how it ended",
            ),
        }
    return {
        "state": State.LOST,
        "ended_at": now,
        "cause": f"Queue and accounting have not known this job for {minutes} min, and it left no end-file.",
        "next": "Look into the attempt's folder and log, then run the cell again.",
    }
