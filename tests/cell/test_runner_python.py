"""A Python cell at a site: values in, outputs in order, values back, errors with the user's own lines."""

from __future__ import annotations

import ast
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jupyter_diamond.cell.result import remote_error
from jupyter_diamond.cell.runner import SOURCE
from jupyter_diamond.cell.spec import Statement

from .attempts import TOKEN, make_attempt


def statement(name: str, source: str, filename: str = "<cell 1>", lineno: int = 1) -> Statement:
    return Statement(name=name, source=source, filename=filename, lineno=lineno)


@functools.cache
def pythons() -> list[str]:
    """Every Python 3 of this machine that a site could have."""
    found = {}
    candidates = [*Path("~/.pyenv/versions").expanduser().glob("3*/bin/python3"), Path("/usr/bin/python3")]
    candidates += [Path(path) for n in range(6, 20) if (path := shutil.which(f"python3.{n}"))]
    for path in candidates:
        if os.access(path, os.X_OK):
            command = [path, "-c", "import sys; print(sys.version_info[:2])"]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode == 0:  # a shim of a version manager may point at nothing
                found.setdefault(ran.stdout.strip(), str(path))
    return list(found.values()) or [sys.executable]


def test_the_runner_is_written_for_python_3_6():
    ast.parse(SOURCE.read_text(), feature_version=(3, 6))


def test_the_runner_imports_nothing_but_the_standard_library_at_start():
    tree = ast.parse(SOURCE.read_text())
    names = [a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names]
    names += [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in names} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("python", pythons())
def test_a_cell_runs_under_every_python_of_this_machine(tmp_path, python):
    attempt = make_attempt(
        tmp_path,
        "import mymod\nprint('hi', file=sys.stderr)\nprint(scale)\nout = [mymod.twice(n) * scale for n in data]\nout",
        outputs=("out",),
        statements=(statement("sys", "import sys"),),
        values={"data": [1, 2], "scale": 1.5, "t": (1, float("inf"))},
        modules={"mymod.py": "def twice(n):\n    return 2 * n\n"},
        requires=("mymod",),
    ).run(python=python)
    assert attempt.log == "hi\n1.5\n"
    assert attempt.exit_code == 0
    assert attempt.end.by == "runner"
    assert (attempt.manifest.outcome, attempt.manifest.error, attempt.manifest.missing) == ("OK", None, ())
    assert attempt.value("out") == [3.0, 6.0]
    assert attempt.streams == [("stderr", "hi\n"), ("stdout", "1.5\n")]
    assert attempt.outputs[-1] == {
        "output_type": "execute_result", "execution_count": None, "data": {"text/plain": "[3.0, 6.0]"}, "metadata": {},
    }  # fmt: skip
    assert attempt.manifest.started_at <= attempt.manifest.ended_at <= attempt.end.at
    assert attempt.manifest.max_rss_bytes > 5_000_000


@pytest.mark.parametrize("python", pythons())
def test_an_error_shows_the_users_lines_under_every_python(tmp_path, python):
    attempt = make_attempt(
        tmp_path,
        "x = 1\nstep(x)\n",
        statements=(statement("step", "def step(x):\n    return x / 0\n", "/nb/cell-3.py", 7),),
    ).run(python=python)
    assert attempt.exit_code == 1
    assert attempt.error() == ("ZeroDivisionError", "division by zero")
    text = "\n".join(line for line in attempt.manifest.error.traceback if set(line.strip()) - set("~^"))
    assert text == (
        'Traceback (most recent call last):\n  File "<cell>", line 2, in <module>\n    step(x)\n'
        '  File "/nb/cell-3.py", line 8, in step\n    return x / 0\nZeroDivisionError: division by zero'
    )
    assert attempt.outputs[-1]["output_type"] == "error"
    assert attempt.outputs[-1]["ename"] == "ZeroDivisionError"
    assert "step(x)" in attempt.log
    assert "runner.py" not in attempt.log
    raised = remote_error(attempt.manifest)
    assert raised.ename == "ZeroDivisionError"
    assert "return x / 0" in str(raised)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("1 + 1", "2"),
        ("1 + 1;", None),
        ("1 + 1;  # why", None),
        ("1 + 1  # ; not the end", "2"),
        ("'a;'", "'a;'"),
        ("None", None),
        ("x = 3", None),
        ("x = 3; x", "3"),
        ("for i in range(3):\n    i", None),
        ("", None),
        ("# nothing", None),
        ("x: int = 3\nx", "3"),
        ("list(range(1001))[-1:] + list(range(2))", "[1000, 0, 1]"),
    ],
)
def test_the_last_expression_shows_as_in_a_notebook(tmp_path, cell, shown):
    attempt = make_attempt(tmp_path, cell).run()
    assert attempt.exit_code == 0, attempt.log
    assert [o["data"]["text/plain"] for o in attempt.outputs] == ([] if shown is None else [shown])


