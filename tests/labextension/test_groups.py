"""Groups in the sidebar and in the main area: one row, its members that want to be looked at, and the whole list."""

from __future__ import annotations

import pytest
from lab_browser import SIDEBAR, Lab
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def group_row(page: Page, lab: Lab, **facts):
    lab.order({"do": "group", **facts})
    row = page.locator(f'{SIDEBAR} [data-group-id="g0sweep"]')
    row.wait_for()
    return row


def open_group(page: Page, lab: Lab, **facts):
    group_row(page, lab, **facts).locator(".jp-diamond-taskrow").first.click()
    panel = page.locator('.jp-diamond-details[data-group-id="g0sweep"]')
    panel.locator("h2").wait_for()
    return panel


def test_a_group_is_one_row_that_says_how_far_it_is_and_where(page: Page, lab: Lab):
    row = group_row(page, lab)
    expect(row.locator(".jp-diamond-name").first).to_have_text("sweep 37/100")
    expect(row).to_contain_text("anvil:shared, delta:cpu · 20 running · 3 failed")
    expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "37")
    expect(page.locator(f"{SIDEBAR} .jp-diamond-counts")).to_have_text("21 running · 45 pending · 1 unknown")
    waiting = {"phase": "PENDING", "states": {"pending": 100}}
    row = group_row(page, lab, **waiting)
    expect(row).to_have_attribute("data-state", "pending")
    expect(row.locator(".jp-diamond-time").first).to_have_text("~10 min")


def test_it_unfolds_to_the_members_that_failed_or_run(page: Page, lab: Lab):
    row = group_row(page, lab)
    row.locator(".jp-diamond-fold").click()
    members = row.locator("[data-member]")
    expect(members).to_have_count(8)
    expect(members.first).to_contain_text("sweep[97]")
    expect(row.locator('[data-state="out_of_memory"]')).to_have_count(2)
    expect(row.locator('[data-state="running"]')).to_have_count(5)
    row.locator(".jp-diamond-fold").click()
    expect(members).to_have_count(0)


def test_its_page_has_counts_places_failures_and_every_member_behind_a_filter(page: Page, lab: Lab):
    panel = open_group(page, lab, count=500, states={"completed": 480, "failed": 20})
    expect(panel.locator('[data-part="counts"]')).to_have_text("480 succeeded 20 failed")
    expect(panel.locator('[data-part="places"]')).to_contain_text("7/50 anvil:shared")
    expect(panel.locator('[data-part="failures"] li')).to_have_count(1)
    expect(panel.locator('[data-part="failures"]')).to_contain_text(
        "20 of 500 failed: 480-499. ValueError: no <b>lr</b>"
    )
    expect(panel.locator('[data-part="members"] tbody tr')).to_have_count(200)
    expect(panel.locator('[data-part="shown"]')).to_have_text("200 of 500; a filter finds the others")
    panel.get_by_role("searchbox").fill("failed lr=0.1")
    expect(panel.locator('[data-part="members"] tbody tr')).to_have_count(4)
    expect(panel.locator('[data-member="481"]')).to_contain_text("ValueError")
    panel.locator('[data-tab="cell"]').click()
    expect(panel.locator(".jp-diamond-source")).to_contain_text("score = train(lr, opt)")


def test_it_is_held_released_and_after_a_question_cancelled(page: Page, lab: Lab):
    panel = open_group(page, lab)
    panel.locator('[data-action="hold"]').click()
    expect(panel.locator(".jp-diamond-dstate")).to_contain_text("held by you")
    panel.locator('[data-action="release"]').click()
    expect(panel.locator('[data-action="hold"]')).to_be_visible()
    panel.locator('[data-action="cancel"]').click()
    page.locator(".jp-Dialog").get_by_role("button", name="Keep it").click()
    expect(panel.locator('[data-action="cancel"]')).to_be_enabled()
    panel.locator('[data-action="cancel"]').click()
    page.locator(".jp-Dialog").get_by_role("button", name="Cancel all members").click()
    expect(panel.locator('[data-action="cancel"]')).to_have_text("Cancelling…")
