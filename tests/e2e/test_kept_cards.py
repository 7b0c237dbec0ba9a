"""A card outlives its kernel: JupyterLab then shows the task as the server knows it, and never an error of ipywidgets."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.live.browser import LabPage

from .conftest import LOAD

pytestmark = [pytest.mark.browser, pytest.mark.slurm]
SLOW = """\
%%diamond_submit slow --time 10m --out done
import time
for n in range(600):
    print("step", n, flush=True)
    time.sleep(0.5)
done = True"""
MANY = """\
%%diamond_submit many --time 10m --array 0-2
import time
time.sleep(300 if index else 0)"""
NEVER = ("model not found", "Loading widget", "Error displaying")


def kept(lab: LabPage) -> Locator:
    """The one card that is seen below the cell, when no kernel stands behind it."""
    card = lab.outputs(1).locator(".jp-diamond-keptcard:visible")
    expect(lab.outputs(1).locator(".jd-card:visible")).to_have_count(0)
    return card


def test_a_page_loaded_anew_finds_the_live_card_again(lab: LabPage, open_notebook: Callable[..., str]) -> None:
    name = open_notebook("reloaded.ipynb", LOAD, SLOW, ran=1)
    lab.run(1)
    lab.wait_card(1, "running")
    lab.save()
    lab.open(name)
    card = lab.wait_card(1, "running")
    expect(card.locator(".jd-last")).to_contain_text(re.compile(r"step \d+"))
    expect(lab.outputs(1).locator(".jp-diamond-keptcard:visible")).to_have_count(0)
    card.locator(".jd-button-cancel").click()
    lab.wait_card(1, "cancelled")


def test_a_restarted_kernel_leaves_a_card_that_goes_on(lab: LabPage, open_notebook: Callable[..., str]) -> None:
    open_notebook("left.ipynb", LOAD, SLOW, ran=1)
    lab.run(1)
    lab.wait_card(1, "running")
    lab.restart_kernel()
    card = kept(lab)
    expect(card).to_have_attribute("data-state", "running")
    expect(card).to_contain_text(re.compile(r"slow\s*running\s*on \w+:\w+ · job \d+"))
    expect(card).to_contain_text('diamond.task("slow")')
    lab.server.api("POST", "tasks/slow/cancel", json={})
    expect(card).to_have_attribute("data-state", "cancelled")
    card.locator('[data-action="details"]').click()
    expect(lab.details.locator("h2")).to_have_text("slow")


def test_a_restarted_kernel_leaves_a_group_s_card_that_goes_on(lab: LabPage, open_notebook: Callable[..., str]) -> None:
    open_notebook("many.ipynb", LOAD, MANY, ran=1)
    lab.run(1)
    live = lab.outputs(1).locator(".jd-group")
    expect(live.locator(".jd-progress-count")).to_have_text("1/3", timeout=90_000)
    expect(live.locator(".jd-share")).not_to_have_count(0)
    lab.restart_kernel()
    card = lab.outputs(1).locator(".jp-diamond-keptcard:visible")
    expect(card).to_contain_text("running 1/3")
    expect(card).to_contain_text('diamond.task("many")')
    card.locator('[data-action="details"]').click()
    panel = lab.page.locator(".jp-diamond-details")
    expect(panel.locator("[data-member]")).to_have_count(3)
    panel.locator('[data-action="cancel"]').click()
    lab.page.locator(".jp-Dialog").get_by_role("button", name="Cancel all members").click()
    expect(panel.locator(".jp-diamond-dhead")).to_have_attribute("data-state", "cancelled", timeout=60_000)
    expect(panel.locator(".jp-diamond-dstate")).to_contain_text("cancelled by you 3/3")


def test_a_notebook_saved_while_its_job_ran_shows_what_became_of_it(
    lab: LabPage, open_notebook: Callable[..., str]
) -> None:
    name = open_notebook("reopened.ipynb", LOAD, SLOW, ran=1)
    lab.run(1)
    lab.wait_card(1, "running")
    lab.save()
    session = next(each for each in lab.server.client.get("api/sessions").json() if each["path"] == name)
    lab.page.goto("about:blank")
    lab.server.client.delete(f"api/sessions/{session['id']}").raise_for_status()
    lab.server.api("POST", "tasks/slow/cancel", json={})

    lab.open(name)
    card = kept(lab)
    expect(card).to_have_attribute("data-state", "cancelled")
    expect(card).to_be_visible()
    lab.run(0)
    expect(card).to_be_visible()
    for never in NEVER:
        expect(lab.outputs(1).get_by_text(never).locator("visible=true")).to_have_count(0)
    assert lab.heard.strangers() == set()