def test_await_works_at_top_level_and_tasks_live_on_between_statements(tmp_path):
    attempt = make_attempt(
        tmp_path,
        "import asyncio\nlog = []\nasync def work(n):\n    await asyncio.sleep(0.01)\n    log.append(n)\n    return n\n"
        "async with asyncio.Lock():\n    log.append(0)\nbackground = asyncio.get_running_loop().create_task(asyncio.sleep(100))\n"
        "await work(2)",
        outputs=("log",),
    ).run()
    assert attempt.exit_code == 0, attempt.log
    assert attempt.outputs[-1]["data"]["text/plain"] == "2"
    assert attempt.value("log") == [0, 2]
    assert attempt.log == ""


def test_an_error_in_awaited_code_shows_no_event_loop(tmp_path):
    cell = "async def f():\n    raise KeyError('k')\nawait f()"
    attempt = make_attempt(tmp_path, cell).run()
    assert [line for line in attempt.manifest.error.traceback if line.startswith("  File")] == [
        '  File "<cell>", line 3, in <module>', '  File "<cell>", line 2, in f',
    ]  # fmt: skip


def test_future_statements_of_the_notebook_hold_in_the_cell(tmp_path):
    attempt = make_attempt(
        tmp_path,
        "def f(x: Nope): pass\nf.__annotations__",
        statements=(statement("annotations", "from __future__ import annotations"),),
    ).run()
    assert attempt.outputs[-1]["data"]["text/plain"] == "{'x': 'Nope'}"


def test_chained_and_grouped_exceptions_show_only_the_users_frames(tmp_path):
    cell = "import json\ntry:\n    json.loads('{')\nexcept ValueError as e:\n    raise RuntimeError('bad input') from e"
    attempt = make_attempt(tmp_path, cell).run()
    text = "\n".join(attempt.manifest.error.traceback)
    assert attempt.error() == ("RuntimeError", "bad input")
    assert "JSONDecodeError" in text
    assert "json/decoder.py" in text
    assert "runner.py" not in text


def test_a_syntax_error_points_at_the_users_line(tmp_path):
    attempt = make_attempt(tmp_path, "x = 1\nif x\n    pass").run()
    text = "\n".join(attempt.manifest.error.traceback)
    assert attempt.error()[0] == "SyntaxError"
    assert 'File "<cell>", line 2' in text
    assert "    if x\n" in text
    assert "runner.py" not in text


def test_an_error_while_the_notebook_is_rebuilt_shows_where(tmp_path):
    attempt = make_attempt(
        tmp_path, "print('never')", statements=(statement("a", "import json\na = json.nope", "<cell 9>", 4),)
    ).run()
    assert attempt.error()[0] == "AttributeError"
    assert '  File "<cell 9>", line 5, in <module>' in attempt.manifest.error.traceback
    assert attempt.stdout == ""


