"""Whether a piece of source is what a live function or class was made from.

Source travels in place of bytecode, so it must be the right source: a name may have been redefined, patched or wrapped
since its cell ran. Only the same interpreter's own compiler is asked; where a doubt is left, the answer is no.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterator, Mapping
from typing import Any

from .bindings import FunctionNode
from .history import Executed

CO_FUTURE_ANNOTATIONS = 0x1000000  # __future__.annotations.compiler_flag


def first_line(node: FunctionNode | ast.ClassDef) -> int:
    """The line a definition starts on, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def function_matches(function: types.FunctionType, node: ast.stmt, namespace: Mapping[str, Any]) -> bool:
    """Whether compiling ``node`` gives this function, with the default values it has now."""
    code = function.__code__
    if not any(same_code(code, found) for found in _codes(_compiled(node, code.co_flags)) if _is_at(code, found)):
        return False
    definition = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else getattr(node, "value", None)
    args = getattr(definition, "args", None)
    return args is None or _defaults_match(function, args, namespace)


def class_matches(cls: type, node: ast.ClassDef, cell: Executed, namespace: Mapping[str, Any]) -> bool:
    """Whether ``node`` made this class, and nobody patched it since."""
    return (
        _bases_match(cls, node, namespace)
        and _methods_match(cls, node, cell)
        and all(_attribute_matches(cls, name, value) for name, value in _literals(node))
    )


def plain_function(attribute: Any) -> types.FunctionType | None:
    """The function behind a method, classmethod, property and the like."""
    for _ in range(10):
        if isinstance(attribute, types.FunctionType) and not hasattr(attribute, "__wrapped__"):
            return attribute
        if isinstance(attribute, property):
            attribute = attribute.fget
        elif isinstance(attribute, functools.cached_property):
            attribute = attribute.func
        else:
            attribute = getattr(attribute, "__wrapped__", None) or getattr(attribute, "__func__", None)
    return None


@functools.lru_cache(maxsize=256)
def _compiled(node: ast.stmt, flags: int) -> types.CodeType:
    module = ast.Module(body=[node], type_ignores=[])
    code: types.CodeType = compile(module, "<cell>", "exec", flags & CO_FUTURE_ANNOTATIONS, dont_inherit=True)
    return code


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def _is_at(code: types.CodeType, other: types.CodeType) -> bool:
    return code.co_name == other.co_name and code.co_firstlineno == other.co_firstlineno


def same_code(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects do the same."""
    for field in ("co_code", "co_names", "co_varnames", "co_freevars", "co_argcount", "co_kwonlyargcount", "co_flags"):
        if getattr(one, field) != getattr(other, field):
            return False
    return len(one.co_consts) == len(other.co_consts) and all(map(_same_const, one.co_consts, other.co_consts))


def _same_const(one: Any, other: Any) -> bool:
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return same_code(one, other)
    return type(one) is type(other) and repr(one) == repr(other)  # repr: nan, and 0.0 against -0.0


def _defaults_match(function: types.FunctionType, args: ast.arguments, namespace: Mapping[str, Any]) -> bool:
    live = list(function.__defaults__ or ())
    if len(live) != len(args.defaults):
        return False
    pairs = list(zip(args.defaults, live, strict=True))
    by_keyword = function.__kwdefaults__ or {}
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if default is not None:
            if arg.arg not in by_keyword:
                return False
            pairs.append((default, by_keyword[arg.arg]))
    return all(_default_matches(expression, value, namespace) for expression, value in pairs)


def _default_matches(expression: ast.expr, value: Any, namespace: Mapping[str, Any]) -> bool:
    if isinstance(expression, ast.Name):  # the variable may have changed since: def f(n=n)
        return expression.id not in namespace or namespace[expression.id] is value
    literal = _literal(expression)
    return literal is _NO_LITERAL or _equals(literal, value)


_NO_LITERAL = object()


def _literal(expression: ast.expr) -> Any:
    try:
        return ast.literal_eval(expression)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return _NO_LITERAL


def _equals(literal: Any, value: Any) -> bool:
    return type(literal) is type(value) and repr(literal) == repr(value)


def _bases_match(cls: type, node: ast.ClassDef, namespace: Mapping[str, Any]) -> bool:
    """A base that was defined anew since the class was made is another base."""
    live = {id(base) for base in (*cls.__bases__, *getattr(cls, "__orig_bases__", ()))}
    named = [namespace.get(base.id) for base in node.bases if isinstance(base, ast.Name)]
    return all(id(base) in live for base in named if isinstance(base, type))


def _methods_match(cls: type, node: ast.ClassDef, cell: Executed) -> bool:
    defined = {stmt.name: stmt for stmt in node.body if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef)}
    flags = 0
    for name, attribute in vars(cls).items():
        function = plain_function(attribute)
        if function is None or function.__module__ != cls.__module__:
            continue
        own = function.__code__.co_filename == cell.filename and first_line(node) <= function.__code__.co_firstlineno
        own = own and function.__code__.co_firstlineno <= (node.end_lineno or 0)
        if not own:
            if name in defined or not function.__code__.co_filename.startswith("<string>"):
                return False  # put there after the class was made (dataclass and namedtuple say "<string>")
            continue
        flags = function.__code__.co_flags
        if not any(
            same_code(function.__code__, c) for c in _codes(_compiled(node, flags)) if _is_at(function.__code__, c)
        ):
            return False
    return all(_is_there(cls, name) for name, stmt in defined.items() if not stmt.decorator_list)


def _is_there(cls: type, name: str) -> bool:
    return name in vars(cls) or name.startswith("__")  # private names are mangled, __init_subclass__ and co. wrapped


def _literals(node: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """The class's plain attributes, as written."""
    for stmt in node.body:
        targets: list[ast.expr] = []
        if isinstance(stmt, ast.Assign):
            targets = stmt.targets
        elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            targets = [stmt.target]
        value = _literal(stmt.value) if targets and stmt.value is not None else _NO_LITERAL  # type: ignore[attr-defined]
        for target in targets:
            if isinstance(target, ast.Name) and value is not _NO_LITERAL:
                yield target.id, value


def _attribute_matches(cls: type, name: str, written: Any) -> bool:
    members = getattr(cls, "__members__", None)
    if isinstance(members, Mapping) and name in members:
        return _equals(written, members[name].value)
    live = vars(cls).get(name, _NO_LITERAL)
    if live is _NO_LITERAL or name.startswith("__"):
        return True  # taken away by what made the class: slots, pydantic, private names
    if inspect.isdatadescriptor(live) or hasattr(type(live), "__get__"):
        return True  # fields of slots and named tuples
    return _equals(written, live)
