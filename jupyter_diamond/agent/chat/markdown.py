"""Text for a chat, which shows Markdown: whatever jobs, sites and files are called or say stays text."""

from __future__ import annotations

import re

from jupyter_diamond.notebook.card_text import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")
_FETCHES = re.compile(
    r"<(?=/?(?:img|picture|video|audio|source|iframe|object|embed|svg|link|style|input|base|form)\b)", re.IGNORECASE
)
_TICKS = re.compile(r"`+")


def text(words: str, most: int = 600) -> str:
    """A foreign sentence in one line: neither Markdown nor HTML of it is drawn, and no link is made."""
    line = " ".join(printable(words).split())
    cut = f"{line[:most]}…" if len(line) > most else line
    return _SPECIAL.sub(r"\\\1", cut).replace("://", ":\u200b//").replace("@", "@\u200b")


def code(words: str, most: int = 120) -> str:
    """A name, a place, or what to type."""
    line = " ".join(printable(words).split())[:most]
    ticks = "`" * (1 + max((len(each) for each in _TICKS.findall(line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}" if line else ""


def safe_markdown(words: str) -> str:
    """A model's answer: its Markdown is drawn, but it fetches no picture, and no HTML of it is.

    A picture's address would tell whoever serves it what stands in it.
    """
    lines = printable(words).strip().replace("![", "!\u200b[")
    return _FETCHES.sub("&lt;", lines)


def block(words: str, language: str = "") -> str:
    """Lines as they are."""
    shown = printable(words).rstrip("\n")
    fence = "`" * max(3, 1 + max((len(each) for each in _TICKS.findall(shown)), default=0))
    return f"{fence}{language}\n{shown}\n{fence}"


def table(heads: list[str], rows: list[list[str]], right: frozenset[int] = frozenset()) -> str:
    """A table; cells are Markdown already."""
    rule = ["---:" if at in right else "---" for at in range(len(heads))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [heads, rule, *rows])
