"""A cell's text becomes plain Python without a line moving, or a sentence says why not."""

import ast

import pytest

from jupyter_diamond.cell.text import bash_text, python_text


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
        ("x = 1\ry = 2", "x = 1\ny = 2\n"),
        ("\ufeffx = 1", "x = 1\n"),
        ("  x = 1\n  y = 2", "x = 1\ny = 2\n"),
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1\n"),
        ("%%time\nx = 1", "pass  # %%time\nx = 1\n"),
        ("\n%%time\nx = 1", "\npass  # %%time\nx = 1\n"),
        ("if a:\n    %load_ext autoreload\n    %autoreload 2\nx = 1", "if a:\n    pass  # %load_ext autoreload\n    pass  # %autoreload 2\nx = 1\n"),
        ("%time x = f(1)\ny = x", "x = f(1)\ny = x\n"),
        ("x = (a\n% b)", "x = (a\n% b)\n"),
        ("x = '''\n%matplotlib inline\n!ls\n'''", "x = '''\n%matplotlib inline\n!ls\n'''\n"),
        ("%config X.y = \\\n  1\nx = 1", "pass  # %config X.y =\n\nx = 1\n"),
        ("x?\ny = 1", "pass  # x?\ny = 1\n"),
    ],
)  # fmt: skip
def test_what_can_run_keeps_its_lines(cell, source):
    text = python_text(cell)
    assert text.refusals == ()
    assert text.source == source
    ast.parse(text.source)


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("x = 1\n!ls -l", "!ls -l on line 2 is a shell command of this kernel. Submit it with --lang bash, or use subprocess.run."),
        ("x = !ls", "!ls on line 1 is a shell command of this kernel. Submit it with --lang bash, or use subprocess.run."),
        ("%pip install x", "%pip on line 1 is a magic of this kernel and cannot run at a site. Install packages at the site before, with its own Python."),
        ("%%bash\nls", "%%bash on line 1 is a magic of this kernel and cannot run at a site. Submit it with --lang bash."),
        ("x = %who_ls", "%who_ls on line 1 is a magic of this kernel and cannot run at a site. Run it in a cell of its own, here in the notebook."),
        ("x = = 1", "The cell has a syntax error on line 1: invalid syntax.\n    x = = 1\n        ^"),
        ("if a:\n    x = (1\ny = 2 3", "on line"),
        ("return 1", "The cell has a syntax error on line 1: 'return' outside function.\n    return 1\n    ^"),
        ("", "The cell is empty; write the code below the %%diamond_submit line."),
        ("# only this", "The cell is empty; write the code below the %%diamond_submit line."),
        ("x = '\0'", "null byte"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_one_sentence(cell, sentence):
    (refusal,) = python_text(cell).refusals
    assert sentence in refusal


def test_a_note_says_what_was_left_out():
    assert python_text("%matplotlib inline\nx = 1").notes == (
        "%matplotlib on line 1 has no effect at a site and is left out.",
    )


@pytest.mark.parametrize(
    ("cell", "awaits"),
    [
        ("await f()", True),
        ("async with a: pass", True),
        ("[x async for x in y]", True),
        ("async def f():\n    await g()", False),
        ("x = 1", False),
    ],
)
def test_top_level_await_is_seen(cell, awaits):
    text = python_text(cell)
    assert text.refusals == ()
    assert text.awaits is awaits


def test_a_shell_cell_is_kept_but_for_its_newlines():
    assert bash_text("echo 100% done!\r\nls | wc -l").source == "echo 100% done!\nls | wc -l\n"
    assert bash_text("  \n").refusals
