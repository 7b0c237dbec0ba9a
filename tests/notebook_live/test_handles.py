"""What a submitted cell leaves in the notebook, and the magics around it."""

from __future__ import annotations

import re

import pytest

from jupyter_diamond.notebook.magics import parsers
from jupyter_diamond.notebook.vocabulary import GLYPH

from .notebook import Notebook, until

GATED = "import pathlib, time\nprint('begun', flush=True)\nwhile not pathlib.Path({gate!r}).exists(): time.sleep(0.05)\nv = {value}"


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def cell(gate, value=1):
    return GATED.format(gate=str(gate), value=value)


def test_waiting_attaching_and_sending_again(nb, gate):
    nb.run("%%diamond_submit fit --out v\n" + cell(gate))
    first = nb.value("fit.id")
    assert nb.value("fit.wait(0.1)") is False
    failed = nb.fails("fit.result(timeout=0.1)")
    assert failed.error == (
        "ResultTimeout: fit has not returned anything after 0.1 s; it goes on. Ask again with a longer timeout, or see "
        "fit.state."
    )
    assert "handle.py" not in failed.text
    assert nb.run("try: fit.result(timeout=0)\nexcept TimeoutError: print('caught')").text == "caught"

    assert "nothing was sent. To run it again: %%diamond_submit fit --again" in nb.run(
        "%%diamond_submit fit --out v\n" + cell(gate)
    ).text  # fmt: skip
    assert nb.value("fit.id") == first
    assert "nothing was sent. It keeps the options that it was sent with." in nb.run(
        "%%diamond_submit fit --out v --time 3m\n" + cell(gate)
    ).text  # fmt: skip
    assert nb.refused("fit", "print('another')").startswith("`fit` is still ")

    nb.run("%%diamond_submit fit --out v --again\n" + cell(gate))
    second = nb.value("fit.id")
    assert second != first
    gate.touch()
    assert nb.run("fit.result()").text == "1"
    nb.run(f"import jupyter_diamond; jupyter_diamond.task({first!r}).wait(20); fit.wait(20)")
    nb.submit("fit --out v", cell(gate))  # it has ended: run anew
    assert nb.value("fit.id") not in (first, second)
    nb.run("del fit")
    assert nb.run("%diamond result fit").text == "1"


def test_two_notebooks_with_one_name_do_not_meet(server, nb, gate):
    other = Notebook(server, "other notebook.ipynb")
    nb.run("%%diamond_submit same --out v\n" + cell(gate, 1))
    other.run("%%diamond_submit same --out v\n" + cell(gate, 2))
    mine = nb.value("same.id")
    other.run("%diamond cancel same")
    assert other.value("same.wait(20)") is True
    assert nb.value("same.task.cancel_requested_by") is None
    assert nb.value("__import__('jupyter_diamond').task('same').id") == mine
    gate.touch()
    assert nb.run("%diamond result same").text == "1"
    assert other.run("%diamond task same").cards[0].startswith(f"same   {GLYPH['dash']} cancelled by you")
    other.close()


def test_a_cancelled_task_says_who_and_ends(nb, gate):
    nb.run("%%diamond_submit stopped --out v\n" + cell(gate))
    until(lambda: "begun" in nb.run("print(stopped.logs())").text, 20)
    nb.run("stopped.cancel()")
    assert nb.value("stopped.wait(20)") is True
    card = nb.run("print(repr(stopped))").text
    assert card.startswith(f"stopped   {GLYPH['dash']} cancelled by you on here:machine"), card
    assert "support" not in card
    assert nb.fails("stopped.result()").error == (
        "ResultUnavailable: stopped returned nothing. Cancelled by you."
    )  # fmt: skip


def test_following_a_log_ends_with_the_task(nb):
    nb.run("%%diamond_submit talks\nimport time\nfor i in range(4):\n    print('line', i, flush=True); time.sleep(0.3)")
    assert nb.run("talks.logs(follow=True)").text.splitlines() == ["line 0", "line 1", "line 2", "line 3"]
    assert nb.run("%diamond logs talks --tail 1").text == "line 3"


def test_a_dry_run_sends_nothing(nb):
    nb.run("x = [1, 2]")
    before = nb.newest_task()
    ran = nb.run("%%diamond_submit dry --dry-run --cpus 1-2\ny = sum(x)")
    assert re.match(r"dry was not sent( \(facts up to \d+ s old at [\d:]+\))?\.\n", ran.text)
    assert "here:machine starts now" in ran.text
    assert "2 items" in ran.text
    assert nb.newest_task() == before
    assert nb.value("'dry' in globals()") is False


