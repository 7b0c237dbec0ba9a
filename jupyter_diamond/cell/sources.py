"""The source of functions and classes that were born in the notebook, found by exact place and checked against them.

Source runs under any Python; bytecode only under the kernel's own minor version (B25: 3.13 to 3.12 kills the worker).
"""

from __future__ import annotations

import ast
import functools
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .bindings import FunctionNode, bound_in
from .code_match import CO_FUTURE_ANNOTATIONS, class_matches, first_line, function_matches, plain_function
from .history import CellHistory, Executed
from .names import Names, analyse
from .spec import Statement

_LAZY_ANNOTATIONS = sys.version_info >= (3, 14)


@dataclass(frozen=True)
class Definition:
    """The statement that makes a name, what it needs in turn, and where it stands."""

    statement: Statement
    names: Names
    detail: str
    warnings: tuple[str, ...] = ()


def find_definition(name: str, obj: Any, history: CellHistory, namespace: Mapping[str, Any]) -> Definition | None:
    """The definition that bound ``name`` to ``obj``; None when there is none that surely is the one."""
    if isinstance(obj, type):
        return _class_definition(name, obj, history, namespace)
    found = None
    if isinstance(obj, types.FunctionType) and obj.__qualname__ == "<lambda>":
        found = _lambda_definition(name, obj, history, namespace)
    elif isinstance(obj, types.FunctionType) and obj.__qualname__ == name and not hasattr(obj, "__wrapped__"):
        found = _function_definition(name, obj, history, namespace)
    if found is not None:
        return found
    return _decorated_definition(name, obj, history, namespace)


def is_born_here(obj: Any) -> bool:
    """Whether a function or class belongs to the notebook itself."""
    return isinstance(obj, types.FunctionType | type) and obj.__module__ == "__main__"


# --- functions ----------------------------------------------------------------------------------------------------


def _function_definition(
    name: str, function: types.FunctionType, history: CellHistory, namespace: Mapping[str, Any]
) -> Definition | None:
    located = _function_node(name, function, history)
    if located is None or not function_matches(function, located[1], namespace):
        return None
    cell, node = located
    extra = sorted(vars(function))
    warning = f"`{name}` carries attributes ({', '.join(extra)}) that do not travel with its source."
    return _definition(name, node, cell, function.__code__.co_flags, (warning,) if extra else ())


def _function_node(
    name: str, function: types.FunctionType, history: CellHistory
) -> tuple[Executed, FunctionNode] | None:
    cell = history.find(function.__code__.co_filename)
    for node in cell.statements if cell else ():
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == name
            and first_line(node) == function.__code__.co_firstlineno
        ):
            assert cell is not None
            return cell, node
    return None


def _decorated_definition(name: str, obj: Any, history: CellHistory, namespace: Mapping[str, Any]) -> Definition | None:
    """A wrapper holds the function it wraps; that function's own ``@…`` lines made the wrapper."""
    for function in _functions_inside(obj):
        if function.__qualname__ != name or function.__module__ != "__main__":
            continue
        located = _function_node(name, function, history)
        if (
            located is not None
            and located[1].decorator_list
            and function_matches(function, located[1], namespace)
            and not _is_bound_again(name, *located, history)
        ):
            return _definition(name, located[1], located[0], function.__code__.co_flags)
    return None


def _functions_inside(obj: Any) -> Iterator[types.FunctionType]:
    """Functions that a wrapper keeps: in its closure, its attributes, as ``__wrapped__``. Nothing is called."""
    todo, seen = [obj], set[int]()
    while todo and len(seen) < 100:
        part = todo.pop(0)
        if id(part) in seen or isinstance(part, type | types.ModuleType | functools.partial):
            continue
        seen.add(id(part))
        if isinstance(part, types.FunctionType):
            yield part
            todo += [cell.cell_contents for cell in part.__closure__ or () if _is_filled(cell)]
        if isinstance(part, types.MethodType | staticmethod | classmethod):
            todo.append(part.__func__)
        if callable(part) and isinstance(getattr(part, "__dict__", None), dict):
            todo += vars(part).values()


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


