"""Whose turn it is: what of a group may be with a site at once. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jupyter_diamond.model.task import Task


def admitted(waiting: Iterable[Task], active: Collection[Task], at_once: int | None) -> list[Task]:
    """Those of the waiting ones that may be handed to their sites now, in their order.

    ``active`` are those that were handed over and have not ended. An array keeps to ``at_once`` by itself, so it
    counts for as many as it may run; the next array, or the next job, waits until there is room beside it.
    """
    if at_once is None:
        return list(waiting)
    held: dict[str, dict[str, int]] = {}
    for task in active:
        unit = held.setdefault(_site(task), {})
        unit[_unit(task)] = unit.get(_unit(task), 0) + 1
    units: dict[tuple[str, str], list[Task]] = {}
    for task in waiting:
        units.setdefault((_site(task), _unit(task)), []).append(task)
    found, closed = [], set()
    for (site, name), members in units.items():
        there = held.setdefault(site, {})
        used = sum(min(at_once, number) for other, number in there.items() if other != name)
        size = min(at_once, len(members) + there.get(name, 0))
        if site in closed or (used and used + size > at_once and name not in there):
            closed.add(site)  # what comes after it does not overtake it
            continue
        there[name] = there.get(name, 0) + len(members)
        found += members
    return found


def _site(task: Task) -> str:
    return task.attempts[-1].site


def _unit(task: Task) -> str:
    """What is handed over as one: an array by its token, any other by its own."""
    attempt = task.attempts[-1]
    return attempt.array.token if attempt.array is not None else task.id
