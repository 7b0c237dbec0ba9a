"""The house rules, counted: imports go downward, rooms stay small, exceptions have reasons, nothing names a machine."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGE = REPOSITORY / "jupyter_diamond"

# ARCHITECTURE.md: each room may use the rooms of its own layer and of those below.
LAYERS = {
    "errors": 0, "settings": 0, "model": 0, "parsing": 0,
    "placement": 1,
    "globus": 2, "transport": 2, "schedulers": 2, "sites": 2, "data": 2, "store": 2,
    "cell": 3, "engine": 3,
    "service": 4, "checkpoint": 4, "named_data": 5,
    "agent": 5, "server": 5, "notebook": 5, "cli": 5, "mcp": 5,
    "__init__": 6,
}  # fmt: skip

MODULE_LINES = 400
FUNCTION_LINES = 40
LONG_MODULES = {
    "jupyter_diamond/cell/runner/diamond_runner.py": "travels to the site as one file, which imports nothing of ours",
}
LONG_FUNCTIONS = {
    "jupyter_diamond/cell/capture.py:capture": "twelve of its lines are its signature",
}
UPWARD = {
    ("notebook", "__init__"): "%load_ext puts the package itself into the user's namespace, as `diamond`",
}
BROAD_EXCEPTS = {
    "jupyter_diamond/cell/runner/diamond_runner.py": "runs users' code and asks users' objects, which may raise anything",
}

# cell/runner serves the user's own values, so these are imported inside functions, where the user has them.
USERS_LIBRARIES = {"matplotlib", "numpy", "pandas", "pyarrow", "cloudpickle", "IPython"}


def tracked(*patterns: str) -> list[Path]:
    """The files of the repository: those that are tracked, and new ones that are not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [path for name in listed.split("\0") if name and (path := REPOSITORY / name).is_file()]


PYTHON = tracked("*.py")
OURS = [path for path in PYTHON if path.is_relative_to(PACKAGE)]
SIZED = [path for path in PYTHON if path.is_relative_to(PACKAGE) or path.is_relative_to(REPOSITORY / "tests" / "live")]


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), filename=str(path))


def dotted(path: Path) -> tuple[str, ...]:
    """The module's full name."""
    return path.relative_to(REPOSITORY).with_suffix("").parts


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Every imported module as (absolute name, line, at top level). ``from x import y`` counts as ``x.y``."""
    tree = parsed(path)
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(dotted(path)[: -node.level]) + "." if node.level else ""
            module = f"{base}{node.module or ''}".rstrip(".")
            for alias in node.names:
                yield f"{module}.{alias.name}", node.lineno, id(node) in top


def room_of(module: str) -> str | None:
    """The room that a module of ours lives in; None for foreign modules and for the package's version."""
    parts = module.split(".")
    if parts[0] != PACKAGE.name or parts[1:] == ["__version__"]:
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "__init__"


def uses() -> Iterator[tuple[str, str, str]]:
    """Which room uses which other, and where."""
    for path in OURS:
        here = room_of(".".join(dotted(path)))
        for module, line, _ in imports(path):
            there = room_of(module)
            if there is not None and there != here and (here, there) not in UPWARD:
                yield str(here), there, f"{name_of(path)}:{line}"


def test_every_room_has_its_layer() -> None:
    rooms = {
        path.stem if path.is_file() else path.name for path in PACKAGE.iterdir() if not path.name.startswith("__pyc")
    }
    assert rooms - set(LAYERS) - {"labextension"} == set()


def test_imports_go_downward() -> None:
    upward = [f"{where}: {here} uses {there}" for here, there, where in uses() if LAYERS[there] > LAYERS[here]]
    assert upward == []


def test_no_two_rooms_use_each_other() -> None:
    graph: dict[str, dict[str, str]] = {}
    for here, there, where in uses():
        graph.setdefault(here, {}).setdefault(there, where)

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        fresh = [room for room in graph.get(start, ()) if room not in seen]
        seen.update(fresh)
        return goal in fresh or any(reaches(room, goal, seen) for room in fresh)

    circles = [f"{where}: {a} and {b}" for a in graph for b, where in graph[a].items() if reaches(b, a, set())]
    assert circles == []


