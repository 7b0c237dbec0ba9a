"""Name analysis: by hand where the answer is ours, against Python's own symbol table where Python has one."""

import ast
import builtins
import random
import symtable
import textwrap

import pytest

from jupyter_diamond.cell.names import analyse


def names(code: str):
    return analyse(ast.parse(textwrap.dedent(code)).body)


def needed(code: str) -> set[str]:
    return names(code).needed - set(dir(builtins))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("y = x + 1", {"x"}),
        ("y = 1\nz = y", set()),
        ("x += 1", {"x"}),
        ("x: int = y", {"y"}),
        ("x: T", {"T"}),
        ("x[i] = a.b", {"x", "i", "a"}),
        ("del x", {"x"}),
        ("x = 1\ndel x\nx", {"x"}),
        ("print(x)\nx = 1", {"x"}),
        ("[i * k for i in rows if i > low]", {"k", "rows", "low"}),
        ("[i for i in i]", {"i"}),
        ("[j for i in a for j in i]", {"a"}),
        ("{k: v for k, v in pairs}", {"pairs"}),
        ("f = lambda a, b=c: a + b + d", {"c", "d"}),
        ("def f(a, *args, k=d, **kw): return a, args, k, kw, e\nf(1)", {"d", "e"}),
        ("def f(): return e", set()),
        ("def f():\n  x = 1\n  def g(): return x + y\n  return g\nf()", {"y"}),
        ("def f():\n  x = 1\n  def g():\n    nonlocal x\n    x += 1\n  return g\nf()", set()),
        ("def f():\n  global n\n  n += 1\nf()", {"n"}),
        ("n = 0\ndef f():\n  global n\n  n += 1\nf()", set()),
        ("def f(): return later\nlater = 1\nf()", set()),
        ("def f(): return later\nf()\nlater = 1", {"later"}),
        ("@deco\ndef f(): return e", {"deco", "e"}),
        ("class A(Base, metaclass=M):\n  a = b\n  c = a\n  def m(self): return d\nA()", {"Base", "M", "b", "d"}),
        ("class A:\n  a = 1\n  def m(self): return a\nA()", {"a"}),
        ("class A:\n  a = 1\n  b = [a for _ in range(3)]", {"a"}),
        ("class A:\n  rows = 1\n  b = [i for i in rows]", set()),
        ("class A:\n  x = x", {"x"}),
        ("class A:\n  def m(self): return __hidden\nA()", {"_A__hidden"}),
        ("class A:\n  def m(self): return __class__, super().m()\nA()", set()),
        ("if (n := size) > 1: print(n)", {"size"}),
        ("[y := f(i) for i in r]", {"f", "r"}),
        (
            "match cmd:\n  case {'k': v, **rest} if v > low: out = rest\n  case [a, *b]: out = a, b\n  case P(x=z): out = z",
            {"cmd", "low", "P"},
        ),
        ("try:\n  a()\nexcept E as e:\n  print(e)\n", {"a", "E"}),
        ("try:\n  a = 1\nexcept E as e:\n  pass\nprint(e)", {"E", "e"}),
        ("with open(p) as fh:\n  d = fh.read()\nd", {"p"}),
        ("import a.b\na.b.c", set()),
        ("import a.b as c\na", {"a"}),
        ("from a import b as c\nc, b", {"b"}),
        ("for i in rows:\n  if i: print(prev)\n  prev = i", {"rows"}),
        ("f'{x!r:{width}}'", {"x", "width"}),
        ("async def f():\n  async with a as b:\n    return [c async for c in b]\nawait f()", {"a"}),
        ("print(*a, **b)", {"a", "b"}),
        ("def f(x: T) -> R: ...", {"T", "R"}),
        ("def f():\n  x: T = 1\nf()", set()),
        ("try:\n  cache\nexcept NameError:\n  cache = {}", set()),
        ("a = b = c", {"c"}),
        ("a, (b, *c) = d", {"d"}),
        ("while x:\n  x = step(x)", {"x", "step"}),
        ("lambda: (yield)", set()),
    ],
)
def test_finds_what_must_come_from_outside(code, expected):
    assert needed(code) == expected