def test_a_dry_run_shows_what_it_would_run_in(nb, tmp_path):
    nb.run("import pandas as pd")
    same = nb.run("%%diamond_submit dry --dry-run\nn = len(pd.Series([1]))").text
    assert re.search(r"pandas +(\S+) +\1 +same", same), same
    (tmp_path / "requirements.txt").write_text("rich\n")
    built = nb.run(f"%%diamond_submit dry --dry-run --env {tmp_path}/requirements.txt\nn = 1").text
    assert "The environment requirements is built there first" in built


def test_what_the_user_binds_meanwhile_is_kept(nb, gate):
    nb.run("v = 'old'")
    nb.run("%%diamond_submit late --out v\n" + cell(gate))
    nb.run("v = 'mine'")
    gate.touch()
    assert nb.run("late.result()").text == "1"
    assert nb.value("v") == "mine"
    assert "kept your newer `v`; the returned one is late.result('v')." in nb.run("print(repr(late))").text


def test_a_forked_child_does_no_harm(nb, gate):
    nb.run("%%diamond_submit parent --out v\n" + cell(gate))
    nb.run("import multiprocessing as mp\nwith mp.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))")
    gate.touch()
    assert nb.run("parent.result()").text == "1"


COMMANDS = ["sites", "wall", "idle", "tasks", "task", "logs", "result", "cancel", "explain", "events"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_refuses_what_it_does_not_know(nb, command):
    assert nb.run(f"%diamond {command} ?").text.startswith(f"usage: %diamond {command}")
    assert nb.run(f"%diamond {command} --help").text.startswith(f"usage: %diamond {command}")
    assert nb.fails(f"%diamond {command} --nope").error.startswith(
        f"UsageError: %diamond {command} has no option --nope;"
    )
    if command in ("wall", "idle"):
        assert nb.fails(f"%diamond {command} nosuch").error.startswith(
            f"UsageError: %diamond {command}: 'nosuch' is one word too many;"
        )
    elif command not in ("sites", "tasks"):
        assert nb.fails(f"%diamond {command} nosuch").error == (
            "UsageError: There is no task 'nosuch'; %diamond tasks lists those that there are."
        )
    if command not in ("sites", "wall", "idle", "tasks", "events"):
        assert nb.fails(f"%diamond {command}").error == (
            f"UsageError: %diamond {command} needs a task's name, e.g. %diamond {command} fit."
        )


def test_commands_answer(nb):
    nb.submit("answered --out v", "v = 1\nprint('hello')")
    assert "%diamond sites" in nb.run("%diamond").text
    assert nb.fails("%diamond taks").error == (
        "UsageError: %diamond has no command 'taks'; did you mean %diamond tasks?"
    )  # fmt: skip
    assert nb.fails("%diamond tasks --limit 0").error.endswith(
        "--limit: '0' is not a number of lines; write a whole number, 1 or more."
    )  # fmt: skip
    assert "answered" in nb.run("%diamond tasks").text
    assert "machine" in nb.run("%diamond sites").text
    assert nb.run("%diamond logs answered").text == "hello"
    assert "here:machine starts" in nb.run("%diamond explain answered").text
    events = nb.run(
        "e = get_ipython().run_line_magic('diamond', 'events answered --limit 2'); print(list(e.type))"
    ).text
    assert events.endswith("'attempt.terminal']"), events
    assert events.count(",") == 1
    assert nb.run("%%diamond_submit fit --help\nx").text.startswith("usage: %%diamond_submit NAME")


def complete(nb, code):
    request = nb.kernel._send("complete_request", {"code": code, "cursor_pos": len(code)})
    reply = nb.kernel.listen(
        lambda m: m["msg_type"] == "complete_reply" and m["parent_header"].get("msg_id") == request
    )
    return reply["content"]["matches"]


def test_tab_completes_our_lines_with_what_fits_there_and_nothing_else(nb):
    nb.run("x_table = 1")
    nb.submit("tabbed", "1")
    assert complete(nb, "%diamond ") == list(parsers())
    assert set(COMMANDS) < set(parsers())
    assert complete(nb, "%diamond ta") == ["tasks", "task"]
    assert complete(nb, "%diamond logs tabb") == ["tabbed"]
    assert complete(nb, "%diamond logs tabbed --") == ["--follow", "--tail"]
    assert complete(nb, "%diamond sites --") == ["--refresh"]
    assert set(complete(nb, "%%diamond_submit fit --c")) == {"--cpus", "--container"}
    assert complete(nb, "%%diamond_submit fit --site ") == ["here", "here:machine"]
    assert complete(nb, "%%diamond_submit fit --site here:") == ["machine"]
    assert complete(nb, "%%diamond_submit fit --lang ") == ["python", "bash"]
    assert complete(nb, "%%diamond_submit fit --in x_t") == ["x_table"]
    assert "result" in complete(nb, "%%diamond_submit fit\ntabbed.res")