@pytest.mark.parametrize(
    ("cell", "code", "outcome"),
    [
        ("import sys; sys.exit()", 0, "OK"),
        ("import sys; sys.exit(0)", 0, "OK"),
        ("import sys; sys.exit(3)", 3, "FAILED"),
        ("import sys; sys.exit(256)", 1, "FAILED"),
        ("import sys; sys.exit('no input')", 1, "FAILED"),
        ("raise KeyboardInterrupt", 130, "FAILED"),
        ("import os; os.kill(os.getpid(), 2); import time; time.sleep(5)", 130, "FAILED"),
        ("class Odd(BaseException): pass\nraise Odd", 1, "FAILED"),
        ("class Sulky(Exception):\n    def __str__(self): raise ValueError\nraise Sulky", 1, "FAILED"),
    ],
)
def test_how_a_cell_may_end(tmp_path, cell, code, outcome):
    attempt = make_attempt(tmp_path, cell + "\n", outputs=()).run()
    assert (attempt.exit_code, attempt.end.exit_code, attempt.end.outcome, attempt.manifest.outcome) == (
        code,
        code,
        outcome,
        outcome,
    )
    assert (attempt.manifest.error is None) == (outcome == "OK")
    if "no input" in cell:
        assert ("stderr", "no input\n") in attempt.streams


def test_values_come_back_exactly_each_with_a_preview(tmp_path):
    cell = (
        "import numpy as np, pandas as pd\n"
        "class Point:\n    pass\n"
        "a = np.arange(6.0).reshape(2, 3)\nt = pd.DataFrame({'x': [1, 2], 's': ['a', None]})\n"
        "o = {1: {2}}\nj = {'k': [1, 2.5, None]}\ns = 'x' * 10**6\nlots = list(range(10**6))\nf = lambda n: n + add\nadd = 3"
    )
    names = ("a", "t", "o", "j", "s", "lots", "f")
    attempt = make_attempt(tmp_path, cell, outputs=names, kernel_reads_parquet=True).run()
    assert attempt.exit_code == 0, attempt.log
    assert np.array_equal(attempt.value("a"), np.arange(6.0).reshape(2, 3))
    pd.testing.assert_frame_equal(attempt.value("t"), pd.DataFrame({"x": [1, 2], "s": ["a", None]}))
    assert attempt.value("o") == {1: {2}}
    assert attempt.value("j") == {"k": [1, 2.5, None]}
    assert attempt.value("lots")[-1] == 999_999
    assert attempt.value("f")(1) == 4
    by_name = {v.name: v for v in attempt.files}
    assert {n: v.codec for n, v in by_name.items()} == {
        "a": "npy", "t": "parquet", "o": "pickle", "j": "json", "s": "json", "lots": "pickle", "f": "pickle",
    }  # fmt: skip
    assert by_name["f"].bytecode == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert by_name["o"].bytecode == ""
    assert all(len(v.preview) <= 200 for v in attempt.files)
    assert by_name["a"].preview == "(2, 3) float64"
    assert by_name["t"].preview == "2 rows x 2 columns: x, s"
    assert by_name["a"].type == "numpy.ndarray"
    for value in attempt.files:
        path = attempt.folder / value.file
        assert path.parent == attempt.folder / "result"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_size == value.bytes


def test_tables_are_pickled_for_a_kernel_without_pyarrow(tmp_path):
    attempt = make_attempt(tmp_path, "import pandas as pd\nt = pd.DataFrame({'x': [1]})", outputs=("t",)).run()
    assert attempt.files[0].codec == "pickle"
    assert list(attempt.value("t")["x"]) == [1]


def test_a_missing_variable_fails_the_cell_and_the_others_are_kept(tmp_path):
    attempt = make_attempt(tmp_path, "a = 1\nc = 3", outputs=("a", "b", "c")).run()
    assert attempt.exit_code == 1
    assert attempt.error() == ("ResultMissing", "the cell ended without a variable 'b'")
    assert (attempt.value("a"), attempt.value("c")) == (1, 3)
    assert attempt.manifest.missing[0].name == "b"
    assert "ended without a variable 'b'" in attempt.end.why
    assert attempt.outputs[-1]["output_type"] == "error"


