"""A group's card: another look of the same card, live and as it is stored in a notebook."""

from __future__ import annotations

from typing import Any

from .card import CardWidget, Look
from .card_text import escaped, printable, table
from .group_view import GroupView, facts, headline, last_lines, place_line
from .static_files import module, static, style_line


class GroupWidget(CardWidget):
    """``view`` is a GroupView."""

    _esm = module("group.js")
    _css = static("card_static.css") + static("card.css") + static("group.css")


def plain(view: GroupView) -> str:
    """Counts and places, then what went wrong."""
    return printable("\n".join([headline(view), *last_lines(view)]))


def static_bundle(view: GroupView, _log: str = "") -> dict[str, Any]:
    """Mime bundle of a card that does not move."""
    return {"text/html": html(view), "text/plain": plain(view)}


def html(view: GroupView) -> str:
    """One line that unfolds to places and details; below it what must be seen without a click."""
    rest = "".join(
        f' <span class="jd-fact">· {escaped(part)}</span>' for part in (view["counts"], *facts(view)) if part
    )
    below = "".join(f'<div class="jd-sentence">{escaped(line)}</div>' for line in _below(view))
    return (
        f'<div class="jd-card jd-static" data-diamond-group="{escaped(view["group_id"])}"'
        f' data-state="{escaped(view["state"])}" data-tone="{escaped(view["tone"])}">'
        f"<style>{style_line('card_static.css')}</style>"
        f'<details><summary class="jd-head"><b class="jd-name">{escaped(view["name"])}</b>&ensp;'
        f'<span class="jd-state"><span class="jd-mark">{escaped(view["glyph"])}</span> {escaped(view["word"])}</span> '
        f"<b>{escaped(view['progress'])}</b>{rest}</summary>{_body(view)}</details>{below}</div>"
    )


def _below(view: GroupView) -> list[str]:
    why = f"why here: {view['why_here']}"
    return [line for line in last_lines(view) if line != why]


def _body(view: GroupView) -> str:
    places = [[place_line(place)] for place in view["places"]]
    parts = [table("jd-places", (), places) if places else ""]
    if view["why_here"]:
        parts.append(f'<div class="jd-why">why here: {escaped(view["why_here"])}</div>')
    return "".join([*parts, table("jd-facts", (), view["facts"])])


GROUP = Look(GroupWidget, static_bundle, lambda view: {"group": view["group_id"]})
