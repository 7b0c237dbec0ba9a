"""Numbers and texts that stand in code: folded from literals and names that hold one. Nothing is run."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

Plain = int | float | str | bool
_LARGEST = 10**18
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.LShift: lambda a, b: int(a) << int(b) if 0 <= b <= 60 else _LARGEST,
    ast.Pow: lambda a, b: a**b if abs(a) <= 10**6 and 0 <= b <= 18 else _LARGEST,
}  # fmt: skip
ITEM_BYTES = {
    "float64": 8, "double": 8, "int64": 8, "long": 8, "complex64": 8, "complex128": 16, "float32": 4, "float": 4,
    "int32": 4, "int": 4, "float16": 2, "half": 2, "bfloat16": 2, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "bool_": 1, "f4": 4, "f8": 8, "f2": 2, "i4": 4, "i8": 8, "u1": 1,
}  # fmt: skip


def fold(node: ast.AST | None, names: Mapping[str, Plain]) -> Plain | None:
    """What an expression is worth, where it is a literal, a name of one, or arithmetic of these."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float | str) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = fold(node.operand, names)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _calculated(node, names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
        value = fold(node.args[0], names)
        return int(value) if isinstance(value, int | float) and math.isfinite(value) else None
    return None


def _calculated(node: ast.BinOp, names: Mapping[str, Plain]) -> Plain | None:
    left, right = fold(node.left, names), fold(node.right, names)
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    try:
        value = _OPERATORS[type(node.op)](left, right)
    except (ArithmeticError, ValueError):
        return None
    return value if abs(value) <= _LARGEST else None


def whole(node: ast.AST | None, names: Mapping[str, Plain]) -> int | None:
    """The same where it is a whole number."""
    value = fold(node, names)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text(node: ast.AST | None, names: Mapping[str, Plain]) -> str | None:
    """The same where it is a text."""
    value = fold(node, names)
    return value if isinstance(value, str) else None


def items(nodes: list[ast.expr], names: Mapping[str, Plain]) -> int | None:
    """How many items an array has that is made with these arguments: ``(3, 4)``, ``3, 4``, ``[3, 4]`` or ``3``."""
    first = nodes[0] if nodes else None
    sides = list(first.elts) if isinstance(first, ast.Tuple | ast.List) else nodes
    known = [whole(side, names) for side in sides]
    if not known or any(side is None or side < 0 for side in known):
        return None
    return min(math.prod(side for side in known if side is not None), _LARGEST)


def item_bytes(node: ast.AST | None, default: int) -> int:
    """Of a ``dtype=``: ``np.float32``, ``torch.half``, ``"f4"``."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value
    if name == "float" and isinstance(node, ast.Name):
        return 8
    return ITEM_BYTES.get(name or "", default)
