"""Reads Python by its syntax tree: libraries, devices, how many processes, how large the data. Runs nothing."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator

from . import calls
from .facts import CodeFacts, Shown
from .literals import Plain, fold, text
from .shell import LAUNCHERS, evidence, read_shell, variable

_DEVICE = re.compile(r"(?:cuda|gpu|xpu|hip)(?::(\d+))?")
_EPOCHS = re.compile(r"(num_|n_|max_)?(train_)?epochs?|NUM_EPOCHS|EPOCHS")
_BATCH = re.compile(r"(per_device_train_|train_)?batch_size|BATCH_SIZE")
_GENERATORS = ("random.default_rng", "random.RandomState")
GPU_MODULES = frozenset({
    "cupy", "cudf", "cuml", "cugraph", "pycuda", "vllm", "deepspeed", "bitsandbytes", "tensorrt", "flash_attn", "apex",
    "numba.cuda", "triton",
})  # fmt: skip
"""They do nothing useful without a GPU."""


def read_code(code: str, language: str = "python") -> CodeFacts:
    """All facts of a cell, or of a notebook's cells joined. Code that is no Python is told as such."""
    facts = CodeFacts()
    if language == "bash":
        read_shell(code, facts)
        return facts
    source, commands = _without_magics(code)
    read_shell("\n".join(commands), facts)
    tree = _parsed(source, facts)
    if tree is not None:
        Reader(tree, source.splitlines(), facts).read()
    return facts


def files_named(code: str, language: str = "python") -> tuple[str, ...]:
    """The files that the code reads by a name that stands in it: whoever is where they lie may tell their sizes."""
    return tuple(dict.fromkeys(path for path, _, _ in read_code(code, language).files))


def _without_magics(code: str) -> tuple[str, list[str]]:
    """The code with IPython's lines blanked, and the shell commands of these. Line numbers stay."""
    lines, commands, in_shell = code.replace("\r\n", "\n").split("\n"), [], False
    for at, line in enumerate(lines):
        plain = line.lstrip()
        in_shell = in_shell and bool(plain)
        if re.match(r"%%(bash|sh|script)\b", plain):
            in_shell = True
        elif in_shell or plain.startswith("!"):
            commands.append(plain.lstrip("!"))
        elif not re.match(r"%{1,2}[A-Za-z]", plain) and not re.fullmatch(r"\??[\w.]+\?{1,2}", plain):
            continue
        if plain.startswith("%time "):
            lines[at] = line.replace("%time ", "", 1)
        else:
            lines[at] = f"{line[: len(line) - len(plain)]}pass" if plain else ""
    return "\n".join(lines), commands


def _parsed(source: str, facts: CodeFacts) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the user's code: they see them when it runs
            tree: ast.Module = compile(
                textwrap.dedent(source), "<code>", "exec",
                ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True,
            )  # fmt: skip
    except SyntaxError as error:
        facts.unreadable = f"it is no Python on line {error.lineno}" if error.lineno else "it is no Python"
    except (ValueError, RecursionError, MemoryError):
        facts.unreadable = "it is no Python"
    else:
        return tree
    return None


