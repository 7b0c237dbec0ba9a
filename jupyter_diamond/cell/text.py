"""From what stands in a cell to plain Python that a site can run.

Line numbers never move, so that a traceback points at the user's own lines. IPython's own tokenizer says where magics
are: ``% c`` that continues an expression is no magic, nor is a ``!`` in a text.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from dataclasses import dataclass
from typing import Any

TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

_IGNORED_LINES = {"matplotlib", "config", "load_ext", "reload_ext", "autoreload", "precision", "pylab_inline"}
_IGNORED_CELLS = {"time", "capture"}
_REFUSED = {
    "pip": "Install packages at the site before, with its own Python",
    "conda": "Install packages at the site before, with its own Python",
    "mamba": "Install packages at the site before, with its own Python",
    "uv": "Install packages at the site before, with its own Python",
    "cd": "Use os.chdir",
    "env": "Use os.environ",
    "set_env": "Use os.environ",
    "run": "Import the file as a module, or use subprocess.run",
    "timeit": "Use the timeit module",
    "bash": "Submit it with --lang bash",
    "sh": "Submit it with --lang bash",
    "writefile": "Write the file with pathlib.Path.write_text",
}


@dataclass(frozen=True)
class CellText:
    """A cell as the site gets it. ``tree`` is None when ``refusals`` say why it cannot be read as Python."""

    source: str
    tree: ast.Module | None
    awaits: bool = False
    notes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()


@dataclass
class _Draft:
    lines: list[str]
    notes: list[str]
    refusals: list[str]


def normal_newlines(text: str) -> str:
    """CRLF and lone CR become LF; one LF ends the text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return text.rstrip("\n") + "\n"


def bash_text(cell: str) -> CellText:
    """A shell cell: newlines are made normal (B07: a CR at a line's end breaks the shell), nothing else."""
    source = normal_newlines(cell)
    refusals = () if source.strip() else ("The cell is empty; write the commands below the %%diamond_submit line.",)
    return CellText(source, None, refusals=refusals)


def python_text(cell: str) -> CellText:
    """A Python cell without its magics, parsed."""
    source = normal_newlines(cell)
    if source[0] in " \t":
        source = textwrap.dedent(source)
    tree, problem = _parse(source)
    notes: list[str] = []
    refusals: list[str] = []
    if tree is None and re.search(r"[%!?]", source):
        draft = _Draft(source.splitlines(keepends=True), notes, refusals)
        _cell_magic(draft)
        if refusals:  # what follows is no Python of this kernel
            return CellText(source, None, notes=tuple(notes), refusals=tuple(refusals))
        _line_magics(draft)
        source = "".join(draft.lines)
        tree, problem = _parse(source)
    if tree is None:
        return CellText(source, None, notes=tuple(notes), refusals=tuple(refusals) or (problem,))
    if not tree.body:
        refusals.append("The cell is empty; write the code below the %%diamond_submit line.")
    return CellText(source, tree, _awaits(tree), tuple(notes), tuple(refusals))


def read_python(source: str) -> ast.Module:
    """The syntax tree of notebook code, which may await at its top level. Raises SyntaxError and ValueError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # the user saw it when the cell ran
        tree: ast.Module = compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT, dont_inherit=True)
    return tree


def _parse(source: str) -> tuple[ast.Module | None, str]:
    """The tree, or the sentence that says where it ends to be Python."""
    try:
        tree = read_python(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(source, "<cell>", "exec", TOP_LEVEL_AWAIT, dont_inherit=True)  # "return" outside a function …
    except SyntaxError as error:
        where = f" on line {error.lineno}" if error.lineno else ""
        lines = source.split("\n")
        shown = ""
        if error.lineno and error.lineno <= len(lines):
            line = lines[error.lineno - 1]
            indent = len(line) - len(line.lstrip())
            shown = f"\n    {line.strip()}\n    {' ' * max((error.offset or 1) - 1 - indent, 0)}^"
        return None, f"The cell has a syntax error{where}: {error.msg}.{shown}"
    except (ValueError, RecursionError, MemoryError) as error:  # NUL bytes; nested too deeply
        return None, f"The cell cannot be read as Python: {error}."
    return tree, ""


def _awaits(tree: ast.Module) -> bool:
    """Whether the module itself awaits, outside all functions."""
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            return True
        if isinstance(node, ast.comprehension) and node.is_async:
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
    return False


def _cell_magic(draft: _Draft) -> None:
    """``%%time`` and the like, on the first line that is not empty."""
    number = next((n for n, line in enumerate(draft.lines) if line.strip()), 0)
    match = re.match(r"%%(\w+)(.*)", draft.lines[number])
    if match is None:
        return
    name = match[1]
    if name in _IGNORED_CELLS:
        draft.notes.append(f"%%{name} has no effect at a site and is left out.")
    else:
        draft.refusals.append(_refusal(f"%%{name}", name, number))
    draft.lines[number] = f"pass  # {draft.lines[number].strip()}\n"


def _line_magics(draft: _Draft) -> None:
    """Replace one magic at a time, as IPython does: tokens after it may be wrong until it is gone."""
    from IPython.core import inputtransformer2 as transformer

    kinds: list[Any] = [
        transformer.MagicAssign, transformer.SystemAssign, transformer.EscapedCommand, transformer.HelpEnd
    ]  # fmt: skip
    for _ in range(len(draft.lines) + 1):
        tokens = transformer.make_tokens_by_line(draft.lines)
        found = [kind for kind in (kind.find(tokens) for kind in kinds) if kind is not None]
        if not found:
            return
        first = min(found, key=lambda kind: kind.sortby())
        _replace_magic(draft, type(first).__name__, first.start_line, first.start_col)


def _replace_magic(draft: _Draft, kind: str, number: int, column: int) -> None:
    line = draft.lines[number].rstrip("\n")
    end = number
    while draft.lines[end].endswith("\\\n") and end + 1 < len(draft.lines):
        end += 1  # a magic goes on after a backslash
    text = line[column:].lstrip() if kind != "HelpEnd" else line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    instead = f"{indent}pass  # {line.strip().rstrip(chr(92)).rstrip()}"
    name = (re.match(r"%+\s*(\w+)", text) or ["", ""])[1]
    if kind == "HelpEnd" or text.startswith("?"):
        draft.notes.append(f"{text} on line {number + 1} asks for help and is left out.")
    elif text.startswith("!"):
        shown = text.rstrip("\\").strip()
        draft.refusals.append(
            f"{shown} on line {number + 1} is a shell command of this kernel. Submit it with --lang bash, "
            "or use subprocess.run."
        )
    elif kind == "EscapedCommand" and name == "time":
        statement = re.sub(r"^%+\s*time\s*", "", text)
        draft.notes.append(f"%time on line {number + 1} has no effect at a site; its statement runs.")
        instead = f"{indent}{statement or 'pass'}"
    elif kind == "EscapedCommand" and name in _IGNORED_LINES:
        draft.notes.append(f"%{name} on line {number + 1} has no effect at a site and is left out.")
    else:
        draft.refusals.append(_refusal(text.split()[0], name, number))
    draft.lines[number : end + 1] = [instead + "\n"] + ["\n"] * (end - number)


def _refusal(shown: str, name: str, number: int) -> str:
    advice = _REFUSED.get(name, "Run it in a cell of its own, here in the notebook")
    return f"{shown} on line {number + 1} is a magic of this kernel and cannot run at a site. {advice}."
