"""What the chat is told when a task ends, without any model: from the news and the receipt alone. Pure."""

from __future__ import annotations

from datetime import datetime

from jupyter_diamond.model.continuation import NextAction, Waking
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.model.task import Task
from jupyter_diamond.notebook.charge_text import charge_fact, cost_text
from jupyter_diamond.notebook.vocabulary import GLYPH, LOOK, byte_size, place_text, span_of_time, wall_clock
from jupyter_diamond.placement import words

from .markdown import code, text

_MOST_OUTPUTS = 8


def report(news: Waking, task: Task | Group, manifest: Manifest | None, now: datetime, *, actions: bool = True) -> str:
    """How it ended, where, how long, at what charge, what came back, and what may be done next."""
    if isinstance(task, Group):
        lines = [_group_head(news), text(task.cause), text(task.next)]
    elif news.kind == "trouble" or not news.state.terminal:
        lines = [_trouble(news, now)]
    else:
        lines = [head(task, now), *_cause(news), *_facts(task, manifest, told=bool(news.cause))]
    return "\n\n".join(filter(None, [*lines, next_actions(news.actions, news.name) if actions else ""]))


def head(task: Task, now: datetime) -> str:
    """``✓ **fit** succeeded on delta:cpu after 41 min, at 14:22. It had waited for 8 min.``."""
    attempt = task.attempt
    look = LOOK[task.state]
    said = f"{GLYPH[look.mark]} **{text(task.name)}** {_ended(task)}"
    if attempt is None:
        return f"{said}."
    said += f" on {code(place_text(attempt.site, attempt.partition))}"
    if attempt.started_at is not None and attempt.ended_at is not None:
        ran = (attempt.ended_at - attempt.started_at).total_seconds()
        said += f" after {span_of_time(ran) if ran >= 1 else 'less than 1 s'}"
    if attempt.ended_at is not None:
        said += f", at {wall_clock(attempt.ended_at, now)}"
    said += "."
    if attempt.submitted_at is not None and attempt.started_at is not None:
        waited = (attempt.started_at - attempt.submitted_at).total_seconds()
        said += f" It had waited {span_of_time(waited)} to start." if waited >= 60 else ""
    if len(task.attempts) > 1:
        said += f" It took {len(task.attempts)} attempts."
    return said


_ENDED = {
    State.COMPLETED: "succeeded", State.FAILED: "failed", State.CANCELLED: "was cancelled", State.TIMEOUT: "timed out",
    State.OUT_OF_MEMORY: "ran out of memory", State.NODE_FAIL: "lost its node", State.PREEMPTED: "was preempted",
    State.REJECTED: "was refused", State.DEADLINE: "missed its deadline", State.LOST: "is lost",
}  # fmt: skip


def _ended(task: Task) -> str:
    return _ENDED.get(task.state, f"is {LOOK[task.state].word}")


def _cause(news: Waking) -> list[str]:
    if news.outcome is Outcome.OK:
        return []
    return [" ".join(filter(None, (text(news.cause), text(news.next))))]


def _facts(task: Task, manifest: Manifest | None, *, told: bool) -> list[str]:
    attempt = task.attempt
    facts = [f"job {code(str(attempt.native))}"] if attempt is not None and attempt.native is not None else []
    if attempt is not None and attempt.size:
        facts.append(text(words.size(attempt.size)))
    if attempt is not None and attempt.max_rss_bytes:
        facts.append(f"{byte_size(attempt.max_rss_bytes)} of memory at most")
    facts.append(_charged(task))
    lines = [" · ".join(facts)]
    if manifest is not None:
        lines += _came_back(manifest, told=told)
    return lines


def _charged(task: Task) -> str:
    attempt = task.attempt
    if attempt is None or attempt.charge is None:
        return "nothing is charged for it there"
    cost = cost_text(task) or charge_fact(attempt)
    return f"charged {text(cost)}" if cost else "what it is charged is not known"


def _came_back(manifest: Manifest, *, told: bool) -> list[str]:
    lines = []
    if manifest.values:
        named = [f"{code(each.name)} ({byte_size(each.bytes)})" for each in manifest.values[:_MOST_OUTPUTS]]
        more = len(manifest.values) - _MOST_OUTPUTS
        lines.append("Came back: " + ", ".join(named) + (f" and {more} more" if more > 0 else "") + ".")
    if manifest.missing:
        lacking = [f"{code(each.name)}: {text(each.why, 200)}" for each in manifest.missing[:_MOST_OUTPUTS]]
        lines.append("Did not come back: " + "; ".join(lacking) + ".")
    if manifest.error is not None and not told:
        said = f"{manifest.error.ename}: {manifest.error.evalue}"
        lines.append(f"The cell raised {code(said, 300)}.")
    return lines


def _trouble(news: Waking, now: datetime) -> str:
    place = code(place_text(news.provenance.site, news.provenance.partition))
    why = text(news.trouble) or text(news.cause)
    if news.kind == "trouble":
        return (
            f"? **{text(news.name)}**: {place} cannot be asked about it since {wall_clock(news.happened_at, now)}. "
            f"{why} Nothing was cancelled; it is asked again until it answers."
        )
    return f"{GLYPH[LOOK[news.state].mark]} **{text(news.name)}** is {LOOK[news.state].word} on {place}. {why}".strip()


def _group_head(news: Waking) -> str:
    group = news.group
    if group is None:
        return f"**{text(news.name)}**: {LOOK[news.task_state].word}."
    told = ", ".join(f"{count:,} {LOOK[state].word}" for state, count in group.states.items() if count)
    look = LOOK[news.task_state]
    return f"{GLYPH[look.mark]} **{text(news.name)}**: of {group.members:,} members {told or 'none has ended'}."


_SAY = {
    "logs": ("log {name}", "its log"), "explain": ("why {name}", "why it was placed there"),
    "task": ("status {name}", ""), "cancel": ("cancel {name}", "to end it"),
    "resubmit": ("again {name}{options}", "to plan it anew with that"),
    "replan": ("replan {name}", "to plan it anew"), "hold": ("hold {name}", ""), "release": ("release {name}", ""),
}  # fmt: skip


def next_actions(actions: tuple[NextAction, ...], name: str) -> str:
    """What may be typed now."""
    said = []
    for each in actions:
        phrase = _SAY.get(each.verb)
        if phrase is None or not phrase[1]:
            continue
        options = "".join(f" {key} {value}" for key, value in each.options.items())
        said.append(f"{code(phrase[0].format(name=name, options=options))} ({phrase[1]})")
    return f"Next: {' · '.join(said)}" if said else ""
