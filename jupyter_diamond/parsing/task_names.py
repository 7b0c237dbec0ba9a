"""What a task may be called, and which of its variables are named."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence

from jupyter_diamond.errors import InvalidRequest

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")


def check_name(name: str) -> None:
    """Names that become variables here, or words of a scheduler's command there. Raises InvalidRequest."""
    if not _NAME.match(name):
        raise InvalidRequest(
            f"{name!r} cannot be a task's name: it becomes a variable, so write letters, digits and _ only, "
            "e.g. %%diamond_submit fit."
        )
    if keyword.iskeyword(name) or hasattr(builtins, name):
        raise InvalidRequest(
            f"`{name}` is a word of Python's own, which the task's handle would hide. Give the task another name."
        )


def check_outputs(name: str, outputs: Sequence[str]) -> None:
    """What comes back must not take the place of the task's own handle. Raises InvalidRequest."""
    if name in outputs:
        raise InvalidRequest(f"--out {name} would overwrite the task's own handle; give the task another name.")


def names(said: Sequence[str], option: str) -> tuple[str, ...]:
    """``["a,b", "c"]`` as variable names. Raises InvalidRequest."""
    found: list[str] = []
    for word in ",".join(said).split(","):
        name = word.strip()
        if not name:
            continue
        if not name.isidentifier():
            raise InvalidRequest(f"{option} {name!r} is not a variable name; write {option} x,y.")
        if name in found:
            raise InvalidRequest(f"{option} names {name} twice.")
        found.append(name)
    return tuple(found)
