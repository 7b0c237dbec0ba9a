"""A group in a chat: its line, and how it ended. Pure."""

from __future__ import annotations

from datetime import datetime

from jupyter_diamond.model.group import Group
from jupyter_diamond.notebook.group_words import group_word, progress
from jupyter_diamond.notebook.vocabulary import place_text, span_of_time

from .markdown import code, text


def group_line(group: Group, now: datetime) -> str:
    """``running 37/100 on delta:cpu, anvil:shared · since 12 min``."""
    places = [code(place_text(share.site, share.partition)) for share in group.shares[:3]]
    where = f" on {', '.join(places)}" if places else ""
    took = span_of_time(((group.ended_at or now) - group.created_at).total_seconds())
    when = f"after {took}" if group.ended_at is not None else f"for {took}"
    return f"{text(group_word(group))} {text(progress(group))}{where} · {when}"
