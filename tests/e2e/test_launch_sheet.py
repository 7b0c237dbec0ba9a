"""From the launch sheet: a cell by its toolbar, through its own kernel; and a command, without any notebook."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.live.browser import LabPage

from .test_main_job import is_calm

pytestmark = [pytest.mark.browser, pytest.mark.slurm]

SHEET = ".jp-diamond-launch"


def test_a_cell_s_toolbar_leads_to_its_card_and_a_command_to_its_details(
    lab: LabPage, open_notebook: Callable[..., str]
) -> None:
    open_notebook("sheet.ipynb", "answer = 6 * 7\nprint('the answer is', answer)")
    lab.cell(0).locator(".cm-content").click()
    lab.page.locator('.jp-cell-toolbar [data-jp-item-name="diamond-launch"] >> visible=true').click()
    sheet = lab.page.locator(SHEET)
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
