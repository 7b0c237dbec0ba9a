"""Live news for the browser: ids only, on Jupyter's event bus. Clients fetch what changed by REST.

The bus reaches every client, replays nothing, and any logged-in client can forge an event on it. So it carries no
facts, and nothing in the server listens to it.
"""

from __future__ import annotations

from typing import Any

from jupyter_diamond.model.event import Event

SCHEMA_ID = "https://schema.jupyter-diamond.org/pool/v1"
SCHEMA: dict[str, Any] = {
    "$id": SCHEMA_ID,
    "version": "1",
    "title": "Something in the pool changed",
    "description": "Which task, site or login to fetch again.",
    "personal-data": True,
    "type": "object",
    "required": ["kind", "id", "version"],
    "additionalProperties": False,
    "properties": {
        "kind": {"type": "string", "enum": ["task", "site", "login"]},
        "id": {"type": "string"},
        "version": {"type": "integer", "minimum": 0},
    },
}


def news(event: Event) -> dict[str, Any] | None:
    """What the browser is told of an event; None when it is no business of its."""
    kind, _, subject = event.subject.partition(":")
    return {"kind": kind, "id": subject, "version": event.seq} if kind in ("task", "site", "login") else None
