"""Functions and classes born in a notebook travel as the source that made them, or honestly not as source."""

import sys

import pytest

from .notebook_shell import Notebook

MINOR = f"bytecode of Python {sys.version_info.major}.{sys.version_info.minor}"


def travels(notebook: Notebook, cell: str, name: str):
    taken = notebook.capture(cell)
    assert taken.refusals == ()
    (found,) = [each for each in taken.captured if each.name == name]
    return found.travels, found.detail


@pytest.mark.parametrize(
    ("cells", "show", "expected"),
    [
        (["def f(x):\n    return x + 1"], "f(1)", 2),
        (["if True:\n    def f(x):\n        '''a\nb'''\n        return [x, f.__doc__]"], "f(1)", [1, "a\nb"]),
        (["f = lambda x: x + 1"], "f(1)", 2),
        (["n = 2\nf = lambda x, y=n: (\n    x + y + n)"], "f(1)", 5),
        (["async def f():\n    return 3"], "__import__('asyncio').run(f())", 3),
        (["def even(n):\n    return n == 0 or odd(n - 1)\ndef odd(n):\n    return n != 0 and even(n - 1)"], "even(10)", True),
        (["import functools\n@functools.lru_cache(maxsize=None)\ndef f(x):\n    return x * 2"], "[f(2), f.cache_info().maxsize]", [4, None]),
        (["def twice(g):\n    def inner(*a):\n        return 2 * g(*a)\n    return inner", "@twice\ndef f(x):\n    return x"], "f(4)", 8),
        (["class Times:\n    def __init__(self, n):\n        self.n = n\n    def __call__(self, g):\n        return lambda *a: self.n * g(*a)", "@Times(3)\ndef f(x):\n    return x"], "f(4)", 12),
        (["def f(x):\n    return x", "g = f\ndel f\nf = g"], "f(4)", 4),
        (["def f(x):\n    return x", "g = f"], "g(4)", 4),
        (["from functools import partial\ndef f(x, y):\n    return [x, y]", "g = partial(f, 1)"], "g(2)", [1, 2]),
        (["class A:\n    n = 1\n    def m(self):\n        return self.n\nclass B(A):\n    n = 2"], "B().m()", 2),
        (["from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int\n    y: int = 2"], "[P(1).x, P(1).y]", [1, 2]),
        (["from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass N:\n    x: int\n    next: N | None = None"], "N(1, N(2)).next.x", 2),
        (["import enum\nclass C(enum.Enum):\n    RED = 1\n    BLUE = 'b'"], "C.BLUE.value", "b"),
        (["from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 2"], "list(P(1))", [1, 2]),
        (["class A:\n    @property\n    def v(self):\n        return self._v\n    @v.setter\n    def v(self, x):\n        self._v = x\n    @staticmethod\n    def s():\n        return 1\n    @classmethod\n    def c(cls):\n        return cls.__name__\na = A()\na.v = 5"], "[a.v, A.s(), A.c()]", [5, 1, "A"]),
        (["class A:\n    class Inner:\n        k = 3\n    def m(self):\n        return self.Inner.k\na = A.Inner()"], "[A().m(), a.k]", [3, 3]),
        (["import abc\nclass Base(abc.ABC):\n    @abc.abstractmethod\n    def m(self): ...", "class D(Base):\n    def m(self):\n        return 7\nd = D()"], "d.m()", 7),
        (["class Meta(type):\n    def __new__(m, name, bases, space, tag=None):\n        space['tag'] = tag\n        return super().__new__(m, name, bases, space)\nclass A(metaclass=Meta, tag='t'):\n    pass"], "A.tag", "t"),
        (["def f():\n    return f.__name__\nfs = {'a': f, 'b': [f]}"], "fs['b'][0]()", "f"),
        (["_cache = {}\ndef f(x):\n    global _cache\n    _cache[x] = x\n    return len(_cache)"], "[f(1), f(2)]", [1, 2]),
        (["def f(x):\n    from json import dumps\n    return dumps(x)"], "f([1])", "[1]"),
        (["await_ = 1\nimport asyncio\nv = await asyncio.sleep(0, 5)\ndef f():\n    return v"], "f()", 5),
        (["%precision 3\ndef f():\n    return 4"], "f()", 4),
        (["x = 3; f = lambda: x; g = lambda: x + 1"], "[f(), g()]", [3, 4]),
        (["T = int\ndef f(x: 'T', *, k: T = 3) -> T:\n    return k"], "f(0)", 3),
    ],
)  # fmt: skip
def test_runs_in_another_process_from_its_source(notebook, cells, show, expected):
    for cell in cells:
        notebook.run(cell)
    cell = f"result = {show}"
    taken = notebook.capture(cell)
    assert taken.refusals == ()
    assert taken.spec.same_minor == ()
    assert notebook.run_there(cell) == expected


