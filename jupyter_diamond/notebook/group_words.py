"""How groups are told, everywhere: ``37/100``, counts by state, places, failures by cause with numbers as ranges. Pure.

The labextension says the same; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jupyter_diamond.model.group import Group, GroupShare, MemberSummary
from jupyter_diamond.model.states import Outcome, Phase, State
from jupyter_diamond.model.task import TaskSummary
from jupyter_diamond.parsing.members import ranges

from .vocabulary import LOOK, place_text, span_of_time

MOST_PARTS = 12
"""So many numbers or ranges are listed of one failure; the rest is counted."""

_ENDED = {
    Outcome.OK: State.COMPLETED, Outcome.FAILED: State.FAILED, Outcome.CANCELLED: State.CANCELLED,
    Outcome.TIMEOUT: State.TIMEOUT, Outcome.OOM: State.OUT_OF_MEMORY, Outcome.NODE_FAIL: State.NODE_FAIL,
    Outcome.PREEMPTED: State.PREEMPTED, Outcome.NEVER_STARTED: State.REJECTED, Outcome.LOST: State.LOST,
}  # fmt: skip
_TELLING = (
    State.RUNNING, State.COMPLETING, State.STAGING_OUT, State.SUSPENDED, State.CONFIGURING, State.PENDING,
    State.STAGING_IN, State.SUBMITTING, State.UNKNOWN, State.SUBMIT_UNKNOWN, State.WAITING,
)  # fmt: skip
"""A group that has not ended shows the state of its members that says most: the first of these that one has."""
_ORDER = (
    State.COMPLETED, *_TELLING, State.FAILED, State.OUT_OF_MEMORY, State.TIMEOUT, State.NODE_FAIL, State.PREEMPTED,
    State.LOST, State.REJECTED, State.DEADLINE, State.CANCELLED,
)  # fmt: skip


def state_of(group: Group) -> State:
    """The state that stands for the whole group: of how it ended, or of its members that say most."""
    if group.phase is Phase.ENDED:
        return _ENDED[group.outcome or Outcome.OK]
    return next((state for state in _TELLING if group.states.get(state)), State.WAITING)


def group_word(group: Group) -> str:
    """The word of its state; where some members ended well and others did not, it has simply ``ended``."""
    state = state_of(group)
    if state is State.CANCELLED and group.cancel_requested_by:
        return f"cancelled by {group.cancel_requested_by}"
    if group.held_by is not None and group.phase is Phase.PENDING:
        return f"held by {group.held_by}"
    mixed = state.terminal and state is not State.COMPLETED and group.states.get(State.COMPLETED)
    return "ended" if mixed else LOOK[state].word


def ended_count(states: Mapping[State, int]) -> int:
    """How many have ended, well or not."""
    return sum(count for state, count in states.items() if state.terminal)


def failed_count(states: Mapping[State, int]) -> int:
    """How many have ended, and not well; cancelled ones are told apart."""
    return sum(n for state, n in states.items() if state.terminal and state not in (State.COMPLETED, State.CANCELLED))


def progress(group: Group) -> str:
    """How many have ended of how many: ``37/100``."""
    return f"{ended_count(group.states)}/{group.members}"


def counts(states: Mapping[State, int]) -> list[tuple[State, int]]:
    """What there is of each state, in one order: done, under way, gone wrong."""
    return [(state, states[state]) for state in _ORDER if states.get(state)]


def counts_text(group: Group) -> str:
    """``37 succeeded, 60 running, 3 out of memory``; members of later rounds are told, too."""
    parts = [f"{count:,} {LOOK[state].word}" for state, count in counts(group.states)]
    later = group.members - sum(group.states.values())
    if later > 0:
        parts.append(f"{later:,} {'never sent' if group.phase is Phase.ENDED else 'in later rounds'}")
    return ", ".join(parts)


def rounds_text(group: Group) -> str:
    """``round 1 of 2``; empty for a group in one round."""
    return f"round {group.round} of {group.rounds}" if group.rounds > 1 else ""


def share_total(share: GroupShare) -> int:
    """How many are at one place, whatever they do."""
    return share.waiting + share.running + share.ended


def share_text(share: GroupShare) -> str:
    """``37/100 anvil:shared ~10 min``: ended of all that are there, and the forecast while its first ones wait."""
    wait = ""
    if share.wait_s is not None and share.waiting and not share.running:
        wait = f" ~{span_of_time(share.wait_s)}"
    return f"{share.ended}/{share_total(share)} {place_text(share.site, share.partition)}{wait}"


def numbers(indices: Iterable[int]) -> str:
    """Members as ranges: ``4, 17-18``; a long list is cut, and what is left counted."""
    return ranges(indices, MOST_PARTS)


@dataclass(frozen=True)
class Failure:
    """Members that ended in one way: the state's word, the cause of the first, and their numbers."""

    word: str
    cause: str
    indices: tuple[int, ...]


def failures(tasks: Iterable[TaskSummary]) -> list[Failure]:
    """Members that have ended and not well, by cause, most first. Causes that differ in numbers only are one."""
    found: dict[tuple[State, str], list[TaskSummary]] = {}
    for task in tasks:
        if task.state.terminal and task.state not in (State.COMPLETED, State.CANCELLED):
            found.setdefault((task.state, _kind(task.cause)), []).append(task)
    made = [
        Failure(LOOK[state].word, same[0].cause, tuple(task.index or 0 for task in same))
        for (state, _), same in found.items()
    ]
    return sorted(made, key=lambda each: (-len(each.indices), each.indices))


def failure_text(failure: Failure, members: int) -> str:
    """``3 of 100 out of memory: 4, 17-18.`` and why the first of them did."""
    said = f"{len(failure.indices):,} of {members:,} {failure.word}: {numbers(failure.indices)}."
    return f"{said} {failure.cause}".rstrip()


_MENDED = {
    State.OUT_OF_MEMORY: "ran out of memory and ran again with more",
    State.TIMEOUT: "reached the time limit and ran again",
    State.NODE_FAIL: "lost a node and ran again",
    State.PREEMPTED: "had to give way and ran again",
    State.CANCELLED: "went to another place",
}


def healed_text(members: Iterable[MemberSummary]) -> str:
    """``2 ran out of memory and ran again with more: 4, 17.`` Of those that ended well, and not at once."""
    found: dict[str, list[int]] = {}
    for member in members:
        if member.state is State.COMPLETED and member.before:
            found.setdefault(_MENDED.get(member.before[-1], "failed and ran again"), []).append(member.index or 0)
    return " ".join(f"{len(same):,} {what}: {numbers(same)}." for what, same in found.items())


def member_name(group: str, index: int) -> str:
    """``fit[17]``, as every command takes it."""
    return f"{group}[{index}]"


def _kind(cause: str) -> str:
    return re.sub(r"[0-9]+(?:[.,:][0-9]+)*", "#", cause)
