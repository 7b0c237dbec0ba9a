"""What must hold of many tasks together: no cap is passed, a group's rounds follow each other, and it ends once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from jupyter_diamond.model.event import Event
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import Task

if TYPE_CHECKING:
    from .world import World

_LITTLE = 1e-9


def within_caps(world: World, events: Iterable[Event]) -> None:
    """At each reservation, what stands against a cap and what is reserved anew are no more than the cap."""
    caps = {scope: float(texts[0].split()[0]) for scope, texts in world.plan.caps.items()}
    due: dict[tuple[str, int], float] = {}
    for event in events:
        if event.type not in ("charge.reserved", "charge.settled"):
            continue
        mine = event.subject, event.data["attempt"]
        amount = event.data.get("at_most" if event.type == "charge.reserved" else "actual")
        due[mine] = due.get(mine, 0.0) if amount is None else float(amount)
        if event.type == "charge.settled":
            continue
        sums = {"per_day": sum(due.values()), "per_task": sum(n for each, n in due.items() if each[0] == mine[0])}
        for scope, most in caps.items():
            if sums[scope] > most + _LITTLE:
                world.violated(f"{event.subject} reserved {amount}, which makes {sums[scope]:.3f} of {scope} {most}")


def check_group(world: World, group: Group, members: Sequence[Task], events: Mapping[str, list[Event]]) -> None:
    """Of one group."""
    told = events[f"group:{group.id}"]
    kinds = Counter(event.type for event in told)
    if group.phase is not Phase.ENDED:
        world.violated(f"{group.name} has not ended: {group.next or group.cause}")
    elif kinds["group.ended"] != 1 or told[-1].type != "group.ended":
        world.violated(f"{group.name} ended {kinds['group.ended']} times, and last it is told {told[-1].type}")
    last = max((event.seq for task in members for event in events[f"task:{task.id}"]), default=0)
    if told and told[-1].type == "group.ended" and last > told[-1].seq:
        world.violated(f"something happened to a member of {group.name} after the group's end")
    _rounds(world, group, members, told, events)


def _rounds(
    world: World, group: Group, members: Sequence[Task], told: list[Event], events: Mapping[str, list[Event]]
) -> None:
    """A round begins when those before it are over, and each member of it begins with it."""
    numbers = [event.data["round"] for event in told if event.type == "group.round_started"]
    if numbers != sorted(set(numbers)):
        world.violated(f"{group.name}: its rounds began as {numbers}")
    sizes = world.plan.wishes[group.name].rounds
    of_round = [number for number, size in enumerate(sizes, 1) for _ in range(size)]
    if len(members) != sum(sizes[: len(numbers) or 1]):
        world.violated(f"{group.name}: {len(members)} members in {len(numbers)} rounds of {sizes}")
    begun = {event.data["round"]: event.seq for event in told if event.type == "group.round_started"}
    for task in members:
        mine, number = events[f"task:{task.id}"], of_round[int(task.id.rpartition("-")[2])]
        for later, at in begun.items():
            if later > number and mine[-1].seq > at:
                world.violated(f"{task.name} of round {number} went on after round {later} had begun")
