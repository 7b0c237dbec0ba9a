"""What a job would be charged, by the documented rule of its site. Unknown where any part of the rule is."""

from __future__ import annotations

from typing import NamedTuple

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.policy import ChargeModel
from jupyter_diamond.model.snapshot import Record

_HOUR_S = 3600.0


class Rate(NamedTuple):
    """What a size is charged for by the hour, of which the shortest time is charged in any case. None: not known."""

    units: float | None
    factor: float
    least_s: float
    unit: str

    def of(self, seconds: float) -> float | None:
        """The charge for so many seconds."""
        if self.units is None:
            return None
        return self.units * (max(seconds, self.least_s) / _HOUR_S) * self.factor


def rate_of(size: Size, record: Record | None) -> Rate:
    """By the documented rule of the site."""
    model = record.policy.charge if record is not None and record.policy is not None else None
    if record is None or model is None or model.factor is None:
        return Rate(None, 1.0, 0.0, "" if model is None else model.unit)
    per_node = _units_of_node(size, model, record)
    units = None if per_node is None else size.nodes * per_node
    return Rate(units, model.factor, float(model.least_s or 0), model.unit)


def charge_of(size: Size, seconds: float, record: Record | None) -> tuple[float | None, str]:
    """(amount, unit) for so many seconds; the amount is None where it cannot be known."""
    rate = rate_of(size, record)
    return rate.of(seconds), rate.unit


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
