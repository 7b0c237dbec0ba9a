"""Which names a scope of Python code binds: the first half of name analysis, see ``names``."""

# ruff: noqa: D102, N815 - the visit_Name protocol of ast.NodeVisitor

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def mangle(name: str, class_name: str | None) -> str:
    """Python's private names: ``__x`` inside class ``A`` is ``_A__x``."""
    if class_name and name.startswith("__") and not name.endswith("__") and "." not in name:
        stem = class_name.lstrip("_")
        return f"_{stem}{name}" if stem else name
    return name


def parameters(args: ast.arguments) -> list[ast.arg]:
    """All parameters of a function, in order."""
    every = [*args.posonlyargs, *args.args, *([args.vararg] if args.vararg else []), *args.kwonlyargs]
    return [*every, args.kwarg] if args.kwarg else every


def defaults(args: ast.arguments) -> list[ast.expr]:
    """The default values of a function's parameters."""
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def type_parameters(node: ast.AST) -> list[Any]:
    """The ``[T, *Ts]`` of a generic function, class or alias (Python 3.12)."""
    return list(getattr(node, "type_params", []))


class Bindings(ast.NodeVisitor):
    """Collects what one scope binds, not looking into the scopes inside it.

    ``bare_annotations`` says whether ``x: int`` counts: it makes ``x`` local to a function, but binds nothing.
    """

    def __init__(self, class_name: str | None = None, *, bare_annotations: bool = True) -> None:
        self.names: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self._class_name = class_name
        self._bare_annotations = bare_annotations
        self._in_comprehension = 0

    def collect(self, nodes: Iterable[ast.AST]) -> Bindings:
        """Visit all nodes; returns itself."""
        for node in nodes:
            self.visit(node)
        return self

    @property
    def locals(self) -> set[str]:
        """What belongs to this scope alone."""
        return self.names - self.globals - self.nonlocals

    def _add(self, name: str) -> None:
        self.names.add(mangle(name, self._class_name))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store | ast.Del) and not self._in_comprehension:
            self._add(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._add(node.target.id)
        self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None and not self._bare_annotations:
            return
        self.generic_visit(node)

    def _definition(self, node: FunctionNode) -> None:
        self._add(node.name)
        self.collect([*node.decorator_list, *defaults(node.args)])

    visit_FunctionDef = _definition
    visit_AsyncFunctionDef = _definition

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._add(node.name)
        self.collect([*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)])

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.collect(defaults(node.args))

    def _comprehension(self, node: ComprehensionNode) -> None:
        self._in_comprehension += 1
        self.generic_visit(node)
        self._in_comprehension -= 1

    visit_ListComp = _comprehension
    visit_SetComp = _comprehension
    visit_DictComp = _comprehension
    visit_GeneratorExp = _comprehension

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                self._add(alias.asname or alias.name)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._add(node.name)
        self.generic_visit(node)

    def _pattern(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self._add(node.name)
        self.generic_visit(node)

    visit_MatchAs = _pattern
    visit_MatchStar = _pattern

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._add(node.rest)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.globals.update(mangle(name, self._class_name) for name in node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.nonlocals.update(mangle(name, self._class_name) for name in node.names)


def bound_in(nodes: Sequence[ast.AST]) -> set[str]:
    """What module-level code binds for sure or perhaps; a bare annotation binds nothing."""
    return Bindings(bare_annotations=False).collect(nodes).names
