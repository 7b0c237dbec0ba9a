"""Charges as tables: by site, account and unit, or attempt by attempt; and what stands against the caps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jupyter_diamond.model.charge import AccountCharges, Charges, Spent
from jupyter_diamond.model.model_call import ModelUse
from jupyter_diamond.placement import words
from jupyter_diamond.placement.budget import named, standing

from .tables import frame_of
from .vocabulary import age

if TYPE_CHECKING:
    import pandas as pd


def charges_table(found: Charges, now: datetime) -> pd.DataFrame:
    """One row a site, account and unit; unknown amounts are missing, never zero. Rows are not to be added up."""
    rows = [
        {
            "site": row.site, "account": account_text(row), "unit": row.unit or "?", "attempts": row.attempts,
            "under way": row.live, "unknown": row.unknown, "predicted": row.predicted, "reserved": row.reserved,
            "actual": row.actual, "balance": row.balance,
            "balance age": "" if row.balance_read_at is None else age((now - row.balance_read_at).total_seconds()),
        }
        for row in found.accounts
    ]  # fmt: skip
    heads = ["site", "account", "unit", "attempts", "under way", "unknown", "predicted", "reserved", "actual",
             "balance", "balance age"]  # fmt: skip
    amounts = dict.fromkeys(("predicted", "reserved", "actual", "balance"), "Float64")
    typed: pd.DataFrame = frame_of(rows, heads).astype(amounts)
    return typed


def tasks_charges_table(found: Charges) -> pd.DataFrame:
    """One row an attempt, the newest task first."""
    rows: list[dict[str, Any]] = [
        {
            "task": task.name, "attempt": each.n, "site": each.site, "account": each.account or "default",
            "unit": each.charge.unit or "?", "predicted": each.charge.predicted,
            "reserved": each.charge.at_most if each.charge.settled_at is None else None,
            "actual": each.charge.actual, "settled": each.charge.settled_at is not None, "id": task.task_id,
        }
        for task in found.tasks
        for each in task.attempts
    ]  # fmt: skip
    heads = ["task", "attempt", "site", "account", "unit", "predicted", "reserved", "actual", "settled", "id"]
    typed: pd.DataFrame = frame_of(rows, heads).astype(dict.fromkeys(("predicted", "reserved", "actual"), "Float64"))
    return typed


def account_text(row: AccountCharges) -> str:
    """Which account pays."""
    return row.account or "default"


def beside_text(found: Charges) -> str:
    """What stands beside the table: the caps, and what language models took; empty where there is neither."""
    return "\n".join(filter(None, (caps_text(found.caps), models_text(found.models))))


def models_text(use: ModelUse) -> str:
    """``Language model: 12 requests, 34,000 tokens in, 2,100 out, 41 s``; empty where none was asked."""
    if not use.calls:
        return ""
    said = (
        f"Language model: {words.count(use.calls, 'request')}, {use.prompt_tokens:,} tokens in, "
        f"{use.answer_tokens:,} out, {words.duration(max(1, round(use.seconds)))}"
    )
    return f"{said}; {use.unmeasured:,} of them did not say how many tokens." if use.unmeasured else f"{said}."


def caps_text(caps: Iterable[Spent]) -> str:
    """A line for each cap: what it is, what stands against it and what it leaves."""
    return "\n".join(
        f"Cap of {named(each.cap)}: {standing(each)}; {words.charge(each.left, each.cap.unit)} left." for each in caps
    )
