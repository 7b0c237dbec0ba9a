"""Follows code in order and knows at each read whether the name is surely, perhaps or not yet bound. See ``names``."""

# ruff: noqa: D102, N815 - the visit_Name protocol of ast.NodeVisitor

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .bindings import bound_in, mangle

READS_ANY_NAME = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Builtins that reach names which no analysis can see."""


@dataclass(frozen=True)
class Import:
    """A module that the code imports itself. ``sure`` is False below ``if`` or ``try``, where it may be optional."""

    module: str
    names: tuple[str, ...] = ()
    level: int = 0
    sure: bool = True
    deferred: bool = False


@dataclass
class Names:
    """The answer. ``needed``: read before the code can have bound it. ``maybe``: read where it may have bound it.

    ``soft``: read only where a missing name does no harm (an annotation's text). ``later``: read in the bodies of
    functions that the code defines and does not use. ``known_at``: what was certainly bound at a name's first read.
    ``chains``: dotted uses, e.g. ``xml.etree.ElementTree`` for ``xml``.
    """

    needed: set[str] = field(default_factory=set)
    maybe: set[str] = field(default_factory=set)
    soft: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    known_at: dict[str, frozenset[str]] = field(default_factory=dict)
    chains: dict[str, set[str]] = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)
    star_imports: list[str] = field(default_factory=list)
    dynamic: set[str] = field(default_factory=set)

    @property
    def reads(self) -> set[str]:
        """All names that may have to come from outside."""
        return self.needed | self.maybe | self.soft | self.later


@dataclass
class Body:
    """What the bodies of functions read and bind of the module's names."""

    reads: dict[str, bool] = field(default_factory=dict)  # name -> must exist
    soft: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)

    def read(self, name: str, *, must: bool) -> None:
        """Note a read; ``must``: it fails when the name is missing."""
        self.reads[name] = self.reads.get(name, False) or must

    def add(self, other: Body) -> None:
        """Take in what another body reads and binds."""
        for name, must in other.reads.items():
            self.read(name, must=must and name not in self.binds)
        self.soft |= other.soft
        self.binds |= other.binds


@dataclass
class Frame:
    """One scope inside the module."""

    kind: Literal["function", "class"]
    bound: set[str]
    globals: set[str]
    class_name: str | None
    comprehension: bool = False
    definite: set[str] = field(default_factory=set)
    methods: list[Body] = field(default_factory=list)