@pytest.mark.parametrize(
    ("code", "maybe"),
    [
        ("if c:\n  y = 1\nprint(y)", {"y"}),
        ("if c:\n  y = 1\nelse:\n  y = 2\nprint(y)", set()),
        ("if c:\n  y = 1\nelse:\n  raise E\nprint(y)", set()),
        ("for i in r:\n  y = i\nprint(y, i)", {"y", "i"}),
        ("try:\n  y = 1\nexcept E:\n  pass\nprint(y)", {"y"}),
        ("try:\n  y = 1\nexcept E:\n  y = 2\nprint(y)", set()),
        ("try:\n  y = 1\nfinally:\n  z = 2\nprint(y, z)", set()),
        ("a and (y := 1)\nprint(y)", {"y"}),
        ("z = (y := 1) if a else 0\nprint(y)", {"y"}),
        ("with suppress(E):\n  y = 1\nprint(y)", {"y"}),
        ("match c:\n  case 1: y = 1\n  case _: y = 2\nprint(y)", set()),
        ("match c:\n  case 1: y = 1\nprint(y)", {"y"}),
        ("def f():\n  global y\n  y = 1\nf()\nprint(y)", {"y"}),
        ("while True:\n  y = 1\n  break\nprint(y)", {"y"}),
        ("for i in r:\n  if i:\n    continue\n  y = 1\n  print(y)", set()),
    ],
)
def test_knows_what_is_bound_on_some_paths_only(code, maybe):
    found = names(code)
    assert found.maybe == maybe
    assert not maybe & found.needed


def test_reads_in_text_are_soft():
    assert names("def f(x: 'Frame') -> 'list[Row]': ...").soft == {"Frame", "list", "Row"}
    assert "limit" in names("df.query('a > @limit')").soft
    tree = ast.parse("def f(x: T): ...").body
    assert analyse(tree, lazy_annotations=True).soft == {"T"}
    assert not analyse(tree, lazy_annotations=True).needed


def test_notes_imports_chains_and_names_that_no_analysis_sees():
    found = names("""
        import a.b, torch as t
        from .c import d
        if x:
            import maybe
        def f():
            import inside
        from e import *
        eval("q"); xml.etree.ElementTree.parse
        """)
    assert [(i.module, i.level, i.sure, i.deferred) for i in found.imports] == [
        ("a.b", 0, True, False), ("torch", 0, True, False), ("c", 1, True, False), ("maybe", 0, False, False),
        ("inside", 0, True, True), ("e", 0, True, False),
    ]  # fmt: skip
    assert found.star_imports == ["e"]
    assert found.dynamic == {"eval"}
    assert found.chains["xml"] == {"xml.etree.ElementTree.parse"}


def test_what_was_bound_at_the_first_read():
    assert names("data = 1\nf(data)").known_at["f"] == {"data"}


# --- against Python's own symbol table ----------------------------------------------------------------------------


def globals_read(code: str) -> set[str]:
    """What symtable says is read and resolved at module level or beyond, anywhere in the code."""
    found: set[str] = set()
    todo = [symtable.symtable(code, "x", "exec")]
    while todo:
        table = todo.pop()
        todo += table.get_children()
        for symbol in table.get_symbols():
            outside = table.get_type() == "module" or symbol.is_global()
            if symbol.is_referenced() and outside:
                found.add(symbol.get_name())
    return found