@pytest.mark.parametrize(
    ("make", "word"),
    [
        ("import threading\nb = threading.Lock()", "lock"),
        ("b = open('/dev/null')", "TextIOWrapper"),
        ("f = open('/dev/null')\nb = lambda: f", "open file (/dev/null)"),
        ("b = (i for i in range(3))", "generator"),
    ],
)
def test_a_variable_that_cannot_travel_says_why_and_the_others_are_kept(tmp_path, make, word):
    attempt = make_attempt(tmp_path, make + "\na = 1", outputs=("b", "a")).run()
    assert attempt.exit_code == 1
    assert attempt.value("a") == 1
    assert attempt.manifest.missing[0].name == "b"
    assert word in attempt.manifest.missing[0].why
    assert sorted(p.name for p in (attempt.folder / "result").iterdir()) == ["a.json"]


def test_what_was_computed_before_an_error_is_kept(tmp_path):
    attempt = make_attempt(tmp_path, "a = 1\n1 / 0\nb = 2", outputs=("a", "b")).run()
    assert attempt.error()[0] == "ZeroDivisionError"
    assert attempt.value("a") == 1


def test_a_missing_import_stops_before_the_cell_with_one_sentence(tmp_path):
    attempt = make_attempt(tmp_path, "print('never')", requires=("json", "no_such_module", "xml.nope")).run()
    assert attempt.exit_code == attempt.end.exit_code == 85
    ename, evalue = attempt.error()
    assert ename == "ModuleNotFoundError"
    assert "no_such_module and xml.nope" in evalue
    assert sys.executable in evalue
    assert attempt.stdout == ""
    assert attempt.outputs[-1]["ename"] == "ModuleNotFoundError"


def test_bytecode_of_another_python_is_refused_before_the_cell(tmp_path):
    attempt = make_attempt(tmp_path, "print('never')", same_minor=("f", "g"), python=(3, 99, 0)).run()
    assert attempt.exit_code == 82
    assert "f, g travels as bytecode of Python 3.99" in attempt.error()[1]
    assert attempt.stdout == ""


def test_a_function_with_bytecode_runs_under_the_same_python(tmp_path):
    k = 4
    attempt = make_attempt(tmp_path, "f(2)", values={"f": lambda n: n * k}, same_minor=("f",)).run()
    assert attempt.outputs[-1]["data"]["text/plain"] == "8"


def test_a_value_that_this_python_cannot_rebuild_is_named(tmp_path):
    attempt = make_attempt(tmp_path, "1", values={"p": statement("a", "b")}, statements=()).run(
        env={**os.environ, "PYTHONPATH": ""},
        python=pythons()[0] if pythons()[0] != sys.executable else "/usr/bin/python3",
    )
    assert "'p' cannot be rebuilt" in attempt.error()[1]


def test_main_is_a_real_module(tmp_path):
    cell = (
        "import sys, pickle, inspect, __main__\n"
        "assert __main__.helper is helper and __name__ == '__main__'\n"
        "assert pickle.loads(pickle.dumps(Point(2))) == Point(2)\n"
        "assert 'return 42' in inspect.getsource(helper)\n"
        "assert not hasattr(__main__, 'Attempt')\n"
        "sys.argv"
    )
    source = "import dataclasses\n@dataclasses.dataclass\nclass Point:\n    x: int\ndef helper():\n    return 42\n"
    attempt = make_attempt(tmp_path, cell, statements=(statement("Point", source, "/nb/c.py"),)).run()
    assert attempt.exit_code == 0, attempt.log
    assert attempt.outputs[-1]["data"]["text/plain"] == "['']"


