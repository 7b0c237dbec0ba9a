"""Callbacks in a real kernel: between cells, once, and after a restart for what was missed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.jupyter import JupyterServer
from tests.notebook_live.notebook import Notebook

HEARD = """\
import json, pathlib, threading
def hear(news):
    on_main = threading.current_thread() is threading.main_thread()
    with pathlib.Path({path!r}).open("a") as file:
        print(json.dumps([news.name, news.kind, news.over, news.line, on_main]), file=file)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Iterator[JupyterServer]:
    base = tmp_path_factory.mktemp("woken")
    with JupyterServer(base, arguments=("--DiamondStore.lease_s=3",)) as server:
        yield server


def gated(gate: Path, then: str = "") -> str:
    return f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.05)\n{then}"


def heard(path: Path, count: int, *, seconds: float = 60) -> list[list]:
    deadline = time.monotonic() + seconds
    while True:
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) >= count:
            return [json.loads(line) for line in lines]
        assert time.monotonic() < deadline, f"only {lines}"
        time.sleep(0.05)


def acknowledged(server: JupyterServer, consumer: str) -> None:
    """All that this consumer was told has been acknowledged."""
    deadline = time.monotonic() + 30
    while server.api("GET", "continuations/wait", params={"consumer": consumer})["events"]:
        assert time.monotonic() < deadline, "it is not acknowledged"
        time.sleep(0.05)


def test_callbacks_run_in_the_main_thread_once_each_in_order(own, tmp_path):
    log, gate = tmp_path / "heard", tmp_path / "go"
    notebook = Notebook(own, "woken.ipynb")
    notebook.run(HEARD.format(path=str(log)))
    notebook.run("%%diamond_submit fit\n" + gated(gate, "print('epoch 10')"))
    wishes = 'fit.on_end(hear)\nfit.on("milestone", r"epoch \\d0", hear)\nfit.on("running", hear)'
    notebook.run(wishes)
    heard(log, 1)
    notebook.run('fit.on_end(hear)\nfit.on("milestone", r"epoch \\d0", hear)')  # the cell is run again
    gate.touch()
    told = heard(log, 3)
    assert told[0] == ["fit", "state", "fired", "", True]
    assert sorted(told[1:]) == [["fit", "milestone", "fired", "epoch 10", True], ["fit", "terminal", "fired", "", True]]
    notebook.run("fit.on_end(hear)")  # as a future: what has ended calls at once
    assert heard(log, 4)[3][1] == "terminal"
    said = notebook.fails('fit.on("sunrise", hear)').text
    assert "there are: ended, running" in said
    assert "Traceback" not in said
    assert "look-around" in notebook.fails('fit.on("milestone", "(?=x)", hear)').text
    notebook.close()


def test_an_error_in_a_callback_is_shown_and_no_reason_to_call_again(own, tmp_path):
    log = tmp_path / "heard"
    notebook = Notebook(own, "broken.ipynb")
    notebook.run(HEARD.format(path=str(log)))
    notebook.submit("fit", "pass")
    notebook.run("def bad(news):\n    hear(news)\n    1 / 0\nfit.on_end(bad, consumer='broken')")
    error = notebook.kernel.listen(lambda message: message["msg_type"] == "error")
    assert error["content"]["ename"] == "ZeroDivisionError"
    acknowledged(own, "broken")
    assert len(heard(log, 1)) == 1
    notebook.close()


def test_a_restarted_kernel_hears_what_it_missed_also_past_a_killed_server(own, tmp_path):
    log, gate = tmp_path / "heard", tmp_path / "go"
    notebook = Notebook(own, "missed.ipynb")
    notebook.run(HEARD.format(path=str(log)))
    notebook.run("%%diamond_submit long\n" + gated(gate, "print('half')"))
    notebook.run('long.on_end(hear)\nlong.on("milestone", "half", hear)\nlong.on("overrun", hear, running="1h")')
    own.kill()
    gate.touch()
    own.start()
    again = Notebook(own, "missed.ipynb")
    again.run(HEARD.format(path=str(log)))
    again.run('diamond.task("long").on_end(hear)')
    assert heard(log, 1) == [["long", "terminal", "fired", "", True]]
    again.run("def rest(news):\n    hear(news)\ndiamond.on(rest)")
    told = heard(log, 3)
    assert sorted(told[1:]) == [
        ["long", "milestone", "fired", "half", True],
        ["long", "overrun", "ended", "", True],
    ]
    again.close()


def test_another_notebook_may_take_a_named_consumer_over(own, tmp_path):
    log = tmp_path / "heard"
    first = Notebook(own, "friday.ipynb")
    first.submit("fit", "pass")
    first.run('fit.on_end(consumer="weekend")')
    first.close()
    second = Notebook(own, "monday.ipynb")
    second.run(HEARD.format(path=str(log)))
    second.run('diamond.on(hear, consumer="weekend")')
    assert heard(log, 1) == [["fit", "terminal", "fired", "", True]]
    acknowledged(own, "weekend")
    second.close()
