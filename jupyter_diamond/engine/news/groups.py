"""News of groups: whether what somebody waits for has happened to one, and what is told then. Pure.

All is read from the group and its members as they are stored, so it is the same whenever it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jupyter_diamond.engine.news.conditions import Match
from jupyter_diamond.engine.news.waking import cut, news_id
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.continuation import (
    ActionVerb,
    AttemptFailed,
    Condition,
    Continuation,
    GroupNews,
    NextAction,
    Over,
    Provenance,
    Quorum,
    Terminal,
    Waking,
)
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Outcome, Phase, State
from jupyter_diamond.model.task import TaskSummary

_CAUSE_BYTES, _NEXT_BYTES, _WHY_BYTES, _NAME_BYTES = 1000, 600, 1000, 300
_ENDED_AS = {state.outcome: state for state in reversed(State) if state.terminal}
"""The first state of each outcome: the one that its name says."""


def check_subject(condition: Condition, *, group: bool) -> None:
    """Raises InvalidRequest where such a thing does not happen to a group, or only to one."""
    if group and not isinstance(condition, Terminal | Quorum | AttemptFailed):
        raise InvalidRequest(
            "A group is waited for until it is terminal, has a quorum, or for the first exception of a member, not "
            f"for {condition.kind}: wait for one of its members, fit[3]."
        )
    if not group and isinstance(condition, Quorum):
        raise InvalidRequest("A quorum is of the members of a group: a task has none.")


def match_group(wanted: Continuation, group: Group, members: Sequence[TaskSummary]) -> Match | None:
    """What happened of what is waited for; None while nothing has. ``members`` are those that have begun.

    The attempt of a member's failure is that member's newest; of the group as such it is 0.
    """
    condition = wanted.condition
    ended = sorted((each for each in members if each.state.terminal), key=lambda each: (_at(each), each.index or 0))
    if isinstance(condition, Terminal):
        if group.ended_at is None or (condition.outcomes and group.outcome not in condition.outcomes):
            return None
        return Match(0, str(group.outcome.value if group.outcome else ""), group.ended_at)
    if isinstance(condition, Quorum):
        counted = [each for each in ended if not condition.well or each.outcome is Outcome.OK]
        needed = condition.of(group.members)
        return Match(0, f"quorum:{needed}", _at(counted[needed - 1])) if len(counted) >= needed else None
    if isinstance(condition, AttemptFailed):
        failed = first_failed(ended)
        return None if failed is None else Match(failed.attempts, f"{failed.index}:{failed.state.value}", _at(failed))
    return None


def first_failed(members: Sequence[TaskSummary]) -> TaskSummary | None:
    """The first that has ended, and not well; one that was cancelled did as it was told."""
    failed = (each for each in members if each.state.terminal and each.outcome not in (Outcome.OK, Outcome.CANCELLED))
    return min(failed, key=lambda each: (_at(each), each.index or 0), default=None)


def group_end(group: Group) -> Match:
    """It ended without what was waited for."""
    return Match(0, f"ended:{group.outcome.value if group.outcome else ''}", group.ended_at or group.created_at)


def group_news(group: Group) -> GroupNews:
    """How far it is."""
    return GroupNews(
        id=group.id, members=group.members, states=group.states, round=group.round, rounds=group.rounds
    )  # fmt: skip


def group_waking(wanted: Continuation, group: Group, over: Over, match: Match) -> Waking:
    """The news about a group as such."""
    state = _state(group)
    first = max(group.shares, key=lambda each: each.waiting + each.running + each.ended, default=None)
    return Waking(
        id=news_id(wanted.id, match.key), continuation=wanted.id, consumer=wanted.consumer, over=over,
        kind=wanted.condition.kind, subject=wanted.subject, name=group.name, state=state, phase=group.phase,
        outcome=group.outcome, task_state=state, happened_at=match.at, group=group_news(group),
        provenance=Provenance(
            site=cut(first.site, _NAME_BYTES) if first is not None else "", attempt=0, attempts=group.members,
            partition=cut(first.partition, _NAME_BYTES) if first is not None and first.partition else None,
            why_here=cut(group.why_here, _WHY_BYTES), submitted_at=group.created_at, ended_at=group.ended_at,
            notebook=cut(group.notebook.path, _NAME_BYTES) if group.notebook.path else None,
        ),
        cause=cut(group.cause, _CAUSE_BYTES), next=cut(group.next, _NEXT_BYTES), actions=_actions(group),
    )  # fmt: skip


def _actions(group: Group) -> tuple[NextAction, ...]:
    verbs: list[ActionVerb] = ["group", "events"]
    if group.phase is not Phase.ENDED:
        verbs += ["release" if group.held_by else "hold", "replan", "cancel"]
    return tuple(NextAction(verb=verb, task=group.id) for verb in verbs)


def _state(group: Group) -> State:
    """The state that stands for all of it."""
    if group.phase is Phase.ENDED:
        return _ENDED_AS.get(group.outcome, State.COMPLETED)
    return {Phase.RUNNING: State.RUNNING, Phase.UNKNOWN: State.UNKNOWN}.get(group.phase, State.PENDING)


def _at(member: TaskSummary) -> datetime:
    return member.ended_at or member.created_at
