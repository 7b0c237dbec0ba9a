"""What travels with a cell and how, taken from a real IPython shell."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_diamond.cell.pack import pack

from .notebook_shell import make_limits


def ways(taken) -> dict[str, str]:
    return {each.name: each.travels for each in taken.captured}


@pytest.mark.parametrize(
    ("before", "show", "expected"),
    [
        ("import numpy as np", "int(np.arange(3).sum())", 3),
        ("import xml\nimport xml.etree.ElementTree", "xml.etree.ElementTree.fromstring('<a/>').tag", "a"),
        ("import xml as x, xml.etree.ElementTree", "x.etree.ElementTree.fromstring('<a/>').tag", "a"),
        ("import xml.etree.ElementTree as ET", "ET.fromstring('<a/>').tag", "a"),
        ("import os.path\nfrom os import path", "path.join('a', os.path.basename('b/c'))", "a/c"),
        ("from pandas import DataFrame as DF", "DF({'a': [1]}).a.tolist()", [1]),
        ("import pandas as pd\nd = pd.DataFrame({'a': [1.5], 'b': ['x']})", "[d.a[0], d.b[0]]", [1.5, "x"]),
        ("from collections import OrderedDict, defaultdict\nd = defaultdict(list, a=[1])", "[d['a'], d['b'], len(OrderedDict())]", [[1], [], 0]),
        ("from math import pi, sqrt\nfrom datetime import datetime\nnow = datetime(2030, 1, 2)", "[round(pi, 2), sqrt(4), now.year, datetime(1, 1, 1).day]", [3.14, 2.0, 2030, 1]),
        ("import re\nword = re.compile('a+')", "word.match('aab').group()", "aa"),
        ("t = (1, {'k': {2, 3}}, None, 1j, b'x')", "[t[0], sorted(t[1]['k']), t[2], t[3].imag, len(t[4])]", [1, [2, 3], None, 1.0, 1]),
        ("sum = 7\nlist_ = list", "[sum, list_('ab')]", [7, ["a", "b"]]),
        ("from operator import itemgetter\nfirst = itemgetter(0)\nupper = 'x'.upper", "[first('ab'), upper()]", ["a", "X"]),
        ("import logging\nlog = logging.getLogger('mine')", "log.name", "mine"),
        ("import numpy as np\nfrom numpy.random import rand\nfrom numpy import sin, float64", "(np.random.seed(0), round(float(rand()), 4), float(sin(float64(0))))[1:]", [0.5488, 0.0]),
        ("import random as r\nfrom random import random", "(r.seed(1), round(random(), 4))[1]", 0.1344),
        ("größe = 3", "größe", 3),
    ],
)  # fmt: skip
def test_names_mean_the_same_in_another_process(notebook, before, show, expected):
    notebook.run(before)
    assert notebook.run_there(f"result = {show}") == expected


def test_only_what_is_used_travels(notebook):
    notebook.run("import numpy as np\na = 1\nb = 2\ndef f(): return b")
    assert ways(notebook.capture("c = a + f()")) == {"a": "value", "b": "value", "f": "source"}


def test_a_name_that_the_cell_binds_first_stays_behind(notebook):
    notebook.run("data = list(range(10)); lock = __import__('threading').Lock()\ndef use(): return len(data)")
    assert ways(notebook.capture("data = [1]\nlock = None\nprint(data, lock)")) == {}
    assert ways(notebook.capture("data = [1]\nprint(use())")) == {"use": "source"}
    assert ways(notebook.capture("print(use())\ndata = [1]")) == {"use": "source", "data": "value"}
    assert ways(notebook.capture("if 0:\n    data = [1]\nprint(data)")) == {"data": "value"}


def test_lists_type_size_and_way_of_each_name(notebook):
    notebook.run("import numpy as np\nx = np.zeros((1000, 3))\nrows = [1, 2]\ndef f(): return 1")
    found = {each.name: each for each in notebook.capture("f(); x; rows; np.pi").captured}
    assert (found["x"].type, found["x"].bytes, found["x"].detail) == ("ndarray", 24128, "(1000, 3) float64")
    assert (found["rows"].type, found["rows"].travels, found["rows"].detail) == ("list", "value", "2 items")
    assert (found["f"].type, found["f"].travels, found["f"].detail) == ("function", "source", "In[1]")
    assert (found["np"].type, found["np"].bytes, found["np"].detail) == ("module", None, "import numpy as np")


@pytest.mark.parametrize(
    ("cell", "requires"),
    [
        ("np.pi", ("numpy",)),
        ("import torch, os.path", ("torch",)),
        ("from sklearn.svm import SVC", ("sklearn",)),
        ("try:\n    import cupy\nexcept ImportError:\n    cupy = None", ()),
        ("train()", ("xgboost",)),
        ("x", ("numpy",)),
        ("table", ("pandas", "pyarrow")),
    ],
)
def test_modules_that_the_site_must_have(notebook, cell, requires):
    notebook.run(
        "import numpy as np, pandas as pd\nx = np.zeros(2)\ntable = pd.DataFrame({'a': [1]})\ndef train():\n    import xgboost"
    )
    assert notebook.capture(cell).spec.requires == requires


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("scroes + 1", "`scroes` is used by the cell but not defined in this notebook (did you mean `scores`?)."),
        ("qqq", "`qqq` is used by the cell but not defined in this notebook."),
        ("print(late)\nlate = 1", "`late` is used before the cell assigns it, and is not defined in this notebook."),
        ("broken()", "`nowhere` is used by `broken` but not defined in this notebook."),
        ("get_ipython().user_ns", "`get_ipython` belongs to this kernel and is not there at a site. Leave it out."),
        ("Out[1]", "`Out` holds this kernel's outputs. Give what you need a name first, e.g. in a cell before."),
        ("In", "`In` holds this kernel's inputs. Give what you need a name first, e.g. in a cell before."),
        ("x = _ + 1", "`_` is the last output of this kernel. Give it a name first, in a cell before."),
        ("x = _3", "`_3` is an output of this kernel. Give it a name first, in a cell before."),
        ("exit()", "`exit` ends this kernel. Raise SystemExit in the cell instead."),
        ("from numpy import *", "`from numpy import *` hides which names the cell uses. Import the module, or the names that you need."),
        ("from .x import y", "`from .x import …` in the cell needs a package around it. Write the package's name."),
        ("made.x", "`made` is the module made, which no import at a site would find."),
        ("x = = 1", "The cell has a syntax error on line 1: invalid syntax.\n    x = = 1\n        ^"),
        ("!ls", "!ls on line 1 is a shell command of this kernel. Submit it with --lang bash, or use subprocess.run."),
    ],
)  # fmt: skip
def test_what_cannot_be_found_is_refused_with_one_sentence(notebook, cell, sentence):
    notebook.run("scores = [1]\ndef broken(): return nowhere\nimport types\nmade = types.ModuleType('made')")
    notebook.run("'an output'")
    notebook.run("'another output'")
    assert notebook.capture(cell).refusals == (sentence,)


@pytest.mark.parametrize(
    "cell",
    [
        "display(1)",
        "for _ in range(3): pass",
        "try:\n    cache\nexcept NameError:\n    cache = {}",
        "In = [1]\nprint(In)",
        "print(__name__, open, len)",
        "def unused(): return later_defined",
        "if False:\n    x = 1\nprint(x)",
        "def f(n: 'Unknown') -> 'Nothing': ...",
    ],
)
def test_what_the_runner_or_the_cell_provides_is_not_refused(notebook, cell):
    notebook.run("'an output'")
    taken = notebook.capture(cell)
    assert taken.refusals == ()
    assert taken.captured == ()


def test_a_function_may_read_what_only_the_cell_binds(notebook):
    notebook.run("def f():\n    return rate * 2")
    assert notebook.run_there("rate = 2\nresult = f()") == 4


def test_inputs_are_checked_and_added(notebook):
    notebook.run("x = 1\ny = 2\ntable = 3")
    assert ways(notebook.capture("print(x)", inputs=["y"])) == {"x": "value", "y": "value"}
    assert notebook.capture("1", inputs=["tabel"]).refusals == (
        "--in names `tabel`, but there is no such variable in this notebook (did you mean `table`?).",
    )


def test_outputs_must_be_assigned_or_be_a_value_that_the_cell_was_given(notebook):
    notebook.run("model = {'w': 0}\nimport math")
    assert notebook.capture("scores = 1", outputs=["score"]).refusals == (
        (
            "--out names `score`, but the cell never assigns it (did you mean `scores`?). "
            "Assign it in the cell, or leave it out of --out."
        ),
    )
    for cell, name in [
        ("if model: scores = 1", "scores"), ("model['w'] = 1", "model"), ("def f(): pass", "f"),
        ("with open('x') as fh: pass", "fh"), ("[y := i for i in [1]]", "y"),
        ("def f():\n    global total\n    total = 1\nf()", "total"),
    ]:  # fmt: skip
        assert notebook.capture(cell, outputs=[name]).refusals == (), cell
    assert len(notebook.capture("math.pi", outputs=["math"]).refusals) == 1


def test_calls_that_see_any_name_are_told(notebook):
    assert notebook.capture("eval('q')").warnings == (
        "the cell uses eval, which may read names that cannot be seen; add them with --in.",
    )


def test_a_magic_that_is_left_out_is_told(notebook):
    taken = notebook.capture("%matplotlib inline\nx = 1")
    assert taken.spec.cell == "pass  # %matplotlib inline\nx = 1\n"
    assert taken.warnings == ("%matplotlib on line 1 has no effect at a site and is left out.",)


def test_an_object_whose_own_code_fails_is_refused_by_name(notebook):
    notebook.run("class Proxy:\n    __dict__ = property(lambda self: 1 / 0)\np = Proxy()")
    (refusal,) = notebook.capture("p").refusals
    assert refusal.startswith("`p` ")
    assert "ZeroDivisionError: division by zero" in refusal


# --- bash ---------------------------------------------------------------------------------------------------------


def test_a_bash_cell_gets_simple_values_as_environment_variables(notebook):
    notebook.run(
        "from pathlib import Path\ntext = '''it's $HOME\n\"two\" \\\\ lines'''\nn = 3\np = Path('/a b')\nsecret = 1"
    )
    cell = 'set -u\necho "$text|$n|$p|${secret:-none}"\nno_such_command_here\n'
    taken = notebook.capture(cell, language="bash", inputs=["text", "n", "p"])
    assert taken.refusals == ()
    done = subprocess.run(
        ["bash", "-s"], input=taken.spec.cell, capture_output=True, text=True, timeout=20, check=False
    )
    assert done.stdout == 'it\'s $HOME\n"two" \\ lines|3|/a b|none\n'
    assert "line 3: no_such_command_here" in done.stderr
    assert {each.detail for each in taken.captured} == {"an environment variable"}


def test_a_bash_cell_refuses_other_values_and_outputs(notebook):
    notebook.run("rows = [1]")
    taken = notebook.capture("echo", language="bash", inputs=["rows", "gone"], outputs=["x"])
    assert taken.refusals == (
        "--in names `gone`, but there is no such variable in this notebook.",
        "A bash cell returns no variables; write files, and leave --out away.",
        "`rows` is a list, and a bash cell takes text, numbers and paths only. Write it to a file, and give the file's path.",
    )


# --- limits -------------------------------------------------------------------------------------------------------


def test_a_gigabyte_is_refused_at_once_and_not_copied(notebook):
    import resource

    notebook.run("import numpy as np\nmodel = np.zeros(1_400_000_000, 'u1')\nholder = {'deep': [model]}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    taken = notebook.capture("model, holder")
    took = time.perf_counter() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    advice = "Save it to a file and read the file in the cell, or raise c.DiamondLimits.value_bytes."
    assert taken.refusals == (
        f"`holder` is 1.4 GB and would travel by value. {advice}",
        f"`model` is 1.4 GB and would travel by value. {advice}",
    )
    assert grown < 50_000  # kB
    assert took < 5  # generous on a busy machine; a copy alone would show in ``grown``


@pytest.mark.parametrize("make", ["b'x' * 40_000_000", "'x' * 40_000_000", "list(range(20_000_000))", "pd.DataFrame({'a': range(5_000_000)})", "Holder(bytearray(40_000_000))"])  # fmt: skip
def test_all_kinds_of_large_values_are_refused(notebook, make):
    notebook.run("import pandas as pd\nclass Holder:\n    def __init__(self, d):\n        self.d = d")
    notebook.run(f"big = {make}")
    (refusal,) = notebook.capture("big").refusals
    assert refusal.startswith("`big` is ")
    assert refusal.endswith("or raise c.DiamondLimits.value_bytes.")


def test_the_sum_of_all_values_has_a_limit_too(notebook):
    notebook.run("a = bytes(3000); b = bytes(3000); c = bytes(3000)")
    taken = notebook.capture("a, b, c", limits=make_limits(value_bytes=5000, bundle_bytes=8000))
    (refusal,) = taken.refusals
    assert refusal == (
        "`c` is 3.0 kB and would travel by value, but with what travels already that is more than 8.0 kB. "
        "Save it to a file and read the file in the cell, or raise c.DiamondLimits.bundle_bytes."
    )


def test_a_global_inside_bytecode_counts(notebook):
    notebook.run("import numpy as np\ndata = np.zeros(50_000_000, 'u1')\nfs = [lambda: len(data)]")
    assert "`fs` is more than 34 MB" in notebook.capture("fs").refusals[0]


# --- in a real kernel ---------------------------------------------------------------------------------------------


def test_source_is_found_in_a_real_kernel(tmp_path):
    from jupyter_client.manager import KernelManager

    from tests.notebook.live_kernel import sockets

    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root, "IPYTHONDIR": str(tmp_path / "ipython")}
    manager = KernelManager(kernel_name="python3", **sockets())
    manager.start_kernel(cwd=str(tmp_path), env=env)
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        run = lambda code: client.execute_interactive(code, timeout=60, output_hook=outputs.append)  # noqa: E731
        outputs: list = []
        run("from dataclasses import dataclass\nk = 3")
        run("@dataclass\nclass P:\n    x: int\ndef f(p):\n    return p.x * k\nlam = lambda: 1")
        run(
            "from pathlib import Path\n"
            "from jupyter_diamond.cell.capture import capture\n"
            "from jupyter_diamond.cell.history import IPythonHistory\n"
            "from jupyter_diamond.model.views import Limits\n"
            "taken = capture('f(P(1)); lam()', get_ipython().user_ns, name='t', folder=Path.cwd(),\n"
            "                history=IPythonHistory(get_ipython()), limits=Limits(value_bytes=9999, bundle_bytes=9999, inline_result_bytes=0))\n"
            "print(sorted((c.name, c.travels, c.detail) for c in taken.captured), taken.refusals)"
        )
        text = "".join(message["content"].get("text", "") for message in outputs if message["msg_type"] == "stream")
        errors = [message["content"] for message in outputs if message["msg_type"] == "error"]
        assert errors == []
        assert (
            text.strip()
            == str(
                [
                    ("P", "source", "In[2], decorated"),
                    ("dataclass", "import", "from dataclasses import dataclass"),
                    ("f", "source", "In[2]"),
                    ("k", "value", ""),
                    ("lam", "source", "In[2]"),
                ]
            )
            + " ()"
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_taking_a_typical_cell_does_not_disturb_the_kernel(notebook):
    notebook.run("import numpy as np\nx = np.arange(100.0)\ndef f(a): return a.sum()")
    before, modules = dict(notebook.shell.user_ns), set(sys.modules)
    pack(notebook.capture("r = f(x)", outputs=["r"]))
    assert notebook.shell.user_ns.keys() == before.keys()
    assert not {
        name for name in set(sys.modules) - modules if not name.startswith(("jupyter_diamond", "cloudpickle", "numpy"))
    }
