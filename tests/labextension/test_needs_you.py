"""A plan that an agent proposes is told of, shown with all that an approval is bound to, and answered by hand or keyboard."""

from __future__ import annotations

import pytest
from lab_browser import SIDEBAR, Lab
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def needs(page: Page):
    return page.locator(SIDEBAR).get_by_role("region", name="Needs you")


def card(page: Page, name: str):
    return needs(page).get_by_role("group", name=f"Run {name} at delta:gpuA100x4")


def toast(page: Page, name: str):
    return page.locator(".jp-toast-message", has_text=f"Needs your approval: Run {name} at")


def status(page: Page):
    return page.locator(".jp-diamond-statusitem")


def test_a_plan_is_told_of_shown_answered_by_keyboard_and_stays_until_it_is_cleared(page: Page, lab: Lab):
    expect(needs(page)).to_have_count(0)
    lab.order({"do": "agents", "proposal": "fit"}, {"do": "agents", "proposal": "<b>x</b>"})
    fit = card(page, "fit")
    expect(fit).to_contain_text("Run fit at delta:gpuA100x4: 8 cores, 2 GPUs, 64G, for at most 4 h")
    expect(fit).to_contain_text("starts in about 8 min")
    expect(fit).to_contain_text("at most 8 GPU-hours on account bbka-delta-gpu")
    expect(fit).to_contain_text("anvil:gpu would start 3 h later.")
    expect(fit).to_contain_text("How long it runs is a guess.")
    expect(fit.locator("pre").nth(1)).to_be_hidden()
    fit.get_by_text("batch script as it would be sent").click()
    expect(fit.locator("pre").nth(1)).to_contain_text("#SBATCH --gpus=2")
    expect(card(page, "<b>x</b>")).to_have_count(1)
    expect(needs(page)).to_contain_text("2 plans")
    expect(toast(page, "fit")).to_have_count(1)
    expect(status(page)).to_contain_text("2 plans to approve")
    fit.get_by_role("button", name="Approve").focus()
    page.keyboard.press("Enter")
    expect(fit).to_have_attribute("data-standing", "done")
    expect(toast(page, "fit")).to_have_count(0)
    card(page, "<b>x</b>").get_by_role("button", name="Not now").click()
    expect(card(page, "<b>x</b>")).to_have_attribute("data-standing", "denied")
    expect(status(page)).not_to_contain_text("to approve")
    fit.get_by_role("button", name="open").click()
    expect(page.locator(".jp-diamond-details")).to_have_count(1)
    needs(page).get_by_role("button", name="Clear what was answered").click()
    expect(needs(page)).to_have_count(0)


def test_what_is_different_since_then_is_said(page: Page, lab: Lab):
    said = "At delta:gpuA100x4 it would now cost at most 9 GPU-hours, not at most 8 GPU-hours."
    lab.order({"do": "agents", "proposal": "fit", "changes": {"changed": [said]}})
    expect(card(page, "fit").get_by_role("alert")).to_contain_text(said)
    expect(card(page, "fit").get_by_role("button", name="Approve")).to_be_disabled()


def test_standing_budgets_are_listed_and_revoked_and_one_switch_ends_it_all(page: Page, lab: Lab):
    agents = page.locator(SIDEBAR).get_by_role("region", name="Agents")
    switch = agents.get_by_role("switch")
    expect(switch).to_be_checked()
    expect(switch).to_contain_text("Agents may act")
    expect(switch).to_contain_text("They ask you first, each time.")
    lab.order({"do": "agents", "budget": "one"})
    row = agents.get_by_role("list", name="Standing budgets").get_by_role("listitem")
    expect(row).to_contain_text("10 GPU-hours, 5 jobs")
    expect(row).to_contain_text("taken: 2.5 GPU-hours, 1 job · for Diamond, in any 24 hours · until ")
    expect(switch).to_contain_text("Within the standing budgets above")
    row.get_by_role("button", name="Revoke the standing budget of 10 GPU-hours, 5 jobs").click()
    expect(row).to_have_count(0)
    switch.focus()
    page.keyboard.press("Space")
    expect(switch).not_to_be_checked()
    expect(switch).to_contain_text("Agents are off")
    expect(switch).to_contain_text("Jobs that run go on.")
    expect(page.locator(f"{SIDEBAR} [data-announcer]")).to_have_text("Agents are off")
    lab.order({"do": "agents", "proposal": "fit"})
    expect(needs(page)).to_contain_text("Agents are off, so nothing can be approved.")
    switch.click()
    expect(switch).to_be_checked()
