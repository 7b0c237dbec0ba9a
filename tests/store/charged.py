"""Tasks whose charge is known, in a store."""

from __future__ import annotations

from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from tests.store.store_samples import SIZE, T0, a_decision, a_request, an_attempt, at

HOUR = 3600.0


def decided(
    per_hour: float | None = 2.0, unit: str = "core-hour", *, least_s: int = 0, size: Size = SIZE,
    unknown_charge: bool = False, **estimate,
) -> Decision:  # fmt: skip
    """A decision for alpha:short with a charge of so much an hour."""
    hours = max(size.walltime_s, least_s) / HOUR
    most = None if per_hour is None else per_hour * hours
    told = Estimate(
        forecast=Forecast(wait_s=0.0, method="fits_now"),
        **{"charge": most, "charge_at_most": most, "charge_unit": unit, "charge_per_hour": per_hour,
           "charge_least_s": least_s, **estimate},
    )  # fmt: skip
    (candidate,) = a_decision().candidates
    candidate = candidate.model_copy(update={"estimate": told, "size": size})
    envelope = Envelope(unknown_charge=unknown_charge)
    return a_decision().model_copy(update={"candidates": (candidate,), "envelope": envelope})


def put(store, number=1, decision=None, *, seconds=0.0, caps=(), by=None, size=SIZE, account="abc", name="fit"):
    """A new task ``t<number>`` with one attempt."""
    request = a_request(f"token-{number:010d}", name).model_copy(update={"by": by})
    attempt = an_attempt(f"dmd-{number:08d}").model_copy(update={"account": account, "size": size})
    task, _ = store.create_task(
        request, task_id=f"t{number:07d}", key="ab" * 32, decision=decision or decided(size=size), attempt=attempt,
        why_here="alpha:short can start it now.", at=at(seconds), caps=caps,
    )  # fmt: skip
    return task


def start(store, number=1, seconds=1.0):
    """Its job is in the queue and has started."""
    return _change(
        store, number, seconds, "attempt.submitted", state=State.RUNNING, native=NativeJob(id=str(number)),
        submitted_at=at(seconds), started_at=at(seconds),
    )  # fmt: skip


def end(store, number=1, seconds=2.0, state=State.COMPLETED, **changes):
    """It has ended; ``ran_s`` is what accounting says."""
    return _change(store, number, seconds, "attempt.terminal", state=state, ended_at=at(seconds), **changes)


def _change(store, number, seconds, kind, **changes):
    return store.update_attempt(f"t{number:07d}", 1, at=at(seconds), type=kind, data={}, changes=changes)


def cap(amount, scope="day", unit="core-hour", **more):
    return SpendingCap(scope=scope, amount=amount, unit=unit, **more)


def charge_events(store, number=1):
    return [
        (event.type, event.data)
        for event in store.events(0, 1000, f"task:t{number:07d}")
        if event.type.startswith("charge.")
    ]


__all__ = ["HOUR", "SIZE", "T0", "at", "cap", "charge_events", "decided", "end", "put", "start"]
