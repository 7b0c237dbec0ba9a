"""Pictures of the launch sheet and the idle finder over a canned pool: empty, filled, refused, drafted, with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab_browser import TOKEN, Lab
from playwright.sync_api import Page

if TYPE_CHECKING:
    from tests.live.screenshots import Album

SHEET, IDLE = ".jp-diamond-launch", ".jp-diamond-idle"


def picture_launch(pictures: Album, page: Page, lab: Lab) -> None:
    """All of them, from one page each."""
    show(page, lab, "launch", f"{SHEET} [data-candidate]")
    pictures.take("launch-empty")
    page.get_by_label("The command").fill("python train.py --epochs 10")
    write(page, name="train", gpus="1-4", time="90m")
    page.locator(f'{SHEET} [data-part="line"]', has_text="1h30m").wait_for()
    page.get_by_label("What the work needs, in words").fill("two A100s, at most 4 hours")
    page.locator(f'{SHEET} [data-action="draft"]').click()
    page.locator(f'{SHEET} [data-part="draft"]').wait_for()
    pictures.take("launch-draft")
    page.locator(f'{SHEET} [data-action="leave-draft"]').click()
    write(page, gpus="8")
    page.locator(f'{SHEET} [data-part="refusal"]').wait_for()
    write(page, name="a b")
    page.locator(f'{SHEET} [data-field="name"] .jp-diamond-fieldproblem').wait_for()
    pictures.take("launch-refused")
    lab.order({"do": "answer", "status": 500})
    write(page, cpus="2")
    page.locator(f"{SHEET} .jp-diamond-problem").wait_for()
    pictures.take("launch-error")
    show(page, lab, "idle", f"{IDLE} [data-place]")
    page.locator(f'{IDLE} [data-action="details"]').first.click()
    page.locator(f'{IDLE} [data-part="refused"] summary').click()
    pictures.take("idle")


def show(page: Page, lab: Lab, screen: str, part: str) -> None:
    """A new page with one of them over the pool as it is at first."""
    lab.order({"do": "reset"})
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset&diamond={screen}")
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    page.evaluate("window.jupyterapp.shell.collapseLeft()")
    page.locator(part).first.wait_for()


def write(page: Page, **texts: str) -> None:
    """Type into fields of the sheet."""
    for name, text in texts.items():
        page.locator(f'{SHEET} [data-field="{name}"] input').fill(text)
