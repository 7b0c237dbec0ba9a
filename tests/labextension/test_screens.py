"""The screens of the main area: how they are opened, what they say, and that everybody can use them."""

from __future__ import annotations

import re
import time

import pytest
from axe import violations
from lab_browser import SECONDS, SIDEBAR, Lab, open_lab
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

WALL = ".jp-diamond-wall"
BOARD = ".jp-diamond-boardview"
GRID = f"{BOARD} [role=treegrid]"
EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


def open_screen(page: Page, name: str) -> Locator:
    page.evaluate(
        "screen => window.jupyterapp.commands.execute('diamond:open-screen', { screen }).then(() => true)", name
    )
    view = page.locator(WALL if name == "wall" else BOARD)
    view.wait_for()
    return view


def wall_row(page: Page, site: str, partition: str) -> Locator:
    return page.locator(f'{WALL} [data-site="{site}"] [data-partition="{partition}"]')


def line(page: Page, ident: str) -> Locator:
    return page.locator(f'{BOARD} [data-line="{ident}"]')


def names(page: Page) -> list[str]:
    """The lines in sight, from top to bottom."""
    found = page.locator(f"{BOARD} [data-line]").evaluate_all(
        "rows => rows.map(row => [Number(row.dataset.at), row.dataset.line]).sort((a, b) => a[0] - b[0]).map(pair => pair[1])"
    )
    return list(found)


def theme(page: Page, name: str) -> None:
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", name)
    light = "false" if "Dark" in name else "true"
    page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


# ---- how screens are opened


