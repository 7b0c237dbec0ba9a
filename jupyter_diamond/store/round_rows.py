"""The beginning of a round: some statements in the caller's transaction, however many members it has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert

from jupyter_diamond.errors import OverBudget
from jupyter_diamond.model.attempt_files import member_folder
from jupyter_diamond.model.charge import Charge, SpendingCap
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.group import Relaxed
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement import budget
from jupyter_diamond.placement.charge import foreseen

from . import attempt_rows, charges, eventlog, group_rows, loading
from .eventlog import Fact
from .group_rows import Kept
from .rows import attempt_row, member_name, remember, stored
from .schema import arrays, attempts, tasks
from .schema import charges as charge_table


class Share(NamedTuple):
    """Members of a round that go to one place with one size: by their numbers, each with its first attempt.

    ``token`` names what they share: their key, which is in hex, and their decision. It is that of their job array where
    their attempts have one.
    """

    token: str
    key: str
    decision: Decision
    attempts: tuple[tuple[int, Attempt], ...]

    @property
    def first(self) -> Attempt:
        """The attempt of its first member."""
        return self.attempts[0][1]

    def announced(self, folder: str) -> Share:
        """The same job array, with the intent of its first submission in ``folder``, which its members share."""
        sent = {"state": State.SUBMITTING, "submissions": 1}
        mine = [
            (index, attempt.model_copy(update={**sent, "folder": member_folder(folder, attempt.array.at)}))
            for index, attempt in self.attempts
            if attempt.array is not None
        ]
        return self._replace(attempts=tuple(mine))


class Round(NamedTuple):
    """A round that begins: its shares, why there, and the wishes that were given up for it."""

    shares: tuple[Share, ...]
    why_here: str = ""
    relaxed: tuple[Relaxed, ...] = ()


def start(
    connection: Connection, group_id: str, number: int, begun: Round, *, caps: Collection[SpendingCap], at: datetime
) -> tuple[Task, ...]:
    """Write a round's members, attempts, arrays, charges and events. Raises OverBudget: nothing may be written then."""
    row = group_rows.row_of(connection, group_id)
    whole, subject = loading.whole(connection, group_id), f"group:{group_id}"
    for each in begun.relaxed:
        told = {"round": number, "condition": each.condition, "why": each.why[:1000]}
        key = f"relaxed:{number}:{each.condition}"
        eventlog.append(connection, "group.constraint_relaxed", subject, told, at=at, dedup_key=key)
    facts: list[Fact] = []
    for share in begun.shares:
        charge = _reserved(connection, share, by=whole.request.by, caps=caps, at=at)
        members = [
            (f"{group_id}-{index}", index, attempt.model_copy(update={"charge": charge}) if charge else attempt)
            for index, attempt in share.attempts
        ]
        _write(connection, group_id, share, members, at=at)
        facts += [fact for member in members for fact in _facts(whole.request.name, group_id, *member)]
    eventlog.append_many(connection, facts, at=at)
    places: list[dict[str, Any]] = [
        {"site": share.first.site, "partition": share.first.partition, "members": len(share.attempts)}
        for share in begun.shares
    ]
    began: dict[str, Any] = {
        "round": number,
        "members": sum(len(share.attempts) for share in begun.shares),
        "shares": places[:50],
    }
    eventlog.append(connection, "group.round_started", subject, began, at=at, dedup_key=f"round:{number}")
    kept = stored(Kept, row.body)
    kept = kept.model_copy(
        update={
            "why_here": begun.why_here or kept.why_here,
            "relaxed": (*kept.relaxed, *begun.relaxed),
            "waits": {**kept.waits, **_waits(begun.shares)},
        }
    )
    group_rows.change(connection, group_id, round=number, body=kept.model_dump_json())
    ids = [f"{group_id}-{index}" for share in begun.shares for index, _ in share.attempts]
    return loading.of_ids(connection, ids)


def _reserved(
    connection: Connection, share: Share, *, by: str | None, caps: Collection[SpendingCap], at: datetime
) -> Charge | None:
    """What each attempt of a share is charged. Raises OverBudget where a cap leaves less than all of them may cost.

    What the shares before it took is written by then, so all of a round together are within a cap.
    """
    attempt, count = share.first, len(share.attempts)
    charge = foreseen(share.decision, attempt)
    if charge is None:
        return None
    for cap in caps:
        jobs = 1 if cap.scope == "task" else count
        against = charges.spent(connection, cap, at=at, task_id="", by=by)
        unknown = share.decision.envelope.unknown_charge
        said = budget.over([against], attempt, charge, by=by, unknown=unknown, jobs=jobs)
        if said:
            raise OverBudget(f"{attempt.site}: {said} Nothing was submitted.")
    return charge


def _write(
    connection: Connection, group_id: str, share: Share, members: Sequence[tuple[str, int, Attempt]], *, at: datetime
) -> None:
    request, moment, first = loading.whole(connection, group_id).request, at.timestamp(), share.first
    connection.execute(insert(arrays).values(
        token=share.token, group_id=group_id, site=first.site, key=share.key,
        decision=share.decision.model_dump_json(),
    ))  # fmt: skip
    shared = {
        "notebook": request.notebook.path, "created_at": moment, "why_here": share.decision.sentence, "version": 0,
        "request": "", "group_id": group_id,
    }  # fmt: skip
    connection.execute(insert(tasks), [
        {
            "id": task_id, "client_token": task_id, "name": member_name(request.name, index), "member": index,
            "attempts": attempt.n, **shared, **attempt_rows.mirrored(attempt),
        }
        for task_id, index, attempt in members
    ])  # fmt: skip
    # what they share is named where each would have its own
    own = {"key": "", "decision": share.token}
    rows = [{"task_id": task_id, "n": attempt.n, **own, **attempt_row(attempt)} for task_id, _, attempt in members]
    for row, (_, _, attempt) in zip(rows, members, strict=True):
        remember(row["body"], attempt)
    connection.execute(insert(attempts), rows)
    paid = [row for task_id, _, attempt in members for row in _charge_rows(task_id, attempt, request.by, moment)]
    if paid:
        connection.execute(insert(charge_table), paid)


def _charge_rows(task_id: str, attempt: Attempt, by: str | None, moment: float) -> Iterator[dict[str, Any]]:
    if attempt.charge is not None:
        yield charges.row(task_id, attempt, attempt.charge, moment) | {"by": by}


def _facts(name: str, group_id: str, task_id: str, index: int, attempt: Attempt) -> Iterator[Fact]:
    yield Fact("task.created", task_id, {"name": member_name(name, index), "group": group_id}, "created")
    placed = {"attempt": attempt.n, "site": attempt.site, "partition": attempt.partition}
    yield Fact("decision.made", task_id, placed, f"decision:{attempt.n}")
    if attempt.state is State.SUBMITTING:
        yield Fact("attempt.submitting", task_id, {"site": attempt.site})
    if attempt.charge is not None and attempt.charge.unit:
        yield Fact("charge.reserved", task_id, charges.reservation(attempt), f"charge.reserved:{attempt.n}")


def _waits(shares: Sequence[Share]) -> dict[str, float | None]:
    """By place, what was forecast for the first of its members there."""
    found: dict[str, float | None] = {}
    for share in shares:
        choice = share.decision.choice
        if choice is not None:
            wait = choice.estimate.forecast.wait_s if choice.estimate is not None else None
            found.setdefault(group_rows.place(choice.site, choice.partition or None), wait)
    return found
