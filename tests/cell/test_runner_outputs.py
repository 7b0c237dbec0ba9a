"""What a cell prints and shows arrives in order, in the log at once and in outputs.jsonl as a notebook keeps it."""

from __future__ import annotations

import base64
import io
import json
import time

import pytest
from matplotlib import image

from .attempts import make_attempt


def until(condition, seconds: float = 20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def run(tmp_path, cell, **how):
    attempt = make_attempt(tmp_path, cell, **how).run()
    assert attempt.exit_code == 0, attempt.log
    return attempt


def kinds(attempt) -> list[str]:
    """Each output in short: o:text, e:text, d:mimes, r:mimes."""
    short = []
    for output in attempt.outputs:
        if output["output_type"] == "stream":
            short.append(f"{output['name'][3]}:{output['text']}")
        else:
            short.append(f"{output['output_type'][0]}:{'+'.join(sorted(output['data']))}")
    return short


def test_the_order_of_all_kinds_of_output_is_kept(tmp_path):
    cell = (
        "import sys, os, subprocess\n"
        "print('a'); print('b')\nprint('c', file=sys.stderr)\nprint('d')\ndisplay(1)\n"
        "subprocess.run(['echo', 'e'])\nprint('f')\nos.system('sleep 0.3; echo g >&2; sleep 0.3')\nos.write(1, b'h\\n')\n"
        "sys.stdout.buffer.write(b'i\\n')\nsys.stdout.flush()\nsubprocess.run(['echo', 'j'], stdout=sys.stdout)\n2"
    )
    attempt = run(tmp_path, cell)
    assert kinds(attempt) == [
        "o:a\nb\n", "e:c\n", "o:d\n", "d:text/plain", "o:e\nf\n", "e:g\n", "o:h\ni\nj\n", "e:text/plain",
    ]  # fmt: skip
    assert attempt.log == "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"


def test_a_line_is_in_the_log_while_the_cell_still_runs_and_soon_in_the_outputs(tmp_path):
    attempt = make_attempt(tmp_path, "import time\nprint('first')\nprint('half', end='')\ntime.sleep(60)")
    process = attempt.start()
    try:
        until(lambda: (attempt.folder / "job.out").read_text().startswith("first\n"))
        until(lambda: (attempt.folder / "job.out").read_text() == "first\nhalf")
        until(lambda: "half" in (attempt.folder / "outputs.jsonl").read_text())
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(20)


def test_text_that_came_in_pieces_is_one_output_at_the_end(tmp_path):
    cell = "import time\nfor n in range(4):\n    print(n)\n    time.sleep(0.4)"
    assert kinds(run(tmp_path, cell)) == ["o:0\n1\n2\n3\n"]


def test_carriage_returns_colours_and_odd_bytes_are_kept(tmp_path):
    cell = "import os\nprint('10%\\r20%\\r\\x1b[31mred\\x1b[0m é \\ud800')\nos.write(1, b'\\xff\\xc3')\nos.write(1, b'\\xa9\\n')"
    attempt = run(tmp_path, cell)
    assert attempt.stdout == "10%\r20%\r\x1b[31mred\x1b[0m é \\ud800\n\\xffé\n"
    assert b"\\ud800" in (attempt.folder / "job.out").read_bytes()


def test_logging_and_warnings_go_to_stderr(tmp_path):
    cell = "import logging, warnings\nlogging.basicConfig()\nlogging.warning('careful')\nwarnings.warn('odd')"
    attempt = run(tmp_path, cell)
    ((name, text),) = attempt.streams
    assert name == "stderr"
    assert text.startswith("WARNING:root:careful\n<cell>:4: UserWarning: odd\n")
    assert "warnings.warn('odd')" in text


def test_outputs_are_bounded_and_the_log_is_not(tmp_path):
    cell = "line = 'x' * 999\nfor n in range(12_000):\n    print(line)\ndisplay('y')\n1 / 0"
    attempt = make_attempt(tmp_path, cell).run()
    assert attempt.manifest.outputs_truncated
    size = (attempt.folder / "outputs.jsonl").stat().st_size
    assert size == attempt.manifest.outputs_bytes
    assert 9_000_000 < size < 10_100_000
    assert "cut here, at 10 MB" in attempt.streams[-1][1]
    assert attempt.outputs[-1]["ename"] == "ZeroDivisionError"
    assert len(attempt.log) > 12_000_000


REPRS = """
class Rich:
    def _repr_html_(self): return '<b>é</b>'
    def _repr_png_(self): return b'\\x89PNG'
    def _repr_svg_(self): return None
    def _repr_latex_(self): return '$x$', {'k': 1}
    def _repr_json_(self): return {'n': float('nan'), 'l': [1]}
    def _repr_markdown_(self): raise ValueError('broken')
    def _repr_jpeg_(self): raise NotImplementedError
    def __repr__(self): return 'rich'
class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None): return {'application/x-y': {'a': 1}, 'image/png': b'p'}, {'m': 1}
    def _repr_html_(self): return 'too'
class Itself:
    def _ipython_display_(self): print('myself')
class Anything:
    def __getattr__(self, name): return lambda *a, **k: 'no'
    def __repr__(self): return 'anything'
class Broken:
    def __repr__(self): raise ValueError('r')
display(Rich(), Bundle(), Itself(), Anything(), Broken(), Rich)
"""


def test_rich_values_show_in_every_form_they_have(tmp_path):
    attempt = run(tmp_path, REPRS)
    rich, bundle, anything, broken, cls = [o for o in attempt.outputs if o["output_type"] == "display_data"]
    assert rich["data"] == {
        "text/plain": "rich", "text/html": "<b>é</b>", "image/png": base64.b64encode(b"\x89PNG").decode(),
        "text/latex": "$x$", "application/json": {"n": None, "l": [1]},
    }  # fmt: skip
    assert rich["metadata"] == {"text/latex": {"k": 1}}
    assert bundle["data"].keys() == {"application/x-y", "image/png", "text/html", "text/plain"}
    assert bundle["metadata"] == {"m": 1}
    assert anything["data"] == {"text/plain": "anything"}
    assert broken["data"]["text/plain"] == "<Broken: its repr failed: ValueError: r>"
    assert cls["data"] == {"text/plain": "<class '__main__.Rich'>"}
    assert attempt.stdout == "myself\n"
    assert ("stderr", "Rich._repr_markdown_ failed: ValueError: broken\n") in attempt.streams


def test_a_table_shows_as_html(tmp_path):
    attempt = run(tmp_path, "import pandas as pd\npd.DataFrame({'a': [1]})")
    assert "<table" in attempt.outputs[0]["data"]["text/html"]


def test_ipythons_display_functions_show_here_and_ipython_is_not_imported_by_itself(tmp_path):
    cell = (
        "import sys\nassert 'IPython' not in sys.modules\n"
        "from IPython.display import display as show, HTML, Markdown, Image, clear_output, update_display\n"
        "show(HTML('<i>x</i>'))\nMarkdown('# t')"
    )
    attempt = run(tmp_path, cell)
    assert kinds(attempt) == ["d:text/html+text/plain", "e:text/markdown+text/plain"]


def test_updated_and_cleared_displays_end_up_as_the_notebook_would_show_them(tmp_path):
    cell = (
        "from IPython.display import clear_output\nprint('gone')\nclear_output()\n"
        "h = display(1, display_id=True)\nprint('a')\nh.update(2)\nprint('b')\nh.update(3)"
    )
    attempt = run(tmp_path, cell)
    assert [o.get("text") or o["data"]["text/plain"] for o in attempt.outputs] == ["3", "a\nb\n"]
    assert not any("transient" in o for o in attempt.outputs)


def png_size(output) -> tuple[int, int]:
    picture = image.imread(io.BytesIO(base64.b64decode(output["data"]["image/png"])))
    return picture.shape[1], picture.shape[0]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("plt.plot([1, 2]);\nprint('after')", ["o:after\n", "d:image/png+text/plain"]),
        ("fig = plt.figure()\nplt.show()\nprint('after')", ["d:image/png+text/plain", "o:after\n"]),
        ("fig, ax = plt.subplots()\nfig", ["e:image/png+text/plain"]),
        ("fig, ax = plt.subplots()\ndisplay(fig)\nprint('x')", ["d:image/png+text/plain", "o:x\n"]),
        ("fig = plt.figure()\nplt.close(fig)", []),
        ("from matplotlib.figure import Figure\nFigure()", ["e:image/png+text/plain"]),
        ("plt.figure(1); plt.figure(2)\nNone", ["d:image/png+text/plain"] * 2),
        ("from pylab import *\nplot([1])\nshow()\nprint('x')", ["d:image/png+text/plain", "o:x\n"]),
    ],
)
def test_figures_show_once_in_their_place(tmp_path, cell, expected):
    attempt = run(tmp_path, "import matplotlib.pyplot as plt\n" + cell)
    assert kinds(attempt) == expected
    for output in attempt.outputs:
        if "data" in output:
            width, height = png_size(output)
            assert width > 10
            assert height > 10


