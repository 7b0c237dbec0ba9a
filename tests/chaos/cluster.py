"""A toy cluster: a queue, jobs that start, run and end by their fate, and accounting that lags behind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_diamond.model import attempt_files as files

from .clock import EPOCH, Clock
from .plan import Plan

US = "\x1f"
STRANGER = "somebody-elses"
WALLTIME_S = 600
_LAG_S, _LATE_S = 0.4, 300.0
_ENDS = {  # fate: (the scheduler's word, exit code, signal)
    "oom": ("OUT_OF_MEMORY", 137, 9), "timeout": ("TIMEOUT", 0, 15), "node_fail": ("NODE_FAIL", 0, 0),
    "preempted": ("PREEMPTED", 0, 15), "operator": ("CANCELLED", 0, 15),
}  # fmt: skip


@dataclass
class Job:
    """A job as the cluster itself knows it."""

    id: str
    name: str
    """What the scheduler calls it; the members of an array have one name."""
    token: str
    """Of the attempt that it is."""
    folder: Path
    fate: str
    row: dict[str, Any]
    kept_s: float
    """How long the queue shows it after its end."""
    history: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    spans: list[list[float]] = field(default_factory=list)
    """When it ran the cell, from and to; nothing for one that a claim turned away."""
    turned_away: bool = False
    turn: int = 0
    wrote_end: bool = False

    @property
    def over(self) -> bool:
        return self.row["ended"] is not None

    def note(self, now: float, **changes: Any) -> None:
        self.row = self.row | changes
        self.history.append((now, self.row))

    def as_of(self, moment: float) -> dict[str, Any] | None:
        return next((row for at, row in reversed(self.history) if at <= moment), None)


class Cluster:
    """The scheduler of one site, its nodes, and its books."""

    def __init__(self, name: str, clock: Clock, plan: Plan, rng: random.Random, tell: Callable[[str], None]) -> None:
        self.name, self._clock, self._plan, self._rng, self._tell = name, clock, plan, rng, tell
        self.jobs: list[Job] = []
        self.listeners: list[Callable[[], None]] = []
        """Called when a job has written a file."""
        self._next = 100
        self._fates = list(plan.fates)
        for at in plan.ids_anew:
            clock.at(at, self._ids_anew)

    @property
    def next_id(self) -> str:
        """What the next job will be called."""
        return str(self._next)

    # ---- what users' commands reach

    def take(self, token: str, folder: Path, ats: str = "-") -> str:
        """Put a job into the queue, or one for each place of an array."""
        number = self._next
        self._next += 1
        if ats == "-":
            self._queue(str(number), token, token, folder)
        else:
            for at in ats.split(","):
                self._queue(f"{number}_{at}", token, f"{token}-{at}", folder / at)
        return str(number)

    def _queue(self, number: str, name: str, token: str, folder: Path) -> None:
        now = self._clock.now
        row = {"raw": "PENDING", "submitted": now, "started": None, "ended": None, "exit": None, "signal": None,
               "by": "", "requeued": False}  # fmt: skip
        fate = self._fates.pop(0) if self._fates else "ok"
        job = Job(number, name, token, folder, fate, row, self._rng.choice((0.0, 30.0, 300.0)))
        job.note(now)
        self.jobs.append(job)
        self._tell(f"{self.name}: job {job.id} of {token[4:]} is queued; its fate: {fate}")
        self._later(job, self._rng.choice(self._plan.waits_s), self._start)

    def cancel(self, ids: Iterable[str], *, waiting_only: bool = False) -> None:
        """As scancel: what waits is gone at once, what runs a little later."""
        for job in self._newest({job.id for job in self.jobs if named(job, set(ids))}):
            if job.over or job.token == STRANGER or (waiting_only and job.row["started"] is not None):
                continue
            self._tell(f"{self.name}: job {job.id} is cancelled")
            if job.row["started"] is None:
                self._end(job, "CANCELLED", 0, 0, by="me")
            else:
                self._later(job, 40.0 if job.fate == "cancel_late" else 1.0, self._killed)

    def queue(self, wanted: Callable[[Job], bool]) -> list[str]:
        """What squeue would print."""
        now = self._clock.now
        shown = [job for job in self.jobs if not job.over or (job.fate != "forgotten" and now < self._gone_at(job))]
        return [
            self._line(job, job.row) for job in self._newest({job.id for job in shown}) if job in shown and wanted(job)
        ]

    def old_rows(self, wanted: Callable[[Job], bool]) -> list[str]:
        """What was true of some jobs before: rows that a careless answer has beside those of now."""
        found = (job for job in self.jobs if wanted(job) and len(job.history) > 1)
        return [self._line(job, self._rng.choice(job.history[:-1])[1]) for job in found]

    def accounting(self, wanted: Callable[[Job], bool], since: float) -> list[str]:
        """What sacct would print: the newest job of each id, as the books had it some time ago."""
        now = self._clock.now
        late = self._plan.on("accounting_late", now)
        if late:
            self._plan.count("accounting_late")
        moment, lines = now - (_LATE_S if late else _LAG_S), []
        for job in self._newest({job.id for job in self.jobs if job.as_of(moment)}):
            row = job.as_of(moment)
            if row is None or not wanted(job) or (job.fate == "forgotten" and job.over):
                continue
            if row["ended"] is None or EPOCH + row["ended"] >= since:
                lines.append(self._line(job, row))
        return lines

    # ---- the jobs' lives

    def _later(self, job: Job, seconds: float, act: Callable[[Job], None]) -> None:
        turn = job.turn

        def due() -> None:
            if not job.over and job.turn == turn:
                act(job)

        self._clock.at(self._clock.now + seconds, due)

    def _start(self, job: Job) -> None:
        now = self._clock.now
        if not self._claims(job):
            job.turned_away = True
            job.note(now, raw="RUNNING", started=now, requeued=False)
            self._tell(f"{self.name}: job {job.id} of {job.token[4:]} is turned away by the claim")
            self._end(job, "FAILED", files.EXIT_CLAIMED, 0)
            return
        for name in (files.END, files.MANIFEST):
            (job.folder / name).unlink(missing_ok=True)
        began = {"at": EPOCH + now, "host": "n1", "pid": 1, "native": job.id}
        (job.folder / files.STARTED).write_text(json.dumps(began))
        self._clock.at(now, self._news)
        job.spans.append([now, float("inf")])
        job.note(now, raw="RUNNING", started=now, requeued=False)
        self._tell(f"{self.name}: job {job.id} of {job.token[4:]} runs the cell, turn {len(job.spans)}")
        seconds = WALLTIME_S if job.fate == "timeout" else self._rng.choice(self._plan.runs_s)
        if job.fate in ("timeout", "node_fail", "preempted", "oom") and self._rng.random() < 0.8:
            self._save(job)
        self._later(job, seconds, self._requeue if job.fate == "requeued" and not job.turn else self._finish)

    def _save(self, job: Job) -> None:
        """The work saves something."""
        script = (job.folder if job.name == job.token else job.folder.parent) / files.JOB_SCRIPT
        saved = script.read_text().split("\n")[1] if script.exists() else ""
        if saved:
            where = saved if job.name == job.token else f"{saved}-{job.folder.name}"
            (Path(where) / f"step-{job.id}").mkdir(parents=True, exist_ok=True)
            self._plan.count("checkpoint")

    def _claims(self, job: Job) -> bool:
        claim = job.folder / files.CLAIM
        if job.name != job.token:
            job.folder.mkdir(exist_ok=True)  # a member makes its own
        if not claim.is_symlink():
            claim.symlink_to(job.id)
        return str(claim.readlink()) == job.id

    def _requeue(self, job: Job) -> None:
        now = self._clock.now
        job.spans[-1][1] = now
        job.turn += 1
        self._plan.count("requeued")
        self._tell(f"{self.name}: job {job.id} is sent back to the queue")
        job.note(now, raw="PENDING", started=None, requeued=True)
        self._later(job, self._rng.choice((5.0, 120.0)), self._start)

    def _finish(self, job: Job) -> None:
        self._plan.count(f"job {job.fate}")
        if job.fate in _ENDS:
            raw, code, signal = _ENDS[job.fate]
            self._end(job, raw, code, signal, by="root" if job.fate == "operator" else "")
            return
        good = job.fate != "failed"
        self._write_end(job, good=good)
        job.spans[-1][1] = self._clock.now
        job.note(self._clock.now, raw="COMPLETING")
        self._later(job, 0.6, lambda job: self._end(job, "COMPLETED" if good else "FAILED", 0 if good else 1, 0))

    def _write_end(self, job: Job, *, good: bool) -> None:
        at, outcome = EPOCH + self._clock.now, "OK" if good else "FAILED"
        error = None if good else {"ename": "ValueError", "evalue": "no", "traceback": ["no"]}
        receipt = {
            "format": 1,
            "token": job.token,
            "outcome": outcome,
            "error": error,
            "started_at": at,
            "ended_at": at,
        }
        end = {
            "format": 1,
            "token": job.token,
            "by": "runner",
            "outcome": outcome,
            "exit_code": int(not good),
            "at": at,
        }
        (job.folder / files.MANIFEST).write_text(json.dumps(receipt))
        (job.folder / files.END).write_text(json.dumps(end))
        job.wrote_end = True
        self._clock.at(self._clock.now, self._news)

    def _news(self) -> None:
        for listener in list(self.listeners):
            listener()

    def _killed(self, job: Job) -> None:
        self._end(job, "CANCELLED", 0, 15, by="me")

    def _end(self, job: Job, raw: str, code: int, signal: int, *, by: str = "") -> None:
        now = self._clock.now
        if job.spans and job.spans[-1][1] == float("inf"):
            job.spans[-1][1] = now
        job.note(now, raw=raw, ended=now, exit=code, signal=signal, by=by, requeued=False)
        self._tell(f"{self.name}: job {job.id} ends {raw} {code}:{signal}")

    def _ids_anew(self) -> None:
        """The ids of jobs that are over are given to others."""
        now, reused = self._clock.now, [job for job in self.jobs if job.over]
        for old in reused:
            self._plan.count("ids_anew")
            row = old.row | {"raw": "RUNNING", "submitted": now, "started": now, "ended": None, "exit": None}
            other = Job(old.id, STRANGER, STRANGER, old.folder, "ok", row, 0.0)
            other.note(now)
            self.jobs.append(other)
            self._tell(f"{self.name}: {old.id} is somebody else's job now")
            self._later(other, 500.0, lambda job: self._end(job, "FAILED", 9, 0))

    # ---- rows

    def _gone_at(self, job: Job) -> float:
        return float(job.row["ended"]) + job.kept_s

    def _newest(self, ids: set[str]) -> list[Job]:
        found = {job.id: job for job in self.jobs if job.id in ids}  # the last one of an id
        return list(found.values())

    @staticmethod
    def _line(job: Job, row: dict[str, Any]) -> str:
        def at(moment: float | None) -> str:
            return "" if moment is None else f"{EPOCH + moment:.3f}"

        words = (
            job.id, job.name, row["raw"], str(row["exit"] if row["ended"] else ""), str(row["signal"] or ""), row["by"],
            "requeued" if row["requeued"] else "", at(row["submitted"]), at(row["started"]), at(row["ended"]),
        )  # fmt: skip
        return US.join(words)


def named(job: Job, ids: set[str]) -> bool:
    """Whether one of these names means this job, or the array that it is a member of."""
    return job.id in ids or job.id.partition("_")[0] in ids
