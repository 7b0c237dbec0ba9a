"""Groups of tasks: each method is one transaction, however many members it is about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, tuple_, update

from jupyter_diamond.errors import Conflict, InvalidRequest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.group import Group, GroupRequest, MemberSummary
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.model.task import Task

from . import attempt_book, bulk, eventlog, followers, follows, group_rows, loading, member_rows, round_rows
from .attempt_book import Change
from .database import Database
from .eventlog import Fact
from .group_rows import Kept
from .round_rows import Round, Share
from .rows import Whole, stored
from .schema import arrays, attempts, groups, tasks

__all__ = ["Groups", "Progress", "Round", "Share"]


class Progress(NamedTuple):
    """How far a group is, for whoever advances it. ``ended`` and ``well`` name members by their number."""

    id: str
    asked: GroupRequest
    created_at: datetime
    round: int
    over: bool
    stopped: bool
    cancelled: bool
    held: bool
    begun: frozenset[int]
    ended: dict[int, State]


class Groups:
    """The groups of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, asked: GroupRequest, *, group_id: str, first: Round, at: datetime, caps: Collection[SpendingCap] = ()
    ) -> tuple[Group, tuple[Task, ...]]:
        """Write a group with its first round. A known client token gives its group, no tasks, and writes nothing.

        Raises OverBudget where one of the ``caps`` leaves less than the round may cost; nothing is written then.
        """
        request = asked.request
        with self._database.write() as connection:
            known = connection.execute(select(groups).where(groups.c.client_token == request.client_token)).first()
            if known is not None:
                return group_rows.views(connection, [known])[0], ()
            connection.execute(insert(groups).values(
                id=group_id, client_token=request.client_token, name=request.name, notebook=request.notebook.path,
                ended=False, created_at=at.timestamp(), round=0, version=0, request=asked.model_dump_json(),
                body=Kept().model_dump_json(),
            ))  # fmt: skip
            loading.keep(connection, group_id, Whole(asked))
            told = {"name": request.name, "members": len(asked.members), "rounds": len(asked.rounds)}
            eventlog.append(connection, "group.created", f"group:{group_id}", told, at=at, dedup_key="created")
            made = round_rows.start(connection, group_id, 1, first, caps=caps, at=at)
            return _view(connection, group_id), made

    def start_round(
        self, group_id: str, number: int, begun: Round, *, at: datetime, caps: Collection[SpendingCap] = ()
    ) -> tuple[Task, ...]:
        """Write the members of a round with their attempts, all or none; the tasks that were made.

        None are where this round has begun already, or none may begin any more. Raises OverBudget.
        """
        with self._database.write() as connection:
            row = group_rows.row_of(connection, group_id)
            stopped = row.cancel_requested_by is not None or stored(Kept, row.body).stopped
            if row.ended or stopped or row.round != number - 1:
                return ()
            return round_rows.start(connection, row.id, number, begun, caps=caps, at=at)

    def finish_round(self, group_id: str, number: int, at: datetime) -> bool:
        """Tell that the members that the next round waits for have ended; False where that was told before."""
        with self._database.write() as connection:
            told = {"round": number, "states": _states(connection, group_id)}
            subject, key = f"group:{group_id}", f"finished:{number}"
            return bool(eventlog.append(connection, "group.round_finished", subject, told, at=at, dedup_key=key))

    def stop(self, group_id: str, why: str, at: datetime) -> Group:
        """No further round of it begins; those that have begun go on."""
        with self._database.write() as connection:
            row = group_rows.row_of(connection, group_id)
            told = {"why": why[:1000], "round": row.round}
            if not row.ended and eventlog.append(
                connection, "group.stopped", f"group:{row.id}", told, at=at, dedup_key="stopped"
            ):
                kept = stored(Kept, row.body).model_copy(update={"stopped": why})
                group_rows.change(connection, row.id, body=kept.model_dump_json())
            return _view(connection, row.id)

    def finish(self, group_id: str, at: datetime) -> Group:
        """Tell, once, that all of it has ended: with how many ended how. Nothing happens while a member has not."""
        with self._database.write() as connection:
            row = group_rows.row_of(connection, group_id)
            mine = tasks.c.group_id == row.id
            open_ = connection.execute(select(tasks.c.id).where(mine, ~tasks.c.ended).limit(1)).first()
            if row.ended or open_ is not None:
                return _view(connection, row.id)
            outcome = _outcome(connection, row)
            told = {"outcome": outcome.value, "states": _states(connection, row.id)}
            eventlog.append(connection, "group.ended", f"group:{row.id}", told, at=at, dedup_key="ended")
            kept = stored(Kept, row.body).model_copy(update={"outcome": outcome})
            body = kept.model_dump_json()
            group_rows.change(connection, row.id, ended=True, ended_at=at.timestamp(), body=body)
            return _view(connection, row.id)

    # ---- what its user asks for

    def cancel(self, group_id: str, by: str, at: datetime) -> Group:
        """Note who asked for its end, and for that of each member that has not ended; the first one is kept."""
        with self._database.write() as connection:
            row = group_rows.row_of(connection, group_id)
            told = {"by": by}
            if not row.ended and eventlog.append(
                connection, "group.cancel_requested", f"group:{row.id}", told, at=at, dedup_key="cancel"
            ):
                group_rows.change(connection, row.id, cancel_requested_by=by)
                where = (tasks.c.group_id == row.id) & ~tasks.c.ended & tasks.c.cancel_requested_by.is_(None)
                ids = connection.execute(select(tasks.c.id).where(where)).scalars().all()
                connection.execute(update(tasks).where(where).values(cancel_requested_by=by))
                said = {"by": by, "group": row.id}
                facts = [Fact("task.cancel_requested", task_id, said, "cancel") for task_id in ids]
                eventlog.append_many(connection, facts, at=at)
            return _view(connection, row.id)

    def hold(self, group_id: str, by: str, at: datetime) -> Group:
        """Let nothing more of it be submitted; jobs that wait are taken back. Raises Conflict when all have started."""
        with self._database.write() as connection:
            row = group_rows.row_of(connection, group_id)
            whole, kept = loading.whole(connection, row.id), stored(Kept, row.body)
            waiting = [
                task for task in loading.load(connection, (tasks.c.group_id == row.id) & ~tasks.c.ended)
                if task.held_by is None and follows.not_started(task.attempts[-1])
            ]  # fmt: skip
            more = row.round < len(whole.asked.rounds) and not kept.stopped and row.cancel_requested_by is None
            if row.ended or not (waiting or more or row.held_by):
                raise Conflict(f"All members of `{row.name}` have started, so there is nothing to hold.")
            if row.held_by is None:
                eventlog.append(connection, "group.held", f"group:{row.id}", {"by": by}, at=at)
                group_rows.change(connection, row.id, held_by=by)
            theirs = bulk.among(tasks.c.id, (task.id for task in waiting))
            connection.execute(update(tasks).where(theirs).values(held_by=by))
            told = {"by": by}
            eventlog.append_many(connection, [Fact("task.held", task.id, told) for task in waiting], at=at)
            sent = theirs & (tasks.c.state != State.WAITING.value)
            _withdraw(connection, sent, Withdrawal(by=by, then="hold"), at=at)
            return _view(connection, row.id)

    def release(self, group_id: str, by: str, at: datetime) -> Group:
        """Let it go on, and each of its members that was held."""
        with self._database.write() as connection:
            row = group_rows.row_of(connection, group_id)
            if row.held_by is not None and not row.ended:
                eventlog.append(connection, "group.released", f"group:{row.id}", {"by": by}, at=at)
                group_rows.change(connection, row.id, held_by=None)
            where = (tasks.c.group_id == row.id) & tasks.c.held_by.is_not(None) & ~tasks.c.ended
            ids = connection.execute(select(tasks.c.id).where(where)).scalars().all()
            connection.execute(update(tasks).where(where).values(held_by=None))
            facts = [Fact("task.released", task_id, {"by": by, "group": row.id}) for task_id in ids]
            eventlog.append_many(connection, facts, at=at)
            return _view(connection, row.id)

    def withdraw(self, task_ids: Collection[str], wanted: Withdrawal, at: datetime) -> int:
        """Have the waiting jobs of these members taken back; how many are, as one may have started meanwhile."""
        with self._database.write() as connection:
            return len(_withdraw(connection, bulk.among(tasks.c.id, task_ids) & ~tasks.c.ended, wanted, at=at))

    def follow(
        self,
        group_id: str,
        ended: followers.Ended,
        shares: Sequence[Share],
        *,
        at: datetime,
        caps: Collection[SpendingCap] = (),
    ) -> None:
        """End attempts that were taken back, and begin those that follow them, all or none. Raises OverBudget."""
        with self._database.write() as connection:
            followers.follow(connection, group_id, ended, shares, caps=caps, at=at)

    # ---- reading

    def get(self, ref: str) -> Group:
        """A group by its id, or the newest of that name. Raises NotFound."""
        with self._database.read() as connection:
            return group_rows.views(connection, [group_rows.row_of(connection, ref)], keep=True)[0]

    def find_token(self, client_token: str) -> Group | None:
        """The group that a client's token made, if any."""
        with self._database.read() as connection:
            row = connection.execute(select(groups).where(groups.c.client_token == client_token)).first()
            return None if row is None else group_rows.views(connection, [row], keep=True)[0]

    def list(
        self, name: str | None = None, phase: str | None = None, notebook: str | None = None, limit: int = 100
    ) -> tuple[Group, ...]:
        """Groups, newest first. ``phase`` is ``active`` or ``ended``; anything else raises InvalidRequest."""
        if phase not in (None, "active", "ended"):
            raise InvalidRequest(f"There is no phase {phase!r}; groups are active or ended.")
        query = select(groups).order_by(groups.c.row.desc()).limit(limit)
        if name is not None:
            query = query.where(groups.c.name == name)
        if phase is not None:
            query = query.where(groups.c.ended if phase == "ended" else ~groups.c.ended)
        if notebook is not None:
            query = query.where(groups.c.notebook == notebook)
        with self._database.read() as connection:
            return group_rows.views(connection, connection.execute(query).all(), keep=True)

    def active_same_name(self, name: str, notebook: str | None) -> tuple[Group, ...]:
        """The groups of that name and notebook that have not ended, oldest first. A notebook of None means none."""
        same = (groups.c.name == name) & groups.c.notebook.is_not_distinct_from(notebook)
        query = select(groups).where(same, ~groups.c.ended).order_by(groups.c.row)
        with self._database.read() as connection:
            return group_rows.views(connection, connection.execute(query).all(), keep=True)

    def request(self, group_id: str) -> GroupRequest:
        """What the kernel asked for. Raises NotFound."""
        with self._database.read() as connection:
            return loading.whole(connection, group_rows.row_of(connection, group_id).id).asked

    def active(self) -> tuple[str, ...]:
        """The ids of the groups that have not ended, oldest first."""
        with self._database.read() as connection:
            query = select(groups.c.id).where(~groups.c.ended).order_by(groups.c.row)
            return tuple(connection.execute(query).scalars())

    def over(self, ids: Collection[str]) -> tuple[str, ...]:
        """Those of these ids that are of groups which have ended."""
        with self._database.read() as connection:
            return tuple(connection.execute(select(groups.c.id).where(groups.c.id.in_(ids), groups.c.ended)).scalars())

    def progress(self, group_id: str) -> Progress:
        """How far a group is. Raises NotFound."""
        with self._database.read() as connection:
            row = group_rows.row_of(connection, group_id)
            query = select(tasks.c.member, tasks.c.state, tasks.c.ended).where(tasks.c.group_id == row.id)
            members = connection.execute(query).all()
            return Progress(
                id=row.id, asked=loading.whole(connection, row.id).asked, created_at=from_epoch(row.created_at),
                round=row.round, over=row.ended, stopped=bool(stored(Kept, row.body).stopped),
                cancelled=row.cancel_requested_by is not None, held=row.held_by is not None,
                begun=frozenset(each.member for each in members),
                ended={each.member: State(each.state) for each in members if each.ended},
            )  # fmt: skip

    def tasks(
        self, ref: str, states: Collection[State] = (), limit: int = 10_000, after: int | None = None
    ) -> tuple[MemberSummary, ...]:
        """The members that have begun, by index; in some states only, or after one of them, if given."""
        with self._database.read() as connection:
            where: ColumnElement[bool] = tasks.c.member > (-1 if after is None else after)
            if states:
                where &= tasks.c.state.in_([state.value for state in states])
            return member_rows.lines(connection, group_rows.row_of(connection, ref).id, where, limit)

    def members(
        self, ref: str, *, ended: bool | None = None, after: int | None = None, limit: int = 10_000
    ) -> tuple[Task, ...]:
        """The members that have begun, whole, by index; those that have ended, or have not, if said."""
        with self._database.read() as connection:
            where: ColumnElement[bool] = tasks.c.group_id == group_rows.row_of(connection, ref).id
            if ended is not None:
                where &= tasks.c.ended if ended else ~tasks.c.ended
            if after is not None:
                where &= tasks.c.member > after
            first = select(tasks.c.row).where(where).order_by(tasks.c.member).limit(limit)
            found = loading.load(connection, tasks.c.row.in_(first))
            return tuple(sorted(found, key=lambda task: task.member.index if task.member is not None else 0))

    def keys(self, task_ids: Collection[str]) -> dict[str, str]:
        """The HMAC keys of the newest attempts of tasks, in hex."""
        shared = attempts.outerjoin(arrays, arrays.c.token == attempts.c.decision)
        key = func.coalesce(arrays.c.key, attempts.c.key)
        newest = tuple_(attempts.c.task_id, attempts.c.n).in_(
            select(tasks.c.id, tasks.c.attempts).where(tasks.c.id.in_(task_ids))
        )
        with self._database.read() as connection:
            rows = connection.execute(select(attempts.c.task_id, key).select_from(shared).where(newest))
            return {row[0]: row[1] for row in rows}


