"""Text as a notebook shows it."""

from __future__ import annotations


class Text(str):
    """A text that a notebook shows as it reads, not as a quoted string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