class Program:
    """Generates scoping puzzles: nested functions, classes, comprehensions, global, nonlocal, walrus."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def name(self) -> str:
        return self.rng.choice("abcde")

    def expression(self, depth: int, *, walrus: bool = True) -> str:  # noqa: PLR0911
        kind = self.rng.randrange(8 if depth else 2)
        sub = lambda: self.expression(depth - 1, walrus=walrus)  # noqa: E731
        if kind <= 1:
            return self.name()
        if kind == 2:
            return f"({sub()} + {sub()})"
        if kind == 3:
            return f"[{self.expression(depth - 1, walrus=False)} for {self.name()} in {self.expression(depth - 1, walrus=False)}]"
        if kind == 4:
            return f"(lambda {self.name()}={self.expression(depth - 1, walrus=False)}: {self.expression(depth - 1, walrus=False)})"
        if kind == 5:
            return (
                f"{{{self.expression(depth - 1, walrus=False)}: 1 for {self.name()} in {self.name()} if {self.name()}}}"
            )
        if kind == 6 and walrus:
            return f"({self.name()} := {sub()})"
        return f"{self.name()}({sub()}).z"

    def block(self, depth: int, inside: str, pad: str = "") -> list[str]:
        lines: list[str] = []
        declared = ""
        if inside == "function" and self.rng.random() < 0.3:
            declared = self.rng.choice("de")
            lines.append(f"global {declared}")
        for _ in range(self.rng.randrange(1, 4)):
            lines += self.statement(depth)
        return [pad + line for line in lines]

    def statement(self, depth: int) -> list[str]:  # noqa: PLR0911
        kind = self.rng.randrange(9 if depth else 4)
        if kind <= 1:
            return [f"{self.name()} = {self.expression(2)}"]
        if kind == 2:
            return [self.expression(2)]
        if kind == 3:
            return [f"{self.name()} += {self.expression(1)}"]
        if kind == 4:
            head = f"def {self.name()}({self.rng.choice('abc')}, *, k={self.expression(1)}):"
            return [head, *self.block(depth - 1, "function", "  ")]
        if kind == 5:
            return [f"class {self.name()}({self.name()}):", *self.block(depth - 1, "class", "  ")]
        if kind == 6:
            return [f"for {self.name()} in {self.expression(1)}:", *self.block(depth - 1, "other", "  ")]
        if kind == 7:
            return ["try:", *self.block(depth - 1, "other", "  "), f"except {self.name()} as {self.name()}:", "  pass"]
        return [f"with {self.expression(1)} as {self.name()}:", *self.block(depth - 1, "other", "  ")]


def all_reads(code: str) -> set[str]:
    """What the analysis sees as a read of a module-level name, whether bound by then or not."""
    seen: set[str] = set()
    from jupyter_diamond.cell import names as module

    class Recorder(module._Analysis):
        def read(self, name, chain=""):
            if not self._is_own(name):
                seen.add(name)
            super().read(name, chain)

        def visit_AugAssign(self, node):  # noqa: N802 - symtable does not count ``x += 1`` as a read
            self.visit(node.value)
            self.visit(node.target)

    tree = ast.parse(code).body
    flow = Recorder(tree, lazy_annotations=False)
    flow.block(tree)
    flow.finish()
    return seen


def programs():
    made = 0
    for seed in range(3000):
        code = "\n".join(Program(seed).block(3, "module"))
        try:
            compile(code, "x", "exec")
        except SyntaxError:  # e.g. a parameter that is declared global
            continue
        made += 1
        yield seed, code
    assert made > 1000


def test_agrees_with_pythons_symbol_table_on_generated_programs():
    for seed, code in programs():
        ours, pythons = all_reads(code), globals_read(code)
        # a class body that binds a name and reads it too: symtable calls it local, Python looks outside when it is unbound
        assert pythons <= ours, f"seed {seed}: missed {pythons - ours} in\n{code}"
        extra = ours - pythons
        assert not extra or "class " in code, f"seed {seed}: invented {extra} in\n{code}"


def test_needed_names_are_those_whose_absence_raises_name_error():
    """Run straight-line programs with only the needed names defined: no NameError may come of it."""
    checked = 0
    for seed in range(600):
        rng = random.Random(seed)
        lines = []
        for _ in range(6):
            target, left, right = rng.choice("abcdef"), rng.choice("abcdef"), rng.choice("abcdef")
            lines.append(rng.choice([
                f"{target} = {left} + {right}",
                f"def f_{target}(): return {left} + {right}",
                f"{target} = [{left} + i for i in [{right}]][0]",
                f"if {left} > 0: {target} = {right}",
                f"for {target} in [{left}]: {right} = {target}",
                f"{target} = f_{left}() if 'f_{left}' in globals() else 0",
            ]))  # fmt: skip
        code = "\n".join(lines)
        found = analyse(ast.parse(code).body)
        space = dict.fromkeys((found.needed | found.maybe | found.later) & set("abcdef"), 1)
        exec(compile(code, "x", "exec"), space)
        checked += bool(space)
    assert checked > 500