def _is_bound_again(name: str, cell: Executed, node: ast.stmt, history: CellHistory) -> bool:
    """Whether a later statement gave the name another value, e.g. ``f = other(f)``."""
    for later in history.newest_first():
        for stmt in later.statements:
            if later.filename == cell.filename and stmt is node:
                return False
            if name in later.text and name in bound_in([stmt]):
                return True
    return False


def _lambda_definition(
    name: str, function: types.FunctionType, history: CellHistory, namespace: Mapping[str, Any]
) -> Definition | None:
    """``name = lambda …`` at module level."""
    cell = history.find(function.__code__.co_filename)
    for node in cell.statements if cell else ():
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Lambda):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets) and function_matches(
            function, node, namespace
        ):
            assert cell is not None
            text = ast.get_source_segment(cell.text, node.value) or ""
            statement = Statement(
                name=name, source=f"{name} = ({text})\n", filename=cell.label, lineno=node.value.lineno
            )
            return Definition(statement, analyse([node]), cell.label)
    return None


# --- classes ------------------------------------------------------------------------------------------------------


def _class_definition(name: str, cls: type, history: CellHistory, namespace: Mapping[str, Any]) -> Definition | None:
    if cls.__module__ != "__main__" or cls.__qualname__ != name:
        return None
    for cell, node in _class_nodes(name, cls, history):
        if class_matches(cls, node, cell, namespace):
            return _definition(name, node, cell, _flags_of(cls, node))
    return None


def _class_nodes(name: str, cls: type, history: CellHistory) -> Iterator[tuple[Executed, ast.ClassDef]]:
    """Where the class may have been defined: its methods know it; without any, each such statement, newest first."""
    functions = [function for function in map(plain_function, vars(cls).values()) if function is not None]
    places = {f.__code__.co_filename: f.__code__.co_firstlineno for f in functions if f.__module__ == "__main__"}
    known = [(cell, line) for cell, line in ((history.find(place), line) for place, line in places.items()) if cell]
    if known:
        for cell, line in known:
            for node in cell.statements:
                if (
                    isinstance(node, ast.ClassDef)
                    and node.name == name
                    and node.lineno <= line <= (node.end_lineno or 0)
                ):
                    yield cell, node
        return
    for cell in history.newest_first():
        for node in cell.statements if name in cell.text else ():
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield cell, node


def _flags_of(cls: type, node: ast.ClassDef) -> int:
    """Whether the class was compiled with ``from __future__ import annotations``, which may stand in another cell."""
    for function in map(plain_function, vars(cls).values()):
        code = function.__code__ if function is not None else None
        if code is not None and code.co_filename != "<string>" and node.lineno <= code.co_firstlineno:
            return code.co_flags
    live = vars(cls).get("__annotations__") or {}
    for stmt in node.body:
        if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
            quoted = isinstance(stmt.annotation, ast.Constant)
            if isinstance(live.get(stmt.target.id), str) and not quoted:
                return CO_FUTURE_ANNOTATIONS
    return 0


# --- text ---------------------------------------------------------------------------------------------------------


def _definition(
    name: str, node: FunctionNode | ast.ClassDef, cell: Executed, flags: int, warnings: tuple[str, ...] = ()
) -> Definition:
    start, future = first_line(node), bool(flags & CO_FUTURE_ANNOTATIONS)
    lines = cell.text.split("\n")[start - 1 : node.end_lineno]
    if node.col_offset:  # below an "if": dedenting would change texts that span lines
        lines, start = ["if True:", *lines], start - 1
    if future:
        lines, start = ["from __future__ import annotations", *lines], start - 1
    statement = Statement(name=name, source="\n".join(lines) + "\n", filename=cell.label, lineno=max(start, 1))
    names = analyse([node], lazy_annotations=future or _LAZY_ANNOTATIONS)
    how = f"{cell.label}, decorated" if node.decorator_list else cell.label
    return Definition(statement, names, how, warnings)
