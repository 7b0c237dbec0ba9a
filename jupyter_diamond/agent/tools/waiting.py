"""To be woken, to wait, and to read what happened: with cursors, so that nothing is told twice or lost."""

from __future__ import annotations

import hashlib
import re
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.continuation import (
    LASTS_S,
    AttemptFailed,
    Condition,
    ConsumerName,
    InState,
    Milestone,
    Overrun,
    Quorum,
    Registration,
    Terminal,
    Trouble,
    Waking,
)
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Task
from jupyter_diamond.parsing.durations import parse_friendly

from .answers import Foreign, at, without_empty, word
from .parameters import Ref, Text
from .proposals import proposal_view
from .registry import tool
from .tasks import task_or_group, view

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

_PROPOSAL = re.compile(r"p[0-9a-f]{10}")
STEP_S = 25.0
"""One call waits no longer: a client goes on from the cursor, so a server may stop between two calls."""
LONGEST_S = 24 * 3600
Until = Literal["ended", "running", "change"]


def consumer_of(speaker: Speaker) -> str:
    """Who is woken: the conversation. Agents that share a face's channel are told apart by their names."""
    named = ":" not in speaker.channel and speaker.agent
    return f"{speaker.channel}:{speaker.agent}"[:100] if named else speaker.channel


@tool("read", "tasks", first=True)
async def wait_task(
    desk: AgentDesk,
    _speaker: Speaker,
    *,
    task: Ref,
    until: Until = "ended",
    after: Annotated[int, Field(ge=0)] = 0,
    at_most: Text = "25s",
) -> dict[str, Any]:
    """Wait until a task or group has ended, runs, or has changed after a cursor. over=false: not yet, call it again.

    Of a proposal (p…) it waits for the user's word, and goes on with the task that comes of it. Over MCP it waits as
    long as at_most says, a server restart included. Elsewhere one call waits 25 s at most. In a chat do not wait at
    all: register_continuation, and end your turn.

    Args:
        task: id or name, or a proposal's id
        until: ended, running (or ended before), or change (anything new after the cursor)
        after: the cursor that the last answer gave
        at_most: how long to wait: 30s, 10m, 2h
    """
    deadline = time.monotonic() + min(parse_wait(at_most), STEP_S)
    while True:
        newest = (await desk.service.events(-1)).cursor
        over, seen = await _look(desk, task, until, after)
        left = deadline - time.monotonic()
        if over or left <= 0:
            return {"over": over, "waited_for": until, **seen}
        await desk.service.events(newest, left, 1)


async def _look(desk: AgentDesk, ref: str, until: Until, after: int) -> tuple[bool, dict[str, Any]]:
    """Whether it is over, and what is to be seen: of a task, a group, or a proposal until something came of it."""
    if _PROPOSAL.fullmatch(ref):
        proposal = await desk.guard.proposal(ref)
        if proposal.task is None:
            return proposal.standing not in ("waiting", "approved"), proposal_view(proposal)
        ref = proposal.task
    found = await task_or_group(desk, ref)
    return _is_over(found, until, after), view(found)


def parse_wait(text: str) -> int:
    """Seconds of ``10m``; none for 0. Raises InvalidRequest."""
    seconds = 0 if text.strip() in ("0", "0s") else parse_friendly(text)
    if seconds > LONGEST_S:
        raise InvalidRequest(f"at_most {text} is too long; write at most 24h, and call it again.")
    return seconds


def _is_over(found: Task | Group, until: Until, after: int) -> bool:
    if until == "change":
        return found.version > after
    if found.phase is Phase.ENDED:
        return True
    return until == "running" and found.phase is Phase.RUNNING


@tool("read", "tasks", first=True, long=True)
async def recent_events(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    task: Ref | None = None,
    after: Annotated[int, Field(ge=0)] | None = None,
    news: bool = False,
    limit: Annotated[int, Field(ge=1, le=200)] = 30,
) -> dict[str, Any]:
    """What happened, oldest first: to one task or group, to all, or (news) what you asked to be woken for.

    With news=true it gives what is new since you last acknowledged; handle it, then call ack_events with the cursor.

    Args:
        task: the events of this task or group
        after: those after this cursor; left out: of a task from its start, of all the newest
        news: your own news instead: what the conditions that you registered gave
        limit: at most so many
    """
    if news:
        page = await desk.service.consumers.wait(consumer_of(speaker), after, 0.0, limit)
        return {"news": [_news(event) for event in page.events], "cursor": page.cursor}
    if task is None:
        newest = (await desk.service.events(-1)).cursor
        page = await desk.service.events(max(0, newest - limit) if after is None else after, 0.0, limit)
    else:
        found = await task_or_group(desk, task)
        asks = desk.service.task_events if isinstance(found, Task) else desk.service.groups.events
        page = await asks(found.id, after or 0, limit)
    return {"events": [event_view(event) for event in page.events], "cursor": page.cursor}


