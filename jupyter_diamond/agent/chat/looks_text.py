"""Answers to looks, in a chat's Markdown: the pool, what is idle, tasks, a decision, a draft. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.draft import Draft
from jupyter_diamond.model.looks import Idle
from jupyter_diamond.model.snapshot import SiteReading, Snapshot
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import Task, TaskSummary
from jupyter_diamond.notebook.tables import idle_text
from jupyter_diamond.notebook.vocabulary import (
    GLYPH,
    HEALTH,
    LOOK,
    age,
    byte_size,
    clock,
    place_text,
    trouble_text,
    wall_clock,
)
from jupyter_diamond.notebook.wall_text import free_text, sum_text
from jupyter_diamond.notebook.wall_view import cap_text, wall
from jupyter_diamond.placement import words
from jupyter_diamond.placement.explain import sections

from .markdown import block, code, table, text

_MOST_ROWS = 20


def wall_text(snapshot: Snapshot, now: datetime) -> str:
    """What is free, a row a partition; each site with the age of its numbers."""
    seen = wall(snapshot, now)
    head = " · ".join(f"{sum_text(total)} {total['label']}" for total in seen["strip"]["sums"])
    rows = []
    for name in seen["order"]:
        for row in seen["rows"].get(name, {}).values():
            pending = "?" if row["pending"] is None else f"{row['pending']:,}"
            place = code(place_text(name, row["name"]))
            rows.append([place, _free(row), pending, text(row["cap"])])
    lines = [head]
    if rows:
        more = f"\n\n…and {len(rows) - _MOST_ROWS} more: `%diamond wall` shows all." if len(rows) > _MOST_ROWS else ""
        lines.append(table(["place", "free", "pending", "limit"], rows[:_MOST_ROWS], frozenset({1, 2, 3})) + more)
    lines.append("\n".join(f"- {_site(site, now)}" for site in snapshot.sites))
    return "\n\n".join(lines)


def _free(row: dict[str, Any]) -> str:
    """``6 of 8 GPUs``; the state's word where it takes no jobs."""
    if not row["open"] or row["free"] is None:
        return text(free_text(row))
    return f"{row['free']:,} of {row['total']:,} {row['unit']}s"


def _site(site: SiteReading, now: datetime) -> str:
    look = HEALTH[site.health]
    when = "never read" if site.read_at is None else f"read {age((now - site.read_at).total_seconds())} ago"
    simulated = " (simulated)" if site.simulated else ""
    return (
        f"{GLYPH[look.mark]} {code(site.site)}{simulated} {look.word}, {when}. {text(trouble_text(site, now))}".rstrip()
    )


def idle_places(found: Idle, now: datetime) -> str:
    """Where such a job could start now."""
    heads = ["place", "jobs now", "GPU", "limit", "age"]
    rows = []
    for place in found.places[:_MOST_ROWS]:
        memory = "" if place.gpu_memory_bytes is None else f" {byte_size(place.gpu_memory_bytes)}"
        rows.append([
            code(place_text(place.site, place.partition)) + (" (simulated)" if place.simulated else ""),
            "?" if place.jobs_now is None else f"{place.jobs_now:,}", text(f"{place.gpu_model or ''}{memory}"),
            text(cap_text(place.walltime_cap_s)), age((now - place.read_at).total_seconds()),
        ])  # fmt: skip
    beside = text(idle_text(found), 1500)
    return "\n\n".join(filter(None, [table(heads, rows, frozenset({1, 3, 4})) if rows else "", beside]))


def tasks_text(tasks: Iterable[TaskSummary], now: datetime, *, here: Mapping[str, object]) -> str:
    """Those of this chat first, then the newest others."""
    every = sorted(tasks, key=lambda each: each.id not in here)
    rows = [_task_row(each, now) for each in every[:_MOST_ROWS]]
    if not rows:
        return "No task is under way."
    return table(["task", "state", "where", "elapsed / limit", ""], rows, frozenset({3}))