class Reader:
    """One tree. Names that imports bind, and names that hold a literal, are known everywhere."""

    def __init__(self, tree: ast.Module, lines: list[str], facts: CodeFacts) -> None:
        self.facts = facts
        self.bound: dict[str, str] = {}
        self.values: dict[str, Plain] = {}
        self._lines, self._nodes = lines, list(ast.walk(tree))
        self._seen: dict[int, str] = {}
        self._optional: set[int] = set()
        """Texts that name a device which is used where there is one."""

    def read(self) -> None:
        """Three walks: what names mean, then what is used where there is one, then everything else."""
        for node in self._nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.Assign):
                self._assign(node)
        for node in self._nodes:
            if isinstance(node, ast.IfExp | ast.If):
                self._choice(node)
        for node in self._nodes:
            self._use(node)

    def _use(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            calls.read_call(self, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._constant(node, node.value)
        elif isinstance(node, ast.List):
            self._argv(node)
        elif isinstance(node, ast.Attribute):
            calls.read_type(self, node)

    def shown(self, node: ast.AST) -> str:
        """The line that a node begins on."""
        number = getattr(node, "lineno", 0)
        found = self._seen.get(number)
        if found is None:
            found = evidence(self._lines[number - 1], number) if 0 < number <= len(self._lines) else ""
            self._seen[number] = found
        return found

    def dotted(self, node: ast.AST) -> str:
        """``np.zeros`` as ``numpy.zeros``; what is no name is ``?``: ``?.cuda``."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self.bound.get(node.id, node.id) if isinstance(node, ast.Name) else "?"
        return ".".join([root, *reversed(parts)])

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        line = self.shown(node)
        for alias in node.names:
            full = alias.name if isinstance(node, ast.Import) else f"{node.module or ''}.{alias.name}"
            named = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
            self.bound[named] = full if alias.asname or isinstance(node, ast.ImportFrom) else named
            self.facts.imports.setdefault(full.split(".")[0], line)
            if GPU_MODULES & {full, full.split(".")[0]}:
                self.facts.gpu.append(line)

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                value = fold(node.value, self.values)
                if value is not None:
                    self.values.setdefault(target.id, value)
                    self.number(target.id, value, node)
                elif isinstance(node.value, ast.Call) and self.dotted(node.value.func).endswith(_GENERATORS):
                    self.bound[target.id] = "numpy.random"
            elif isinstance(target, ast.Subscript) and self.dotted(target.value).endswith("environ"):
                name, value = text(target.slice, self.values), fold(node.value, self.values)
                if name is not None and value is not None:
                    variable(name, str(value), self.shown(node), self.facts)

    def number(self, name: str, value: Plain, node: ast.AST) -> None:
        """``epochs = 10`` and ``batch_size=32``, as variables or as arguments."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**7:
            return
        if self.facts.epochs is None and _EPOCHS.fullmatch(name):
            self.facts.epochs = Shown(value, self.shown(node))
        elif self.facts.batch is None and _BATCH.fullmatch(name):
            self.facts.batch = Shown(value, self.shown(node))

    def _choice(self, node: ast.IfExp | ast.If) -> None:
        """``"cuda" if torch.cuda.is_available() else "cpu"``, and the same as a statement."""
        asked = [self.dotted(each) for each in ast.walk(node.test) if isinstance(each, ast.Attribute)]
        if not any(
            each.endswith(("is_available", "device_count")) or "list_physical_devices" in each for each in asked
        ):
            return
        self.facts.gpu_if_there.append(self.shown(node))
        inside: list[ast.AST] = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [*node.body, *node.orelse]
        self._optional |= {id(each) for part in inside for each in ast.walk(part)}

    def optional(self, node: ast.AST) -> bool:
        """It is used only where there is a GPU."""
        return id(node) in self._optional

    def _constant(self, node: ast.Constant, value: str) -> None:
        if LAUNCHERS.search(value) and " " in value:
            read_shell(value, self.facts)
        device = _DEVICE.fullmatch(value)
        if device is None or self.optional(node):
            return
        self.facts.gpu.append(self.shown(node))
        if device.group(1) and int(device.group(1)) < 64:
            self.facts.gpus.append(Shown(int(device.group(1)) + 1, self.shown(node)))

    def _argv(self, node: ast.List) -> None:
        words = [fold(each, self.values) for each in node.elts]
        if words and isinstance(words[0], str) and LAUNCHERS.fullmatch(words[0]):
            read_shell(" ".join(str(word) for word in words if word is not None), self.facts)

    def arguments(self, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """The arguments that have a name."""
        return ((each.arg, each.value) for each in node.keywords if each.arg is not None)
