"""``jupyter diamond wait``: asleep until a task has ended, runs, or its log says something."""

from __future__ import annotations

import time
import uuid
from argparse import Namespace
from contextlib import suppress

from jupyter_diamond.errors import DiamondError, ServerUnavailable
from jupyter_diamond.model.continuation import LASTS_S, Condition, InState, Milestone, Registration, Terminal, Waking
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.vocabulary import LOOK, place_text
from jupyter_diamond.parsing.durations import parse_friendly, to_words

from .grammar import DONE, FAILED, NOT_YET
from .output import as_json, say
from .servers import choose, running

WAIT_S = 25.0
PAUSE_S = 2.0
"""Between two tries while no server answers."""
_LEEWAY_S = 60.0


def wait(client: DiamondClient, said: Namespace) -> int:
    """Wait without polling any site; the server may be restarted meanwhile."""
    seconds = min(float(parse_friendly(said.how_long)), LASTS_S) if said.how_long else LASTS_S
    asked = Registration(
        id=uuid.uuid4().hex, subject=said.task, condition=condition_of(said.until),
        consumer=f"cli-{uuid.uuid4().hex[:16]}", lasts_s=seconds + _LEEWAY_S,
    )  # fmt: skip
    registered = client.register(asked)
    news = None
    try:
        news = _news(client, asked.consumer, time.monotonic() + seconds)
    finally:
        if news is None:
            with suppress(DiamondError):  # it expires by itself
                client.withdraw(asked.id)
    if news is None:
        return _not_yet(client, registered.continuation.task_id, seconds, said)
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
    return InState(states=(State.RUNNING,)) if until == "running" else Milestone(pattern=until)


def _news(client: DiamondClient, consumer: str, deadline: float) -> Waking | None:
    """The first piece of news; None when the time is over."""
    while (left := deadline - time.monotonic()) > 0:
        try:
            events = client.wait_for_news(consumer, wait_s=min(left, WAIT_S)).events
        except ServerUnavailable as problem:
            if not problem.transient:
                raise
            time.sleep(min(left, PAUSE_S))
            client = _found_again(client)
            continue
        if events:
            client.acknowledge(consumer, events[0].seq)
            return Waking.model_validate(events[0].data)
    return None


def _found_again(client: DiamondClient) -> DiamondClient:
    """A server that was restarted has another port or token."""
    try:
        address = choose(running()).address
    except ServerUnavailable:
        return client
    return DiamondClient(lambda: address)


def _sentence(news: Waking) -> str:
    where = place_text(news.provenance.site, news.provenance.partition)
    if news.kind == "terminal" or news.over == "ended":
        unmet = "" if news.over == "fired" else " without what was waited for"
        return f"{news.name}: {LOOK[news.state].word}{unmet}, {where}. {news.cause} {news.next}".strip()
    return f"{news.name}: {news.line}" if news.line else f"{news.name}: {LOOK[news.state].word}, {where}."


def _not_yet(client: DiamondClient, task_id: str, seconds: float, said: Namespace) -> int:
    task = client.task(task_id)
    if said.json:
        as_json({"over": "not_yet", "task": task})
    else:
        say(f"{task.name}: not yet after {to_words(seconds)}; it is {LOOK[task.state].word}. It goes on.")
    return NOT_YET
