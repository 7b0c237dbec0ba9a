"""A cell's outputs, as its runner recorded them, turned into display bundles for this notebook.

A front end keeps a place for an output only while it knows its display id, so places are reserved when the cell is
submitted (empty bundles show nothing) and filled when the job has ended.
"""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from .card_text import printable

SLOTS = 8
"""Places below a card. More outputs than that share the last one."""

LONGEST_TEXT = 200_000
"""Characters of one text that a page is given: a browser stands still over megabytes. The log has all of it."""
_WIDGET = "application/vnd.jupyter.widget-view+json"
_ERROR_STYLE = (  # as wide as the card, and as large as the printed output above it
    "margin: 0 -20px 0 0; padding: 4px 8px; background: var(--jp-rendermime-error-background, #fdd); "
    "font-size: var(--jp-code-font-size, 13px); line-height: var(--jp-code-line-height, 1.3)"
)
_IMAGES = ("image/png", "image/jpeg", "image/gif")


class Bundle(NamedTuple):
    """What one place shows."""

    data: dict[str, Any]
    metadata: dict[str, Any]


def bundles(outputs: tuple[dict[str, Any], ...], places: int = SLOTS) -> list[Bundle]:
    """One bundle a place, in the order in which the cell made its outputs; neighbouring streams become one text."""
    made = [_bundle(output) for output in _merged(outputs)]
    shown = [bundle for bundle in made if bundle.data]
    if len(shown) <= places:
        return shown
    return [*shown[: places - 1], _combined(shown[places - 1 :])]


def _merged(outputs: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    for output in outputs:
        if output.get("output_type") == "stream" and merged and merged[-1].get("output_type") == "stream":
            merged[-1] = {**merged[-1], "text": _text(merged[-1].get("text")) + _text(output.get("text"))}
        else:
            merged.append(output)
    return merged


def _bundle(output: dict[str, Any]) -> Bundle:
    kind = output.get("output_type")
    if kind == "stream":
        text = _shown(_last_states(_text(output.get("text"))))
        return Bundle({"text/plain": text} if text.strip() else {}, {})
    if kind == "error":
        traceback = [_text(line) for line in output.get("traceback") or ()]
        if not traceback:
            traceback = [f"{output.get('ename', '')}: {output.get('evalue', '')}"]
        text = _shown(printable("\n".join(traceback)))
        return Bundle({"text/html": f'<pre style="{_ERROR_STYLE}">{escape(text)}</pre>', "text/plain": text}, {})
    data = {mime: value for mime, value in dict(output.get("data") or {}).items() if mime != _WIDGET}
    return Bundle(data, dict(output.get("metadata") or {}))


def _text(value: Any) -> str:
    """One text: a notebook file may hold it as a list of lines."""
    return "".join(str(part) for part in value) if isinstance(value, list) else str(value or "")


def _shown(text: str) -> str:
    """A long text's beginning and end, cut at lines, with what lies between told."""
    if len(text) <= LONGEST_TEXT:
        return text
    head, tail = text[: LONGEST_TEXT // 2], text[-LONGEST_TEXT // 2 :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}… {left_out:,} characters are left out here; the task's log has them …\n{tail}"


def _last_states(text: str) -> str:
    """What a terminal would show in the end: an overwritten line keeps its last state."""
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.rstrip("\n").split("\n"))


def _combined(rest: list[Bundle]) -> Bundle:
    return Bundle(
        {
            "text/html": "".join(f'<div class="jd-output">{_as_html(bundle.data)}</div>' for bundle in rest),
            "text/plain": "\n".join(_text(bundle.data.get("text/plain")) for bundle in rest),
        },
        {},
    )


def _as_html(data: dict[str, Any]) -> str:
    """The user's own rich output, or its text escaped."""
    if "text/html" in data:
        return _text(data["text/html"])
    for mime in _IMAGES:
        if mime in data:
            return f'<img src="data:{mime};base64,{escape("".join(_text(data[mime]).split()))}" alt="">'
    if "image/svg+xml" in data:
        return _text(data["image/svg+xml"])
    return f"<pre>{escape(printable(_text(data.get('text/plain'))))}</pre>"
