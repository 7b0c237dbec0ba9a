"""What forecasts are judged by and learn from: attempts that started, with their decisions, and jobs that have ended.
Of our own that ended well, what they tell of their sites.

A forecast is stored once, in the decision of its attempt, and what became of it in the attempt's times; here the two
are read together. Of a decision only the chosen candidate and its rivals' totals are taken: the whole may be 100 kB.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Row, insert, select, text

from jupyter_diamond.model.decision import Candidate
from jupyter_diamond.model.forecast import ForecastRecord
from jupyter_diamond.model.queue import OwnRun, PastJob
from jupyter_diamond.model.states import State

from .rows import attempt_of
from .schema import attempts, past_jobs

MOST_PAST = 5000
"""Of one site. The predictor has forgotten nine tenths of what is older (see placement.forecast.runtimes)."""
MOST_OUTCOMES = 1000
Key = tuple[str, int]

_FORGET = text(
    "DELETE FROM past_jobs WHERE site = :site AND id <= "
    "(SELECT id FROM past_jobs WHERE site = :site ORDER BY id DESC LIMIT 1 OFFSET :most)"
)
_RIVALS = ", ".join(
    f"json_extract(d, '$.candidates[' || json_extract(d, '$.alternatives[{at}]') || '].estimate.total_s')"
    for at in range(3)
)
_OUTCOME = text(
    "SELECT task_id, n, body, json_extract(d, '$.made_at') AS made_at, "  # noqa: S608 - columns of ours
    "json_extract(d, '$.candidates[' || json_extract(d, '$.chosen') || ']') AS chosen, "
    f"json_array({_RIVALS}) AS rivals FROM ("
    "SELECT task_id, n, body, coalesce(arrays.decision, attempts.decision) AS d FROM attempts "
    "LEFT JOIN arrays ON arrays.token = attempts.decision WHERE task_id = :task_id AND n = :n)"
)
"""The members of an array share their decision: their own row names it."""
_RUN = text(
    "SELECT attempts.body AS body, coalesce(groups.name, tasks.name) AS name, tasks.notebook AS notebook, "
    "json_extract(coalesce(groups.request, tasks.request), "
    "CASE WHEN groups.id IS NULL THEN '$.source' ELSE '$.request.source' END) AS source "
    "FROM attempts JOIN tasks ON tasks.id = attempts.task_id LEFT JOIN groups ON groups.id = tasks.group_id "
    "WHERE task_id = :task_id AND n = :n"
)


def put_past(connection: Connection, site: str, jobs: Iterable[PastJob]) -> None:
    """Keep jobs in the order in which they ended, and forget the oldest of their site."""
    rows = [{"site": site, **job._asdict()} for job in jobs]
    if rows:
        connection.execute(insert(past_jobs), rows)
        connection.execute(_FORGET, {"site": site, "most": MOST_PAST})


def past(connection: Connection, site: str) -> tuple[PastJob, ...]:
    """The newest jobs of a site that have ended, oldest first."""
    job = past_jobs.c
    query = select(job.user, job.limit_s, job.units, job.used_s, job.ended_at).where(job.site == site).order_by(job.id)
    return tuple(PastJob(*row) for row in connection.execute(query))


def outcomes(connection: Connection, known: Collection[Key]) -> dict[Key, ForecastRecord | None]:
    """The newest attempts that have started and are not known yet, oldest first; None where there was no forecast."""
    started = select(attempts.c.task_id, attempts.c.n).where(attempts.c.started_at.is_not(None))
    keys = connection.execute(started.order_by(attempts.c.started_at.desc()).limit(MOST_OUTCOMES)).all()
    new = [key for key in reversed(keys) if tuple(key) not in known]
    return {
        (task_id, n): _record(connection.execute(_OUTCOME, {"task_id": task_id, "n": n}).one()) for task_id, n in new
    }


def _record(row: Row[Any]) -> ForecastRecord | None:
    try:
        chosen = Candidate.model_validate_json(row.chosen or "")
    except ValidationError:  # made by an older version, or by a newer one
        return None
    if chosen.estimate is None or chosen.size is None:
        return None
    attempt = attempt_of(row.body, None)
    rivals = [total for total in json.loads(row.rivals) if total is not None]
    return ForecastRecord(
        task_id=row.task_id, attempt=row.n, site=chosen.site, partition=chosen.partition, size=chosen.size,
        made_at=row.made_at, forecast=chosen.estimate.forecast, submitted_at=attempt.submitted_at,
        started_at=attempt.started_at, starts_now=chosen.starts_now, queue_ahead=chosen.queue_ahead,
        total_s=chosen.estimate.total_s, best_rival_s=min(rivals, default=None),
    )  # fmt: skip


def own_runs(connection: Connection, known: Collection[Key]) -> dict[Key, OwnRun]:
    """The newest attempts that ended well and are not known yet, oldest first."""
    ended = select(attempts.c.task_id, attempts.c.n).where(attempts.c.state == State.COMPLETED.value)
    ended = ended.where(attempts.c.started_at.is_not(None)).order_by(attempts.c.started_at.desc())
    keys = connection.execute(ended.limit(MOST_OUTCOMES)).all()
    new = [key for key in reversed(keys) if tuple(key) not in known]
    return {(task_id, n): _run(connection.execute(_RUN, {"task_id": task_id, "n": n}).one()) for task_id, n in new}


def _run(row: Row[Any]) -> OwnRun:
    attempt = attempt_of(row.body, None)
    started, cell, ended, size = attempt.started_at, attempt.cell_started_at, attempt.ended_at, attempt.size
    digest = hashlib.sha256((row.source or "").encode("utf-8", "backslashreplace")).hexdigest()[:16]
    whole = attempt.segment == 1  # one of several parts of the work says nothing of the whole
    return OwnRun(
        site=attempt.site, work=(row.name, row.notebook or "", digest, size.nodes * (size.gpus or size.cpus)),
        prepare_s=None if started is None or cell is None else (cell - started).total_seconds(),
        run_s=None if cell is None or ended is None or not whole else (ended - cell).total_seconds(),
    )  # fmt: skip
