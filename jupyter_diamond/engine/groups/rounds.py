"""What a group does next, from what the store says of it alone: so it is the same after any crash. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jupyter_diamond.model.group import Member
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.store.groups import Progress
from jupyter_diamond.store.rows import member_name


class Begin(NamedTuple):
    """The next round begins; ``finished``: the one before has done what it waits for."""

    number: int
    members: tuple[Member, ...]


class Stop(NamedTuple):
    """No further round may begin any more."""

    why: str


class Finish(NamedTuple):
    """All of it has ended."""


Next = Begin | Stop | Finish | None
"""None: it waits for members, or for its user."""


def next_step(group: Progress) -> Next:
    """What is due. A member that heals has not ended."""
    if group.over:
        return None
    rounds = group.asked.rounds
    last = group.stopped or group.cancelled or group.round >= len(rounds)
    if last:
        return Finish() if len(group.ended) == len(group.begun) else None
    if group.round == 0:
        return None if group.held else Begin(1, rounds[0])
    needed = [member for member in rounds[group.round - 1] if member.required]
    if group.asked.next_round == "ok":
        failed = [member.index for member in needed if _ended_badly(group, member)]
        if failed:
            return Stop(_stopped(group, failed))
    if group.held or any(member.index not in group.ended for member in needed):
        return None
    return Begin(group.round + 1, rounds[group.round])


def _ended_badly(group: Progress, member: Member) -> bool:
    state = group.ended.get(member.index)
    return state is not None and state.outcome is not Outcome.OK


def _stopped(group: Progress, failed: Sequence[int]) -> str:
    """Why the rest is never submitted."""
    rounds, name = group.asked.rounds, group.asked.request.name
    rest = sum(len(each) for each in rounds[group.round :])
    first = member_name(name, failed[0])
    others = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    how = _words(group.ended[failed[0]])
    return (
        f"Round {group.round + 1} waits for {first} to end well, and {first}{others} {how}: "
        f"{rest} {'member is' if rest == 1 else 'members are'} not submitted."
    )


def _words(state: State) -> str:
    outcome = state.outcome
    return {
        Outcome.CANCELLED: "was cancelled", Outcome.TIMEOUT: "ran out of time", Outcome.OOM: "ran out of memory",
        Outcome.NODE_FAIL: "lost its node", Outcome.PREEMPTED: "was preempted", Outcome.LOST: "was lost",
        Outcome.NEVER_STARTED: "never started",
    }.get(outcome or Outcome.FAILED, "failed")  # fmt: skip
