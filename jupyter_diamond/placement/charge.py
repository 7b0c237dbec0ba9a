"""What a job would be charged, by the documented rule of its site. Unknown where any part of the rule is."""

from __future__ import annotations

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.policy import ChargeModel
from jupyter_diamond.model.snapshot import Record

_HOUR_S = 3600.0


def charge_of(size: Size, seconds: float, record: Record | None) -> tuple[float | None, str]:
    """(amount, unit) for so many seconds; the amount is None where it cannot be known."""
    model = record.policy.charge if record is not None and record.policy is not None else None
    if record is None or model is None or model.factor is None:
        return None, "" if model is None else model.unit
    per_node = _units_of_node(size, model, record)
    if per_node is None:
        return None, model.unit
    hours = max(seconds, float(model.least_s or 0)) / _HOUR_S
    return size.nodes * per_node * hours * model.factor, model.unit


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
