"""``jupyter diamond wait``: asleep until a task or a group has ended, runs, or its log says something."""

from __future__ import annotations

import time
import uuid
from argparse import Namespace
from contextlib import suppress

from jupyter_diamond.errors import DiamondError, InvalidRequest, ServerUnavailable
from jupyter_diamond.model.continuation import (
    LASTS_S,
    PATTERN_LENGTH,
    Condition,
    InState,
    Milestone,
    Registration,
    Terminal,
    Waking,
)
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.group_words import state_of
from jupyter_diamond.notebook.vocabulary import LOOK, place_text
from jupyter_diamond.parsing.durations import parse_friendly, to_words

from .grammar import DONE, FAILED, NOT_YET
from .groups import of_task_or_group
from .output import as_json, complain, say
from .servers import choose, running

WAIT_S = 25.0
PAUSE_S = 2.0
"""Between two tries while no server answers."""
_LEEWAY_S = 60.0
_STATES = {state.value for state in State} | {outcome.value.lower() for outcome in Outcome} | {"succeeded", "done"}


def wait(client: DiamondClient, said: Namespace) -> int:
    """Wait without polling any site; the server may be restarted meanwhile, on another port and with another token."""
    seconds = min(float(parse_friendly(said.how_long)), LASTS_S) if said.how_long else LASTS_S
    asked = Registration(
        id=uuid.uuid4().hex, subject=said.task, condition=condition_of(said.until),
        consumer=f"cli-{uuid.uuid4().hex[:16]}", lasts_s=seconds + _LEEWAY_S,
    )  # fmt: skip
    task_id = client.register(asked).continuation.task_id
    with DiamondClient(lambda: choose(running()).address) as lasting:
        news = None
        try:
            news = _news(lasting, asked.consumer, time.monotonic() + seconds)
        finally:
            if news is None:
                with suppress(DiamondError):  # it expires by itself
                    lasting.withdraw(asked.id)
        if news is None:
            return _not_yet(lasting, task_id, seconds, said)
    if said.json:
        as_json(news)
    else:
        say(_sentence(news))
    good = news.outcome is Outcome.OK if news.kind == "terminal" else news.over == "fired"
    return DONE if good else FAILED


def condition_of(until: str) -> Condition:
    """What ``--until`` means: two words, anything else is a pattern for a line of the log."""
    if until == "ended":
        return Terminal()
    if until == "running":
        return InState(states=(State.RUNNING,))
    if until.lower() in _STATES:
        raise InvalidRequest(
            f"A task is waited for until it is ended or running, not {until}: the exit status says how it ended. "
            f"For a line of its log that has this word, write it as --until '({until})'."
        )
    if not 0 < len(until) <= PATTERN_LENGTH:
        raise InvalidRequest(f"A pattern has 1 to {PATTERN_LENGTH} characters.")
    return Milestone(pattern=until)


def _news(client: DiamondClient, consumer: str, deadline: float) -> Waking | None:
    """The first piece of news; None when the time is over. What is waited for is kept while no server answers."""
    silent = False
    while (left := deadline - time.monotonic()) > 0:
        try:
            events = client.wait_for_news(consumer, wait_s=min(left, WAIT_S)).events
        except ServerUnavailable as problem:
            if not silent:
                complain(f"{problem.message} Still waiting.")
            silent = True
            time.sleep(min(left, PAUSE_S))
            continue
        silent = False
        if events:
            with suppress(ServerUnavailable):  # nobody else reads these
                client.acknowledge(consumer, events[0].seq)
            return Waking.model_validate(events[0].data)
    return None


def _sentence(news: Waking) -> str:
    if news.group is not None and news.kind != "exception":
        over = sum(count for state, count in news.group.states.items() if state.terminal)
        return f"{news.name}: {LOOK[news.state].word}, {over} of {news.group.members} have ended. {news.cause}".strip()
    where = place_text(news.provenance.site, news.provenance.partition)
    if news.kind == "terminal" or news.over == "ended":
        unmet = "" if news.over == "fired" else " without what was waited for"
        return f"{news.name}: {LOOK[news.state].word}{unmet}, {where}. {news.cause} {news.next}".strip()
    return f"{news.name}: {news.line}" if news.line else f"{news.name}: {LOOK[news.state].word}, {where}."


def _not_yet(client: DiamondClient, task_id: str, seconds: float, said: Namespace) -> int:
    found = of_task_or_group(lambda: client.task(task_id), lambda: client.group(task_id))
    if said.json:
        as_json({"over": "not_yet", "group" if isinstance(found, Group) else "task": found})
    else:
        state = state_of(found) if isinstance(found, Group) else found.state
        say(f"{found.name}: not yet after {to_words(seconds)}; it is {LOOK[state].word}. It goes on.")
    return NOT_YET
