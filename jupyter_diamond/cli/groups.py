"""The verbs about groups of tasks, and how a name is taken for a group's where it is no task's."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TypeVar

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import TaskSummary
from jupyter_diamond.notebook.charge_text import charge_text
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.group_calls import GroupAct
from jupyter_diamond.notebook.group_words import (
    counts_text,
    failure_text,
    failures,
    group_word,
    progress,
    rounds_text,
    share_text,
)
from jupyter_diamond.notebook.vocabulary import wall_clock

from .grammar import DONE
from .output import as_json, pairs, say, table

T = TypeVar("T")
U = TypeVar("U")
PAGE = 1000


def of_task_or_group(task: Callable[[], T], group: Callable[[], U]) -> T | U:
    """What is asked of a task, or of a group where no task has that name. Raises NotFound as for a task."""
    try:
        return task()
    except NotFound as no_task:
        try:
            return group()
        except NotFound:
            raise no_task from None


def groups(client: DiamondClient, said: Namespace) -> int:
    """Group lines."""
    found = client.groups(phase="active" if said.active else None, limit=said.limit)
    if said.json:
        as_json({"groups": found})
        return DONE
    table(("name", "state", "done", "round", "where", "submitted", "why", "id"), [_line(group) for group in found])
    return DONE


def _line(group: Group) -> tuple[str, ...]:
    now = datetime.now(timezone.utc)
    where = ", ".join(share_text(share) for share in group.shares)
    rounds = f"{group.round}/{group.rounds}" if group.rounds > 1 else ""
    return (
        group.name, group_word(group), progress(group), rounds, where, wall_clock(group.created_at, now),
        group.cause, group.id,
    )  # fmt: skip


def group(client: DiamondClient, said: Namespace) -> int:
    """One group."""
    return show(client, client.group(said.group), said)


def show(client: DiamondClient, found: Group, said: Namespace) -> int:
    """A group with its rounds, places, and what went wrong with which of its members."""
    if said.json:
        as_json(found)
        return DONE
    now = datetime.now(timezone.utc)
    held = f"held by {found.held_by}" if found.held_by else ""
    pairs([
        ("group", f"{found.name}  {found.id}"),
        ("state", f"{group_word(found)}  {progress(found)}: {counts_text(found)}"),
        ("round", rounds_text(found)), ("held", held), ("next", found.next),
        ("submitted", wall_clock(found.created_at, now)),
        ("ended", "" if found.ended_at is None else wall_clock(found.ended_at, now)),
        *(("where", share_text(share)) for share in found.shares),
        ("given", ", ".join(found.params)),
        *(("charge", charge_text(charge)) for charge in found.charges if charge.unit),
        ("why here", found.why_here),
        *(("given up", f"{each.condition} in round {each.round}. {each.why}") for each in found.relaxed),
        ("cause", found.cause),
    ])  # fmt: skip
    for failure in failures(members(client, found.id)) if found.phase is not Phase.PENDING else ():
        say(failure_text(failure, found.members))
    return DONE


def members(client: DiamondClient, ref: str) -> list[TaskSummary]:
    """All members of a group that have begun."""
    found: list[TaskSummary] = []
    while page := client.members(ref, after=found[-1].index if found else None, limit=PAGE):
        found += page
        if len(page) < PAGE:
            break
    return found


def act(client: DiamondClient, said: Namespace, verb: GroupAct) -> Group:
    """Ask something of a whole group."""
    return client.on_group(said.task, verb, unpin=getattr(said, "unpin", False))


def told(found: Group, verb: GroupAct) -> str:
    """What comes of it, in a sentence."""
    see = f"jupyter diamond group {found.id}"
    if verb == "cancel":
        if found.phase is Phase.ENDED:
            return f"{found.name} has ended already: {counts_text(found)}."
        return f"{found.name}: its sites are asked to end what runs and waits. {see} says when all of it has."
    if verb == "hold":
        release = f"jupyter diamond release {found.id}"
        return f"{found.name} is held: nothing more of it is submitted until {release}. What runs goes on."
    if verb == "release":
        return f"{found.name} goes on."
    return f"{found.name} is shared out anew; jobs that wait at the wrong place are taken back. {see} says where it is."
