"""B25: functions and values born in a notebook. Before anything is queued, each name is listed with type, size and way."""

import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.preflight import preflight
from jupyter_diamond.errors import CaptureRefused
from tests.cell.notebook_shell import Notebook, notebook_in

MYLIB = "def clean(x):\n    return x * 2\n"
BEFORE = """\
import threading
import numpy as np
data = np.zeros(50_000_000, "u1"); lock = threading.Lock(); fh = open("notes.txt")
rows = (i for i in range(3))
from mylib import clean          # ./mylib.py beside the notebook
def step(x): return clean(x) + len(data)
"""


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "notebook"
    with notebook_in(folder) as made:
        (folder / "mylib.py").write_text(MYLIB)
        (folder / "notes.txt").write_text("private")
        monkeypatch.chdir(folder)
        made.run(BEFORE)
        yield made
        made.shell.user_ns["fh"].close()


def test_a_large_global_of_a_function_does_not_ride_along_unseen(notebook: Notebook):
    with pytest.raises(CaptureRefused) as caught:
        preflight(notebook.capture("result = step(1)"))
    assert str(caught.value) == (
        "`data` is 50 MB and would travel by value. Save it to a file and read the file in the cell, "
        "or raise c.DiamondLimits.value_bytes."
    )


def test_each_name_is_listed_with_type_size_and_way(notebook: Notebook):
    notebook.run("data = data[:1000].copy()")
    taken = notebook.capture("result = step(1); lock; fh; rows")
    assert [(each.name, each.type, each.travels, each.bytes) for each in taken.captured] == [
        ("clean", "function", "import", None),
        ("data", "ndarray", "value", 1128),
        ("fh", "TextIOWrapper", "refused", None),
        ("lock", "lock", "refused", None),
        ("mylib", "module", "module", len(MYLIB)),
        ("rows", "generator", "refused", None),
        ("step", "function", "source", 41),
    ]


def test_a_lock_a_generator_and_an_open_file_are_refused_before_queueing(notebook: Notebook):
    with pytest.raises(CaptureRefused) as caught:
        preflight(notebook.capture("lock; fh; rows"))
    assert str(caught.value).splitlines() == [
        "The cell cannot travel to a site, for 3 reasons:",
        "- `fh` is an open file (notes.txt); open it in the cell instead (_io.TextIOWrapper).",
        "- `lock` is a lock; make it in the cell instead (_thread.lock).",
        (
            "- `rows` is a generator or coroutine, which lives in this kernel; turn it into a list first, or make it in the "
            "cell (generator)."
        ),
    ]


def test_no_bytes_of_an_open_file_are_copied(notebook: Notebook):
    notebook.run("holder = {'log': [fh]}\nuse = lambda: fh.read()")
    for cell in ("holder", "use()", "[use]"):
        taken = notebook.capture(cell)
        assert taken.refusals
        assert not any(b"private" in data for data in taken.values.values())


def test_a_local_module_is_there_on_the_other_side(notebook: Notebook):
    notebook.run("data = data[:10].copy()")
    assert notebook.run_there("result = step(1)") == 12


def test_nothing_born_in_the_notebook_travels_as_bytecode(notebook: Notebook):
    """globus-compute#2139: bytecode of 3.13 kills a 3.12 worker. Source does not; what is bytecode says so."""
    notebook.run("data = data[:10].copy()\nclass Model:\n    def fit(self):\n        return step(1)\nmodel = Model()")
    taken = notebook.capture("result = model.fit()")
    assert taken.spec.same_minor == ()
    code = notebook.shell.user_ns["step"].__code__.co_code
    assert code not in pack(taken).data
    notebook.run("def make():\n    def inner():\n        return 1\n    return inner\nborn = make()")
    assert notebook.capture("born()").spec.same_minor == ("born",)


def test_the_captured_source_compiles_under_another_minor_version(notebook: Notebook):
    """Every Python that is installed here reads the prelude; the kernel's own always does."""
    notebook.run("data = data[:10].copy()")
    statements = [item.source for item in notebook.capture("step(1)").spec.prelude if item.kind == "statement"]
    for python in {sys.executable, *map(str, Path("/usr/bin").glob("python3.[0-9]*[0-9]"))}:
        subprocess.run([python, "-c", "import sys; compile(sys.argv[1], 'x', 'exec')", "".join(statements)], check=True)


def test_attributes_of_main_are_found_again(notebook: Notebook):
    """joblib#659 and pywren#84: "can't get attribute on __main__"."""
    notebook.run("class Point:\n    def __init__(self, x):\n        self.x = x\npoints = {'a': [Point(1), Point(2)]}")
    assert notebook.run_there("result = sum(p.x for p in points['a'])") == 3