class ControlFlow(ast.NodeVisitor):
    """Keeps what is bound on every path through the code."""

    def __init__(self, nodes: Sequence[ast.stmt], *, lazy_annotations: bool) -> None:
        self.names = Names(bound=bound_in(nodes))
        self.frames: list[Frame] = []
        self._definite: set[str] = set()
        self._possible: set[str] = set()
        self.pending: dict[str, Body] = {}
        self.body: Body | None = None
        self.lazy = lazy_annotations
        self.conditional = 0
        self.guarded = 0
        self.dead = False

    def finish(self) -> Names:
        """The answer, when all code has been followed."""
        for body in self.pending.values():
            for name, must in body.reads.items():
                if name not in self._definite:
                    (self.names.later if must else self.names.soft).add(name)
            self.names.soft |= body.soft
            self.names.bound |= body.binds
        return self.names

    # --- reading and binding --------------------------------------------------------------------------------------

    @property
    def class_name(self) -> str | None:
        return self.frames[-1].class_name if self.frames else None

    def read(self, name: str, chain: str = "") -> None:
        name = mangle(name, self.class_name)
        if self._is_own(name):
            return
        if chain:
            self.names.chains.setdefault(name, set()).add(chain)
        if name in READS_ANY_NAME:
            self.names.dynamic.add(name)
        if self.body is not None:
            self.body.read(name, must=not self.guarded and name not in self.body.binds)
        else:
            self._read_now(name, must=not self.guarded)

    def read_softly(self, name: str) -> None:
        """A read that does no harm when the name is missing."""
        if not self._is_own(mangle(name, self.class_name)):
            (self.body.soft if self.body is not None else self.names.soft).add(name)

    def _is_own(self, name: str) -> bool:
        """Whether a scope inside the module holds the name."""
        if name == "__class__" and any(frame.kind == "class" for frame in self.frames):
            return True
        for depth, frame in enumerate(reversed(self.frames)):
            if frame.kind == "class":
                if depth == 0 and name in frame.definite and name not in frame.globals:
                    return True
                continue  # functions inside a class do not see its names
            if name in frame.globals:
                return False
            if name in frame.bound:
                return True
        return False

    def _read_now(self, name: str, *, must: bool) -> None:
        if name not in self._definite:
            (self.names.needed if must and name not in self._possible else self.names.maybe).add(name)
            known = self.names.known_at.get(name)
            self.names.known_at[name] = frozenset(self._definite if known is None else known & self._definite)
        body = self.pending.pop(name, None)
        if body is not None:
            self.run(body)

    def run(self, body: Body) -> None:
        """A function's body may run now."""
        if self.body is not None:
            self.body.add(body)
            return
        self.names.soft |= body.soft
        for name, must in body.reads.items():
            self._read_now(name, must=must)
        self.names.bound |= body.binds
        self._possible |= body.binds

    def bind(self, name: str, *, sure: bool = True) -> None:
        name = mangle(name, self.class_name)
        frame = next((f for f in reversed(self.frames) if not f.comprehension), None)
        if frame is not None and name not in frame.globals:
            if sure:
                frame.definite.add(name)
        elif self.body is not None:
            self.body.binds.add(name)
        else:
            self.names.bound.add(name)
            self._possible.add(name)
            self.pending.pop(name, None)
            if sure:
                self._definite.add(name)

    def unbind(self, name: str) -> None:
        name = mangle(name, self.class_name)
        for known in (self.frames[-1].definite,) if self.frames else (self._definite, self._possible):
            known.discard(name)

    # --- control flow ---------------------------------------------------------------------------------------------

    def block(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self.visit(node)

    @property
    def _known(self) -> set[str]:
        return self.frames[-1].definite if self.frames else self._definite

    def _set_known(self, names: set[str]) -> None:
        if self.frames:
            self.frames[-1].definite = names
        else:
            self._definite = names

    def _branch(self, nodes: Sequence[ast.AST], start: set[str]) -> set[str] | None:
        """What is bound after a branch that starts with ``start``; None when it never ends (return, raise)."""
        outer, self.dead = self.dead, False
        self._set_known(set(start))
        self.conditional += 1
        for node in nodes:
            self.visit(node)
        self.conditional -= 1
        ended, self.dead = self.dead, outer
        return None if ended else self._known

    def _merge(self, branches: Sequence[set[str] | None], start: set[str]) -> None:
        alive = [branch for branch in branches if branch is not None]
        self._set_known(set.intersection(*alive) if alive else set(start))
        self.dead = self.dead or not alive

    def _leave(self, node: ast.AST) -> None:
        self.generic_visit(node)
        self.dead = True

    visit_Return = _leave
    visit_Raise = _leave
    visit_Break = _leave
    visit_Continue = _leave

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        start = set(self._known)
        self._merge([self._branch(node.body, start), self._branch(node.orelse, start)], start)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        start = set(self._known)
        self._merge([self._branch([node.body], start), self._branch([node.orelse], start)], start)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        start = set(self._known)
        self._branch(node.values[1:], start)
        self._set_known(start)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        self.visit(node.test if isinstance(node, ast.While) else node.iter)
        start = set(self._known)
        targets: list[ast.AST] = [] if isinstance(node, ast.While) else [node.target]
        if not self.frames:
            self._possible |= bound_in([*targets, *node.body])
        self._branch([*targets, *node.body], start)
        self._branch(node.orelse, start)
        self._set_known(start)

    visit_For = _loop
    visit_AsyncFor = _loop
    visit_While = _loop

    def _try(self, node: ast.Try) -> None:
        start = set(self._known)
        guards = any(_catches_name_error(handler.type) for handler in node.handlers)
        self.guarded += guards
        after_body = self._branch(node.body, start)
        self.guarded -= guards
        if after_body is not None:
            after_body = self._branch(node.orelse, after_body)
        self._merge([after_body, *(self._branch([handler], start) for handler in node.handlers)], start)
        merged, dead = set(self._known), self.dead
        self._branch(node.finalbody, start)
        self._set_known(merged | self._known)
        self.dead = dead

    visit_Try = _try
    visit_TryStar = _try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type:
            self.visit(node.type)
        if node.name:
            self.bind(node.name)
        self.block(node.body)
        if node.name:
            self.unbind(node.name)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        start = set(self._known)
        for item in node.items:
            self.visit(item)
        self.block(node.body)
        if any("suppress" in ast.unparse(item.context_expr) for item in node.items):
            self._set_known(start)  # contextlib.suppress: the body may have stopped anywhere

    visit_With = _with
    visit_AsyncWith = _with

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        start = set(self._known)
        branches = []
        for case in node.cases:
            parts = [case.pattern, *([case.guard] if case.guard else []), *case.body]
            branches.append(self._branch(parts, start))
        last = node.cases[-1]
        catches_all = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        self._merge(branches if catches_all else [*branches, start], start)


def _catches_name_error(caught: ast.expr | None) -> bool:
    return caught is not None and any(
        isinstance(part, ast.Name) and part.id == "NameError" for part in ast.walk(caught)
    )