def test_the_newest_definition_wins_and_keeps_its_place(notebook):
    notebook.run("def f():\n    return 'old'")
    notebook.run("x = 1\n\n@staticmethod\ndef other(): ...\n\ndef f():\n    return 'new'")
    (statement,) = [item for item in notebook.capture("f()").spec.prelude if item.name == "f"]
    assert statement.source == "def f():\n    return 'new'\n"
    assert statement.lineno == 6
    assert statement.filename == "In[2]"


def test_a_cell_that_failed_half_way_does_not_count(notebook):
    notebook.run("class A:\n    n = 1")
    with pytest.raises(ZeroDivisionError):
        notebook.run("1 / 0\nclass A:\n    n = 2")
    assert travels(notebook, "A", "A") == ("source", "In[1]")
    assert notebook.run_there("result = A.n") == 1


@pytest.mark.parametrize(
    ("cells", "show", "expected"),
    [
        (["def make(n):\n    def f(x):\n        return x + n\n    return f\nf = make(2)"], "f(1)", 3),
        (["exec('def f(x):\\n    return x + 5')"], "f(1)", 6),
        (["def f(x):\n    return x", "def twice(g):\n    return lambda *a: 2 * g(*a)", "f = twice(f)"], "f(4)", 8),
        (["n = 1\ndef f(x=n):\n    return x", "n = 2"], "[f(), n]", [1, 2]),
        (["def f(x=[]):\n    x.append(1)\n    return len(x)\nf()"], "f()", 2),
        (["class A:\n    n = 1", "A.n = 2"], "A.n", 2),
        (["class A:\n    def m(self):\n        return 1", "def m(self):\n    return 2\nA.m = m"], "A().m()", 2),
        (["class A:\n    pass", "class B(A):\n    pass", "class A:\n    pass"], "issubclass(B, A)", False),
        (["fs = [lambda i=i: i for i in range(3)]"], "[f() for f in fs]", [0, 1, 2]),
        (["def deco(g):\n    return lambda: 'deco ' + g()\ndef more(g):\n    return lambda: 'more ' + g()", "@deco\ndef f():\n    return 'f'", "f = more(f)"], "f()", "more deco f"),
    ],
)  # fmt: skip
def test_without_a_true_source_bytecode_travels_and_binds_the_minor_version(notebook, cells, show, expected):
    for cell in cells:
        notebook.run(cell)
    cell = f"result = {show}"
    assert notebook.capture(cell).spec.same_minor
    assert notebook.run_there(cell) == expected


def test_bytecode_is_listed_as_such(notebook):
    notebook.run("exec('def f(x):\\n    return x')")
    assert travels(notebook, "f(1)", "f") == ("value", f"{MINOR}, its source was not found")
    taken = notebook.capture("f(1)")
    assert "cloudpickle" in taken.spec.requires


def test_an_instance_of_a_redefined_class_is_told(notebook):
    notebook.run("class A:\n    n = 1\na = A()")
    notebook.run("class A:\n    n = 2")
    assert "older `A`" in notebook.capture("a.n").warnings[0]
    assert notebook.run_there("result = a.n") == 1


def test_a_file_run_into_the_notebook_is_checked_against_what_it_is_now(notebook):
    script = notebook.folder / "script.py"
    script.write_text("def f():\n    return 1\n")
    notebook.run(f"%run {script}")
    assert travels(notebook, "f()", "f")[0] == "source"
    script.write_text("def f():\n    return 2\n")
    assert travels(notebook, "f()", "f") == ("value", f"{MINOR}, its source was not found")


def test_single_dispatch_with_registrations_is_refused(notebook):
    notebook.run(
        "import functools\n@functools.singledispatch\ndef f(x):\n    return 'any'\n@f.register\ndef _(x: int):\n    return 'int'"
    )
    assert "singledispatch" in notebook.capture("f(1)").refusals[0]


def test_attributes_of_a_function_are_told(notebook):
    notebook.run("def f():\n    return 1\nf.calls = 3")
    assert notebook.capture("f()").warnings == ("`f` carries attributes (calls) that do not travel with its source.",)
