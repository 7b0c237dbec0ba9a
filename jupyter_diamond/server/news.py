"""Live news for the browser: ids only, on Jupyter's event bus. Clients fetch what changed by REST.

The bus reaches every client, replays nothing, and any logged-in client can forge an event on it. So it carries no
facts, and nothing in the server listens to it.
"""

from __future__ import annotations

from typing import Any

from jupyter_diamond.model.event import Event

SCHEMA_ID = "https://schema.jupyter-diamond.org/pool/v1"
KINDS = ("task", "group", "site", "login", "proposal", "agents", "transfer", "data")
_BEGUN = ("task.created", "decision.made", "charge.reserved")
"""What happens to every member of a group when its round begins."""
SCHEMA: dict[str, Any] = {
    "$id": SCHEMA_ID,
    "version": "1",
    "title": "Something in the pool changed",
    "description": "What to fetch again (a task, a transfer, a site, …), or whether agents may act.",
    "personal-data": True,
    "type": "object",
    "required": ["kind", "id", "version"],
    "additionalProperties": False,
    "properties": {
        "kind": {"type": "string", "enum": list(KINDS)},
        "id": {"type": "string"},
        "version": {"type": "integer", "minimum": 0},
    },
}


def news(event: Event) -> dict[str, Any] | None:
    """What the browser is told of an event; None when it is no business of its, or its group tells it for all."""
    kind, _, subject = event.subject.partition(":")
    if kind not in KINDS or (kind == "task" and "-" in subject and event.type in _BEGUN):
        return None
    return {"kind": kind, "id": subject, "version": event.seq}