def _task_row(task: TaskSummary, now: datetime) -> list[str]:
    look = LOOK[task.state]
    elapsed = "" if task.started_at is None else clock(((task.ended_at or now) - task.started_at).total_seconds())
    limit = f" / {clock(task.walltime_s)}" if elapsed and task.walltime_s else ""
    return [
        f"{code(task.name)} {task.id}", f"{GLYPH[look.mark]} {look.word}",
        code(place_text(task.site, task.partition)) if task.site else "", f"{elapsed}{limit}",
        text(task.trouble or task.cause, 160),
    ]  # fmt: skip


def task_line(task: Task, now: datetime) -> str:
    """``● running on delta:gpu since 14:22, for at most 4 h · job 812345``: the line of a chat that is edited.

    It is written when something changes, not each second: it names moments, not how long ago they were.
    """
    attempt, look = task.attempt, LOOK[task.state]
    said = f"{GLYPH[look.mark]} {look.word}"
    if attempt is None:
        return said
    said += f" on {code(place_text(attempt.site, attempt.partition))}"
    if attempt.ended_at is not None:
        said += f" at {wall_clock(attempt.ended_at, now)}"
    elif attempt.started_at is not None and task.phase is not Phase.PENDING:
        said += f" since {wall_clock(attempt.started_at, now)}, for at most {words.duration(attempt.size.walltime_s)}"
    else:
        said += f" since {wall_clock(attempt.state_since, now)}"
    parts = [said, f"job {code(str(attempt.native))}" if attempt.native is not None else ""]
    if task.phase is Phase.PENDING:
        expected = attempt.expected_start_at
        parts += [f"expected at {wall_clock(expected, now)}" if expected else "", text(attempt.reason, 100)]
    if attempt.why:
        parts.append(f"attempt {attempt.n}: {text(attempt.why, 200)}")
    return " · ".join(filter(None, [*parts, text(attempt.trouble, 200)]))


def decision_text(decision: Decision, about: str, now: datetime) -> str:
    """The stored answer to *why here*: the sentence first."""
    lines = [f"{about} {text(decision.sentence)}".strip()]
    for title, said in sections(decision):
        lines.append(f"{title}:\n" + "\n".join(f"- {text(each, 400)}" for each in said[:6]))
    taken = age((now - decision.made_at).total_seconds())
    return "\n\n".join(
        [*lines, f"Decided {taken} ago, by the {'rules' if decision.mode == 'rules' else 'pin you set'}."]
    )


def draft_text(draft: Draft, *, asked_model: str) -> str:
    """What it would ask for and why each, what it does not know, and how sure it is."""
    line = " ".join(f"--{name} {value}" for name, value in draft.options.items())
    rows = [[code(each.field), text(each.value, 60), text(each.sentence, 300)] for each in draft.reasons]
    lines = [f"A draft, to be read and changed: {code(line, 400)}", text(draft.rationale)]
    if rows:
        lines.append(table(["", "asks for", "because"], rows))
    if draft.unknown:
        lines.append("Not known:\n" + "\n".join(f"- {text(each)}" for each in draft.unknown))
    lines += [text(each) for each in draft.problems]
    source = {"rules": "our own reading of the code", "history": "earlier runs of the same code"}.get(draft.source)
    by = source or f"the model {text(draft.model or '')}"
    lines.append(f"From {by}; {round(100 * draft.confidence)} % sure. {asked_model}".strip())
    return "\n\n".join(filter(None, lines))


def log_text(name: str, tail: str, size: int | None) -> str:
    """The end of a log, as it is."""
    shown = "\n".join(tail.rstrip("\n").split("\n")[-30:])
    whole = "" if size is None else f", of {byte_size(size)}"
    return f"The end of the log of {code(name)}{whole}:\n\n{block(shown)}"


def problems_text(problems: Sequence[str]) -> str:
    """What could not be read of what was attached."""
    return "\n".join(f"- {text(each)}" for each in problems)
