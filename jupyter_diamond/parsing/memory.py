"""Amounts of memory, in bytes. All units are binary, as Slurm's are: 1K = 1024 bytes."""

from __future__ import annotations

import re
from fractions import Fraction

from jupyter_diamond.errors import InvalidRequest, ParseError
from jupyter_diamond.model.snapshot import NO_LIMIT, Limit

from .numbers import whole

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
_UNITS = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": TIB, "P": 1 << 50, "E": 1 << 60}

_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)(?:I?B)?([CN]?)", re.IGNORECASE)
_UNKNOWN_WORDS = frozenset({"", "n/a", "none", "unknown", "(null)", "not_set", "invalid"})

EXAMPLES = "512M, 2G, 40G or 1.5T"


def parse_slurm(text: str, *, bare: int = MIB) -> Limit:
    """Bytes of ``514000M``, ``1000G``, ``1100K`` or ``257400``; a bare number counts ``bare`` bytes (MiB by default).

    NO_LIMIT for UNLIMITED, None for Slurm's words for unknown. Raises ParseError for any other form.
    """
    word = text.strip()
    if (count := whole(word)) is not None:
        return count * bare  # what every node of a large site says
    if word.casefold() in ("unlimited", "infinite"):
        return NO_LIMIT
    if word.casefold() in _UNKNOWN_WORDS:
        return None
    amount = _AMOUNT.fullmatch(word)
    if not amount:
        raise ParseError(f"{text!r} is not an amount of memory as Slurm writes it, for example 514000M or 1000G.")
    number, unit = amount.group(1), amount.group(2).upper()
    return int(Fraction(number) * (_UNITS[unit] if unit else bare))


def parse_friendly(text: str) -> int:
    """Bytes of what a person typed: ``512M``, ``2G``, ``40GB``, ``1.5T``. The unit is required.

    Raises InvalidRequest for a number without a unit, a negative or zero amount, and anything else.
    """
    word = text.strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", word):
        raise InvalidRequest(f"{word} what? Give the memory a unit: {word}G or {word}M.")
    if word.startswith("-"):
        raise InvalidRequest(f"Memory cannot be negative, got {word!r}. Write for example {EXAMPLES}.")
    amount = _AMOUNT.fullmatch(word)
    if not amount or not amount.group(2) or amount.group(3):
        raise InvalidRequest(f"{text!r} is not an amount of memory. Write for example {EXAMPLES}.")
    size = int(Fraction(amount.group(1)) * _UNITS[amount.group(2).upper()])
    if size < 1:
        raise InvalidRequest(f"The memory {word!r} is zero. Write for example {EXAMPLES}.")
    return size


def up_to_mib(size: int) -> int:
    """MiB, rounded up: what ``sbatch --mem`` takes."""
    return -(-size // MIB)


def to_words(size: int) -> str:
    """For people: ``512M``, ``2G``, ``1.5T``; what this writes, ``parse_friendly`` reads."""
    for unit in ("E", "P", "T", "G", "M", "K"):
        whole = _UNITS[unit]
        if size >= whole:
            tenths = round(size * 10 / whole)
            return f"{tenths // 10}{unit}" if tenths % 10 == 0 else f"{tenths / 10:.1f}{unit}"
    return f"{size} bytes"


def to_exact(size: int) -> str:
    """What ``parse_friendly`` reads as this size, in whole units; below a KiB it is rounded up to one."""
    size = max(-(-size // KIB) * KIB, KIB)
    unit = next(unit for unit in ("E", "P", "T", "G", "M", "K") if size % _UNITS[unit] == 0)
    return f"{size // _UNITS[unit]}{unit}"
