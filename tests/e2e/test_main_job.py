"""The main job as a researcher does it: a cell in JupyterLab runs on a real cluster, and everything comes back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.live.browser import SECONDS, LabPage
from tests.live.slurm import CLUSTERS

from .conftest import FIT, FUNCTIONS, LOAD, VALUES

pytestmark = [pytest.mark.browser, pytest.mark.slurm]
LATER = "print(model.shape, sorted(scores), round(scores['r2'], 1))"
SLEEPER = "%%diamond_submit sleeper --time 10m\nimport time\nprint('asleep', flush=True)\ntime.sleep(300)"


def is_calm(lab: LabPage) -> None:
    """Nothing of ours went wrong on the page, and nobody but this machine was asked for anything."""
    assert lab.heard.our_errors() == []
    assert lab.heard.strangers() == set()
    assert len(lab.heard.requests) > 50, "the requests were not heard"


def test_a_cell_runs_on_a_cluster_and_its_values_figure_and_output_come_back(
    lab: LabPage, open_notebook: Callable[..., str], go: Path
) -> None:
    open_notebook("main.ipynb", LOAD, FUNCTIONS, VALUES, FIT, LATER, ran=3)
    lab.show_sidebar()
    for name in CLUSTERS:
        expect(lab.site(name).locator(".jp-diamond-siterow .jp-diamond-age")).to_have_text(re.compile(r"^\d+ s$"))
    expect(lab.status_item).to_have_text("Diamond: no active tasks")

    lab.watch_card(3)
    lab.run(3)
    while_it_runs(lab)
    go.touch()
    when_it_has_ended(lab)
    is_calm(lab)


def while_it_runs(lab: LabPage) -> None:
    card = lab.wait_card(3, "running")
    expect(card.locator(".jd-elapsed")).to_have_text(re.compile(r"^(?!00:00)0\d:\d\d of 10:00$"))
    expect(card.locator(".jd-last")).to_contain_text(re.compile(r"epoch +\d+ of 12"))
    expect(card.locator(".jd-head")).to_contain_text(re.compile(r"fit● running on \w+:\w+ · job \d+ · 4 cores, 2 GB"))
    expect(card.locator(".jd-why")).to_contain_text("why here: ")
    expect(lab.status_item).to_have_text("Diamond: 1 running")
    expect(lab.task("fit")).to_have_attribute("data-state", "running")
    lab.task("fit").click()
    expect(lab.details.locator(".jp-diamond-log")).to_contain_text("epoch  1 of 12")
    expect(lab.details.locator(".jp-diamond-whyhere")).to_contain_text("starts now")
    lab.details.locator('[data-action="why"]').click()
    expect(lab.details).to_contain_text("delta:cpu")
    lab.activate_notebook("main.ipynb")


def when_it_has_ended(lab: LabPage) -> None:
    lab.wait_card(3, "completed")
    card, outputs = lab.card(3), lab.outputs(3)
    expect(card.locator("summary")).to_contain_text("model, scores in the kernel")
    expect(card.locator("summary")).to_contain_text(re.compile(r"0\d:\d\d"))
    figure = outputs.locator("img")
    expect(figure).to_have_count(1)
    assert figure.evaluate("image => image.naturalWidth") > 200, "the figure has no picture in it"
    expect(outputs.locator("pre", has_text="epoch 12 of 12").last).to_contain_text("r2 = 0.9")
    top = {each: each_box["y"] for each, each_box in (("card", card.bounding_box()), ("figure", figure.bounding_box()))}
    assert top["card"] < top["figure"]
    expect(lab.run(4)).to_contain_text("(6,) ['r2', 'rmse'] 1.0")
    seen = lab.states_seen(3)
    assert seen[-1] == "completed"
    assert "running" in seen
    assert set(seen) <= {"waiting", "submitting", "pending", "running", "completing", "completed"}
    expect(lab.task("fit")).to_have_attribute("data-state", "completed")
    expect(lab.status_item).to_have_text("Diamond: no active tasks")


def test_the_cancel_button_of_a_card_ends_its_job_while_another_cell_runs(
    lab: LabPage, open_notebook: Callable[..., str]
) -> None:
    open_notebook("cancel.ipynb", LOAD, SLEEPER, "import time; time.sleep(300)", ran=1)
    lab.run(1)
    card = lab.wait_card(1, "running")
    lab.start(2)
    lab.wait_kernel("busy")
    card.locator(".jd-button-cancel").click()
    lab.wait_card(1, "cancelled")
    expect(lab.card(1)).to_contain_text("cancelled by you")
    expect(lab.cell(2)).to_have_attribute("data-ran", "busy")
    task = lab.server.api("GET", "tasks/sleeper")
    native = task["attempts"][-1]["native"]["id"]
    assert (task["state"], native.isdigit()) == ("cancelled", True)
    lab.page.locator('.jp-NotebookPanel:visible [data-jp-item-name="interrupt"]').click()
    is_calm(lab)


def test_a_cell_that_raises_shows_the_user_s_own_lines(lab: LabPage, open_notebook: Callable[..., str]) -> None:
    broken = "%%diamond_submit broken --time 10m\nrows = [1, 2]\nprint('before')\nrows[7]"
    open_notebook("broken.ipynb", LOAD, broken, "broken.result()", ran=1)
    lab.run(1)
    lab.wait_card(1, "failed")
    expect(lab.card(1)).to_contain_text("IndexError: list index out of range")
    expect(lab.outputs(1)).to_contain_text("rows[7]")
    expect(lab.outputs(1).locator("pre", has_text="before").last).to_be_visible()
    expect(lab.run(2)).to_contain_text("rows[7]")
    expect(lab.outputs(2)).not_to_contain_text("jupyter_diamond/notebook")
    is_calm(lab)


def test_the_screens_of_the_main_area_follow_the_real_pool(lab: LabPage) -> None:
    lab.page.goto(f"{lab.server.url}lab?token={lab.server.token}&reset&diamond=wall,tasks")
    board = lab.page.locator(".jp-diamond-boardview")
    board.wait_for(timeout=90 * SECONDS)
    made = lab.server.client.post(
        "jupyter_diamond/api/sites/delta/smoke", json={"client_token": "screens-smoke-000001"}
    )
    line = board.locator(f'[data-line="{made.json()["task"]["id"]}"]')
    expect(line).to_contain_text("delta:")
    expect(line).to_have_attribute("data-state", "completed", timeout=90 * SECONDS)
    line.click()
    expect(lab.page.locator(".jp-diamond-pane .jp-diamond-dhead")).to_have_attribute("data-state", "completed")
    lab.page.locator('.lm-TabBar-tab:has-text("Wall")').click()
    for name in CLUSTERS:
        card = lab.page.locator(f'.jp-diamond-wall [data-site="{name}"]')
        expect(card).to_have_attribute("data-health", "online")
        expect(card.locator(".jp-diamond-wait").filter(has_text=re.compile("^now|^~|^>")).first).to_be_visible()
    expect(lab.page.locator('.jp-diamond-wall [data-sum="free cores"]')).to_have_text(
        re.compile(r"^[\d,]+ free cores$")
    )
    is_calm(lab)


def test_a_cell_s_toolbar_leads_to_its_card_and_a_command_to_its_details(
    lab: LabPage, open_notebook: Callable[..., str]
) -> None:
    open_notebook("sheet.ipynb", "answer = 42\nprint('the answer is', answer)")
    lab.cell(0).locator(".cm-content").click()
    lab.page.locator('.jp-cell-toolbar [data-jp-item-name="diamond-launch"] >> visible=true').click()
    sheet = lab.page.locator(".jp-diamond-launch")
    sheet.locator('[data-field="name"] input').fill("sheet")
    sheet.locator('[data-field="outputs"] input').fill("answer")
    sheet.locator('[data-field="time"] input').fill("10m")
    expect(sheet.locator('[data-chosen="true"]')).to_contain_text("starts now")
    sheet.locator('[data-action="launch"]').click()
    expect(lab.cell(0)).to_contain_text("%load_ext jupyter_diamond")
    expect(lab.cell(1)).to_contain_text("%%diamond_submit sheet --out answer --time 10m")
    lab.wait_card(1, "completed")
    expect(lab.outputs(1)).to_contain_text("the answer is 42")

    lab.page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab:has-text("Launch Sheet")').click()
    sheet.locator('[data-field="kind"] select').select_option("command")
    sheet.get_by_label("The command").fill('echo "here is $(hostname)"')
    sheet.locator('[data-field="name"] input').fill("look")
    sheet.locator('[data-action="launch"]').click()
    expect(lab.details.locator("h2")).to_have_text("look")
    expect(lab.details.locator(".jp-diamond-log")).to_contain_text(re.compile("^here is "), timeout=60_000)
    is_calm(lab)
