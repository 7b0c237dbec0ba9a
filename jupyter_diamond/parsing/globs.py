"""Patterns of paths as ``--stage-out`` has them: what a job's runner keeps by them, a notebook finds again by them.

``*`` is any text within a name, ``**`` any number of folders; a last part that names a folder means all of it, but for
``*`` alone. Names with a dot in front are meant where the pattern has the dot, or names their folder.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache


def names(pattern: str, path: str) -> bool:
    """Whether the pattern names the file at a relative path."""
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    return _names(parts + (("*",) if parts[-1:] == ("**",) else ()), tuple(path.split("/")))


def _names(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    states = {0}
    for left, name in zip(range(len(path) - 1, -1, -1), path, strict=True):
        states = {after for state in _closed(parts, states) for after in _step(parts, state, name)}
        if left and parts[-1:] == ("*",):
            states.discard(len(parts))
    return len(parts) in states


def _closed(parts: tuple[str, ...], states: set[int]) -> set[int]:
    """With those that a ``**`` leads to by naming no folder at all."""
    found, todo = set[int](), list(states)
    while todo:
        state = todo.pop()
        if state not in found:
            found.add(state)
            if parts[state : state + 1] == ("**",):
                todo.append(state + 1)
    return found


def _step(parts: tuple[str, ...], state: int, name: str) -> set[int]:
    if state >= len(parts):
        return {state}
    if parts[state] == "**":
        return set() if name.startswith(".") else {state}
    hidden = name.startswith(".") and not parts[state].startswith(".")
    return {state + 1} if not hidden and _matcher(parts[state]).match(name) else set()


@lru_cache(256)
def _matcher(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