AT_SITES = (PACKAGE / "cell" / "runner", PACKAGE / "transport" / "remote")
RUNNER = [path for path in OURS if path.parent in AT_SITES and path.name != "__init__.py"]


def test_there_is_a_runner() -> None:
    assert {path.parent for path in RUNNER} == set(AT_SITES)


@pytest.mark.parametrize("path", RUNNER, ids=name_of)
def test_what_runs_at_sites_imports_the_standard_library_only(path: Path) -> None:
    wrong = []
    for module, line, at_top in imports(path):
        root = module.split(".")[0]
        if root not in sys.stdlib_module_names and (at_top or root not in USERS_LIBRARIES):
            wrong.append(f"{name_of(path)}:{line}: {module}")
    assert wrong == []


def test_modules_are_short() -> None:
    lengths = {name_of(path): path.read_bytes().count(b"\n") for path in SIZED}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES and name not in LONG_MODULES} == {}
    assert {name for name in LONG_MODULES if lengths.get(name, 0) <= MODULE_LINES} == set(), "no longer an exception"


def test_functions_are_short() -> None:
    """Counted from ``def`` to the last line, without the docstring: what is explained well shall not be punished."""
    lengths = {f"{name_of(path)}:{name}": lines for path in SIZED for name, lines in function_lengths(parsed(path))}
    allowed = set(LONG_FUNCTIONS)
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES and name not in allowed} == {}
    assert {name for name in allowed if lengths.get(name, 0) <= FUNCTION_LINES} == set(), "no longer an exception"


def function_lengths(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            yield prefix + node.name, (node.end_lineno or 0) - node.lineno + 1 - docstring
        name = (
            f"{prefix}{node.name}."
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            else prefix
        )
        yield from function_lengths(node, name)


def test_broad_excepts_give_their_reason() -> None:
    """One that raises again only cleans up, and needs none."""
    unexplained = [place for path in SIZED if name_of(path) not in BROAD_EXCEPTS for place in unexplained_excepts(path)]
    assert unexplained == []


def unexplained_excepts(path: Path) -> Iterator[str]:
    """``except Exception`` and wider without a comment of some words, on its line or on the next."""
    with tokenize.open(path) as file:
        tokens = tokenize.generate_tokens(file.readline)
        comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not isinstance(node.body[-1], ast.Raise):
            said = f"{comments.get(node.lineno, '')} {comments.get(node.lineno + 1, '')}"
            reason = re.sub(r"noqa(: ?[A-Z]+\d+(, ?[A-Z]+\d+)*)?|[#\W]", " ", said).split()
            if len(reason) < 2:
                yield f"{name_of(path)}:{node.lineno}"


def _is_broad(caught: ast.expr | None) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException")) for name in names
    )


def test_every_module_says_what_it_is_for() -> None:
    """An empty ``__init__.py`` has nothing to say."""
    silent = [path for path in PYTHON if not ast.get_docstring(parsed(path))]
    assert [name_of(path) for path in silent if path.name != "__init__.py" or parsed(path).body] == []


# Written in two parts, so that this file does not name them itself.
MACHINE = re.compile(r"/(?:wo" + r"rk|fa" + r"rm|ro" + r"ot)/[a-z]")
REGISTRIES = re.compile(
    "|".join(
        (
            r"registry\.np" + "mjs",
            r"registry\.yarn" + "pkg",
            r"py" + r"pi\.org",
            "python" + "hosted",
            r"deb\.deb" + "ian",
            r"snapshot\.deb" + "ian",
        )
    )
)


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRIES], ids=["machine paths", "registry hosts"])
def test_nothing_names_the_machine_it_was_made_on(pattern: re.Pattern[str]) -> None:
    found = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data[:8000]:
            lines = enumerate(data.decode("utf-8", "replace").splitlines(), 1)
            found += [f"{name_of(path)}:{number}" for number, line in lines if pattern.search(line)]
    assert found == []


def test_no_test_is_skipped() -> None:
    """A component that is missing is a failure. What a machine without root leaves out is deselected by the Makefile."""
    skip = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b|unittest\.skip|\.skip" + r"Test\(")
    this = Path(__file__)
    tests = [path for path in PYTHON if path.is_relative_to(REPOSITORY / "tests") and path != this]
    assert [name_of(path) for path in tests if skip.search(path.read_text("utf-8"))] == []
