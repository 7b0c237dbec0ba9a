"""Logging in to Globus from the sidebar, over a stand-in of the server's two routes: see ``FakeLogin`` in pool_stub."""

from __future__ import annotations

import pytest
from lab_browser import SECONDS, SIDEBAR, Lab
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
NEEDED = {"health": "needs_login", "mode": "none", "problem": "Globus does not know who you are.", "ways": ["code"]}
ADA = {"health": "signed_in", "mode": "web", "identity": "ada@uni.edu"}


def site_over_globus(lab: Lab, **changes) -> None:
    facts = {"transport": "globus-compute", "health": "needs_login", "problem": "vista waits for your Globus login."}
    lab.order({"do": "site", "site": "vista", "changes": {**facts, **changes}})


def gate_of(page: Page):
    return page.get_by_role("region", name="Log in to Globus")


def begun(page: Page, action: str = "login"):
    """Click, and close the page that opens; its address."""
    with page.expect_popup() as opened:
        gate_of(page).locator(f'[data-action="{action}"]').click()
    opened.value.wait_for_url("**/api?way=*")
    address = opened.value.url
    opened.value.close()
    return address


def test_without_logins_at_the_server_nothing_is_said_of_them(page: Page, lab: Lab):
    expect(gate_of(page)).to_have_count(0)
    expect(page.locator(f"{SIDEBAR} .jp-diamond-identity")).to_have_count(0)


def test_no_gate_stands_where_no_site_waits_for_it(page: Page, lab: Lab):
    lab.order({"do": "login", "state": NEEDED})
    quiet = page.locator(f"{SIDEBAR} .jp-diamond-identity")
    expect(quiet).to_contain_text("Globus: not logged in")
    expect(gate_of(page)).to_have_count(0)
    quiet.get_by_role("button", name="Log in").click()
    expect(gate_of(page).get_by_role("button", name="Log in to Globus")).to_be_focused()


def test_a_code_logs_in_and_leaves_no_trace_on_the_page(page: Page, lab: Lab):
    site_over_globus(lab)
    lab.order({"do": "login", "state": NEEDED})
    gate = gate_of(page)
    expect(gate).to_contain_text("Globus does not know who you are.")
    expect(gate).to_contain_text("1 site waits for it: vista")
    begun(page)
    field = gate.get_by_label("Code")
    expect(field).to_be_focused()
    expect(gate.get_by_role("button", name="Finish")).to_be_disabled()
    page.keyboard.type("right-code")
    page.keyboard.press("Enter")
    identity = page.locator(f"{SIDEBAR} .jp-diamond-identity")
    expect(identity).to_contain_text("Globus: ada@uni.edu")
    expect(identity).to_be_focused()
    expect(gate).to_have_count(0)
    expect(page.locator(f"{SIDEBAR} [data-announcer]")).to_have_text("Logged in to Globus as ada@uni.edu")
    page_text = page.evaluate(
        "document.documentElement.outerHTML + [...document.querySelectorAll('input')].map(each => each.value)"
    )
    assert "right-code" not in page_text
    assert "?way=code" not in page_text


def test_a_wrong_code_is_told_and_taken_out_of_the_field(page: Page, lab: Lab):
    site_over_globus(lab)
    lab.order({"do": "login", "state": NEEDED})
    begun(page)
    gate = gate_of(page)
    gate.get_by_label("Code").fill("wrong-code")
    gate.get_by_role("button", name="Finish").click()
    expect(gate.get_by_role("alert")).to_contain_text("Globus does not know this code")
    expect(gate.get_by_label("Code")).to_have_value("")
    gate.get_by_label("Code").fill("right-code")
    gate.get_by_role("button", name="Finish").click()
    expect(gate).to_have_count(0)


def test_the_web_way_closes_the_gate_when_the_server_hears_of_it(page: Page, lab: Lab):
    site_over_globus(lab)
    lab.order({"do": "login", "state": {**NEEDED, "ways": ["web", "code"]}})
    gate = gate_of(page)
    expect(gate.get_by_role("button", name="with a code instead")).to_be_visible()
    assert "way=web" in begun(page)
    expect(gate).to_contain_text("This closes by itself.")
    expect(gate.get_by_label("Code")).to_have_count(0)
    lab.order({"do": "login", "state": ADA})
    expect(gate).to_have_count(0, timeout=5 * SECONDS)
    expect(page.locator(f"{SIDEBAR} .jp-diamond-identity")).to_contain_text("ada@uni.edu")


def test_an_address_that_is_no_web_page_is_not_opened(page: Page, lab: Lab):
    site_over_globus(lab)
    lab.order({"do": "login", "state": NEEDED, "url": "javascript:window.hacked=1"})
    gate_of(page).locator('[data-action="login"]').click()
    expect(gate_of(page).get_by_role("alert")).to_contain_text("no web page")
    assert page.evaluate("window.hacked") is None
    assert page.locator('a[href^="javascript"]').count() == 0


def test_logging_out_asks_first(page: Page, lab: Lab):
    site_over_globus(lab, health="online", problem="")
    lab.order({"do": "login", "state": ADA})
    identity = page.locator(f"{SIDEBAR} .jp-diamond-identity")
    identity.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="Stay").click()
    expect(identity).to_contain_text("ada@uni.edu")
    identity.get_by_role("button", name="Log out").click()
    page.locator(".jp-Dialog").get_by_role("button", name="Log out").click()
    expect(gate_of(page)).to_contain_text("You are logged out of Globus.")


def test_a_login_of_the_environment_cannot_be_ended_here(page: Page, lab: Lab):
    lab.order({"do": "login", "state": {**ADA, "mode": "tokens"}})
    identity = page.locator(f"{SIDEBAR} .jp-diamond-identity")
    expect(identity).to_contain_text("ada@uni.edu, by tokens of the environment")
    expect(identity.get_by_role("button")).to_have_count(0)


def test_a_site_that_waits_leads_to_the_gate(page: Page, lab: Lab):
    site_over_globus(lab)
    lab.order({"do": "login", "state": NEEDED})
    site = page.locator(f'{SIDEBAR} [data-site="vista"]')
    expect(site.locator(".jp-diamond-health")).to_have_text("needs your login")
    expect(site.locator(".jp-diamond-means")).to_have_text("Globus Compute · slurm")
    site.locator('[data-action="login-site"]').click()
    expect(gate_of(page).locator('[data-action="login"]')).to_be_focused()