def test_shipped_modules_win_over_files_beside_the_cell(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "mymod.py").write_text("where = 'beside'")
    (home / "other.py").write_text("where = 'beside'")
    cell = "import os, mymod, other\n(mymod.where, other.where, os.getcwd())"
    attempt = make_attempt(
        tmp_path, cell, modules={"mymod.py": "where = 'shipped'", "pkg/__init__.py": ""}, cwd=home
    ).run()
    assert attempt.outputs[-1]["data"]["text/plain"] == f"('shipped', 'beside', {str(home)!r})"
    assert (attempt.folder / "modules/pkg/__init__.py").is_file()


@pytest.mark.parametrize("cwd", [None, Path("/no/such/folder"), Path("/etc/passwd")])
def test_without_a_usable_folder_the_cell_runs_in_its_own(tmp_path, cwd):
    attempt = make_attempt(tmp_path, "import os; os.getcwd()", cwd=cwd).run()
    assert attempt.outputs[-1]["data"]["text/plain"] == repr(str(attempt.folder / "work"))


def test_a_forked_child_that_is_terminated_is_not_the_cell(tmp_path):
    """A pool ends its workers with SIGTERM; a cell that goes on for long after that was not asked to end."""
    cell = (
        "import os, signal, time\n"
        "children = []\nfor _ in range(3):\n    children.append(os.fork())\n    if children[-1] == 0:\n        break\n"
        "if 0 in children:\n    time.sleep(60)\n    os._exit(0)\n"
        "time.sleep(0.2)\n"
        "for child in children:\n    os.kill(child, signal.SIGTERM)\n"
        "ended = [os.WTERMSIG(os.waitpid(child, 0)[1]) for child in children]\n"
        "time.sleep(7)\nr = ended\n"
    )
    attempt = make_attempt(tmp_path, cell, outputs=("r",)).run()
    assert attempt.exit_code == 0, attempt.log
    assert attempt.value("r") == [15, 15, 15]


def test_a_forked_pool_works_and_its_prints_are_kept_once(tmp_path):
    cell = (
        "import multiprocessing as mp, sys\n"
        "def f(n):\n    print('in', n)\n    sys.stdout.flush()\n    return n * n\n"
        "print('start', end='')\n"
        "with mp.get_context('fork').Pool(2) as pool:\n    r = pool.map(f, range(4))\n"
    )
    attempt = make_attempt(tmp_path, cell, outputs=("r",)).run()
    assert attempt.exit_code == 0, attempt.log
    assert attempt.value("r") == [0, 1, 4, 9]
    assert attempt.stdout.count("start") == 1
    assert all(attempt.stdout.count(f"in {n}") == 1 for n in range(4))
    assert attempt.log.count("in 2") == 1


def test_a_forked_child_ends_at_once_when_it_is_told_to(tmp_path):
    """It computes, and hears of no signal that Python would have to handle."""
    cell = (
        "import os, signal\n"
        "read, write = os.pipe()\n"
        "pid = os.fork()\n"
        "if not pid:\n    os.write(write, b'x')\n    sum(range(10**12))\n    os._exit(0)\n"
        "os.read(read, 1)\n"
        "os.kill(pid, signal.SIGTERM)\n"
        "how = os.WTERMSIG(os.waitpid(pid, 0)[1])\n"
    )
    attempt = make_attempt(tmp_path, cell, outputs=("how",)).run()
    assert attempt.value("how") == 15, attempt.log


def test_a_bare_fork_does_not_end_the_attempt_twice(tmp_path):
    cell = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nout = bool(pid)"
    attempt = make_attempt(tmp_path, cell, outputs=("out",)).run()
    assert attempt.value("out") is True
    assert TOKEN in str(attempt.folder)


def test_odd_text_in_errors_and_previews_is_still_readable_json(tmp_path):
    attempt = make_attempt(
        tmp_path, "x = ['\\ud800', '\\U0001f600\\u2028']\nraise ValueError('\\udc00 \\u2028')", outputs=("x",)
    ).run()
    assert attempt.error() == ("ValueError", "\\udc00 \u2028")
    assert attempt.value("x") == ["\ud800", "\U0001f600\u2028"]
    assert "\U0001f600" in attempt.files[0].preview
