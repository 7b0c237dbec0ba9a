"""Pictures of the main area's screens over a canned pool: empty, with one site, with twelve, with an error; both themes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab_browser import TOKEN, Lab, start_lab, stop_lab
from playwright.sync_api import Browser, Page

from tests.live.browser import SECONDS, LabPage
from tests.live.screenshots_launch import picture_launch

if TYPE_CHECKING:
    from tests.live.screenshots import Album

LAPTOP = {"width": 1440, "height": 900}
WALL, BOARD = ".jp-diamond-wall", ".jp-diamond-boardscreen"
TWELVE = ({"do": "sites", "sites": 12, "partitions": 8}, {"do": "charges", "spent": 212.5})
MANY = (
    {"do": "fill", "count": 400, "name": "train"},
    {"do": "group"},
    {"do": "group", "ident": "g0ablate", "name": "ablate"},
)
EMPTY = {"do": "empty"}
BROKEN = {"do": "answer", "status": 500}


class CannedPage(LabPage):
    """A tab over the canned pool; of a ``LabPage`` it has the page and the themes."""

    def __init__(self, browser: Browser) -> None:
        self._context = browser.new_context(viewport=LAPTOP)  # type: ignore[arg-type]
        self._context.set_default_timeout(30 * SECONDS)
        self.page: Page = self._context.new_page()


def picture_screens(folder: Path, base: Path, browser: Browser, album: type[Album]) -> None:
    """All of them."""
    base.mkdir(parents=True)
    lab = start_lab(base, stub=True)
    tab = CannedPage(browser)
    pictures = album(folder, tab)
    try:
        for name, orders, screens in (
            ("12-sites", (*TWELVE, *MANY), "wall"),
            ("one-site", ({"do": "sites", "sites": 1, "partitions": 5},), "wall"),
            ("empty", (EMPTY,), "wall"),
            ("many", (*TWELVE, *MANY), "tasks"),
            ("empty", (EMPTY,), "tasks"),
        ):
            show(tab.page, lab, screens, *orders)
            pictures.take(f"{screens}-{name}")
        picture_details(pictures, tab.page, lab)
        picture_launch(pictures, tab.page, lab)
        for screen in ("wall", "tasks"):
            show(tab.page, lab, screen)
            lab.order(BROKEN)
            tab.page.evaluate("window.dispatchEvent(new Event('online'))")
            tab.page.locator('.jp-diamond-screen [data-notice="offline"]').wait_for()
            pictures.take(f"{screen}-error")
    finally:
        tab.close()
        stop_lab(lab)


def show(page: Page, lab: Lab, screen: str, *orders: dict[str, Any]) -> None:
    """A new page with one screen over a pool that is as it was ordered; the file browser is closed, as when one works."""
    lab.order({"do": "reset"}, *orders)
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset&diamond={screen}")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.locator(WALL if screen == "wall" else BOARD).wait_for()
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    page.locator(
        f"{WALL} :is(.jp-diamond-strip, .jp-diamond-empty), {BOARD} :is(.jp-diamond-empty, [data-line])"
    ).first.wait_for()
    page.wait_for_load_state("networkidle")


def picture_details(pictures: Album, page: Page, lab: Lab) -> None:
    """A group unfolded, a task beside the table, and the question before many are cancelled; a row of the wall unfolded."""
    show(page, lab, "tasks", *MANY)
    page.locator('[data-line="g0sweep"] [data-fold]').click()
    page.locator('[data-line="g0sweep-0"]').wait_for()
    page.locator('[data-line="t-sweep"]').click()
    page.locator('.jp-diamond-pane [data-tab="why"]').first.click()
    page.locator(".jp-diamond-pane table").wait_for()
    pictures.take("tasks-details")
    for ident in ("t-sweep", "g0sweep", "t-look"):
        page.locator(f'[data-line="{ident}"] input').click()
    page.locator('[data-action="cancel-chosen"]').click()
    page.locator(".jp-Dialog").wait_for()
    pictures.take("tasks-question")
    page.keyboard.press("Escape")
    show(page, lab, "wall", *TWELVE)
    page.locator(".jp-diamond-rowname").nth(1).click()
    page.locator(f"{WALL} select").select_option("wait")
    pictures.take("wall-row")
