"""The one vocabulary of a researcher's view: of states mark, tone and word; of amounts and places their text.

The labextension says the same; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from jupyter_diamond.model.envelope import Size, Span
from jupyter_diamond.model.snapshot import Health, SiteReading
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.model.transfer import TransferState
from jupyter_diamond.placement import words

Mark = Literal["arrow", "dotted", "hollow", "filled", "paused", "half", "tick", "cross", "dash", "question"]
Tone = Literal["info", "neutral", "accent", "success", "error", "muted", "warning"]

GLYPH: dict[Mark, str] = {
    "arrow": "→",
    "dotted": "◌",
    "hollow": "○",
    "filled": "●",
    "paused": "‖",
    "half": "◐",
    "tick": "✓",
    "cross": "✗",
    "dash": "–",  # noqa: RUF001 - the mark as drawn
    "question": "?",
}


@dataclass(frozen=True)
class Look:
    """How a state, or a site's health, looks and is called. Colour (``tone``) is never the only sign."""

    mark: Mark
    tone: Tone
    word: str


LOOK: dict[State, Look] = {
    State.WAITING: Look("dotted", "neutral", "waiting to be sent"),
    State.STAGING_IN: Look("arrow", "info", "staging in"),
    State.SUBMITTING: Look("dotted", "neutral", "submitting"),
    State.SUBMIT_UNKNOWN: Look("dotted", "neutral", "looking for it"),
    State.PENDING: Look("hollow", "neutral", "pending"),
    State.CONFIGURING: Look("hollow", "accent", "nodes starting"),
    State.RUNNING: Look("filled", "accent", "running"),
    State.SUSPENDED: Look("paused", "warning", "suspended"),
    State.COMPLETING: Look("filled", "accent", "finishing"),
    State.STAGING_OUT: Look("arrow", "info", "staging out"),
    State.UNKNOWN: Look("question", "warning", "unknown"),
    State.COMPLETED: Look("tick", "success", "succeeded"),
    State.FAILED: Look("cross", "error", "failed"),
    State.CANCELLED: Look("dash", "muted", "cancelled"),
    State.TIMEOUT: Look("cross", "error", "timed out"),
    State.OUT_OF_MEMORY: Look("cross", "error", "out of memory"),
    State.NODE_FAIL: Look("cross", "error", "node failed"),
    State.PREEMPTED: Look("cross", "error", "preempted"),
    State.REJECTED: Look("cross", "error", "refused"),
    State.DEADLINE: Look("cross", "error", "missed its deadline"),
    State.LOST: Look("cross", "error", "lost"),
}

HEALTH: dict[Health, Look] = {
    "online": Look("filled", "success", "online"),
    "degraded": Look("half", "warning", "degraded"),
    "offline": Look("cross", "error", "does not answer"),
    "needs_login": Look("question", "warning", "needs your login"),
    "unknown": Look("question", "warning", "not read yet"),
}
TRANSFER: dict[TransferState, Look] = {
    "waiting": Look("dotted", "neutral", "waiting its turn"),
    "submitting": Look("dotted", "neutral", "being handed over"),
    "active": Look("arrow", "info", "moving"),
    "stalled": Look("question", "warning", "stalled"),
    "paused": Look("paused", "warning", "paused"),
    "needs_you": Look("question", "warning", "needs you"),
    "placing": Look("arrow", "info", "being put in its place"),
    "succeeded": Look("tick", "success", "arrived"),
    "failed": Look("cross", "error", "failed"),
    "cancelled": Look("dash", "muted", "cancelled"),
}
TRANSPORT = {"local": "local", "ssh": "ssh", "globus-compute": "Globus Compute"}


def clock(seconds: float) -> str:
    """Elapsed time as ``00:41``, ``1:02:03`` or ``2 d 03:04``."""
    whole = max(0, int(seconds))
    minutes, sec = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours:02}:{minutes:02}"
    return f"{hours}:{minutes:02}:{sec:02}" if hours else f"{minutes:02}:{sec:02}"


def age(seconds: float) -> str:
    """How old something is, in one unit and never older than it is: ``12 s``, ``3 min``, ``2 d``."""
    whole = max(0, int(seconds))
    if whole < 90:
        return f"{whole} s"
    if whole < 5400:
        return f"{whole // 60} min"
    return f"{whole // 3600} h" if whole < 172_800 else f"{whole // 86400} d"


def span_of_time(seconds: float) -> str:
    """A length of time in words: ``12 s``, ``1 min 20 s``, ``8 min``, ``1 h 30 min``, ``2 d 7 h``."""
    whole = max(0, int(seconds))
    for unit, word, small, small_word, until in (
        (86400, "d", 3600, "h", None),
        (3600, "h", 60, "min", None),
        (60, "min", 1, "s", 300),
    ):
        if whole >= unit:
            rest = whole % unit // small
            head = f"{whole // unit} {word}"
            return f"{head} {rest} {small_word}" if rest and (until is None or whole < until) else head
    return f"{whole} s"


def byte_size(count: int) -> str:
    """Bytes with at most one decimal: ``512 B``, ``1.5 GB``; counted as Slurm does, 1 GB = 2**30."""
    amount, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    text = f"{int(amount * 10) / 10:.1f}".removesuffix(".0") if amount < 100 else str(int(amount))
    return f"{text} {unit}"


def wall_clock(moment: datetime, now: datetime) -> str:
    """A time on the reader's own clock; with its date when it is not today's."""
    local, today = moment.astimezone(), now.astimezone().date()
    return f"{local:%H:%M}" if local.date() == today else f"{local:%-d %b %H:%M}"


def outage_text(since: datetime | None, again: datetime | None, now: datetime) -> str:
    """``Since 04:12; tried again at 04:20.`` on the reader's own clock; empty for a site that answers."""
    if since is None:
        return ""
    when = f"; tried again at {wall_clock(again, now)}" if again is not None and again > now else ""
    return f"Since {wall_clock(since, now)}{when}."


def trouble_text(site: SiteReading, now: datetime) -> str:
    """What is wrong with a site, since when, and when it is tried again; empty when nothing is."""
    return f"{site.problem} {outage_text(site.failing_since, site.next_try_at, now)}".strip() if site.problem else ""


def size_text(size: Size) -> str:
    """What was asked for, e.g. ``2 nodes x 4 cores, 1 GPU, 32 GB``; what is one node or no GPU is left out."""
    cores = words.count(size.cpus, "core")
    parts = [f"{size.nodes} nodes × {cores}" if size.nodes > 1 else cores]  # noqa: RUF001 - a real multiplication sign
    if size.gpus:
        parts.append(words.count(size.gpus, "GPU"))
    if size.memory_bytes is not None:
        parts.append(byte_size(size.memory_bytes))
    return ", ".join(parts)


def span_text(span: Span, one: str = "") -> str:
    """``2-4`` or ``2``, with a unit."""
    text = str(span.min) if span.min == span.max else f"{span.min}-{span.max}"
    return f"{text} {one}".rstrip()


def place_text(site: str, partition: str | None) -> str:
    """``delta:gpuA100x4``, as ``--site`` takes it."""
    return words.place(site, partition or "")


def part_text(task: Task, attempt: Attempt | None) -> str:
    """``segment 2 of 5``; empty for a work in one piece."""
    if attempt is None or task.healing.segments == 1:
        return ""
    return f"segment {attempt.segment} of {task.healing.segments}"
