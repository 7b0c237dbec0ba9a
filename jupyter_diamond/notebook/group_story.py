"""A group's story: its rounds and places, what went wrong and what was mended, and what happened, oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from jupyter_diamond.model.event import Event, EventType
from jupyter_diamond.model.group import Group, MemberSummary
from jupyter_diamond.model.states import State

from .client import DiamondClient
from .group_view import charge_text
from .group_words import (
    counts_text,
    failure_text,
    failures,
    group_word,
    healed_text,
    numbers,
    progress,
    rounds_text,
    share_text,
)
from .timeline import PAGE, moment
from .vocabulary import LOOK

_Data = Mapping[str, Any]


def every_group_event(client: DiamondClient, group_id: str) -> list[Event]:
    """All events of the group as such, in pages."""
    found: list[Event] = []
    while True:
        page = client.group_events(group_id, found[-1].seq if found else 0, limit=PAGE).events
        found += page
        if len(page) < PAGE:
            return found


def group_story(group: Group, members: Iterable[MemberSummary], events: Iterable[Event], now: datetime) -> str:
    """What ``%diamond task`` says of a group."""
    found = list(members)
    told = ((event, _SAYS.get(event.type)) for event in events)
    happened = [(event, says(event.data)) for event, says in told if says is not None]
    return "\n".join(
        [*_head(group), *_troubles(group, found), "", *(f"{moment(event.at, now)}  {said}" for event, said in happened)]
    ).strip()


def _head(group: Group) -> list[str]:
    parts = [group_word(group), progress(group), counts_text(group), rounds_text(group), charge_text(group)]
    return [
        f"{group.name}  {'  '.join(part for part in parts if part)}",
        *(f"    {share_text(share)}" for share in group.shares),
        *([f"    each is given {', '.join(group.params)}"] if group.params else []),
        *(f"    round {each.round}: gave up {each.condition}: {each.why}" for each in group.relaxed),
    ]


def _troubles(group: Group, members: list[MemberSummary]) -> list[str]:
    lines = [failure_text(each, group.members) for each in failures(members)]
    cancelled = [member.index or 0 for member in members if member.state is State.CANCELLED]
    if cancelled:
        lines.append(f"{len(cancelled):,} of {group.members:,} cancelled: {numbers(cancelled)}.")
    lines += [line for line in (healed_text(members), group.next) if line]
    return [f"    {line}" for line in lines]


def _by(data: _Data) -> str:
    return str(data.get("by") or "somebody")


def _states(data: _Data) -> str:
    states = data.get("states")
    if not isinstance(states, Mapping):
        return ""
    words = {state.value: LOOK[state].word for state in State}
    return ", ".join(f"{count} {words.get(str(state), state)}" for state, count in states.items())


def _says_created(data: _Data) -> str:
    rounds = data.get("rounds", 1)
    return f"{data.get('members', '?')} members were asked for" + (f", in {rounds} rounds" if rounds != 1 else "")


_SAYS: dict[EventType, Callable[[_Data], str]] = {
    "group.created": _says_created,
    "group.round_started": lambda data: f"round {data.get('round', '?')} began",
    "group.round_finished": lambda data: f"round {data.get('round', '?')} is done: {_states(data)}",
    "group.constraint_relaxed": lambda data: f"{data.get('condition', 'a wish')} was given up: {data.get('why', '')}",
    "group.stopped": lambda data: f"nothing more of it is sent: {data.get('why', '')}",
    "group.cancel_requested": lambda data: f"{_by(data)} asked for its end",
    "group.held": lambda data: f"{_by(data)} held it: nothing more of it is submitted",
    "group.released": lambda data: f"{_by(data)} released it",
    "group.ended": lambda data: f"all of it has ended: {_states(data)}",
}
