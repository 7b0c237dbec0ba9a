"""What a notebook's cell uses of the cells before it, where no kernel is there to ask: imports, definitions. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def with_definitions(source: str, before: Sequence[str]) -> str:
    """The cell with the imports, functions and classes before it that it uses, and what these use.

    Values are not made anew: what made them may take hours. A cell that cannot be read is left as it is.
    """
    known: dict[str, tuple[int, str]] = {}
    for at, (name, text) in enumerate(each for cell in before for each in _definitions(cell)):
        known[name] = (at, text)
    wanted, found = _names(source), dict[int, str]()
    while wanted:
        name = wanted.pop()
        if name in known and known[name][0] not in found:
            at, text = known.pop(name)
            if text not in found.values():
                found[at] = text
                wanted |= _names(text)
    return "\n\n".join([*(text for _, text in sorted(found.items())), source])


def _definitions(cell: str) -> Iterator[tuple[str, str]]:
    """Names with the text that defines each; a star import defines none that is known."""
    for node in _body(cell):
        text = ast.get_source_segment(cell, node) or ""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            decorated = "".join(f"@{ast.unparse(each)}\n" for each in node.decorator_list)
            yield node.name, f"{decorated}{text}"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for each in node.names:
                one = (
                    ast.Import([each])
                    if isinstance(node, ast.Import)
                    else ast.ImportFrom(node.module, [each], node.level)
                )
                yield (each.asname or each.name.partition(".")[0]), ast.unparse(one)


def _names(text: str) -> set[str]:
    return {node.id for top in _body(text) for node in ast.walk(top) if isinstance(node, ast.Name)}


def _body(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return []
