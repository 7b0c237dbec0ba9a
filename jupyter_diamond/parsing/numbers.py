"""Whole numbers in foreign text.

``str.isdigit`` is also true of ``²`` and of a line of 5,000 digits, and ``int`` takes neither: one odd character in one
row would cost the whole answer.
"""

from __future__ import annotations

_MOST_DIGITS = 18
"""Fits 64 bits; no count, size, id or time of a scheduler is longer."""


def whole(text: str | None) -> int | None:
    """The number that the text is, in ASCII digits alone; None where it is anything else. Spaces around it are none."""
    word = text.strip() if text else ""
    return int(word) if word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS else None
