"""Node lists: ``cn-[10-11]-[01-02],login`` to names (B18)."""

from __future__ import annotations

import re
from itertools import product

from jupyter_diamond.errors import ParseError

_NO_NODES = frozenset({"", "(null)", "none", "none assigned", "n/a", "unknown"})
_PLAIN = re.compile(r"[A-Za-z0-9_.-]*")
_RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12}))?(?::([0-9]{1,6}))?")
_PIECES = re.compile(r"\[([^\[\]]*)\]")

MOST_NODES = 200_000


def expand(text: str) -> tuple[str, ...]:
    """All node names, in the order given; zero padding is kept, several brackets are multiplied.

    *No nodes* words give an empty tuple. Raises ParseError for anything else that is not a node list.
    """
    if text.strip().casefold() in _NO_NODES:
        return ()
    names: list[str] = []
    for entry in _split(text.strip()):
        names.extend(_expand_one(entry, text))
        if len(names) > MOST_NODES:
            raise ParseError(f"The node list {text[:80]!r} names more than {MOST_NODES} nodes.")
    return tuple(names)


def _split(text: str) -> list[str]:
    entries, depth, start = [], 0, 0
    for place, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "," and depth == 0:
            entries.append(text[start:place])
            start = place + 1
    return [*entries, text[start:]]


def _expand_one(entry: str, text: str) -> list[str]:
    pieces = _PIECES.split(entry)  # plain, bracket, plain, bracket, …, plain
    choices: list[list[str]] = []
    size = 1
    for place, piece in enumerate(pieces):
        if place % 2:
            choices.append(_numbers(piece, text))
            size *= len(choices[-1])
        elif _PLAIN.fullmatch(piece):
            choices.append([piece])
        else:
            raise _unreadable(text)
    if not entry or not entry[0].isalnum() or size > MOST_NODES:
        raise _unreadable(text)
    return ["".join(parts) for parts in product(*choices)]


def _numbers(bracket: str, text: str) -> list[str]:
    numbers: list[str] = []
    for part in bracket.split(","):
        found = _RANGE.fullmatch(part)
        if not found:
            raise _unreadable(text)
        low, high, step = found.group(1), found.group(2) or found.group(1), int(found.group(3) or 1)
        if int(low) > int(high) or step < 1 or int(high) - int(low) > MOST_NODES:
            raise _unreadable(text)
        numbers.extend(str(number).zfill(len(low)) for number in range(int(low), int(high) + 1, step))
    return numbers


def _unreadable(text: str) -> ParseError:
    return ParseError(f"{text[:200]!r} is not a node list such as n[001-003,007].")
