"""Whether a standing budget lets an act of an agent pass, and what it lacks if not. Pure."""

from __future__ import annotations

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.proposal import Need, Speaker, StandingBudget
from jupyter_diamond.parsing.spending import amount_of

from .words import charge, count

JOBS, BYTES, TOKENS = "jobs", "bytes", "tokens"
"""What is counted besides the units that sites charge in."""


def holds_for(budget: StandingBudget, by: Speaker, site: str | None) -> bool:
    """Whether the act is one of those that the budget is about."""
    scope = budget.scope
    wanted = ((scope.channel, by.channel), (scope.agent, by.agent), (scope.site, site))
    return all(asked is None or asked == given for asked, given in wanted)


def lacks(budget: StandingBudget, need: Need) -> str:
    """What stands in the way, as a clause; empty where the budget lets it pass. ``budget.used`` is what it counts."""
    allowance, used = budget.allowance, budget.used
    if need.unknown:
        return "what this may cost is not known"
    amounts = {unit: most for most, unit in (amount_of(text, "a standing budget") for text in allowance.amounts)}
    for unit, wanted in sorted(need.amounts.items()):
        if unit not in amounts:
            return f"it allows nothing that is charged in {unit}s"
        if wanted > left(amounts[unit], used.get(unit, 0.0)) + 1e-9:
            had = charge(left(amounts[unit], used.get(unit, 0.0)), unit)
            return f"it leaves {had}, and this may cost up to {charge(wanted, unit)}"
    if allowance.jobs is not None and need.jobs > left(allowance.jobs, used.get(JOBS, 0.0)):
        had = count(int(left(allowance.jobs, used.get(JOBS, 0.0))), "job")
        return f"it leaves {had}, and this is {count(need.jobs, 'job')}"
    if need.transferred_bytes:
        room = left(allowance.transferred_bytes or 0, used.get(BYTES, 0.0))
        if allowance.transferred_bytes is None or need.transferred_bytes > room:
            return f"it leaves {count(int(room), 'byte')} to move, and this is {count(need.transferred_bytes, 'byte')}"
    return ""


def left(allowed: float, used: float) -> float:
    """What may still be taken."""
    return max(0.0, allowed - used)


def check(amounts: tuple[str, ...]) -> None:
    """Raises InvalidRequest where a unit is named twice, or an amount cannot be read."""
    units = [amount_of(text, "a standing budget")[1] for text in amounts]
    if len(set(units)) != len(units):
        raise InvalidRequest("A standing budget names one amount a unit; a unit is named twice.")
