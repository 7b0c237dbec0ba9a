"""What a user sees of sites and tasks, and what the sidebar does when something is wrong."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone

import pytest
from lab_browser import SECONDS, SIDEBAR, Lab, open_lab, row, settle, show_sidebar, start_lab, stop_lab
from playwright.sync_api import Page, expect

from jupyter_diamond.notebook.vocabulary import outage_text

pytestmark = pytest.mark.browser


def partition(page: Page, site: str, name: str):
    return page.locator(f'{SIDEBAR} [data-site="{site}"] [data-partition="{name}"]')


def test_sites_show_free_units_of_the_gating_resource_and_never_zero_for_unknown(page: Page, lab: Lab):
    gpu = partition(page, "delta", "gpuA100x4")
    expect(gpu.locator(".jp-diamond-free")).to_have_text("6 GPUs")
    expect(gpu.locator(".jp-diamond-pend")).to_have_text("14")
    expect(gpu.locator(".jp-diamond-mine")).to_have_text("yours 1● 1○", use_inner_text=True)
    expect(gpu.locator(".jp-diamond-cap")).to_have_text("limit 2 d", use_inner_text=True)
    expect(gpu.get_by_role("meter", name="26 of 32 GPUs busy")).to_have_attribute("data-lit", "7")
    expect(partition(page, "delta", "cpu")).to_contain_text("5190 cores")
    unknown = partition(page, "anvil", "gpu")
    expect(unknown.locator(".jp-diamond-free")).to_have_text("? GPUs")
    expect(unknown.locator(".jp-diamond-pend")).to_have_text("?")
    expect(unknown.locator(".jp-diamond-cap")).to_have_text("limit ?", use_inner_text=True)
    expect(unknown.get_by_role("img", name="busy GPUs not known")).to_have_count(1)
    assert "0" not in unknown.inner_text()
    expect(partition(page, "delta", "maint")).to_contain_text("down")


def test_a_site_that_does_not_answer_says_why_and_keeps_its_age(page: Page, lab: Lab):
    anvil = page.locator(f'{SIDEBAR} [data-site="anvil"][data-health="degraded"]')
    expect(anvil).to_contain_text("login node refuses connections since 14:02")
    expect(anvil.locator(".jp-diamond-siterow .jp-diamond-age")).to_have_text("4 min old")
    expect(anvil.locator(".jp-diamond-health")).to_have_text("degraded")
    expect(anvil.locator(".jp-diamond-health .jp-diamond-mark")).to_have_attribute("data-shape", "half")
    vista = page.locator(f'{SIDEBAR} [data-site="vista"][data-health="offline"]')
    expect(vista).to_contain_text("never read")
    expect(vista.locator(".jp-diamond-health")).to_have_text("does not answer")
    expect(page.locator(f'{SIDEBAR} [data-site="here"]')).to_contain_text("simulated")


def test_the_sums_name_whose_part_is_not_known_and_leave_simulated_sites_out(page: Page, lab: Lab):
    sums = page.get_by_role("group", name="All sites")
    expect(sums.locator('[data-sum="free GPUs"]')).to_have_text("≥ 38 free GPUs")
    expect(sums.locator('[data-sum="free cores"]')).to_have_text("≥ 5,892 free cores")
    expect(sums).to_contain_text("Not all is known of anvil, vista")
    expect(sums.locator('[data-sum="running"]')).to_have_attribute("title", "At least: not known of anvil, vista")


def test_a_partition_s_exact_figures_stand_behind_its_name(page: Page, lab: Lab):
    name = partition(page, "delta", "gpuA100x4").get_by_role("button")
    name.focus()
    page.keyboard.press("Enter")
    expect(name).to_have_attribute("aria-expanded", "true")
    facts = partition(page, "delta", "gpuA100x4").locator(".jp-diamond-rowfacts")
    expect(facts).to_contain_text("6 of 32 GPUs free, a100 · 190 of 512 cores free")
    expect(facts).to_contain_text("yours: 1 running, 1 pending · limit 2 d · state up, the default · read ")
    expect(page.get_by_role("table", name="Partitions of delta").get_by_role("columnheader")).to_have_count(6)


def test_since_when_a_site_fails_and_when_it_is_tried_again_is_said(page: Page, lab: Lab):
    at = datetime.now(timezone.utc).replace(microsecond=0)
    since, again = at - timedelta(minutes=4), at + timedelta(minutes=2)
    lab.order({"do": "site", "site": "anvil", "changes": {"failing_since": str(since), "next_try_at": str(again)}})
    said = outage_text(since, again, at)
    assert "tried again at" in said
    problem = page.locator(f'{SIDEBAR} [data-site="anvil"] .jp-diamond-problem')
    expect(problem).to_contain_text(said)
    passed = at - timedelta(minutes=1)
    lab.order({"do": "site", "site": "anvil", "changes": {"failing_since": str(since), "next_try_at": str(passed)}})
    expect(problem).not_to_contain_text("tried again")
    expect(problem).to_contain_text(outage_text(since, passed, at))


def test_ages_tick_and_the_refresh_button_asks_the_sites(page: Page, lab: Lab):
    age = page.locator(f'{SIDEBAR} [data-site="delta"] .jp-diamond-siterow .jp-diamond-age')
    first = int(re.match(r"\d+", age.inner_text())[0])
    assert first >= 9
    expect(age).to_have_text(f"{first + 2} s", timeout=5 * SECONDS)
    page.locator(f'{SIDEBAR} [data-action="refresh"]').click()
    expect(age).to_have_text(re.compile(r"^[0-3] s$"))


def test_every_state_has_its_own_shape_and_word(page: Page, lab: Lab):
    said = {
        "t-fit": ("filled", "running"),
        "t-sweep": ("hollow", "pending · will run"),
        "t-hold": ("hollow", "pending · waits on you"),
        "t-look": ("dotted", "looking for it"),
        "t-eval": ("cross", "out of memory"),
        "t-prep": ("tick", "succeeded"),
        "t-old": ("dash", "cancelled"),
        "t-slow": ("cross", "timed out"),
    }
    for task, (shape, word) in said.items():
        expect(row(page, task).locator(".jp-diamond-mark")).to_have_attribute("data-shape", shape)
        expect(row(page, task).locator(".jp-diamond-word")).to_have_text(word)
    expect(row(page, "t-eval")).to_contain_text("Killed for memory: asked 32 GB")
    expect(row(page, "t-fit")).to_contain_text(re.compile(r"0:41:\d\d / 4:00:00"))
    expect(row(page, "t-fit").get_by_role("progressbar")).to_have_attribute("aria-valuenow", "17")


def test_nothing_overflows_at_280_pixels(fresh_page: Page, lab: Lab):
    page = fresh_page
    show_sidebar(page, lab)
    settle(page)
    page.evaluate(
        "async () => { const node = document.querySelector('#jp-left-stack'); node.style.width = node.style.minWidth = node.style.maxWidth = '280px'; }"
    )
    wide = page.evaluate(
        """() => { const bar = document.querySelector('#jupyter-diamond-sidebar'); bar.style.width = '280px';
          const right = bar.getBoundingClientRect().left + 280;
          return [...bar.querySelectorAll('button, li, p, span')].filter(e => e.getClientRects().length && e.getBoundingClientRect().right > right + 0.5)
            .map(e => e.className + ': ' + e.textContent); }"""
    )
    assert wide == []


def test_a_change_arrives_by_event_moves_the_count_and_is_spoken(page: Page, lab: Lab):
    status = page.locator(".jp-diamond-statusitem")
    expect(status).to_have_text("Diamond: 1 running · 2 pending · 1 unknown")
    lab.order({"do": "move", "task": "t-sweep", "state": "running"})
    expect(row(page, "t-sweep")).to_have_attribute("data-state", "running", timeout=3 * SECONDS)
    expect(status).to_have_text("Diamond: 2 running · 1 pending · 1 unknown")
    expect(page.locator(f"{SIDEBAR} [data-announcer]")).to_have_text("sweep_lr: running")
    lab.order({"do": "move", "task": "t-new", "state": "pending", "name": "brand_new"})
    expect(row(page, "t-new")).to_be_visible(timeout=3 * SECONDS)
    assert page.locator(f"{SIDEBAR} [data-task-id]").first.get_attribute("data-task-id") == "t-new"


def test_a_burst_of_events_folds_into_few_requests(page: Page, lab: Lab):
    before = lab.asked()["tasks"]
    started = time.monotonic()
    for n in range(200):
        lab.order({"do": "move", "task": "t-sweep", "state": ("running", "completing")[n % 2]})
    lab.order({"do": "move", "task": "t-sweep", "state": "completed"})
    expect(row(page, "t-sweep")).to_have_attribute("data-state", "completed", timeout=5 * SECONDS)
    spent = time.monotonic() - started
    pairs = (lab.asked()["tasks"] - before) / 2  # active ones and ended ones
    assert pairs <= spent / 0.25 + 2


def test_a_thousand_tasks_draw_two_hundred_rows_and_page_on(fresh_page: Page, lab: Lab):
    page = fresh_page
    show_sidebar(page, lab)
    settle(page)
    lab.order({"do": "fill", "count": 1000})
    row(page, "t-bulk-0000").wait_for()
    rows = page.locator(f"{SIDEBAR} .jp-diamond-task")
    expect(rows).to_have_count(200)
    page.locator(f'{SIDEBAR} [data-action="older"]').click()
    expect(rows).to_have_count(400)


def test_hostile_text_stays_text(page: Page, lab: Lab):
    evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    lab.order(
        {"do": "move", "task": "t-evil", "state": "failed", "name": evil, "cause": evil},
        {"do": "log", "task": "t-evil", "text": f"{evil}\n\x1b[31mred\x1b[0m\n 10%\r 90%\r100%\ntail"},
        {"do": "site", "site": "delta", "changes": {"problem": evil}},
    )
    expect(row(page, "t-evil").locator(".jp-diamond-name")).to_have_text(evil)
    expect(row(page, "t-evil").locator(".jp-diamond-cause")).to_have_text(evil)
    expect(page.locator(f'{SIDEBAR} [data-site="delta"] .jp-diamond-problem')).to_contain_text(evil)
    row(page, "t-evil").get_by_role("button").click()
    log = page.locator('.jp-diamond-details[data-task-id="t-evil"] .jp-diamond-log')
    expect(log).to_have_text(re.compile("tail"))
    assert log.evaluate("node => node.textContent") == f"{evil}\nred\n100%\ntail"
    assert page.locator("img[src='x']").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_missing_server_half_says_what_to_run(fresh_page: Page, bare_lab: Lab):
    page = fresh_page
    show_sidebar(page, bare_lab)
    notice = page.locator(f'{SIDEBAR} [data-notice="missing"]')
    expect(notice).to_contain_text("jupyter server extension enable jupyter_diamond")
    expect(page.locator(".jp-diamond-statusitem")).to_have_text("Diamond: server half missing")


def test_a_refusing_server_says_that_the_login_may_have_run_out(fresh_page: Page, lab: Lab):
    page = fresh_page
    lab.order({"do": "answer", "status": 403})
    show_sidebar(page, lab)
    expect(page.locator(f'{SIDEBAR} [data-notice="refused"]')).to_contain_text("reload this page")
    lab.order({"do": "answer", "status": 200})
    page.locator(f'{SIDEBAR} [data-action="ask-again"]').click()
    settle(page)
    expect(page.locator(f"{SIDEBAR} [data-notice]")).to_have_count(0)


def test_a_failing_server_keeps_the_last_facts_and_recovers_by_itself(page: Page, lab: Lab):
    lab.order({"do": "answer", "status": 500})
    page.locator(f'{SIDEBAR} [data-action="refresh"]').click()
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator(f'{SIDEBAR} [data-notice="offline"]')).to_contain_text("The store cannot be read: disk full.")
    expect(row(page, "t-fit")).to_be_visible()
    lab.order({"do": "answer", "status": 200})
    expect(page.locator(f'{SIDEBAR} [data-notice="offline"]')).to_have_count(0, timeout=15 * SECONDS)


def test_an_event_that_was_missed_is_made_up_for(page: Page, lab: Lab):
    lab.order({"do": "move", "task": "t-sweep", "state": "running", "silent": True})
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(row(page, "t-sweep")).to_have_attribute("data-state", "running", timeout=5 * SECONDS)


def test_a_restarted_server_is_found_again_and_news_flow(fresh_page: Page, tmp_path):
    page = fresh_page
    lab = start_lab(tmp_path, stub=True)
    try:
        show_sidebar(page, lab)
        settle(page)
        stop_lab(lab)
        page.evaluate("window.dispatchEvent(new Event('online'))")
        expect(page.locator(f'{SIDEBAR} [data-notice="offline"]')).to_be_visible(timeout=10 * SECONDS)
        lab = start_lab(tmp_path, stub=True, port=int(lab.url.rsplit(":", 1)[1]))
        page.evaluate("window.dispatchEvent(new Event('online'))")
        expect(page.locator(f'{SIDEBAR} [data-notice="offline"]')).to_have_count(0, timeout=40 * SECONDS)
        lab.order({"do": "move", "task": "t-sweep", "state": "running"})
        expect(row(page, "t-sweep")).to_have_attribute("data-state", "running", timeout=40 * SECONDS)
    finally:
        stop_lab(lab)


def test_the_keyboard_walks_the_rows_and_opens_a_task(page: Page, lab: Lab):
    rows = page.locator(f"{SIDEBAR} .jp-diamond-taskrow")
    rows.first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("Home")
    expect(rows.first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".jp-diamond-details h2")).to_have_text("ablation")
    fold = page.locator(f'{SIDEBAR} [data-site="delta"] .jp-diamond-siterow')
    fold.focus()
    page.keyboard.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(partition(page, "delta", "cpu")).to_have_count(0)


def test_the_layout_comes_back_after_a_reload(fresh_page: Page, lab: Lab):
    page = fresh_page
    show_sidebar(page, lab)
    settle(page)
    page.locator(f'{SIDEBAR} [data-site="delta"] .jp-diamond-siterow').click()
    row(page, "t-fit").get_by_role("button").click()
    page.locator(".jp-diamond-details h2").wait_for()
    deadline = time.monotonic() + 20
    while not all(word in lab.workspace() for word in ("t-fit", "jupyter-diamond:folds", "jupyter-diamond-sidebar")):
        assert time.monotonic() < deadline, "JupyterLab did not save its layout"
        page.wait_for_timeout(100)
    open_lab(page, lab, reset=False)
    expect(page.locator(".jp-diamond-details h2")).to_have_text("fit", timeout=20 * SECONDS)
    expect(page.locator(SIDEBAR)).to_be_visible()
    expect(page.locator(f'{SIDEBAR} [data-site="delta"] .jp-diamond-siterow')).to_have_attribute(
        "aria-expanded", "false"
    )


def test_the_palette_offers_open_and_refresh(fresh_page: Page, lab: Lab):
    page = fresh_page
    open_lab(page, lab)
    page.locator(".jp-diamond-statusitem button").click()
    expect(page.locator(SIDEBAR)).to_be_visible()
    page.keyboard.press("Control+Shift+C")
    for label in ("Open the Diamond Sidebar", "Refresh Sites and Tasks"):
        expect(page.locator(f'.lm-CommandPalette-item:has-text("{label}")').first).to_be_attached()
