"""Proposals and standing budgets as people read them, in the terminal and in the chat."""

from __future__ import annotations

from datetime import datetime

from jupyter_diamond.model.proposal import Proposal, StandingBudget
from jupyter_diamond.placement import words
from jupyter_diamond.placement.estimate_words import about, amount

from .vocabulary import wall_clock

UNKNOWN = "?"


def charge_text(found: Proposal) -> str:
    """``about 2, at most 4 core-hours``; ``nothing``; ``?`` where it is not known."""
    charge, most = found.terms.charge, found.at_most
    if charge is None:
        return "nothing"
    if most is None or not charge.unit:
        return UNKNOWN
    said = f"at most {words.charge(most, charge.unit)}"
    times = found.terms.members or 1
    return said if found.predicted is None else f"about {words.amount(found.predicted * times, charge.unit)}, {said}"


def wait_text(found: Proposal) -> str:
    """``now``, ``in about 10 min``; ``?`` where it is not known; empty where nothing is to start."""
    if found.terms.size is None:
        return ""
    if found.starts_in_s is None:
        return UNKNOWN
    return "now" if found.starts_in_s < 1 else f"in about {about(found.starts_in_s)}"


def standing_text(found: Proposal, now: datetime) -> str:
    """What it waits for, or what became of it."""
    if found.standing == "waiting":
        return f"waits for your word until {wall_clock(found.expires_at, now)}"
    if found.standing == "done":
        return f"done: {found.task}" if found.task else "done"
    said = {"approved": "approved, not done yet", "denied": "not now", "void": "void", "expired": "too late"}
    return f"{said[found.standing]}: {found.reason}" if found.reason else said[found.standing]


def allowed_text(budget: StandingBudget) -> str:
    """``2 GPU-hours, 3 jobs``: all that it limits; what it does not limit is not named."""
    allowance = budget.allowance
    parts = [*allowance.amounts] or ["nothing that costs"]
    if allowance.jobs is not None:
        parts.append(words.count(allowance.jobs, "job"))
    if allowance.transferred_bytes is not None:
        parts.append(words.count(allowance.transferred_bytes, "byte"))
    if allowance.model_tokens is not None:
        parts.append(words.count(allowance.model_tokens, "model token"))
    return ", ".join(parts)


def used_text(budget: StandingBudget) -> str:
    """``0.5 GPU-hours, 1 job``; ``nothing``."""
    counted = {"jobs": "job", "bytes": "byte", "tokens": "model token"}
    parts = [
        words.count(int(taken), counted[unit]) if unit in counted else _charged(taken, unit)
        for unit, taken in budget.used.items()
        if taken
    ]
    return ", ".join(parts) or "nothing"


def _charged(taken: float, unit: str) -> str:
    said = amount(taken)
    return f"{said} {unit}s" if unit.endswith("hour") and said != "1" else f"{said} {unit}"


def scope_text(budget: StandingBudget) -> str:
    """Where it holds."""
    scope = budget.scope
    parts = [
        f"for {scope.agent}" if scope.agent else "for all agents",
        *([f"in {scope.channel}"] if scope.channel else []),
        *([f"at {scope.site}"] if scope.site else []),
        "in any 24 hours" if scope.per == "day" else "in all",
    ]
    return ", ".join(parts)
