"""The beginning of a round: some statements in the caller's transaction, however many members it has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from types import SimpleNamespace
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

from . import attempt_rows, bulk, charges, eventlog, group_rows, loading
from .eventlog import Fact
from .group_rows import Kept
from .rows import attempt_row, member_name, remember, stored, task_of
from .schema import arrays, attempts, tasks
from .schema import charges as charge_table

_TASKS = bulk.insertion(tasks, *(column.name for column in tasks.c if column.name != "row"))
_ATTEMPTS = bulk.insertion(attempts, *(column.name for column in attempts.c))


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
            (index, attempt.but(**sent, folder=member_folder(folder, attempt.array.at)))
            for index, attempt in self.attempts
            if attempt.array is not None
        ]
        return self._replace(attempts=tuple(mine))

    def charged(self, charge: Charge) -> Share:
        """With what each of its attempts is charged."""
        mine = ((index, attempt.but(charge=charge)) for index, attempt in self.attempts)
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
    made: list[Task] = []
    for share in begun.shares:
        charge = reserved(connection, share, by=whole.request.by, caps=caps, at=at)
        made += _write(connection, group_id, share if charge is None else share.charged(charge), at=at)
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
    kept = kept_of(begun.shares, stored(Kept, row.body))
    kept = kept.model_copy(
        update={"why_here": begun.why_here or kept.why_here, "relaxed": (*kept.relaxed, *begun.relaxed)}
    )
    group_rows.change(connection, group_id, round=number, body=kept.model_dump_json())
    return tuple(made)


def reserved(
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


def _write(connection: Connection, group_id: str, share: Share, *, at: datetime) -> Iterator[Task]:
    """Write a share with the events about its members; its tasks, as they would be read."""
    whole, moment = loading.whole(connection, group_id), at.timestamp()
    request = whole.request
    members = [(f"{group_id}-{index}", index, attempt) for index, attempt in share.attempts]
    versions = eventlog.tell_many(connection, _facts(request.name, group_id, share, members), at=at)
    shared = {
        "notebook": request.notebook.path, "created_at": moment, "why_here": share.decision.sentence, "request": "",
        "group_id": group_id, "cancel_requested_by": None, "held_by": None,
    }  # fmt: skip
    rows = [
        {
            "id": task_id, "client_token": task_id, "name": member_name(request.name, index), "member": index,
            "attempts": attempt.n, "version": versions[task_id], **shared, **attempt_rows.mirrored(attempt),
        }
        for task_id, index, attempt in members
    ]  # fmt: skip
    _TASKS.run(connection, rows)
    put_attempts(connection, group_id, share, by=request.by, at=at)
    return (
        task_of(SimpleNamespace(**row), (attempt,), whole) for row, (_, _, attempt) in zip(rows, members, strict=True)
    )


def put_attempts(connection: Connection, group_id: str, share: Share, *, by: str | None, at: datetime) -> None:
    """Write the attempts of a share, what they have in common, and what they are charged."""
    connection.execute(insert(arrays).values(
        token=share.token, group_id=group_id, site=share.first.site, key=share.key,
        decision=share.decision.model_dump_json(),
    ))  # fmt: skip
    rows, paid = list[dict[str, Any]](), list[dict[str, Any]]()
    for index, attempt in share.attempts:
        task_id, row = f"{group_id}-{index}", attempt_row(attempt)
        remember(row["body"], attempt)
        # what they share is named where each would have its own
        rows.append({"task_id": task_id, "n": attempt.n, "key": "", "decision": share.token, **row})
        if attempt.charge is not None:
            paid.append(charges.row(task_id, attempt, attempt.charge, at.timestamp()) | {"by": by})
    _ATTEMPTS.run(connection, rows)
    if paid:
        connection.execute(insert(charge_table), paid)


def _facts(name: str, group_id: str, share: Share, members: Sequence[tuple[str, int, Attempt]]) -> list[Fact]:
    """What is told of each member; what they have in common, in one and the same mapping."""
    first, facts = share.first, list[Fact]()
    placed = {"attempt": first.n, "site": first.site, "partition": first.partition}
    sent = {"site": first.site}
    paid = charges.reservation(first) if first.charge is not None and first.charge.unit else None
    for task_id, index, attempt in members:
        created = {"name": member_name(name, index), "group": group_id}
        facts.append(Fact("task.created", task_id, created, "created"))
        facts.append(Fact("decision.made", task_id, placed, f"decision:{attempt.n}"))
        if attempt.state is State.SUBMITTING:
            facts.append(Fact("attempt.submitting", task_id, sent))
        if paid is not None:
            facts.append(Fact("charge.reserved", task_id, paid, f"charge.reserved:{attempt.n}"))
    return facts


def kept_of(shares: Sequence[Share], kept: Kept) -> Kept:
    """With what was forecast for the first of its members at each place, and why they are there."""
    waits, whys = dict[str, float | None](), dict[str, str]()
    for share in shares:
        choice = share.decision.choice
        if choice is not None:
            wait = choice.estimate.forecast.wait_s if choice.estimate is not None else None
            waits.setdefault(group_rows.place(choice.site, choice.partition or None), wait)
            whys.setdefault(group_rows.place(choice.site, choice.partition or None), share.decision.sentence)
    return kept.model_copy(update={"waits": {**kept.waits, **waits}, "whys": {**kept.whys, **whys}})