_OURS = frozenset(
    {"state", "from", "to", "site", "partition", "n", "attempt", "outcome", "phase", "step", "by", "name", "job"}
)


def event_view(event: Event) -> dict[str, Any]:
    """One event; of its text only what is ours stands unmarked."""
    told: dict[str, Any] = {"seq": event.seq, "at": at(event.at), "type": event.type, "subject": event.subject}
    for name, value in event.data.items():
        if isinstance(value, str) and name not in _OURS:
            told[name] = Foreign(value, f"{name} of an event", 200) if value else None
        elif isinstance(value, str | int | float | bool):
            told[name] = word(value) if isinstance(value, str) else value
    return without_empty(told)


def _news(event: Event) -> dict[str, Any]:
    try:
        waking = Waking.model_validate(event.data)
    except ValueError:
        return event_view(event)
    told = waking.model_dump(mode="json", exclude_none=True, exclude={"untrusted", "consumer"})
    for name in (*waking.untrusted, "next"):
        told[name] = Foreign(str(told[name]), name, 400) if told.get(name) else None
    return without_empty({"seq": event.seq, **told})


@tool("read", "tasks")
async def ack_events(desk: AgentDesk, speaker: Speaker, *, cursor: Annotated[int, Field(ge=0)]) -> dict[str, Any]:
    """Say that your news up to a cursor were read and handled: they are not told again.

    Args:
        cursor: what recent_events(news=true) gave
    """
    done = await desk.service.consumers.ack(consumer_of(speaker), cursor)
    return {"acknowledged": done.seq}


Wakes = Literal["ended", "running", "attempt_failed", "trouble", "log_line", "runs_longer", "waits_longer", "quorum"]


@tool("read", "tasks", first=True)
async def register_continuation(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    task: Ref,
    when: Wakes = "ended",
    pattern: Annotated[str, Field(max_length=200)] | None = None,
    longer_than: Text | None = None,
    share: Annotated[float, Field(gt=0, le=1)] | None = None,
    lasts: Text | None = None,
) -> dict[str, Any]:
    """Be woken when something happens to a task or group. Then end your turn: no polling, no cost while it runs.

    What has happened already wakes at once. In a chat the news come as a message; over MCP read them with
    recent_events(news=true) or wait with wait_task. Asking for the same twice is the same.

    Args:
        task: id or name
        when: ended; running; attempt_failed (also where another follows); trouble (its site cannot be asked); log_line
            (with pattern); runs_longer or waits_longer (with longer_than); quorum (of a group, with share)
        pattern: a regular expression for a line of its log
        longer_than: 2h, 30m
        share: of the members that have ended, 0 to 1
        lasts: how long to wait for it: 30d
    """
    condition = _condition(when, pattern, longer_than, share)
    consumer: ConsumerName = consumer_of(speaker)
    found = await task_or_group(desk, task)
    words = f"{consumer} {found.id} {condition.model_dump_json()}"
    asked = Registration(
        id=hashlib.sha256(words.encode()).hexdigest()[:32], consumer=consumer, condition=condition,
        subject=f"{'task' if isinstance(found, Task) else 'group'}:{found.id}",
        lasts_s=LASTS_S if lasts is None else float(parse_friendly(lasts)),
    )  # fmt: skip
    done = await desk.service.consumers.register(asked)
    kept = done.continuation
    return without_empty({
        "registered": kept.id, "for": kept.subject, "when": when, "created": done.created, "over": kept.over,
        "expires_at": at(kept.expires_at), "cursor": done.cursor,
        "next_actions": ["end your turn: you are woken"] if kept.over is None else ["recent_events(news=true)"],
    })  # fmt: skip


def _condition(when: Wakes, pattern: str | None, longer_than: str | None, share: float | None) -> Condition:
    if when == "log_line":
        if not pattern:
            raise InvalidRequest("when=log_line needs `pattern`, a regular expression: pattern='epoch 10'.")
        return Milestone(pattern=pattern)
    if when in ("runs_longer", "waits_longer"):
        if not longer_than:
            raise InvalidRequest(f"when={when} needs `longer_than`: longer_than='2h'.")
        seconds = float(parse_friendly(longer_than))
        return Overrun(running_s=seconds) if when == "runs_longer" else Overrun(waiting_s=seconds)
    if when == "quorum":
        if share is None:
            raise InvalidRequest("when=quorum needs `share` of the group's members: share=0.9.")
        return Quorum(share=share)
    plain: dict[str, Condition] = {
        "ended": Terminal(), "running": InState(states=(State.RUNNING,)), "attempt_failed": AttemptFailed(),
        "trouble": Trouble(),
    }  # fmt: skip
    if when not in plain:
        raise NotFound(f"There is no condition {when!r}.")
    return plain[when]
