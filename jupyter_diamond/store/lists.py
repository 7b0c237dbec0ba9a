"""Which tasks a list shows, as a query. Its cost is that of what it answers, however many tasks there are."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, select

from jupyter_diamond.errors import InvalidRequest

from .rows import summaries
from .schema import tasks


def asked(
    name: str | None, phase: str | None, notebook: str | None, *, members: bool, before: str | None, newer: int | None
) -> Select[Any]:
    """Newest first; in the order of their newest events where those after one are asked for."""
    if phase not in (None, "active", "ended"):
        raise InvalidRequest(f"There is no phase {phase!r}; tasks are active or ended.")
    query = summaries()
    if name is not None:
        query = query.where(tasks.c.name == name)
    elif not members:
        # the index of members is by group, member and row: with both given, its rows come in the order that is wanted
        query = query.where(tasks.c.group_id.is_(None) & tasks.c.member.is_(None))
    if phase is not None:
        query = query.where(tasks.c.ended if phase == "ended" else ~tasks.c.ended)
    if notebook is not None:
        query = query.where(tasks.c.notebook == notebook)
    if before is not None:
        query = query.where(tasks.c.row < select(tasks.c.row).where(tasks.c.id == before).scalar_subquery())
    if newer is None:
        return query.order_by(tasks.c.row.desc())
    return query.where(tasks.c.version > newer).order_by(tasks.c.version)
