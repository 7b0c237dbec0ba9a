"""Earlier tasks that ran the same code, and what they took."""

from __future__ import annotations

from sqlalchemy import Connection, func, or_, select

from jupyter_diamond.model.draft import PastRun
from jupyter_diamond.model.task import Task

from . import loading
from .schema import tasks

_LOOKED_AT = 1000
"""The newest rows of tasks; requests are long, and what ran long ago says little."""
_MOST = 5


def past_runs(connection: Connection, digest: str | None, source: str) -> tuple[PastRun, ...]:
    """Newest first, those of the very same code before those of the same cell. Members of groups are left out."""
    plain = source.strip()
    if not digest and not plain:
        return ()
    since = select(func.max(tasks.c.row) - _LOOKED_AT).scalar_subquery()
    same_digest = func.json_extract(tasks.c.request, "$.digest") == (digest or "")
    same_source = func.trim(func.json_extract(tasks.c.request, "$.source"), " \n\t\r") == (plain or None)
    query = select(tasks.c.id).where(tasks.c.row > since, tasks.c.ended, tasks.c.group_id.is_(None))
    query = query.where(or_(same_digest, same_source)).order_by(same_digest.desc(), tasks.c.row.desc()).limit(_MOST)
    ids = connection.execute(query).scalars().all()
    found = (_run(loading.get(connection, task_id), digest) for task_id in ids)
    return tuple(run for run in found if run is not None)


def _run(task: Task, digest: str | None) -> PastRun | None:
    attempt = task.attempt
    if attempt is None:
        return None
    began = attempt.cell_started_at or attempt.started_at
    ran = (attempt.ended_at - began).total_seconds() if began and attempt.ended_at else attempt.ran_s
    return PastRun(
        task=task.id, name=task.name, site=attempt.site, same="digest" if task.digest == digest else "source",
        state=attempt.state, ended_at=attempt.ended_at, envelope=task.envelope, size=attempt.size,
        run_s=ran if ran and ran > 0 else None, max_rss_bytes=attempt.max_rss_bytes,
    )  # fmt: skip
