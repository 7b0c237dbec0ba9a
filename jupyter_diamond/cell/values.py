"""What travels as data, how large it may be, and what never can travel, each with its sentence."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_diamond.errors import CaptureRefused

from .codecs import Encoded, TooLarge, encode
from .sizes import bytes_text, least_bytes, own_bytes, parts_of


@dataclass(frozen=True)
class Limits:
    """What may travel, in bytes: a single value, and all together (``DiamondLimits`` in the settings)."""

    value_bytes: int = 32 << 20
    bundle_bytes: int = 256 << 20


class Values:
    """Encodes values until the bundle is full."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.encoded: dict[str, Encoded] = {}
        self.total = 0

    def add(self, name: str, value: Any, *, by_value: bool = False) -> Encoded:
        """The value as bytes. Raises CaptureRefused with a sentence; a value that is too large is never copied."""
        never = _never_travels(name, value)
        if never:
            raise CaptureRefused(never)
        self._check(name, least_bytes(value))
        room = min(self.limits.value_bytes, self.limits.bundle_bytes - self.total)
        try:
            found = encode(value, limit_bytes=room, what=f"`{name}`", by_value=by_value)
        except TooLarge:
            raise CaptureRefused(self._too_large(name, f"more than {bytes_text(room)}", room + 1)) from None
        self.total += len(found.data)
        self.encoded[name] = found
        return found

    def _check(self, name: str, size: int) -> None:
        if size > min(self.limits.value_bytes, self.limits.bundle_bytes - self.total):
            raise CaptureRefused(self._too_large(name, bytes_text(size), size))

    def _too_large(self, name: str, shown: str, size: int) -> str:
        advice = "Save it to a file and read the file in the cell, or raise c.DiamondLimits."
        if size > self.limits.value_bytes:
            return f"`{name}` is {shown} and would travel by value. {advice}value_bytes."
        limit = bytes_text(self.limits.bundle_bytes)
        return (
            f"`{name}` is {shown} and would travel by value, but with what travels already that is more than {limit}. "
            f"{advice}bundle_bytes."
        )


def made_by_older_class(value: Any, namespace: Mapping[str, Any]) -> str:
    """The name of the notebook's class that made the value and was defined anew since; else empty."""
    kind = type(value)
    name = kind.__qualname__
    stale = kind.__module__ == "__main__" and isinstance(namespace.get(name), type) and namespace[name] is not kind
    return name if stale else ""


def _never_travels(name: str, value: Any) -> str:
    """The sentence for what would seem to travel and be wrong there; empty for all else."""
    for part in parts_of(value, into=_may_hold_tensors):
        verb = f"`{name}` is" if part is value else f"`{name}` holds"
        kind = type(part)
        root = kind.__module__.partition(".")[0]
        if root == "numpy" and kind.__name__ == "memmap":
            return f"{verb} mapped from the file {part.filename}. Open the file in the cell instead."
        if root == "cupy" or (root == "torch" and getattr(part, "is_cuda", False) is True):
            size = bytes_text(own_bytes(part) or int(getattr(part, "nbytes", 0)))
            back = ".get()" if root == "cupy" else ".cpu()"
            what = f"{verb} a {kind.__name__} in GPU memory ({size})"
            return f"{what}, which only this kernel has. Bring it back with {back}."
        if kind in _ITERATORS:
            return f"{verb} an iterator ({kind.__name__}), which is used up as it is read. Make a list of it first."
        if isinstance(part, memoryview):
            return f"{verb} a view of this kernel's memory. Make bytes of it first."
        if isinstance(part, types.ModuleType):
            return f"{verb} the module {part.__name__}. Import it in the cell instead."
    return ""


_ITERATORS = {map, filter, zip, enumerate, reversed, type(iter([])), type(iter(())), type(iter({})), type(iter(""))}


def _may_hold_tensors(part: Any) -> bool:
    return type(part).__module__.partition(".")[0] in {"torch", "__main__"} and not isinstance(part, type)
