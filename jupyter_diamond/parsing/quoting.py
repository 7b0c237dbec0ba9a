"""The one place where a value becomes part of a shell script or of a scheduler directive."""

from __future__ import annotations

import shlex

from jupyter_diamond.errors import InvalidRequest

_CONTROL = {chr(c) for c in range(32)} | {chr(127)}


def plain(field: str, what: str) -> str:
    """The field itself, when it may stand in a script.

    Newlines, NUL, other control characters and a leading ``-`` are refused: none of them can be quoted safely in
    every place that a field reaches (batch directives, option lists, nested shells).
    """
    bad = _CONTROL.intersection(field)
    if bad:
        raise InvalidRequest(f"{what} {field!r} holds a control character; remove it.")
    if field.startswith("-"):
        raise InvalidRequest(f"{what} {field!r} starts with '-', which a command would take for an option.")
    return field


def quote(field: str, what: str = "the value") -> str:
    """The field as one POSIX shell word."""
    return shlex.quote(plain(field, what))


def directive(field: str, what: str) -> str:
    """The field as a value in a batch directive, where no shell unquotes it: no spaces, no quotes."""
    plain(field, what)
    if not field or any(c.isspace() or c in "'\"\\#`$;&|<>(){}!" for c in field):
        raise InvalidRequest(f"{what} {field!r} holds a character that a batch directive cannot carry.")
    return field
