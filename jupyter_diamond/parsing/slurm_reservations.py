"""Reservations: which nodes they take, and when they begin. Times are the site's own clock's."""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.base import Value

from . import gres, nodelists
from .numbers import whole
from .slurm_jobs import when


class Reservation(Value):
    """One reservation. ``starts_at`` is in seconds since 1970."""

    name: str
    nodes: tuple[str, ...]
    starts_at: int
    active: bool
    cpus: int | None = None
    """All that it holds, on all of its nodes; None where it is not told, or does not matter."""
    gpus: int = 0


def reservation(line: str) -> Reservation:
    """One line of ``scontrol -o show reservation``. Raises ParseError."""
    field: dict[str, str] = {}
    for word in line.split():
        key, equals, amount = word.partition("=")
        if equals:
            field.setdefault(key, amount)
    starts = when(field.get("StartTime", ""))
    if not {"ReservationName", "Nodes"} <= field.keys() or starts is None:
        raise ParseError(f"{line[:200]!r} is not a reservation.")
    amounts = field.get("TRES", "")
    cpus = gres.tres(amounts).get("cpu", "")
    return Reservation(
        name=field["ReservationName"],
        nodes=nodelists.expand(field["Nodes"]),
        starts_at=int(starts.timestamp()),
        active=field.get("State") == "ACTIVE",
        cpus=None if "MAINT" in field.get("Flags", "") else whole(cpus),
        gpus=gres.tres_gpus(amounts) or 0,
    )


def held(reservations: Iterable[Reservation]) -> dict[str, tuple[int, int] | None]:
    """CPUs and GPUs that reservations hold now of each node; None is all of it.

    How one that holds parts of several nodes is spread over them is not told: each of them then counts as held. What
    jobs inside a reservation use is held as well as used, so what is left is never said to be more than it is.
    """
    found: dict[str, tuple[int, int] | None] = {}
    for each in reservations:
        for node in each.nodes if each.active else ():
            part = (each.cpus, each.gpus) if len(each.nodes) == 1 and each.cpus is not None else None
            before = found.get(node, (0, 0))
            found[node] = None if part is None or before is None else (before[0] + part[0], before[1] + part[1])
    return found


def free_for(reservations: Iterable[Reservation], site_clock: int) -> dict[str, int]:
    """Seconds from now until the first reservation of each node that has not begun; nodes without one are left out."""
    left: dict[str, int] = {}
    for each in reservations:
        if each.active:
            continue  # the state of its nodes says so already
        for node in each.nodes:
            seconds = max(each.starts_at - site_clock, 0)
            left[node] = min(seconds, left.get(node, seconds))
    return left