def _withdraw(connection: Connection, where: ColumnElement[bool], wanted: Withdrawal, *, at: datetime) -> set[str]:
    """As ``follows.withdraw``, for those of these tasks that have not started."""
    waiting = [task for task in loading.load(connection, where) if follows.not_started(task.attempts[-1])]
    told, changed = wanted.model_dump(), {"withdrawal": wanted}
    changes = [
        Change(task.id, n, "task.withdrawal", {"attempt": n, **told}, changed)
        for task in waiting
        for n in (task.attempts[-1].n,)
    ]
    return attempt_book.change(connection, changes, at=at)


def _view(connection: Connection, ref: str) -> Group:
    return group_rows.views(connection, [group_rows.row_of(connection, ref)])[0]


def _states(connection: Connection, group_id: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for state in connection.execute(select(tasks.c.state).where(tasks.c.group_id == group_id)).scalars():
        found[state] = found.get(state, 0) + 1
    return found


def _outcome(connection: Connection, row: Row[Any]) -> Outcome:
    """OK when all are; else how the first ended that did not end well. Members that never began do not end well."""
    bad = select(tasks.c.state).where(tasks.c.group_id == row.id, tasks.c.state != State.COMPLETED.value)
    first = connection.execute(bad.order_by(tasks.c.ended_at, tasks.c.member).limit(1)).scalar()
    if first is not None:
        return State(first).outcome or Outcome.LOST
    begun = len(connection.execute(select(tasks.c.row).where(tasks.c.group_id == row.id)).all())
    if begun == len(loading.whole(connection, row.id).members):
        return Outcome.OK
    return Outcome.CANCELLED if row.cancel_requested_by is not None else Outcome.NEVER_STARTED
