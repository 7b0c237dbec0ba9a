"""Logging in to Globus from the sidebar: the real server and the real SDK, with a local stand-in of Globus behind them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.live.browser import SECONDS, SIDEBAR, LabPage, lab_page
from tests.live.globus import StandIn
from tests.live.globus.identities import ALICE
from tests.live.jupyter import JupyterServer

pytestmark = [pytest.mark.browser, pytest.mark.globus]


@pytest.fixture
def services() -> Iterator[StandIn]:
    with StandIn() as made:
        yield made


@pytest.fixture
def server(services: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """A server with an application for signing in through the browser."""
    made = JupyterServer(tmp_path_factory.mktemp("login"))
    client = services.auth.add_client("portal", redirects=[f"{made.url}jupyter_diamond/api/login/callback"])
    made.env |= {**services.environment, "GLOBUS_CLIENT_ID": client.id, "GLOBUS_CLIENT_SECRET": client.secret}
    with made:
        yield made


@pytest.fixture
def lab(server: JupyterServer) -> Iterator[LabPage]:
    with lab_page(server, width=1280, height=900) as page:
        page.open()
        page.show_sidebar()
        page.page.locator(f"{SIDEBAR} .jp-diamond-identity").get_by_role("button", name="Log in").click()
        yield page
        others = [
            error for error in page.heard.our_errors() if "/login/code" not in error
        ]  # the browser logs a wrong code
        assert others == []
        assert page.heard.strangers() == set()


def gate(lab: LabPage) -> Locator:
    return lab.page.get_by_role("region", name="Log in to Globus")


def identity(lab: LabPage) -> Locator:
    return lab.page.locator(f"{SIDEBAR} .jp-diamond-identity")


def test_through_the_browser_and_back(lab: LabPage) -> None:
    with lab.page.expect_popup() as opened:
        gate(lab).get_by_role("button", name="Log in to Globus").click()
    opened.value.wait_for_url("**/login/callback*")
    expect(identity(lab)).to_contain_text(ALICE.username, timeout=20 * SECONDS)
    expect(gate(lab)).to_have_count(0)
    assert lab.server.api("GET", "login")["mode"] == "web"
    identity(lab).get_by_role("button", name="Log out").click()
    lab.page.locator(".jp-Dialog").get_by_role("button", name="Log out").click()
    expect(identity(lab)).to_contain_text("not logged in", timeout=20 * SECONDS)
    assert lab.server.api("GET", "login")["health"] == "needs_login"


def test_with_a_code_after_a_wrong_one(lab: LabPage, services: StandIn) -> None:
    with lab.page.expect_popup() as opened:
        gate(lab).get_by_role("button", name="with a code instead").click()
    code = opened.value.locator("#code").inner_text()
    opened.value.close()
    field = gate(lab).get_by_label("Code")
    field.fill("no-such-code")
    field.press("Enter")
    expect(gate(lab).get_by_role("alert")).to_be_visible()
    expect(field).to_have_value("")
    field.fill(code)
    field.press("Enter")
    expect(identity(lab)).to_contain_text(ALICE.username, timeout=20 * SECONDS)
    kept = lab.page.evaluate("document.documentElement.outerHTML + JSON.stringify([localStorage, sessionStorage])")
    assert code not in kept
