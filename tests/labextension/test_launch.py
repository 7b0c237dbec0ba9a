"""The launch sheet and the idle finder: what is typed is read, planned and launched, from wherever it comes."""

from __future__ import annotations

import re

import pytest
from axe import violations
from lab_browser import Lab
from playwright.sync_api import Locator, Page, expect
from test_screens import EVIL, WALL, theme, wall_row

pytestmark = pytest.mark.browser

SHEET = ".jp-diamond-launch"
IDLE = ".jp-diamond-idle"
NOTEBOOK = "study.ipynb"
CELL = "%%diamond_submit fit --gpus 1 --gpu-model 'a100|h100' --in x --retries 3\nmodel = train(x)"
SAVE = """([path, model]) => window.jupyterapp.serviceManager.contents.save(path, model).then(() => true)"""


def open_screen(page: Page, name: str) -> Locator:
    page.evaluate(
        "screen => window.jupyterapp.commands.execute('diamond:open-screen', { screen }).then(() => true)", name
    )
    view = page.locator(SHEET if name == "launch" else IDLE)
    view.wait_for()
    return view


def field(page: Page, name: str, screen: str = SHEET) -> Locator:
    return page.locator(f'{screen} [data-field="{name}"]')


def write(page: Page, screen: str = SHEET, **texts: str) -> None:
    for name, text in texts.items():
        field(page, name.replace("_", "-"), screen).locator("input").fill(text)


def line(page: Page) -> Locator:
    return page.locator(f'{SHEET} [data-part="line"]')


def button(page: Page, action: str, screen: str = SHEET) -> Locator:
    return page.locator(f'{screen} [data-action="{action}"]')


def open_notebook(page: Page, *sources: str) -> None:
    cells = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for at, source in enumerate(sources)
    ]
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    page.evaluate(SAVE, [NOTEBOOK, {"type": "notebook", "format": "json", "content": content}])
    page.evaluate(
        "path => window.jupyterapp.commands.execute('docmanager:open', { path, kernelPreference: { shouldStart: false }, "
        "options: {} }).then(() => true)",
        NOTEBOOK,
    )
    page.locator(".jp-NotebookPanel:visible .jp-CodeCell").last.wait_for()


def close_notebook(page: Page) -> None:
    page.evaluate("""() => {
        for (const panel of [...window.jupyterapp.shell.widgets("main")])
            if (panel.hasClass("jp-NotebookPanel")) { panel.context.model.dirty = false; panel.dispose(); }
    }""")


# ---- the sheet


def test_a_command_is_typed_planned_and_launched_once(page: Page, lab: Lab):
    open_screen(page, "launch")
    expect(button(page, "launch")).to_be_disabled()
    page.get_by_label("The command").fill("python train.py")
    write(page, name="train", gpus="1-4", gpu_memory="40G", time="90m")
    expect(line(page)).to_have_text("%%diamond_submit train --lang bash --gpus 1-4 --time 1h30m --gpu-memory 40G")
    where = page.locator(f"{SHEET} .jp-diamond-where")
    expect(where.locator("[data-candidate]")).to_have_count(3)
    chosen = where.locator('[data-chosen="true"]')
    expect(chosen).to_contain_text("delta:gpuA100x4 (bbka-delta-gpu)")
    expect(chosen).to_contain_text("starts now")
    expect(where.locator("[data-candidate]").nth(1)).to_contain_text("starts in about 10 min (5-25)")
    expect(where.locator("[data-candidate]").nth(1)).to_contain_text("done 10 min later")
    expect(where.locator("[data-candidate]").nth(2)).to_contain_text("Its nodes have no GPU.")
    expect(page.locator(f'{SHEET} [data-part="charge"]')).to_have_text("about 2 SU, at most 8")
    lab.order({"do": "launches", "refuses": "delta is closed until 18:00."})
    button(page, "launch").click()
    told = page.locator(f'{SHEET} [data-part="told"]')
    expect(told).to_have_text("It was not launched: delta is closed until 18:00.")
    lab.order({"do": "reset"})
    button(page, "launch").press("Enter")
    expect(page.locator(".jp-diamond-details h2")).to_have_text("train")
    assert lab.asked()["taken"] == 1


def test_refusals_stand_where_the_field_is(page: Page, lab: Lab):
    open_screen(page, "launch")
    page.get_by_label("The command").fill("true")
    write(page, name="a b", time="2 parsecs", gpus="8")
    expect(field(page, "time")).to_contain_text("'2 parsecs' is not a time. Write for example 10m")
    expect(field(page, "name")).to_contain_text("cannot be a task's name")
    expect(field(page, "time").locator("input")).to_have_attribute("aria-invalid", "true")
    expect(page.locator(f"{SHEET} .jp-diamond-where")).to_contain_text("this is as it was before")
    write(page, name="ab", time="2h")
    expect(field(page, "gpus").locator('[data-part="refusal"]')).to_contain_text("It would pass with --gpus 4.")
    expect(button(page, "launch")).to_have_attribute("title", "Nothing can take it now: see where it would go.")
    field(page, "gpus").get_by_role("button", name="Write 4").click()
    expect(button(page, "launch")).to_be_enabled()
    page.locator(f'{SHEET} [data-action="pin"]').nth(1).click()
    expect(line(page)).to_have_text(re.compile("--site delta:gpuA40x4-interactive$"))
    expect(page.locator(f"{SHEET} [data-candidate]")).to_have_count(1)
    button(page, "unpin").click()
    expect(page.locator(f"{SHEET} [data-candidate]")).to_have_count(3)