def test_figures_are_cropped_as_by_the_inline_backend(tmp_path):
    attempt = run(
        tmp_path, "import matplotlib.pyplot as plt\nfig = plt.figure(figsize=(6, 6))\nfig.text(0.5, 0.5, 'x');"
    )
    width, height = png_size(attempt.outputs[0])
    assert width < 100
    assert height < 100


def test_figures_show_even_when_the_cell_fails_and_the_error_comes_last(tmp_path):
    attempt = make_attempt(tmp_path, "import matplotlib.pyplot as plt\nplt.plot([1])\n1 / 0").run()
    assert [o["output_type"] for o in attempt.outputs] == ["display_data", "error"]


def test_a_figure_that_cannot_be_drawn_does_not_fail_the_cell(tmp_path):
    attempt = run(tmp_path, "import matplotlib.pyplot as plt\nplt.title('$\\\\frac{$')\nout = 1", outputs=("out",))
    assert attempt.value("out") == 1
    assert "ValueError" in attempt.log


def test_matplotlib_is_not_imported_for_a_cell_without_figures(tmp_path):
    attempt = run(tmp_path, "import sys\nsorted({'matplotlib', 'numpy', 'IPython', 'asyncio'} & set(sys.modules))")
    assert attempt.outputs[0]["data"]["text/plain"] == "[]"


def test_many_prints_are_not_slow(tmp_path):
    attempt = run(tmp_path, "for n in range(100_000): print(n)")
    assert attempt.stdout.endswith("99999\n")
    assert attempt.stdout.count("\n") == 100_000
    assert attempt.manifest.ended_at - attempt.manifest.started_at < 15
    assert len(json.dumps(attempt.outputs)) < 1_000_000


def test_a_program_left_behind_does_not_hold_up_the_end(tmp_path):
    cell = "import subprocess\np = subprocess.Popen(['sleep', '600'])\nprint('done')\npid = p.pid"
    attempt = make_attempt(tmp_path, cell, outputs=("pid",))
    began = time.monotonic()
    attempt.run()
    try:
        assert attempt.exit_code == 0
        assert attempt.stdout == "done\n"
        assert time.monotonic() - began < 20
    finally:
        import os

        os.kill(attempt.value("pid"), 15)
