"""What the user has run: where the text of functions and classes born in the notebook comes from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from .text import read_python


@dataclass(frozen=True)
class Executed:
    """One cell that has run. ``filename`` is the one in its code objects, ``label`` the one to show, e.g. ``In[3]``."""

    filename: str
    label: str
    text: str

    @property
    def tree(self) -> ast.Module | None:
        """The cell's syntax tree; None when it is not Python."""
        return _tree(self.text)

    @property
    def statements(self) -> Iterator[ast.stmt]:
        """Its module-level statements, also those inside ``if``, ``try`` and ``with``, last one first."""
        return _module_level(self.tree.body) if self.tree else iter(())


class CellHistory(Protocol):
    """Access to executed cells."""

    def find(self, filename: str) -> Executed | None:
        """The cell (or file) with this code file name."""
        ...

    def newest_first(self) -> Iterator[Executed]:
        """All cells that ran, the newest first."""
        ...


class IPythonHistory:
    """The history of a running IPython shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def find(self, filename: str) -> Executed | None:
        """Looks the file name up where IPython puts the text that it really compiled."""
        linecache.checkcache(filename)  # a file that was %run may have changed; cells have no file to check
        lines = linecache.getlines(filename)
        if not lines:
            return None
        number = self._numbers.get(filename)
        return Executed(filename, filename if number is None else f"In[{number}]", "".join(lines))

    def newest_first(self) -> Iterator[Executed]:
        """By execution number. A cell that ran twice counts once, with its last number."""
        for filename, _ in sorted(self._numbers.items(), key=lambda item: -(item[1] or 0)):
            found = self.find(filename)
            if found is not None:
                yield found

    @property
    def _numbers(self) -> Mapping[str, int]:
        numbers: Mapping[str, int] = getattr(self._shell.compile, "_filename_map", {})
        return numbers


class TextHistory:
    """A history of given cells, oldest first, as (filename, text): for code that runs outside a notebook."""

    def __init__(self, cells: Sequence[tuple[str, str]] = ()) -> None:
        self._cells = [Executed(filename, filename, text) for filename, text in cells]

    def find(self, filename: str) -> Executed | None:
        """The newest cell of that name."""
        return next((cell for cell in self.newest_first() if cell.filename == filename), None)

    def newest_first(self) -> Iterator[Executed]:
        """All cells, the last given first."""
        return reversed(self._cells)


@lru_cache(maxsize=512)
def _tree(text: str) -> ast.Module | None:
    try:
        return read_python(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _module_level(nodes: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    for node in reversed(nodes):
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While | ast.ExceptHandler):
            inner = [*node.body, *getattr(node, "handlers", []), *getattr(node, "orelse", [])]
            yield from _module_level([*inner, *getattr(node, "finalbody", [])])
        elif isinstance(node, ast.stmt):
            yield node