def test_of_fast_typing_the_last_answer_counts(page: Page, lab: Lab):
    open_screen(page, "launch")
    page.get_by_label("The command").fill("true")
    write(page, name="fit")
    expect(button(page, "launch")).to_be_enabled()
    before = lab.asked()["launch/line"]
    field(page, "time").locator("input").press_sequentially("12h30m")
    expect(line(page)).to_have_text("%%diamond_submit fit --lang bash --time 12h30m")
    assert lab.asked()["launch/line"] - before < 6


def test_a_draft_is_a_difference_that_is_used_or_left(page: Page, lab: Lab):
    open_screen(page, "launch")
    write(page, gpus="1", cpus="4")
    page.get_by_label("What the work needs, in words").fill("two A100s for 4 h")
    button(page, "draft").click()
    draft = page.locator(f'{SHEET} [data-part="draft"]')
    expect(draft).to_contain_text("From our rules, confidence 80 %.")
    expect(draft.locator('[data-option="gpus"]')).to_contain_text(re.compile("1.*2.*You wrote two A100s.*our rules"))
    expect(draft.locator('[data-option="time"]')).to_contain_text("what it took before")
    expect(draft.locator('[data-option="cpus"]')).to_have_count(0)
    expect(field(page, "gpus").locator("input")).to_have_value("1")
    button(page, "use-draft").click()
    expect(draft).to_have_count(0)
    expect(field(page, "gpus").locator("input")).to_have_value("2")
    expect(field(page, "cpus").locator("input")).to_have_value("4")


def test_a_cell_comes_with_its_line_and_gets_it_back(page: Page, lab: Lab):
    open_notebook(page, CELL)
    try:
        page.locator(".jp-NotebookPanel:visible .jp-CodeCell .cm-content").last.click()
        page.locator('.jp-cell-toolbar [data-jp-item-name="diamond-launch"] >> visible=true').click()
        expect(field(page, "name").locator("input")).to_have_value("fit")
        expect(field(page, "gpu-model").locator("input")).to_have_value("a100|h100")
        expect(field(page, "rest").locator("input")).to_have_value("--in x --retries 3")
        expect(page.locator(f"{SHEET} pre")).to_have_text("model = train(x)")
        write(page, gpus="2")
        expect(line(page)).to_have_text("%%diamond_submit fit --gpus 2 --gpu-model 'a100|h100' --in x --retries 3")
        button(page, "write-line").click()
        cells = page.locator(".jp-NotebookPanel:visible .jp-CodeCell .cm-content")
        expect(cells).to_have_count(2)
        expect(cells.nth(0)).to_have_text("%load_ext jupyter_diamond")
        expect(cells.nth(1)).to_contain_text("%%diamond_submit fit --gpus 2 --gpu-model 'a100|h100' --in x --retries 3")
        expect(cells.nth(1)).to_contain_text("model = train(x)")
        close_notebook(page)
        open_screen(page, "launch")
        button(page, "launch").click()
        expect(page.locator(f'{SHEET} [data-part="told"]')).to_contain_text("has been closed since. Take a cell anew.")
    finally:
        close_notebook(page)


def test_a_script_comes_by_its_path(page: Page, lab: Lab):
    page.evaluate(SAVE, ["train-v2.py", {"type": "file", "format": "text", "content": "print('hello')\n"}])
    open_screen(page, "launch")
    field(page, "kind").locator("select").select_option("file")
    path = page.get_by_label("Path of the script")
    path.fill("notes.txt")
    button(page, "read-file").click()
    expect(page.locator(f'{SHEET} [data-part="told"]')).to_have_text(
        "notes.txt is no script: name a file that ends in .py or .sh."
    )
    path.fill("train-v2.py")
    path.press("Enter")
    expect(page.locator(f"{SHEET} pre")).to_have_text("print('hello')\n")
    expect(line(page)).to_have_text("%%diamond_submit train_v2")
    write(page, cpus="2")
    expect(button(page, "launch")).to_be_enabled()


# ---- the idle finder, and the wall


