"""How large a value is, without copying it, and how a size is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

MOST_PARTS = 5000
"""How many parts of a container are looked at; the encoder's own limit catches the rest."""


def bytes_text(count: int) -> str:
    """``1.4 GB``: decimal units, three digits at most."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    amount, unit = float(count), 0
    while round(amount) >= 1000 and unit < 4:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {'_kMGT'[unit]}B" if amount < 9.95 else f"{amount:.0f} {'_kMGT'[unit]}B"


def parts_of(value: Any, *, into: Callable[[Any], bool]) -> Iterator[Any]:
    """The value, and what its containers hold, each thing once, no more than ``MOST_PARTS``. Nothing is called.

    ``into(part)`` says of an object that is no builtin container whether its attributes are looked at.
    """
    seen = set[int]()
    todo: list[Any] = [value]
    while todo and len(seen) < MOST_PARTS:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        kind = type(part)
        if kind is dict:
            todo.extend(islice(part.values(), MOST_PARTS))
        elif kind in {list, tuple, set, frozenset}:
            todo.extend(islice(part, MOST_PARTS))
        elif isinstance(getattr(part, "__dict__", None), dict) and into(part):
            todo.extend(islice(vars(part).values(), MOST_PARTS))


def least_bytes(value: Any) -> int:
    """What the value holds in arrays, tables, text and bytes: encoding can hardly take less. Copies nothing."""
    return sum(own_bytes(part) or 0 for part in parts_of(value, into=_is_pickled_by_attributes))


def shape_text(value: Any) -> str:
    """What to say of a value beside its type and size: ``(1000, 3) float64``, ``100 rows, 4 columns``."""
    if _is(value, "numpy", "ndarray"):
        return f"{value.shape} {value.dtype}"
    if _is(value, "pandas", "DataFrame"):
        return f"{value.shape[0]} rows, {value.shape[1]} columns"
    if isinstance(value, list | tuple | dict | set | frozenset):
        return "1 item" if len(value) == 1 else f"{len(value)} items"
    return ""


def own_bytes(part: Any) -> int | None:
    """The size of a thing that is data by itself; None for all else."""
    kind = type(part)
    if kind in {bytes, bytearray, str}:
        return len(part)
    root = kind.__module__.partition(".")[0]
    if root == "numpy":
        plain = not getattr(getattr(part, "dtype", None), "hasobject", True)
        return int(part.nbytes) if plain and hasattr(part, "nbytes") else None
    if _is(part, "pandas", "DataFrame"):
        return int(part.memory_usage(index=False, deep=False).sum())
    if _is(part, "pandas", "Series"):
        return int(part.memory_usage(index=False, deep=False))
    if root == "torch" and callable(getattr(part, "element_size", None)):
        return int(part.element_size() * part.nelement())
    return None


def _is(value: Any, root: str, name: str) -> bool:
    kind = type(value)
    return kind.__module__.partition(".")[0] == root and kind.__name__ == name


def _is_pickled_by_attributes(part: Any) -> bool:
    """An instance of a notebook's class that does not choose what to pickle."""
    kind = type(part)
    own = [vars(base) for base in kind.__mro__ if base is not object]
    chooses = any(name in space for space in own for name in ("__reduce_ex__", "__reduce__", "__getstate__"))
    return kind.__module__ == "__main__" and not isinstance(part, type) and not chooses
