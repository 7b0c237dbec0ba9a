"""A task that ends while nobody looks at its notebook is told of; one that is looked at is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from lab_browser import SIDEBAR, TOKEN, Lab, open_lab, row, settle, show_sidebar
from playwright.sync_api import Page, expect
from typescript import compile_modules, evaluate

pytestmark = pytest.mark.browser
NOTEBOOK = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def toasts(page: Page):
    """Ours; JupyterLab asks things of its own."""
    return page.locator(".jp-toast-message", has_text=re.compile(r": \w+ on |have ended"))


def open_notebook(page: Page, lab: Lab) -> None:
    """The one that the canned tasks name."""
    headers = {"Authorization": f"token {TOKEN}"}
    for path, model in (
        ("experiments", {"type": "directory"}),
        ("experiments/fit.ipynb", {"type": "notebook", "format": "json", "content": NOTEBOOK}),
    ):
        put = page.request.put(f"{lab.url}/api/contents/{path}", headers=headers, data=json.dumps(model))
        assert put.ok, put.text()
    page.wait_for_function("window.jupyterapp.commands.hasCommand('docmanager:open')")
    page.evaluate("""() => void window.jupyterapp.commands.execute("docmanager:open",
        {path: "experiments/fit.ipynb", factory: "Editor"})""")
    page.locator(".jp-FileEditor").wait_for()


def test_an_end_is_told_with_its_cause_and_opens_its_task(fresh_page: Page, lab: Lab):
    show_sidebar(fresh_page, lab)
    settle(fresh_page)
    lab.order({"do": "move", "task": "t-fit", "state": "failed", "cause": "ValueError: <b>no</b> data\nand more."})
    notice = toasts(fresh_page).first
    expect(notice).to_contain_text("fit: failed on delta:gpuA100x4 after")
    expect(notice).to_contain_text("ValueError: <b>no</b> data")
    expect(notice).not_to_contain_text("and more")
    lab.order({"do": "move", "task": "quick", "state": "completed"})
    expect(toasts(fresh_page).filter(has_text="quick: succeeded")).to_have_count(1)
    expect(toasts(fresh_page)).to_have_count(2)
    fresh_page.locator(".jp-toast-button", has_text="Open task").first.click()
    expect(fresh_page.locator(".jp-diamond-details")).to_have_count(1)


def test_many_that_end_at_once_are_told_together(fresh_page: Page, lab: Lab):
    show_sidebar(fresh_page, lab)
    settle(fresh_page)
    lab.order(*({"do": "move", "task": f"swept{n}", "state": "running", "silent": True} for n in range(5)))
    lab.order({"do": "move", "task": "swept5", "state": "running"})
    row(fresh_page, "swept5").wait_for()
    ends = [{"do": "move", "task": f"swept{n}", "state": "out_of_memory" if n else "completed"} for n in range(6)]
    lab.order(*({**end, "silent": end["task"] != "swept5"} for end in ends))
    expect(toasts(fresh_page)).to_have_text(["6 tasks have ended: 5 out of memory, 1 succeeded."])
    # an older page of the list is no news
    lab.order({"do": "fill", "count": 30})
    expect(fresh_page.locator(f"{SIDEBAR} .jp-diamond-task", has_text="bulk_1").first).to_be_visible()
    expect(toasts(fresh_page)).to_have_count(1)


def test_what_is_looked_at_is_not_told_and_what_is_hidden_is(fresh_page: Page, lab: Lab):
    open_lab(fresh_page, lab)
    open_notebook(fresh_page, lab)
    asked = lambda: lab.asked().get("tasks/t-fit", 0)  # noqa: E731 - asked twice, below
    before = asked()
    with fresh_page.expect_response(lambda answer: answer.url.split("?")[0].endswith("/api/tasks/t-fit")):
        lab.order({"do": "move", "task": "t-fit", "state": "completed"})
    assert asked() == before + 1
    fresh_page.evaluate("""() => void window.jupyterapp.commands.execute("launcher:create")""")
    fresh_page.locator(".jp-FileEditor").wait_for(state="hidden")
    lab.order({"do": "move", "task": "other", "state": "completed"})
    expect(toasts(fresh_page)).to_have_text(["other: succeeded on delta:gpuA100x4."])


def test_nobody_is_told_who_does_not_want_to_be(fresh_page: Page, lab: Lab):
    show_sidebar(fresh_page, lab)
    settle(fresh_page)
    fresh_page.evaluate("""() => window.jupyterapp.serviceManager.settings.save(
        "jupyter-diamond:plugin", '{"notifyOnEnd": false}')""")
    show_sidebar(fresh_page, lab)
    settle(fresh_page)
    lab.order({"do": "move", "task": "t-fit", "state": "completed"})
    expect(row(fresh_page, "t-fit")).to_contain_text("succeeded")
    expect(toasts(fresh_page)).to_have_count(0)
    fresh_page.evaluate("""() => window.jupyterapp.serviceManager.settings.save("jupyter-diamond:plugin", "{}")""")


@pytest.mark.node
def test_a_notebook_is_known_by_its_path(built: Path, tmp_path: Path):
    compile_modules(built / "node_modules" / ".bin" / "tsc", tmp_path, "endedtext")
    pairs = [
        ("experiments/fit.ipynb", "/home/ana/experiments/fit.ipynb", True),
        ("fit.ipynb", "/home/ana/experiments/refit.ipynb", False),
        ("RTC:experiments/fit.ipynb", "/home/ana/experiments/fit.ipynb", True),
        ("fit.ipynb", "fit.ipynb", True),
        ("", "/home/ana/fit.ipynb", False),
    ]
    script = "return given.map(pair => endedtext.sameNotebook(pair[0], pair[1]));"
    assert evaluate(tmp_path, ("endedtext",), script, pairs) == [same for *_, same in pairs]
