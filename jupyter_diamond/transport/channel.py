"""A site's shell as a process of ours, whose standard streams are a script's own: for what is too large to be answered.

A ``Completed`` holds at most some megabytes. A channel holds nothing: whoever opened it reads and writes its pipes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

READ_SCRIPT = 'IFS= read -r -d "" s && eval "$s"'
"""What bash does first: the script comes on its input, ended by NUL, and the script's own input after it."""


@dataclass(frozen=True)
class Channel:
    """How to begin it: ``argv`` with ``env``. Its input begins with the script and a NUL.

    ``host`` with ``rsh``, the words of ssh before it, are for programs that call ssh themselves; None on this machine.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    host: str | None = None
    rsh: tuple[str, ...] = ()


@runtime_checkable
class Streams(Protocol):
    """A transport that can carry streams."""

    def channel(self) -> AbstractAsyncContextManager[Channel]:
        """A way to one more process there, for as long as the block lasts. Raises TransportError (not_sent)."""
