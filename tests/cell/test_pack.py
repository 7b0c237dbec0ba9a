"""The bundle is the same for the same inputs, and says all that the runner needs."""

import hashlib
import io
import json
import tarfile

from jupyter_diamond.cell.capture import Capture, capture
from jupyter_diamond.cell.history import TextHistory
from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.spec import Spec
from jupyter_diamond.cell.values import Limits

from .notebook_shell import notebook_in

CELLS = [
    "import numpy as np\nx = np.arange(5)\nrows = {'a': [1, 'b']}",
    "def f(v):\n    return v.sum()",
    "class A:\n    n = 1\na = A()",
]


def taken_in(folder, *, cells=CELLS, cell="r = f(x), rows, a") -> Capture:
    with notebook_in(folder) as notebook:
        (folder / "mylib.py").write_text("y = 1\n")
        for each in cells:
            notebook.run(each)
        return notebook.capture(cell + "\nimport mylib", outputs=["r"])


def test_equal_inputs_give_equal_bytes(tmp_path):
    first, second = pack(taken_in(tmp_path / "a")), pack(taken_in(tmp_path / "b"))
    assert first == second
    assert first.sha256 == hashlib.sha256(first.data).hexdigest()


def test_the_digest_does_not_count_where_a_definition_stood(tmp_path):
    first = pack(taken_in(tmp_path / "a"))
    second = pack(taken_in(tmp_path / "b", cells=["pass", *CELLS[:1], "\n\n" + CELLS[1], CELLS[2]]))
    assert first.data != second.data
    assert first.digest == second.digest


def test_the_digest_counts_everything_that_would_run(tmp_path):
    digests = {pack(taken_in(tmp_path / "same")).digest}
    for number, (cells, cell) in enumerate([
        ([CELLS[0].replace("5", "6"), *CELLS[1:]], "r = f(x), rows, a"),
        ([CELLS[0], CELLS[1].replace("sum", "max"), CELLS[2]], "r = f(x), rows, a"),
        ([*CELLS[:2], CELLS[2].replace("1", "2")], "r = f(x), rows, a"),
        (CELLS, "r = f(x), rows, a, 1"),
    ]):  # fmt: skip
        digests.add(pack(taken_in(tmp_path / str(number), cells=cells, cell=cell)).digest)
    assert len(digests) == 5


def test_the_tar_holds_spec_values_and_modules(tmp_path):
    bundle = pack(taken_in(tmp_path / "a"))
    with tarfile.open(fileobj=io.BytesIO(bundle.data)) as tar:
        members = {member.name: member for member in tar.getmembers()}
        assert set(members) == {"spec.json", "modules/mylib.py", "values/a.pickle", "values/rows.json", "values/x.npy"}
        assert {(m.mtime, m.uid, m.uname, m.mode) for m in members.values()} == {(0, 0, "", 0o600)}
        spec = Spec.model_validate(json.load(tar.extractfile("spec.json")))
        for item in spec.prelude:
            if item.kind == "value":
                data = tar.extractfile(f"values/{item.file}").read()
                assert (len(data), hashlib.sha256(data).hexdigest()) == (item.bytes, item.sha256)
    assert spec.outputs == ("r",)
    names = [item.name for item in spec.prelude]
    assert names.index("A") < names.index("a")


def test_works_outside_a_notebook_with_a_given_history(tmp_path):
    text = "def f():\n    return 1\n"
    space = {"__name__": "__main__"}
    exec(compile(text, "cell-1", "exec"), space)
    taken = capture("f()", space, name="t", folder=tmp_path, history=TextHistory([("cell-1", text)]), limits=Limits())
    assert [(each.name, each.travels) for each in taken.captured] == [("f", "source")]
