"""Modules beside the notebook travel as files; installed ones are left to the site."""

import sys

import pytest

from jupyter_diamond.cell.local_modules import LocalModules
from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.values import Limits


@pytest.fixture
def beside(notebook):
    def put(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = notebook.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return put


def test_a_module_and_what_it_imports_beside_it_travel(notebook, beside):
    beside({
        "mylib.py": "import json, os, numpy as np\nfrom helper import half\ndef clean(x):\n    import late_helper\n    return late_helper.up(half(x))\n",
        "helper.py": "try:\n    import cupy\nexcept ImportError:\n    cupy = None\ndef half(x): return x / 2\n",
        "late_helper.py": "def up(x): return x + 1\n",
        "unrelated.py": "1 / 0\n",
    })  # fmt: skip
    notebook.run("from mylib import clean")
    taken = notebook.capture("result = clean(4)")
    assert sorted(taken.modules) == ["helper.py", "late_helper.py", "mylib.py"]
    assert taken.spec.requires == ("numpy",)
    assert notebook.run_there("result = clean(4)") == 3
    found = {each.name: each for each in taken.captured}
    assert (found["clean"].travels, found["clean"].detail) == ("import", "from mylib import clean")
    assert (found["mylib"].travels, found["mylib"].bytes, found["mylib"].detail) == (
        "module", len(taken.modules["mylib.py"]), "mylib.py"
    )  # fmt: skip


def test_a_package_travels_whole(notebook, beside):
    beside({
        "pkg/__init__.py": "from .core import run\n",
        "pkg/core.py": "from . import parts\nfrom pathlib import Path\ndef run(): return parts.one() + len(Path(__file__).with_name('words.txt').read_text())\n",
        "pkg/parts.py": "def one(): return 1\n",
        "pkg/sub/__init__.py": "",
        "pkg/sub/by_name.py": "x = 5\n",
        "pkg/words.txt": "abc",
        "pkg/.hidden/x.py": "",
        "pkg/tests/test_x.py": "import hypothesis_of_tests\n",
    })  # fmt: skip
    (notebook.folder / "pkg" / "big.bin").write_bytes(bytes(2 << 20))
    notebook.run("import pkg")
    taken = notebook.capture("result = pkg.run()")
    assert sorted(taken.modules) == [
        "pkg/__init__.py", "pkg/core.py", "pkg/parts.py", "pkg/sub/__init__.py", "pkg/sub/by_name.py",
        "pkg/tests/test_x.py", "pkg/words.txt",
    ]  # fmt: skip
    assert taken.spec.requires == ()
    assert taken.warnings == ("pkg/big.bin (2.1 MB) is no Python and is left out of the package `pkg`.",)
    assert (
        notebook.run_there("import importlib\nresult = pkg.run() + importlib.import_module('pkg.sub.by_name').x") == 9
    )


@pytest.mark.parametrize(
    "cell", ["import mylib\nresult = mylib.v", "from mylib import v as result", "from folder.deep import v as result"]
)
def test_a_module_that_only_the_cell_imports_travels_and_is_not_imported_here(notebook, beside, cell):
    beside({"mylib.py": "v = 8\n", "folder/deep.py": "v = 8\n"})
    assert notebook.run_there(cell) == 8
    assert "mylib" not in sys.modules
    assert "folder" not in sys.modules


def test_a_value_of_a_local_class_brings_its_module(notebook, beside):
    beside({"shapes.py": "class Box:\n    def __init__(self, w):\n        self.w = w\n"})
    notebook.run("import shapes as s\nboxes = [s.Box(3)]\ndel s")
    assert notebook.run_there("result = boxes[0].w") == 3


def test_modules_elsewhere_are_left_to_the_site(notebook, beside, tmp_path):
    beside({".venv/lib/python3/site-packages/installed.py": "x = 1\n"})
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "editable.py").write_text("y = 2\n")
    sys.path.extend([str(notebook.folder / ".venv/lib/python3/site-packages"), str(tmp_path / "src")])
    notebook.run("import installed, editable, json")
    taken = notebook.capture("installed.x, editable.y, json")
    assert taken.modules == {}
    assert taken.spec.requires == ("editable", "installed")


def test_a_data_folder_is_no_module(notebook, beside):
    beside({"torch/weights.txt": "1"})
    assert notebook.capture("import torch").spec.requires == ("torch",)


def test_a_change_on_disk_since_the_import_is_told(notebook, beside):
    beside({"mylib.py": "def clean(x): return 1\n", "same.py": "x = 1\n"})
    notebook.run("import mylib, same")
    assert notebook.capture("mylib, same").warnings == ()
    beside({"mylib.py": "def clean(x): return 2\n"})
    taken = notebook.capture("mylib, same")
    assert taken.warnings == (
        (
            "mylib.py was changed after this kernel imported it; the site gets the file as it is now. "
            "Restart the kernel or reload the module to have the same here."
        ),
    )
    beside({"mylib.py": "def clean(x): return 'three'\n"})
    notebook.run("import importlib\nimportlib.reload(mylib)")
    assert notebook.capture("mylib, same").warnings == ()


def test_a_change_is_seen_without_compiled_files(notebook, beside, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    beside({"mylib.py": "def clean(x): return 1\n"})
    notebook.run("import mylib")
    assert notebook.capture("mylib").warnings == ()
    beside({"mylib.py": "def clean(x): return 22\n"})
    assert len(notebook.capture("mylib").warnings) == 1


def test_compiled_and_unreadable_modules_are_refused(notebook, beside):
    beside({"fast/__init__.py": "", "fast/_core.so": "", "bad.py": "x = = 1\n"})
    taken = notebook.capture("import fast, bad")
    assert "`fast` is beside the notebook and holds compiled code (fast/_core.so)" in taken.refusals[0]
    assert taken.refusals[1] == "bad.py is not Python that can be read; mend it first."


def test_modules_count_towards_the_bundle(notebook, beside):
    beside({"mylib.py": "x = 1\n" + "#" * 9000})
    taken = notebook.capture("import mylib", limits=Limits(bundle_bytes=5000))
    assert taken.refusals == (
        (
            "All that the cell needs takes 9.0 kB, more than the 5.0 kB that may travel. Save large values to files and "
            "read them in the cell, or raise c.DiamondLimits.bundle_bytes."
        ),
    )


def test_a_linked_folder_is_not_followed_out_of_the_package(notebook, beside, tmp_path):
    beside({"pkg/__init__.py": ""})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.py").write_text("")
    (notebook.folder / "pkg" / "link").symlink_to(tmp_path / "elsewhere")
    taken = notebook.capture("import pkg")
    assert sorted(pack(taken).data.count(name) for name in (b"pkg/__init__.py", b"secret.py")) == [0, 1]


def test_standard_modules_need_nothing(tmp_path):
    modules = LocalModules(tmp_path)
    assert modules.need("os.path") is False
    assert modules.requires == set()
