"""What tasks cost, as tables."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime, timezone

from jupyter_diamond.model.charge import AccountCharges, AttemptCharge, TaskCharges
from jupyter_diamond.notebook.charges import account_text, beside_text
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.vocabulary import age
from jupyter_diamond.placement.estimate_words import amount

from .grammar import DONE
from .output import UNKNOWN, as_json, number, say, table

HEADS = ("site", "account", "unit", "attempts", "unknown", "predicted", "reserved", "actual", "balance", "age")
TASK_HEADS = ("task", "attempt", "site", "account", "unit", "predicted", "reserved", "actual", "id")


def charges(client: DiamondClient, said: Namespace) -> int:
    """A line a site, account and unit, or a line an attempt; then the caps."""
    found = client.charges(said.days, tasks=said.tasks)
    if said.json:
        as_json(found)
        return DONE
    if not found.accounts:
        say(f"Nothing was charged in the last {said.days} days, as far as is known, and nothing is reserved.")
    elif said.tasks:
        table(
            TASK_HEADS, [_attempt(task, each) for task in found.tasks for each in task.attempts], right=TASK_HEADS[5:8]
        )
    else:
        table(HEADS, [_account(row) for row in found.accounts], right=HEADS[3:])
    if beside := beside_text(found):
        say(beside)
    return DONE


def _account(row: AccountCharges) -> tuple[str, ...]:
    read_at = row.balance_read_at
    return (
        row.site, account_text(row), row.unit or UNKNOWN, number(row.attempts), number(row.unknown),
        _amount(row.predicted), _amount(row.reserved) if row.live else "-", _amount(row.actual), _amount(row.balance),
        "" if read_at is None else age((datetime.now(timezone.utc) - read_at).total_seconds()),
    )  # fmt: skip


def _attempt(task: TaskCharges, each: AttemptCharge) -> tuple[str, ...]:
    charge = each.charge
    live = charge.settled_at is None
    return (
        task.name, str(each.n), each.site, each.account or "default", charge.unit or UNKNOWN,
        _amount(charge.predicted), _amount(charge.at_most) if live else "-", "-" if live else _amount(charge.actual),
        task.task_id,
    )  # fmt: skip


def _amount(value: float | None) -> str:
    return UNKNOWN if value is None else amount(value)
