"""A real JupyterLab with the committed bundle, a headless Chromium, and a canned pool behind the REST API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_browser import ARGS, CHROMIUM, Lab, start_lab, stop_lab
from playwright.sync_api import Browser, Page, sync_playwright


@pytest.fixture
def chromium() -> Iterator[Browser]:
    """One a test: Playwright keeps a loop running in this thread, which other tests' own loops do not bear."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def one_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    started = start_lab(tmp_path_factory.mktemp("lab"), stub=True)
    yield started
    stop_lab(started)


@pytest.fixture
def lab(one_lab: Lab) -> Lab:
    """JupyterLab over a canned pool that is as new."""
    one_lab.order({"do": "reset"})
    return one_lab


@pytest.fixture
def bare_lab(tmp_path: Path) -> Iterator[Lab]:
    """JupyterLab with our frontend and without any server half."""
    started = start_lab(tmp_path, stub=False)
    yield started
    stop_lab(started)


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = context.new_page()
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(f"{error}\n{error.stack}"))
    yield made
    ours = [error for error in errors if "/jupyter-diamond/" in error]  # JupyterLab has its own when a server goes away
    context.close()
    assert ours == []
