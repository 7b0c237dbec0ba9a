"""The charge of one task, in words and as amounts."""

from __future__ import annotations

from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.placement import words

NOT_KNOWN = "not known"


def charge_text(charge: Charge | None) -> str:
    """``0.48 core-hours, 2 predicted``; while it is under way what is predicted, and reserved at most."""
    if charge is None:
        return "nothing: nobody is charged for it there"
    predicted = "" if charge.predicted is None else f"{words.charge(charge.predicted, charge.unit)} predicted"
    if charge.settled_at is not None:
        actual = NOT_KNOWN if charge.actual is None else words.charge(charge.actual, charge.unit)
        return ", ".join(filter(None, (actual, predicted)))
    most = "" if charge.at_most is None else f"at most {words.charge(charge.at_most, charge.unit)} reserved"
    return ", ".join(filter(None, (predicted, most))) or NOT_KNOWN


def charge_fact(attempt: Attempt) -> str:
    """The same of an attempt; empty where there is nothing to tell."""
    return charge_text(attempt.charge) if attempt.charge is not None and attempt.charge.unit else ""


class TaskCharge:
    """What one task is charged: amounts over all its attempts, None where one is not known or units differ."""

    def __init__(self, task: Task) -> None:
        self.attempts: tuple[Attempt, ...] = task.attempts
        self._charges = [each.charge for each in task.attempts if each.charge is not None]

    @property
    def unit(self) -> str:
        """The unit of all of them; empty where it is not known, or there are several."""
        units = {charge.unit for charge in self._charges}
        return units.pop() if len(units) == 1 else ""

    @property
    def predicted(self) -> float | None:
        """What was foreseen."""
        return self._sum([charge.predicted for charge in self._charges])

    @property
    def reserved(self) -> float | None:
        """The most that attempts under way may cost; 0 when none is."""
        return self._sum([charge.at_most for charge in self._charges if charge.settled_at is None])

    @property
    def actual(self) -> float | None:
        """What it cost; None while an attempt is under way."""
        return self._sum([charge.actual for charge in self._charges])

    def _sum(self, amounts: list[float | None]) -> float | None:
        known = [amount for amount in amounts if amount is not None]
        one_unit = len({charge.unit for charge in self._charges}) <= 1
        return sum(known) if one_unit and len(known) == len(amounts) else None

    def __repr__(self) -> str:
        if len(self.attempts) <= 1:
            return charge_text(self.attempts[0].charge if self.attempts else None)
        return "\n".join(f"attempt {each.n} at {each.site}: {charge_text(each.charge)}" for each in self.attempts)


def cost_text(task: Task) -> str:
    """What a task cost with all its attempts: ``0.48 core-hours``; empty where that is not known, or nobody pays."""
    cost = TaskCharge(task)
    return words.charge(cost.actual, cost.unit) if cost.unit and cost.actual is not None else ""