def test_idle_places_are_filtered_and_launched_at(page: Page, lab: Lab):
    open_screen(page, "idle")
    found = page.locator(f'{IDLE} [data-part="found"]')
    expect(found).to_have_text("1 place could start it now.")
    expect(page.locator(f'{IDLE} [data-part="full"] summary')).to_have_text("1 place full now")
    expect(page.locator(f'{IDLE} [data-part="unknown"] summary')).to_have_text("1 place not known")
    button(page, "details", IDLE).click()
    expect(page.locator(f"{IDLE} .jp-diamond-exact")).to_contain_text("account bbka-delta-gpu")
    write(page, IDLE, pending="3")
    expect(page.locator(f'{IDLE} [data-part="none"]')).to_contain_text("allow a longer queue")
    write(page, IDLE, pending="some")
    expect(field(page, "pending", IDLE)).to_contain_text("“some” is no number of jobs")
    write(page, IDLE, pending="20", time="2 parsecs")
    expect(field(page, "time", IDLE)).to_contain_text("is not a time")
    write(page, IDLE, time="2h")
    button(page, "launch-here", IDLE).click()
    expect(field(page, "site").locator("input")).to_have_value("delta:gpuA100x4")
    expect(field(page, "time").locator("input")).to_have_value("2h")
    write(page, name="fit")
    expect(line(page)).to_have_text("%%diamond_submit fit --lang bash --gpus 1 --time 2h --site delta:gpuA100x4")


def test_a_row_of_the_wall_leads_to_the_sheet(page: Page, lab: Lab):
    page.evaluate("window.jupyterapp.commands.execute('diamond:open-screen', { screen: 'wall' }).then(() => true)")
    wall_row(page, "here", "local").get_by_role("button").click()
    expect(page.locator(f'{WALL} [data-site="here"] .jp-diamond-exact')).to_be_visible()
    expect(button(page, "launch-here", WALL)).to_have_count(0)
    wall_row(page, "delta", "cpu").get_by_role("button").press("Enter")
    button(page, "launch-here", WALL).press("Enter")
    expect(field(page, "site").locator("input")).to_have_value("delta:cpu")


# ---- everybody, and everything that may come


@pytest.mark.parametrize("name", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_on_either_screen(page: Page, lab: Lab, name: str):
    theme(page, name)
    try:
        open_screen(page, "idle")
        button(page, "details", IDLE).click()
        page.locator(f'{IDLE} [data-part="full"] summary').click()
        assert violations(page, IDLE) == []
        open_screen(page, "launch")
        page.get_by_label("The command").fill("true")
        write(page, name="fit", gpus="8", time="soon")
        button(page, "draft").click()
        page.locator(f'{SHEET} [data-part="draft"]').wait_for()
        page.locator(f"{SHEET} summary").first.click()
        write(page, time="1h")
        expect(field(page, "gpus").locator('[data-part="refusal"]')).to_be_visible()
        write(page, name="a b")
        expect(field(page, "name")).to_contain_text("cannot be a task's name")
        assert violations(page, SHEET) == []
        write(page, name="fit", gpus="4")
        expect(button(page, "launch")).to_be_enabled()
        assert violations(page, f"{SHEET} .jp-diamond-launchbar", f"{SHEET} .jp-diamond-where") == []
    finally:
        theme(page, "JupyterLab Light")


def test_hostile_text_stays_text_on_both_screens(page: Page, lab: Lab):
    lab.order({"do": "launches", "says": EVIL, "refuses": EVIL})
    open_screen(page, "launch")
    page.get_by_label("The command").fill(EVIL)
    write(page, name="fit")
    where = page.locator(f"{SHEET} .jp-diamond-where")
    expect(where.locator('[data-part="sentence"]')).to_have_text(EVIL)
    expect(where.locator(".jp-diamond-tone-warning")).to_have_text(EVIL)
    button(page, "draft").click()
    expect(page.locator(f'{SHEET} [data-part="draft"]')).to_contain_text(EVIL)
    button(page, "launch").click()
    expect(page.locator(f'{SHEET} [data-part="told"]')).to_contain_text(EVIL)
    write(page, name=EVIL)
    expect(field(page, "name")).to_contain_text("cannot be a task's name")
    open_screen(page, "idle")
    page.locator(f'{IDLE} [data-part="refused"] summary').click()
    expect(page.locator(f'{IDLE} [data-part="refused"]')).to_contain_text(EVIL)
    assert page.locator("img[src='x']").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_failing_server_is_told_and_asked_again(page: Page, lab: Lab):
    open_screen(page, "launch")
    page.get_by_label("The command").fill("true")
    write(page, name="fit")
    expect(button(page, "launch")).to_be_enabled()
    lab.order({"do": "answer", "status": 500})
    write(page, cpus="2")
    expect(page.locator(f"{SHEET} .jp-diamond-where .jp-diamond-problem")).to_contain_text("disk full")
    expect(button(page, "launch")).to_have_attribute("title", "The server has not read it: see where it would go.")
    lab.order({"do": "answer", "status": 200})
    write(page, cpus="3")
    expect(line(page)).to_have_text("%%diamond_submit fit --lang bash --cpus 3")
    expect(page.locator(f"{SHEET} .jp-diamond-where .jp-diamond-problem")).to_have_count(0)
