"""Groups inside the caller's transaction: their rows, and what is summed up over their members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field
from sqlalchemy import Connection, Row, and_, case, func, select, update

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.base import Value, from_epoch
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.group import Group, GroupShare, Relaxed
from jupyter_diamond.model.states import Outcome, Phase, State

from . import loading
from .rows import stored
from .schema import attempts, charges, groups, tasks

_ENDED = "diamond ended groups"
_MOST_KEPT = 500
_NEWEST = and_(attempts.c.task_id == tasks.c.id, attempts.c.n == tasks.c.attempts)


class Kept(Value):
    """What the row of a group keeps besides its columns.

    By place: ``waits``, what was forecast for its first, and ``whys``, the sentence of the decision.
    """

    why_here: str = ""
    waits: dict[str, float | None] = Field(default_factory=dict)
    whys: dict[str, str] = Field(default_factory=dict)
    relaxed: tuple[Relaxed, ...] = ()
    stopped: str = ""
    """Why its later rounds are never submitted; empty while they may be."""
    outcome: Outcome | None = None


def place(site: str, partition: str | None) -> str:
    """The key of ``Kept.waits`` and ``Kept.whys``."""
    return f"{site}:{partition or ''}"


def row_of(connection: Connection, ref: str) -> Row[Any]:
    """A group's row by its id, or the newest one of that name. Raises NotFound."""
    row = connection.execute(select(groups).where(groups.c.id == ref)).first()
    if row is None:
        newest = select(groups).where(groups.c.name == ref).order_by(groups.c.row.desc()).limit(1)
        row = connection.execute(newest).first()
    if row is None:
        shown = ref if len(ref) <= 80 else ref[:80] + "…"
        raise NotFound(f"There is no group {shown!r}; jupyter diamond groups lists those that there are.")
    return row


def change(connection: Connection, group_id: str, **columns: Any) -> None:
    """Change columns of a group's row."""
    connection.execute(update(groups).where(groups.c.id == group_id).values(**columns))


_Count = tuple[State, str, str | None, int]


class _Sums(NamedTuple):
    """What is summed up over a group's members: how many are where in which state, their charges, what went wrong."""

    counts: list[_Count]
    version: int
    paid: list[Charge]
    wrong: list[tuple[str, str, int]]


def views(connection: Connection, rows: Sequence[Row[Any]], *, keep: bool = False) -> tuple[Group, ...]:
    """Groups as their owner sees them: some statements for all of them.

    ``keep``: one that has ended is worked out once. Only for what is committed.
    """
    ended: dict[str, Group] = connection.info.setdefault(_ENDED, {})
    new = [row for row in rows if row.id not in ended]
    ids = [row.id for row in new]
    counts, versions, paid = _counts(connection, ids), _versions(connection, ids), _charges(connection, ids)
    wrong = _wrong(connection, ids)
    made = {
        row.id: _view(connection, row, _Sums(counts[row.id], versions.get(row.id, 0), paid[row.id], wrong[row.id]))
        for row in new
    }
    found = tuple(ended.get(row.id) or made[row.id] for row in rows)
    if keep:
        ended.update({row.id: made[row.id] for row in new if row.ended})
    while len(ended) > _MOST_KEPT:
        del ended[next(iter(ended))]
    return found


def _counts(connection: Connection, ids: Collection[str]) -> dict[str, list[_Count]]:
    columns = tasks.c.group_id, tasks.c.state, attempts.c.site, attempts.c.partition
    query = select(*columns, func.count()).select_from(tasks.join(attempts, _NEWEST)).where(tasks.c.group_id.in_(ids))
    found: dict[str, list[_Count]] = defaultdict(list)
    for group_id, state, site, partition, number in connection.execute(query.group_by(*columns)):
        found[group_id].append((State(state), site, partition, number))
    return found


def _versions(connection: Connection, ids: Collection[str]) -> dict[str, int]:
    query = select(tasks.c.group_id, func.max(tasks.c.version)).where(tasks.c.group_id.in_(ids))
    return {row[0]: row[1] for row in connection.execute(query.group_by(tasks.c.group_id))}


