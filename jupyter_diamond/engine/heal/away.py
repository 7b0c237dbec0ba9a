"""What an ended job left may have to be brought away first: until then its attempt is not over."""

from __future__ import annotations

from typing import Any, Protocol

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.manifest import EndFile, Manifest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task

from .causes import Ended


class Away(Protocol):
    """Who brings files away."""

    def wanted(self, task: Task, changes: dict[str, Any]) -> bool:
        """Whether something is to be brought, where the attempt would end with these changes."""

    async def begin(self, task: Task, changes: dict[str, Any]) -> Task:
        """Store how the job ended; the attempt is in state ``staging_out`` then."""

    async def bring(self, known: Watched, link: SiteLink) -> dict[str, Any]:
        """How the attempt ends, once everything was brought, or could not be. Raises StoreError."""


async def read_end(known: Watched, link: SiteLink) -> None:
    """The end-file and the receipt, read once more now that nothing can follow them. Raises TransportError."""
    folder = newest(known.task).folder
    if folder is None or known.end is not None:
        return
    data = await link.read(f"{folder}/{files.END}")
    known.end = attempt_folder.parse(EndFile, data) if data is not None else None
    receipt = await link.read(f"{folder}/{files.MANIFEST}") if known.end is not None else None
    known.manifest = attempt_folder.parse(Manifest, receipt) if receipt is not None else None


def as_it_ended(known: Watched, state: State) -> Ended:
    """What is known of how the job of an attempt ended whose files were brought away since."""
    attempt = newest(known.task)
    return Ended(
        state, attempt.exit_code, attempt.signal, attempt.max_rss_bytes, None, known.end, known.manifest
    )  # fmt: skip
