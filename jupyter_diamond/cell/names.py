"""Which names a piece of a notebook needs from outside itself.

Module-level code is followed in order: a name that the code has certainly bound by the time it is read is its own. What
the body of a function reads counts when the function's name is first used, with what is bound by then; what the body of
a decorated function or a lambda reads counts at once, as it may be called at once.
"""

# ruff: noqa: N802, N815 - the visit_Name protocol of ast.NodeVisitor

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from .bindings import Bindings, ComprehensionNode, FunctionNode, defaults, mangle, parameters, type_parameters
from .flow import READS_ANY_NAME, Body, ControlFlow, Frame, Import, Names

__all__ = ["READS_ANY_NAME", "Import", "Names", "analyse"]

_QUERY = re.compile(r"@([A-Za-z_]\w*)")


def analyse(nodes: Sequence[ast.stmt], *, lazy_annotations: bool = False) -> Names:
    """Follow module-level statements. ``lazy_annotations``: they are compiled with ``from __future__ annotations``."""
    flow = _Analysis(nodes, lazy_annotations=lazy_annotations)
    flow.block(nodes)
    return flow.finish()


class _Analysis(ControlFlow):
    """Adds to control flow what binds names: assignments, imports, functions, classes."""

    # --- simple names ---------------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.bind(node.id)
        else:
            self.read(node.id)
            self.unbind(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            self.read(inner.id, ".".join([inner.id, *reversed(parts)]))
        else:
            self.visit(inner)

    def visit_Call(self, node: ast.Call) -> None:
        """``df.query("a > @limit")`` reads ``limit``."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"query", "eval"}:
            for arg in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                    for name in _QUERY.findall(arg.value):
                        self.read_softly(name)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.read(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if not (self.frames and self.frames[-1].kind == "function"):  # those of local variables are not evaluated
            self._annotation(node.annotation)
        if node.value:
            self.visit(node.value)
        if node.value or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.bind(node.target.id, sure=not (self.frames and self.frames[-1].comprehension))

    def _pattern(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.generic_visit(node)
        if node.name:
            self.bind(node.name)

    visit_MatchAs = _pattern
    visit_MatchStar = _pattern

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest:
            self.bind(node.rest)

    # --- imports --------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._note_import(alias.name)
            self.bind(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self._note_import(module, tuple(alias.name for alias in node.names), node.level)
        for alias in node.names:
            if alias.name == "*":
                self.names.star_imports.append(module)
            else:
                self.bind(alias.asname or alias.name)

    def _note_import(self, module: str, names: tuple[str, ...] = (), level: int = 0) -> None:
        deferred = self.body is not None
        self.names.imports.append(Import(module, names, level, sure=not self.conditional, deferred=deferred))

    # --- functions and classes ------------------------------------------------------------------------------------

    def _definition(self, node: FunctionNode) -> None:
        for expression in [*node.decorator_list, *defaults(node.args)]:
            self.visit(expression)
        generic = self._push_type_parameters(node)
        for annotation in [*(arg.annotation for arg in parameters(node.args)), node.returns]:
            if annotation is not None:
                self._annotation(annotation)
        body = self._function_body(node.args, node.body)
        self._pop(generic)
        self.bind(node.name)
        self._may_run(node.name, body, at_once=bool(node.decorator_list))

    visit_FunctionDef = _definition
    visit_AsyncFunctionDef = _definition

    def _may_run(self, name: str, body: Body, *, at_once: bool) -> None:
        if self.frames and self.frames[-1].kind == "class":
            self.frames[-1].methods.append(body)
        elif at_once or self.body is not None or self.frames:
            self.run(body)
        else:
            self.pending[name] = body

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for expression in defaults(node.args):
            self.visit(expression)
        body = self._function_body(node.args, [node.body])
        self._may_run("", body, at_once=True)

    def _function_body(self, args: ast.arguments, nodes: Sequence[ast.AST]) -> Body:
        """What a call reads of the module's names."""
        bindings = Bindings(self.class_name).collect(nodes)
        bound = {mangle(arg.arg, self.class_name) for arg in parameters(args)} | bindings.locals
        outside = (self.body, self.dead, self.conditional, self.guarded)
        self.body, self.dead, self.conditional, self.guarded = Body(), False, 0, 0
        self.frames.append(Frame("function", bound, bindings.globals, self.class_name))
        for node in nodes:
            self.visit(node)
        self.frames.pop()
        body = self.body
        self.body, self.dead, self.conditional, self.guarded = outside
        return body

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in node.decorator_list:
            self.visit(expression)
        generic = self._push_type_parameters(node)
        for expression in [*node.bases, *(keyword.value for keyword in node.keywords)]:
            self.visit(expression)
        bindings = Bindings(node.name).collect(node.body)
        frame = Frame("class", bindings.locals, bindings.globals, node.name)
        self.frames.append(frame)
        self.block(node.body)
        self.frames.pop()
        self._pop(generic)
        self.bind(node.name)
        methods = Body()
        for body in frame.methods:
            methods.add(body)
        self._may_run(node.name, methods, at_once=bool(node.decorator_list or node.keywords))

    def _comprehension(self, node: ComprehensionNode) -> None:
        self.visit(node.generators[0].iter)
        targets = {
            name.id
            for generator in node.generators
            for name in ast.walk(generator.target)
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
        }
        self.frames.append(Frame("function", targets, set(), self.class_name, comprehension=True))
        for number, generator in enumerate(node.generators):
            if number:
                self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self.frames.pop()

    visit_ListComp = _comprehension
    visit_SetComp = _comprehension
    visit_DictComp = _comprehension
    visit_GeneratorExp = _comprehension

    # --- annotations and type parameters --------------------------------------------------------------------------

    def _annotation(self, node: ast.expr) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                self._annotation_text(part.value)
            elif self.lazy and isinstance(part, ast.Name):
                self.read_softly(part.id)
        if not self.lazy:
            self.visit(node)

    def _annotation_text(self, text: str) -> None:
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError):
            return  # text like Literal["not code"]
        for part in ast.walk(tree):
            if isinstance(part, ast.Name):
                self.read_softly(part.id)

    def _push_type_parameters(self, node: ast.AST) -> bool:
        found = type_parameters(node)
        if found:
            self.frames.append(Frame("function", {parameter.name for parameter in found}, set(), self.class_name))
            for parameter in found:
                self.generic_visit(parameter)
        return bool(found)

    def _pop(self, pushed: bool) -> None:
        if pushed:
            self.frames.pop()

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """``type X = …`` (Python 3.12) is evaluated when first used."""
        generic = self._push_type_parameters(node)
        for part in ast.walk(getattr(node, "value")):  # noqa: B009 - this node is unknown to Python 3.10
            if isinstance(part, ast.Name):
                self.read_softly(part.id)
        self._pop(generic)
        self.visit(getattr(node, "name"))  # noqa: B009