def _charges(connection: Connection, ids: Collection[str]) -> dict[str, list[Charge]]:
    """Sums over all attempts, one a unit. A sum with something unknown in it is unknown."""
    own = charges.c
    live = own.settled_at.is_(None)
    query = (
        select(
            tasks.c.group_id, own.unit, func.count().label("number"), func.count(case((live, 1))).label("live"),
            func.count(own.predicted).label("predictable"), func.sum(own.predicted).label("predicted"),
            func.count(own.at_most).label("bounded"), func.sum(own.at_most).label("at_most"),
            func.count(own.actual).label("told"), func.sum(own.actual).label("actual"),
            func.max(own.settled_at).label("settled_at"),
        )
        .select_from(charges.join(tasks, tasks.c.id == own.task_id))
        .where(tasks.c.group_id.in_(ids))
        .group_by(tasks.c.group_id, own.unit)
        .order_by(own.unit)
    )  # fmt: skip
    found: dict[str, list[Charge]] = defaultdict(list)
    for row in connection.execute(query):
        number, live_ones = row.number, row.live
        found[row.group_id].append(Charge(
            unit=row.unit, predicted=row.predicted if row.predictable == number else None,
            at_most=row.at_most if row.bounded == number else None,
            actual=row.actual if row.told == number - live_ones else None,
            settled_at=None if live_ones else from_epoch(row.settled_at),
        ))  # fmt: skip
    return found


def _wrong(connection: Connection, ids: Collection[str]) -> dict[str, list[tuple[str, str, int]]]:
    """By group, what members ended with that did not end well: the cause, the first of them, and how many."""
    number, first = func.count().label("number"), func.min(tasks.c.member).label("first")
    query = (
        select(tasks.c.group_id, attempts.c.cause, first, number)
        .select_from(tasks.join(attempts, _NEWEST))
        .where(tasks.c.group_id.in_(ids), tasks.c.ended, tasks.c.state != State.COMPLETED.value)
        .group_by(tasks.c.group_id, attempts.c.cause)
        .order_by(number.desc(), first)
    )
    found: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for group_id, cause, at, many in connection.execute(query):
        found[group_id].append((cause, at, many))
    return found


def _view(connection: Connection, row: Row[Any], sums: _Sums) -> Group:
    whole, kept = loading.whole(connection, row.id), stored(Kept, row.body)
    asked, request = whole.asked, whole.request
    states: dict[State, int] = defaultdict(int)
    for state, _, _, number in sums.counts:
        states[state] += number
    return Group(
        id=row.id, name=row.name, language=request.language, phase=_phase(states, ended=row.ended),
        outcome=kept.outcome, members=len(asked.members), states=dict(states), round=max(row.round, 1),
        rounds=len(asked.rounds), next_round=asked.next_round, at_once=asked.at_once,
        params=tuple(dict.fromkeys(name for member in asked.members for name in member.params)),
        shares=_shares(sums.counts, kept), charges=tuple(sums.paid), relaxed=kept.relaxed,
        cause=kept.stopped or _cause(request.name, sums.wrong), why_here=kept.why_here,
        created_at=from_epoch(row.created_at),
        ended_at=None if row.ended_at is None else from_epoch(row.ended_at),
        cancel_requested_by=row.cancel_requested_by, held_by=row.held_by, by=request.by, source=request.source,
        digest=request.digest, outputs=request.outputs, envelope=request.envelope, notebook=request.notebook,
        version=max(row.version, sums.version),
    )  # fmt: skip


def _phase(states: Mapping[State, int], *, ended: bool) -> Phase:
    """A group runs while one of it does, or has ended with more to come of those that wait."""
    if ended:
        return Phase.ENDED
    phases = {state.phase for state in states}
    if Phase.RUNNING in phases:
        return Phase.RUNNING
    open_ = phases - {Phase.ENDED}
    return Phase.UNKNOWN if open_ == {Phase.UNKNOWN} else Phase.PENDING


def _shares(counts: Iterable[_Count], kept: Kept) -> tuple[GroupShare, ...]:
    found: dict[tuple[str, str | None], dict[str, int]] = {}
    for state, site, partition, number in counts:
        share = found.setdefault((site, partition), {"waiting": 0, "running": 0, "ended": 0})
        share[_SHARED.get(state.phase, "waiting")] += number
    return tuple(
        GroupShare(
            site=site,
            partition=partition,
            wait_s=kept.waits.get(place(site, partition)),
            why=kept.whys.get(place(site, partition), ""),
            **share,
        )
        for (site, partition), share in sorted(found.items(), key=lambda each: (each[0][0], each[0][1] or ""))
    )


_SHARED = {Phase.RUNNING: "running", Phase.ENDED: "ended"}


def _cause(name: str, wrong: Sequence[tuple[str, str, int]]) -> str:
    if not wrong:
        return ""
    cause, first, number = wrong[0]
    if sum(many for _, _, many in wrong) == 1:
        return f"{name}[{first}]: {cause}"
    many = sum(each for _, _, each in wrong)
    return f"{many} of them did not end well, {number} of these as {name}[{first}]: {cause}"
