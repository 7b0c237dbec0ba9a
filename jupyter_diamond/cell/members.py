"""What a group's members are given: names that are there before the cell runs, whatever the notebook has of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jupyter_diamond.model.group import INDEX, Member
from jupyter_diamond.model.task import Captured, Language

_SHELLS_OWN = frozenset({"UID", "EUID", "PPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO", "BASHPID", "_"})
MOST_SHOWN = 4


def supplied_names(members: Sequence[Member]) -> tuple[str, ...]:
    """The names that every member is given, in their order."""
    return tuple(members[0].params) if members else ()


def supplied_rows(members: Sequence[Member], namespace: Mapping[str, Any], language: Language) -> list[Captured]:
    """How they are listed beside what travels: kinds, the first values, and what they stand in for."""
    return [_row(name, members, namespace, language) for name in supplied_names(members)]


def _row(name: str, members: Sequence[Member], namespace: Mapping[str, Any], language: Language) -> Captured:
    values = [member.params[name] for member in members]
    kinds = " | ".join(dict.fromkeys(type(value).__name__ for value in values))
    distinct = list(dict.fromkeys(repr(value)[:40] for value in values))
    more = ", …" if len(distinct) > MOST_SHOWN else ""
    detail = f"each member's own: {', '.join(distinct[:MOST_SHOWN])}{more}"
    if language == "bash":
        detail = f"{detail}; an environment variable"
    elif name in namespace:
        detail = f"{detail}; the notebook's own `{name}` stays here"
    return Captured(name=name, type=kinds, travels="value", detail=detail)


def wrong_names(
    members: Sequence[Member], inputs: Collection[str], outputs: Collection[str], language: Language
) -> list[str]:
    """Sentences against names that cannot be supplied."""
    found = []
    for name in supplied_names(members):
        if name in inputs:
            found.append(f"--in names `{name}`, which each member is given its own of; leave it out of --in.")
        if name in outputs:
            found.append(
                f"--out names `{name}`, which each member is given: it is in the table of results anyway. Leave it out."
            )
        if language == "bash" and (name in _SHELLS_OWN or not name.isascii()):
            found.append(f"`{name}` cannot be a variable of a shell's script; give what is swept another name.")
    return found


def unread_notes(
    members: Sequence[Member], read: Collection[str], set_by_cell: Collection[str], dynamic: Collection[str]
) -> list[str]:
    """What is said where a supplied name changes nothing: mostly a line that was left in the cell."""
    unread = [name for name in supplied_names(members) if name not in read and not dynamic]
    return [
        f"The cell sets `{name}` before it reads it, so that all members run with the same; take that line out."
        if name in set_by_cell
        else f"Nothing in the cell reads `{name}`: every member does the same."
        if name == INDEX
        else f"Nothing in the cell reads `{name}`, which the members are given."
        for name in unread
    ]
