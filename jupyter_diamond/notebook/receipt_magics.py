"""What ``%diamond manifest``, ``files``, ``fetch`` and ``export`` do."""

from __future__ import annotations

from typing import Any

from .card_text import printable
from .group_handle import GroupHandle
from .handle import TaskHandle
from .receipt_text import crate_text
from .text import Text


def manifest(handle: TaskHandle | GroupHandle, said: Any) -> Any:
    """A task's receipt; of a group its files, a row a member's."""
    if isinstance(handle, GroupHandle):
        return handle.files
    return handle.receipt(said.attempt) if said.attempt is not None else handle.manifest


def brought(handle: TaskHandle | GroupHandle, said: Any) -> Text:
    """Fetch, and say what is here now."""
    paths = handle.fetch(*said.PATTERN, to=said.to)
    first = "\n".join(f"  {path}".replace("\n", "\\n") for path in paths[:10])
    more = f"\n  and {len(paths) - 10:,} more" if len(paths) > 10 else ""
    return Text(printable(f"{len(paths):,} here:\n{first}{more}"))


def exported(handle: TaskHandle | GroupHandle, said: Any) -> Text:
    """Write an RO-Crate, and say what is in it."""
    return Text(crate_text(handle.export(said.FOLDER, copy=said.copy)))
