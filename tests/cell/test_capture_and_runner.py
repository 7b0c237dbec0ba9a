"""What capture packs, the real runner runs: the two halves of the cell room together."""

import hashlib
from pathlib import Path

import pytest

from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.runner import SOURCE

from .attempts import KEY, TOKEN, Attempt
from .notebook_shell import Notebook


@pytest.fixture
def send(notebook: Notebook, tmp_path: Path):
    """Capture a cell and run it as a job would."""

    def go(cell: str, **more) -> Attempt:
        taken = notebook.capture(cell, **more)
        assert taken.refusals == ()
        folder = tmp_path / "attempts" / TOKEN
        folder.mkdir(parents=True)
        folder.chmod(0o700)
        bundle = pack(taken)
        (folder / "bundle.tar").write_bytes(bundle.data)
        (folder / "runner.py").write_bytes(SOURCE.read_bytes())
        (folder / "key").write_text(KEY)
        return Attempt(folder, hashlib.sha256(bundle.data).hexdigest()).run()

    return go


def test_a_cell_that_trains_a_model_of_the_notebooks_own_class(notebook, send):
    (notebook.folder / "mylib.py").write_text("import numpy as np\ndef clean(x):\n    return np.asarray(x) * 2.0\n")
    notebook.run("from mylib import clean\nfrom dataclasses import dataclass\nimport numpy as np")
    notebook.run("@dataclass\nclass Model:\n    w: float\n    def predict(self, x):\n        return clean(x) * self.w")
    notebook.run("def train(x, y):\n    return Model(float(np.sum(y)))\nx = np.arange(4.0); y = [1, 2]")
    attempt = send("model = train(x, y)\nscores = model.predict(x)\nprint('done')", outputs=["model", "scores"])
    assert attempt.exit_code == 0, attempt.log
    assert attempt.stdout == "done\n"
    assert attempt.value("scores").tolist() == [0.0, 6.0, 12.0, 18.0]
    model = attempt.value("model")
    assert type(model) is notebook.shell.user_ns["Model"]
    assert model.w == 3.0


def test_a_traceback_shows_the_users_own_lines(notebook, send):
    notebook.run("limit = 3\n\ndef check(x):\n    if x > limit:\n        raise ValueError('too much')\n")
    attempt = send("y = 4\ncheck(y)")
    text = "".join(line + "\n" for line in attempt.manifest.error.traceback)
    assert "File \"In[1]\", line 5, in check\n    raise ValueError('too much')" in text
    assert 'File "cell fit", line 2, in <module>\n    check(y)' in text


@pytest.mark.parametrize(
    ("before", "cell", "expected"),
    [
        ("import asyncio", "await asyncio.sleep(0)\nr = [i async for i in gen()] if False else 5", 5),
        ("async def gen():\n    yield 1", "r = [i async for i in gen()]", [1]),
        ("def make(n):\n    return lambda x: x + n\nadd = make(2)", "r = add(1)", 3),
        ("from __future__ import annotations\nclass N:\n    def me(self) -> N:\n        return self", "r = type(N().me()).__name__", "N"),
        ("import numpy as np\nt = (np.float64(1.5), {'a': np.arange(2)})", "r = [t[0], t[1]['a'].sum()]", [1.5, 1]),
        ("import pandas as pd\nd = pd.DataFrame({'a': [1, 2]})", "r = int(d.a.sum())", 3),
    ],
)  # fmt: skip
def test_all_ways_to_travel_arrive(notebook, send, before, cell, expected):
    notebook.run(before)
    if "gen()" in cell and "def gen" not in before:
        notebook.run("async def gen():\n    yield 1")
    attempt = send(cell, outputs=["r"])
    assert attempt.exit_code == 0, attempt.log
    assert attempt.value("r") == expected


def test_a_bash_cell_gets_its_inputs(notebook, send):
    notebook.run('where = "it\'s\\nhere"\nn = 2')
    attempt = send('echo "$where $n"', language="bash", inputs=["where", "n"])
    assert attempt.exit_code == 0, attempt.log
    assert attempt.stdout == "it's\nhere 2\n"


def test_a_module_that_the_site_lacks_is_named_before_the_cell_starts(notebook, send):
    attempt = send("print('started')\nimport surely_not_installed_anywhere")
    assert attempt.exit_code == 85
    assert "surely_not_installed_anywhere" in attempt.error()[1]
    assert attempt.stdout == ""
