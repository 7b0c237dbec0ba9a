"""The one vocabulary of states as a researcher sees it: mark, tone and word."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from jupyter_diamond.model.envelope import Size, Span
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.model.states import State

Mark = Literal["arrow", "ring", "hollow", "filled", "tick", "cross", "dash", "question"]
Tone = Literal["info", "neutral", "accent", "success", "error", "muted", "warning"]

GLYPH: dict[Mark, str] = {
    "arrow": "→",
    "ring": "◌",
    "hollow": "○",
    "filled": "●",
    "tick": "✓",
    "cross": "✗",
    "dash": "–",  # noqa: RUF001 - the mark as drawn
    "question": "?",
}


@dataclass(frozen=True)
class Look:
    """How a state looks and is called. Colour (``tone``) is never the only sign."""

    mark: Mark
    tone: Tone
    word: str


LOOK: dict[State, Look] = {
    State.WAITING: Look("ring", "neutral", "waiting to be sent"),
    State.STAGING_IN: Look("arrow", "info", "sending inputs"),
    State.SUBMITTING: Look("ring", "neutral", "submitting"),
    State.SUBMIT_UNKNOWN: Look("ring", "neutral", "looking for it"),
    State.PENDING: Look("hollow", "neutral", "pending"),
    State.CONFIGURING: Look("hollow", "neutral", "nodes are starting"),
    State.RUNNING: Look("filled", "accent", "running"),
    State.SUSPENDED: Look("filled", "warning", "suspended"),
    State.COMPLETING: Look("filled", "accent", "finishing"),
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


def clock(seconds: float) -> str:
    """Elapsed time as ``00:41``, ``1:02:03`` or ``2-03:04:05``."""
    whole = max(0, int(seconds))
    minutes, sec = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{sec:02}"
    return f"{hours}:{minutes:02}:{sec:02}" if hours else f"{minutes:02}:{sec:02}"


def span_of_time(seconds: float) -> str:
    """A duration in words: ``12 s``, ``8 min``, ``1 h 30 min``, ``3 d``."""
    whole = max(0, int(seconds))
    if whole < 90:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{round(hours / 24)} d"


def byte_size(count: int) -> str:
    """Bytes with at most one decimal: ``512 B``, ``1.5 GB``; counted as Slurm does, 1 GB = 2**30."""
    amount, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    text = f"{amount:.1f}".removesuffix(".0") if amount < 100 else f"{amount:.0f}"
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
    """What was asked for, e.g. ``4 CPU · 2 GB``; nodes are named only when there are several."""
    each = f"{size.gpus} GPU" if size.gpus else f"{size.cpus} CPU"
    if size.nodes > 1:
        each = f"{size.nodes} nodes × {each}"  # noqa: RUF001 - a real multiplication sign
    return f"{each} · {byte_size(size.memory_bytes)}" if size.memory_bytes else each


def span_text(span: Span, one: str = "") -> str:
    """``2-4`` or ``2``, with a unit."""
    text = str(span.min) if span.min == span.max else f"{span.min}-{span.max}"
    return f"{text} {one}".rstrip()


def place_text(site: str, partition: str | None) -> str:
    """``delta : gpuA100x4``."""
    return f"{site} : {partition}" if partition else site
