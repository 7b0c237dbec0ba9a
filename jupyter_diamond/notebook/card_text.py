"""A card as static HTML and as plain text: what a saved notebook, nbconvert, GitHub and a diff show.

Everything is escaped. The HTML reads well with all styles stripped, as GitHub does.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from .card_view import CardView, facts, headline, last_line, what_and_next
from .staging_view import row_text
from .static_files import style_line

LOG_LINES = 200
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def printable(text: str) -> str:
    """Foreign text without terminal escapes and control characters; a progress bar keeps its last state."""
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in _ANSI.sub("", text).split("\n"))
    return _CONTROL.sub("", "\n".join(lines))


def tail_lines(text: str, count: int = LOG_LINES) -> str:
    """The last lines of a log, printable."""
    return "\n".join(printable(text).rstrip("\n").split("\n")[-count:])


def plain(view: CardView) -> str:
    """First and last line of the card."""
    lines = [headline(view), last_line(view)]
    return printable("\n".join(line for line in lines if line))


def static_bundle(view: CardView, log: str = "") -> dict[str, Any]:
    """Mime bundle of the folded card."""
    return {"text/html": html(view, log), "text/plain": plain(view)}


def html(view: CardView, log: str = "") -> str:
    """The card folded to one line; a click unfolds the log's tail, why here, and what travelled."""
    return (
        f'<div class="jd-card jd-static" data-diamond-task="{_e(view["task_id"])}" data-state="{_e(view["state"])}"'
        f' data-tone="{_e(view["tone"])}"{" data-simulated" if view["simulated"] else ""}>'
        f"<style>{style_line('card_static.css')}</style>"
        f'<details><summary class="jd-head">{_head(view)}</summary>{_body(view, log)}</details>'
        f"{_below(view)}</div>"
    )


def _head(view: CardView) -> str:
    rest = "".join(f' <span class="jd-fact">· {_e(part)}</span>' for part in facts(view))
    return (
        f'<b class="jd-name">{_e(view["name"])}</b>&ensp;<span class="jd-state"><span class="jd-mark">'
        f"{_e(view['glyph'])}</span> {_e(view['word'])}</span>"
        f'<span class="jd-where">{_e(view["where"])}</span>{rest}'
    )


def _below(view: CardView) -> str:
    """What must be seen without a click: trouble, or how it ended when it did not end well."""
    lines = [("jd-staging", row_text(row)) for row in view["staging"]]
    if view["sentence"] and view["ended"]:
        lines.append(("jd-sentence", what_and_next(view)))
    if view["trouble"]:
        lines.append(("jd-trouble", view["trouble"]))
    if view["note"]:
        lines.append(("jd-note", view["note"]))
    return "".join(f'<div class="{kind}">{_e(text)}</div>' for kind, text in lines)


def _body(view: CardView, log: str) -> str:
    parts = [f'<div class="jd-timing">{_e(view["timing"])}</div>' if view["timing"] else ""]
    if log.strip():
        parts.append(f'<pre class="jd-log">{_e(tail_lines(log))}</pre>')
    if view["why_here"]:
        parts.append(f'<div class="jd-why">why here: {_e(view["why_here"])}</div>')
    if len(view["candidates"]) > 1:
        rows = [
            [("▸ " if c["chosen"] else "") + c["place"], c["size"], c["starts"], c["charge"], c["reason"]]
            for c in view["candidates"]
        ]
        parts.append(table("jd-candidates", ("place", "size", "starts", "charge", "reason"), rows))
    if view["captured"]:
        names = [[c["name"], c["type"], c["travels"], c["size"], c["detail"]] for c in view["captured"]]
        parts.append(table("jd-captured", ("name", "type", "travels as", "size", ""), names))
    parts.append(table("jd-facts", (), view["facts"]))
    return "".join(parts)


def table(kind: str, heads: tuple[str, ...], rows: list[list[str]]) -> str:
    """Rows of texts as an HTML table."""
    head = "".join(f"<th>{_e(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(f"<td>{_e(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    top = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f'<table class="jd-table {kind}">{top}<tbody>{body}</tbody></table>'


def escaped(text: str) -> str:
    """Foreign text as HTML shows it."""
    return escape(printable(text), quote=True)


_e = escaped