def test_the_address_opens_screens_and_a_reload_restores_them(fresh_page: Page, lab: Lab):
    page = fresh_page
    page.goto(f"{lab.url}/lab?token=for-tests&reset&diamond=tasks,task:t-fit,wall")
    page.locator(f'{WALL} [data-site="delta"]').wait_for(timeout=60 * SECONDS)
    for label in ("Wall", "Tasks", "fit"):
        expect(page.locator(f'.lm-DockPanel-tabBar .lm-TabBar-tab:has-text("{label}")')).to_have_count(1)
    expect(page).to_have_url(re.compile(r"/lab$"))
    deadline = time.monotonic() + 20
    while not all(word in lab.workspace() for word in ("screens:wall", "screens:tasks")):
        assert time.monotonic() < deadline, "JupyterLab did not save its layout"
        page.wait_for_timeout(100)
    open_lab(page, lab, reset=False)
    page.locator(f'{WALL} [data-site="delta"]').wait_for()
    expect(page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab:has-text("Tasks")')).to_have_count(1)


def test_sidebar_palette_and_launcher_open_one_and_the_same(page: Page, lab: Lab):
    page.locator(f'{SIDEBAR} [data-action="all-sites"]').click()
    page.locator(WALL).wait_for()
    page.locator(f'{SIDEBAR} [data-action="all-tasks"]').click()
    expect(page.locator(GRID)).to_be_focused()
    page.keyboard.press("Control+Shift+C")
    page.locator('.lm-CommandPalette-item:has-text("Open the Diamond Wall")').click()
    expect(page.locator(WALL)).to_be_visible()
    page.evaluate("window.jupyterapp.commands.execute('launcher:create').then(() => true)")
    cards = page.locator('.jp-Launcher:visible .jp-Launcher-section:has-text("Diamond") .jp-LauncherCard')
    expect(cards.filter(has_text="Wall")).to_have_count(1)
    cards.filter(has_text="Tasks").click()
    expect(page.locator(BOARD)).to_be_visible()
    expect(page.locator(".jp-diamond-screenpanel")).to_have_count(2)


# ---- the wall


def test_the_wall_says_what_the_sidebar_says(page: Page, lab: Lab):
    open_screen(page, "wall")
    for partition in page.locator(f"{SIDEBAR} [data-partition]").all():
        site = partition.locator("xpath=ancestor::*[@data-site]").get_attribute("data-site")
        here = wall_row(page, site, partition.get_attribute("data-partition"))
        expect(here).to_have_attribute("data-free", partition.get_attribute("data-free"))
        expect(here.locator(".jp-diamond-free")).to_have_text(partition.locator(".jp-diamond-free").inner_text())
    expect(page.locator(f'{WALL} [data-sum="free GPUs"]')).to_have_text("≥ 38 free GPUs")
    unknown = wall_row(page, "anvil", "gpu")
    expect(unknown.locator(".jp-diamond-wait")).to_have_text("?")
    assert all(cell in ("", "a100") or "?" in cell for cell in unknown.locator("td").all_inner_texts())
    expect(page.locator(f'{WALL} [data-site="here"]')).to_contain_text("simulated")
    expect(page.locator(f'{WALL} [data-site="anvil"]')).to_contain_text("login node refuses connections since 14:02")


def test_waits_sparklines_charges_and_exact_figures(page: Page, lab: Lab):
    lab.order({"do": "charges", "spent": 212.5})
    open_screen(page, "wall")
    expect(page.locator(f'{WALL} [data-sum="spent"]')).to_have_text("225 / 500 SU spent today")
    gpu = wall_row(page, "delta", "gpuA100x4")
    expect(gpu.locator(".jp-diamond-wait")).to_have_text("now (< 10 min)")
    expect(gpu.get_by_role("img", name="last day: 5 to 95 % busy")).to_have_count(1)
    gpu.get_by_role("button").focus()
    page.keyboard.press("Enter")
    exact = page.locator(f'{WALL} [data-site="delta"] .jp-diamond-exact')
    expect(exact).to_contain_text("6 of 32 GPUs free, a100 · 190 of 512 cores free")
    expect(exact).to_contain_text("1 GPU, 1 h: starts now (within 10 min), enough is free. · read ")
    page.keyboard.press("ArrowDown")
    expect(wall_row(page, "delta", "cpu").get_by_role("button")).to_be_focused()
    page.keyboard.press("End")
    expect(wall_row(page, "here", "local").get_by_role("button")).to_be_focused()


def test_twelve_sites_are_found_and_ordered_and_never_scroll_sideways(page: Page, lab: Lab):
    lab.order({"do": "sites", "sites": 12, "partitions": 10})
    view = open_screen(page, "wall")
    cards = page.locator(f"{WALL} .jp-diamond-card")
    expect(cards).to_have_count(12)
    assert view.evaluate("node => node.scrollWidth <= node.clientWidth")
    expect(page.locator(f'{WALL} [data-part="reservation"]')).to_contain_text("A reservation takes 3 free nodes in 1")
    box = page.get_by_label("Filter sites, partitions and kinds of GPU")
    box.fill("h100 80")
    expect(page.locator(f"{WALL} tbody tr:not([data-partition*='H100'])")).to_have_count(0)
    box.fill("no such thing")
    expect(page.locator(f'{WALL} [data-part="none-found"]')).to_contain_text("no such thing")
    box.fill("")
    page.locator(f"{WALL} select").select_option("free")
    first = page.locator(f"{WALL} .jp-diamond-wallrow").first
    expect(first).to_have_attribute("data-free", "40")


# ---- the tasks


def test_tasks_are_filtered_and_ordered(page: Page, lab: Lab):
    lab.order({"do": "group"})
    open_screen(page, "tasks")
    expect(line(page, "t-fit")).to_contain_text("running")
    expect(line(page, "g0sweep")).to_contain_text("37/100")
    page.locator(f'{BOARD} [data-filter="state"]').select_option("wrong")
    expect(line(page, "t-fit")).to_have_count(0)
    assert set(names(page)) == {"t-eval", "t-slow", "g0sweep"}
    page.locator(f'{BOARD} [data-filter="state"]').select_option("any")
    page.locator(f'{BOARD} [data-filter="notebook"]').select_option("experiments/sweep.ipynb")
    expect(line(page, "t-fit")).to_have_count(0)
    assert names(page) == ["g0sweep"]
    page.locator(f'{BOARD} [data-filter="notebook"]').select_option("")
    page.get_by_label("Filter by name, place, job id, cause or notebook").fill("killed MEMORY")
    expect(line(page, "t-fit")).to_have_count(0)
    assert names(page) == ["t-eval"]
    page.get_by_label("Filter by name, place, job id, cause or notebook").fill("")
    page.locator(f'{BOARD} [data-sort="name"]').click()
    expect(page.locator(f"{BOARD} [role=columnheader][aria-sort=ascending]")).to_have_text(re.compile("Name"))
    assert names(page)[:3] == ["t-look", "t-eval", "t-fit"]


def test_the_keyboard_walks_chooses_unfolds_and_opens(page: Page, lab: Lab):
    lab.order({"do": "group"})
    open_screen(page, "tasks")
    grid = page.locator(GRID)
    expect(grid).to_be_focused()
    line(page, "g0sweep").wait_for()
    page.keyboard.press("Home")
    while not grid.get_attribute("aria-activedescendant").endswith("g0sweep"):
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(0)
    page.keyboard.press("ArrowRight")
    expect(line(page, "g0sweep")).to_have_attribute("aria-expanded", "true")
    expect(line(page, "g0sweep-0")).to_have_attribute("aria-level", "2")
    expect(line(page, "g0sweep-0")).to_contain_text("lr=1 opt=adam")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    expect(line(page, "g0sweep")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Space")
    expect(line(page, "g0sweep")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    pane = page.locator(".jp-diamond-pane .jp-diamond-details")
    expect(pane.locator("h2")).to_have_text("fit")
    pane.locator('[role="tab"][data-tab="why"]').click()
    expect(pane).to_contain_text("gpuA40x4-interactive")
    page.keyboard.press("Escape")
    expect(pane).to_have_count(0)
    expect(grid).to_be_focused()


def test_many_are_cancelled_after_a_question_that_names_them(page: Page, lab: Lab):
    lab.order({"do": "group"})
    open_screen(page, "tasks")
    for ident in ("t-fit", "t-sweep", "t-eval", "g0sweep"):
        line(page, ident).get_by_role("checkbox").click()
    expect(page.locator(f'{BOARD} [data-part="chosen"]')).to_have_text("4 chosen")
    page.locator('[data-action="cancel-chosen"]').click()
    question = page.locator(".jp-Dialog")
    expect(question).to_contain_text("Cancel 2 tasks and 1 group?")
    expect(question).to_contain_text("fit: running at delta:gpuA100x4")
    expect(question).to_contain_text("sweep: group, 37/100 ended, 63 members left at anvil:shared, delta:cpu")
    expect(question).to_contain_text("Left as it is: 1 has ended.")
    question.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(f'{BOARD} [data-part="said"]')).to_have_text("3 of 3 were asked to end.")
    expect(line(page, "t-fit")).to_have_attribute("data-state", "cancelled")
    expect(line(page, "t-sweep")).to_have_attribute("data-state", "cancelled")


def test_only_what_waits_is_planned_anew_and_a_refusal_is_told(page: Page, lab: Lab):
    open_screen(page, "tasks")
    for ident in ("t-fit", "t-sweep", "t-hold"):
        line(page, ident).get_by_role("checkbox").click()
    page.locator('[data-action="replan-chosen"]').click()
    question = page.locator(".jp-Dialog")
    expect(question).to_contain_text("Plan 2 tasks anew?")
    expect(question).to_contain_text("1 has started or cannot be asked about")
    lab.order({"do": "move", "task": "t-hold", "state": "running", "silent": True})
    question.get_by_role("button", name="Plan anew").click()
    said = page.locator(f'{BOARD} [data-part="said"]')
    expect(said).to_have_text("1 of 2 were planned anew. needs_license: needs_license has started.")


def test_ten_thousand_tasks_draw_what_is_in_sight_and_are_read_once(page: Page, lab: Lab):
    lab.order({"do": "fill", "count": 9_990})
    open_screen(page, "tasks")
    counts = page.locator(f'{BOARD} [data-part="counts"]')
    expect(counts).to_contain_text("9,998 tasks", timeout=60 * SECONDS)
    assert page.locator(f"{BOARD} [data-line]").count() < 100
    page.locator(GRID).focus()
    page.keyboard.press("End")
    expect(line(page, "t-bulk-9989")).to_be_visible()
    expect(page.locator(GRID)).to_have_attribute("aria-activedescendant", re.compile("t-bulk-9989"))
    page.keyboard.press("Home")
    before = lab.asked()["tasks"]
    lab.order({"do": "move", "task": "t-sweep", "state": "running"})
    expect(line(page, "t-sweep")).to_have_attribute("data-state", "running")
    assert lab.asked()["tasks"] - before <= 6  # two lists of the sidebar and one of what is new, perhaps twice


# ---- everybody, and everything that may come


@pytest.mark.parametrize("name", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing_in_either_theme(page: Page, lab: Lab, name: str):
    lab.order({"do": "sites", "sites": 5, "partitions": 2}, {"do": "group"}, {"do": "charges", "spent": 3.0})
    theme(page, name)
    dark = "Dark" in name
    try:
        open_screen(page, "wall")
        page.locator(f"{WALL} [data-spark]").first.wait_for()
        page.locator(f"{WALL} .jp-diamond-rowname").first.click()
        assert violations(page, WALL, colours_only=dark) == []
        open_screen(page, "tasks")
        line(page, "g0sweep").locator("[data-fold]").click()
        line(page, "g0sweep-0").wait_for()
        line(page, "t-sweep").click()
        page.locator(".jp-diamond-pane h2").wait_for()
        assert violations(page, BOARD, ".jp-diamond-pane", colours_only=dark) == []
    finally:
        theme(page, "JupyterLab Light")


def test_hostile_text_stays_text_on_every_screen(page: Page, lab: Lab):
    lab.order(
        {"do": "move", "task": "t-evil", "state": "failed", "name": EVIL, "cause": EVIL, "notebook": {"path": EVIL}},
        {"do": "group", "name": EVIL, "cause": EVIL},
        {"do": "site", "site": "delta", "changes": {"problem": EVIL, "transport": EVIL, "notes": [EVIL]}},
    )
    open_screen(page, "tasks")
    expect(line(page, "t-evil").get_by_role("rowheader")).to_have_text(EVIL)
    expect(line(page, "t-evil")).to_contain_text(EVIL)
    line(page, "t-evil").get_by_role("checkbox").click()
    line(page, "g0sweep").get_by_role("checkbox").click()
    page.locator('[data-action="cancel-chosen"]').click()
    expect(page.locator(".jp-Dialog li")).to_contain_text([EVIL])
    page.keyboard.press("Escape")
    open_screen(page, "wall")
    expect(page.locator(f'{WALL} [data-site="delta"] .jp-diamond-problem')).to_contain_text(EVIL)
    lab.order({"do": "sites", "sites": 2, "partitions": 3, "name": EVIL})
    expect(page.locator(f"{WALL} h3").first).to_have_text(f"{EVIL}0")
    assert page.locator("img[src='x']").count() == 0
    assert page.evaluate("window.hacked") is None


def test_nothing_there_says_what_to_do(page: Page, lab: Lab):
    lab.order({"do": "empty"})
    open_screen(page, "wall")
    expect(page.locator(f'{WALL} [data-part="no-sites"]')).to_contain_text("jupyter diamond init-sites")
    open_screen(page, "tasks")
    expect(page.locator(f'{BOARD} [data-part="no-tasks"]')).to_contain_text("%%diamond_submit")
    assert violations(page, BOARD) == []


def test_a_failing_server_keeps_what_stood_and_screens_recover(page: Page, lab: Lab):
    open_screen(page, "tasks")
    line(page, "t-fit").wait_for()
    lab.order({"do": "answer", "status": 500})
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator(f'{BOARD} [data-notice="offline"]')).to_contain_text("disk full")
    expect(line(page, "t-fit")).to_be_visible()
    lab.order({"do": "move", "task": "t-fit", "state": "completed", "silent": True}, {"do": "answer", "status": 200})
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(line(page, "t-fit")).to_have_attribute("data-state", "completed")
    expect(page.locator(f"{BOARD} [data-notice]")).to_have_count(0)
