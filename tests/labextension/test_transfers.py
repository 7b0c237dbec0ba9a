"""What moves is seen while it moves: a row with its bar, the bar in its task's row, and one card where the user is needed."""

from __future__ import annotations

import pytest
from lab_browser import SIDEBAR, Lab, row
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def section(page: Page):
    return page.locator(SIDEBAR).get_by_role("region", name="Transfers")


def needs(page: Page):
    return page.locator(SIDEBAR).get_by_role("region", name="Needs you")


def test_a_transfer_is_a_row_with_its_bar_and_can_be_cancelled(page: Page, lab: Lab):
    expect(section(page)).to_have_count(0)
    lab.order({"do": "transfer", "ident": "x1", "what": "<b>imagenet</b>"})
    moving = section(page).locator('[data-transfer="x1"]')
    expect(moving).to_contain_text("<b>imagenet</b>")
    expect(moving).to_contain_text("20 GB of 100 GB · 88 MB/s · about 15 min left")
    expect(moving.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "20")
    lab.order({"do": "transfer", "ident": "x1", "state": "stalled", "trouble": "Nothing has moved for 6 min."})
    expect(moving).to_contain_text("stalled · 20 GB of 100 GB")
    expect(moving).to_contain_text("Nothing has moved for 6 min.")
    moving.get_by_role("button", name="Cancel the transfer of imagenet").click()
    expect(moving).to_contain_text("Cancelling…")
    lab.order({"do": "transfer", "ident": "x1", "state": "cancelled"})
    expect(section(page)).to_have_count(0)


def test_a_task_that_waits_for_its_data_shows_how_far_that_is(page: Page, lab: Lab):
    lab.order(
        {"do": "move", "task": "t-fit", "state": "staging_in"}, {"do": "transfer", "ident": "x1", "task": "t-fit"}
    )
    fit = row(page, "t-fit")
    expect(fit).to_contain_text("staging in")
    expect(fit).to_contain_text("imagenet · 20 GB of 100 GB")
    expect(fit.get_by_role("progressbar", name="how much of imagenet is there")).to_have_count(1)
    lab.order({"do": "move", "task": "t-fit", "state": "running"})
    expect(fit).not_to_contain_text("imagenet")


def test_one_that_needs_the_user_is_a_card_with_one_button_that_opens_its_page(page: Page, lab: Lab):
    said = "Globus wants your consent for the collection of delta."
    page_of_it = "https://auth.globus.org/consent"
    lab.order({"do": "transfer", "ident": "x1", "state": "needs_you", "trouble": said, "link": page_of_it})
    card = needs(page).get_by_role("group", name="Moving imagenet needs you")
    expect(card).to_contain_text(said)
    link = card.get_by_role("link", name="Open its page")
    expect(link).to_have_attribute("href", page_of_it)
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(needs(page)).to_contain_text("1 transfer")
    lab.order({"do": "transfer", "ident": "x1", "state": "needs_you", "trouble": said, "link": "javascript:alert(1)"})
    expect(link).to_have_count(0)
    login = {"health": "needs_login", "problem": "Globus wants your consent.", "ways": ["code"]}
    lab.order({"do": "login", "state": login})
    needs(page).get_by_role("button", name="Log in to Globus").click()
    needs(page).get_by_label("Code").fill("right-code")
    needs(page).get_by_role("button", name="Finish").click()
    expect(needs(page).get_by_label("Code")).to_have_count(0)
    lab.order({"do": "transfer", "ident": "x1"})
    expect(needs(page)).to_have_count(0)
