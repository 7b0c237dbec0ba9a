"""What the REST API answers beyond tasks, decisions and snapshots."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .base import UtcTime, Value
from .event import Event
from .manifest import Manifest


class Limits(Value):
    """What a kernel must keep to before it sends anything. All in bytes."""

    value_bytes: int
    bundle_bytes: int
    inline_result_bytes: int


class Status(Value):
    """The handshake: who answers, and whether this server advances work or only reads."""

    version: str
    advances_work: bool
    lease_holder: str
    store_path: str
    limits: Limits
    active_tasks: int
    newest_event: int


class LogChunk(Value):
    """A piece of a job's log. Offsets count bytes; ``text`` is decoded, undecodable bytes are escaped."""

    text: str
    offset: int
    next_offset: int
    size: int | None
    exists: bool


class ResultView(Value):
    """A finished attempt's receipt with its small values inline.

    ``inline`` maps files (``result/NAME``) to base64; larger ones are fetched one by one.
    ``outputs`` are nbformat outputs.
    """

    task_id: str
    attempt: int
    manifest: Manifest
    key: str
    inline: dict[str, str]
    outputs: tuple[dict[str, Any], ...] = ()


class EventPage(Value):
    """Events after a cursor, oldest first. ``cursor`` is what to ask for next."""

    events: tuple[Event, ...]
    cursor: int


class ErrorView(Value):
    """Every error answer of the API."""

    code: str
    message: str
    transient: bool = False
    evidence: tuple[str, ...] = ()


class Interpreter(Value):
    """What runs cells at a site, as probed there. ``missing`` lists asked-for modules that cannot be imported."""

    executable: str
    version: tuple[int, int, int] | None
    problem: str = ""
    missing: tuple[str, ...] = ()
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of the packages that were asked about; one that is not named there is not known by that name."""
    environment: str = ""
    """The environment that was asked, by name; empty: the site's own interpreter."""
    to_build: bool = False
    """The environment is built there first, when something is sent; until then nothing of it can be asked."""
    read_at: UtcTime
