"""A real JupyterLab with the committed bundle, a headless Chromium, and a canned pool behind the REST API.

Loading JupyterLab takes longer than most of what is tested, so tests share a page (``page``) that is brought back to
its start in between; those that are about loading have one of their own (``fresh_page``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lab_browser import ARGS, CHROMIUM, Lab, renew, settle, show_sidebar, start_lab, stop_lab
from playwright.sync_api import Browser, Page, expect, sync_playwright
from sources import copy_of_sources, module

expect.set_options(timeout=15_000)  # a busy machine draws late


@pytest.fixture
def jp_asyncio_loop() -> None:
    """None: pytest-jupyter makes one for every test, and this thread has Playwright's, which it cannot close."""


@pytest.fixture(autouse=True)
def jp_server_cleanup() -> None:
    """Nothing to clean: no server runs in this process."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One a module: Playwright keeps a loop running in this thread, which tests with loops of their own do not bear."""
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


class Errors(list[str]):
    """What scripts of the page have raised."""

    def listen(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.append(f"{error}\n{error.stack}"))

    def ours(self) -> list[str]:
        """JupyterLab has its own when a server goes away."""
        return [error for error in self if "/jupyter-diamond/" in error]


@contextmanager
def new_page(chromium: Browser) -> Iterator[tuple[Page, Errors]]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = context.new_page()
    errors = Errors()
    errors.listen(made)
    yield made, errors
    context.close()


@pytest.fixture(scope="module")
def shared(chromium: Browser, one_lab: Lab) -> Iterator[tuple[Page, Errors]]:
    with new_page(chromium) as (page, errors):
        one_lab.order({"do": "reset"})
        show_sidebar(page, one_lab)
        settle(page)
        yield page, errors


@pytest.fixture
def page(shared: tuple[Page, Errors], lab: Lab) -> Iterator[Page]:
    """The sidebar over the canned pool as it is at first, in a page that other tests have used."""
    page, errors = shared
    renew(page)
    yield page
    assert errors.ours() == []


@pytest.fixture
def fresh_page(chromium: Browser) -> Iterator[Page]:
    with new_page(chromium) as (page, errors):
        yield page
    assert errors.ours() == []


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, built anew; the path of its labextension folder."""
    copy = copy_of_sources(tmp_path_factory.mktemp("copy"))
    (copy / "jupyter_diamond" / "labextension" / "sources.sha256").unlink()
    done = module("build", cwd=copy)  # tsc runs before the bundler: a type error fails it
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return copy / "labextension"
