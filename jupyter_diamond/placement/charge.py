"""What a job would be charged, by the documented rule of its site. Unknown where any part of the rule is."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.model.charge import HOUR_S, Charge
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.policy import ChargeModel
from jupyter_diamond.model.snapshot import Record
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt


class Rate(NamedTuple):
    """A site's rule for one size: what an hour is charged, None where that cannot be known, and the least time."""

    unit: str = ""
    per_hour: float | None = None
    least_s: int = 0
    why: str = ""
    """Why it is not known."""

    def after(self, seconds: float) -> float | None:
        """What so many seconds are charged."""
        return None if self.per_hour is None else max(seconds, float(self.least_s)) / HOUR_S * self.per_hour


def charge_of(size: Size, seconds: float, record: Record | None) -> tuple[float | None, str]:
    """(amount, unit) for so many seconds; the amount is None where it cannot be known."""
    rule = rate_of(size, record)
    return rule.after(seconds), rule.unit


def rate_of(size: Size, record: Record | None) -> Rate:
    """What an hour of this size is charged there, and the least that is."""
    model = record.policy.charge if record is not None and record.policy is not None else None
    if record is None or model is None:
        return Rate(why="what it charges is not documented" if record is not None else "nothing is known of it")
    per_node = None if model.factor is None else _units_of_node(size, model, record)
    per_hour = None if per_node is None or model.factor is None else size.nodes * per_node * model.factor
    why = "" if per_hour is not None else _why_unknown(model, record)
    return Rate(model.unit, per_hour, model.least_s or 0, why)


def _why_unknown(model: ChargeModel, record: Record) -> str:
    if model.factor is None:
        return "what it charges is not documented"
    if record.whole_node is None:
        return "whether it charges whole nodes is not known"
    if record.whole_node:
        return "it charges whole nodes, and what one of them has is not known"
    return "it charges for memory, and its default is not known: add --memory"


def foreseen(decision: Decision, attempt: Attempt) -> Charge | None:
    """What an attempt will be charged, by the decision that placed it; None where nobody pays.

    The decision's rule holds for a place and a size that it weighed; of another size only the time may differ.
    """
    place = (attempt.site, attempt.partition or "")
    there = next((each for each in decision.candidates if (each.site, each.partition) == place), None)
    if there is None or there.estimate is None:
        return Charge()
    if not there.estimate.charged:
        return None
    limit_s = attempt.size.walltime_s
    weighed = ((there.size, there.estimate), *there.sizes)
    estimate = next((each for size, each in weighed if size is not None and _alike(size, attempt.size)), None)
    if estimate is None:
        return Charge(unit=there.estimate.charge_unit)
    rule = Charge(unit=estimate.charge_unit, per_hour=estimate.charge_per_hour, least_s=estimate.charge_least_s)
    most, predicted = rule.after(limit_s), estimate.charge
    if most is not None and predicted is not None:
        predicted = min(predicted, most)
    return rule.model_copy(update={"at_most": most, "predicted": predicted})


def _alike(one: Size, other: Size) -> bool:
    """The same but for the time."""
    return one.model_copy(update={"walltime_s": other.walltime_s}) == other


def settled(attempt: Attempt, at: datetime) -> Charge | None:
    """The charge of an attempt that has ended, by the time that accounting says it ran.

    It is nothing only where it is proved that no job of it ever ran; what nobody can tell stays unknown.
    """
    charge = attempt.charge
    if charge is None or charge.settled_at is not None:
        return charge
    return charge.model_copy(update={"actual": _actual(attempt, charge), "settled_at": at})


def _actual(attempt: Attempt, charge: Charge) -> float | None:
    # without a job: its scheduler refused it, or queue and accounting were asked and had none
    no_job = attempt.native is None and attempt.state in (State.REJECTED, State.CANCELLED)
    never_ran = attempt.ran_s == 0 and attempt.started_at is None
    if no_job or never_ran:
        return 0.0
    return None if attempt.ran_s is None else charge.after(attempt.ran_s)


def _units_of_node(size: Size, model: ChargeModel, record: Record) -> float | None:
    """Units an hour of one node's part: the largest of the shares that the site charges."""
    if model.resource == "node":
        return 1.0
    held = _whole(record) if record.whole_node else (size.cpus, size.gpus, size.memory_bytes)
    amounts = zip(held, (model.cores_per_unit, model.gpus_per_unit, model.memory_per_unit), strict=True)
    charged = [(amount, each) for amount, each in amounts if each is not None]
    # memory that is not asked for is the site's default, which nobody has told us
    shares = [amount / each for amount, each in charged if amount is not None]
    if not shares or (record.whole_node is None):
        return None
    return max(shares)


def _whole(record: Record) -> tuple[int | None, int | None, int | None]:
    """What a whole node has; None where its kinds differ."""
    found = [
        {getattr(shape, name) for shape in record.shapes} for name in ("cpus", "gpus", "memory_bytes")
    ]  # fmt: skip
    cpus, gpus, memory = (values.pop() if len(values) == 1 else None for values in found)
    return cpus, gpus, memory
