"""One task in the main area: its log, why it ran there, attempts, names, events, and cancelling it."""

from __future__ import annotations

import re
import time

import pytest
from lab_browser import SECONDS, Lab, row
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def open_task(page: Page, lab: Lab, task: str):
    row(page, task).get_by_role("button").click()
    panel = page.locator(f'.jp-diamond-details[data-task-id="{task}"]')
    panel.locator("h2").wait_for()
    return panel


def choose(panel, tab: str):
    panel.locator(f'[role="tab"][data-tab="{tab}"]').click()
    return panel.locator(f'[role="tabpanel"][data-tab="{tab}"]')


def asked(lab: Lab, task: str) -> int:
    return lab.asked().get(f"tasks/{task}/logs", 0)


def test_the_log_follows_while_the_job_is_active_and_somebody_looks(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-fit")
    log = panel.locator(".jp-diamond-log")
    expect(log).to_contain_text("epoch 13")
    lab.order({"do": "log", "task": "t-fit", "text": "epoch 14  loss 0.058\nhalf a li"})
    expect(log).to_contain_text("half a li", timeout=5 * SECONDS)
    lab.order({"do": "log", "task": "t-fit", "text": "ne\nlast words\n"})
    expect(log).to_contain_text("half a line\nlast words", timeout=5 * SECONDS)
    choose(panel, "why")
    quiet(page, lab, "t-fit")


def test_an_ended_task_is_read_once_to_its_last_word(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-fit")
    expect(panel.locator(".jp-diamond-log")).to_contain_text("epoch 13")
    lab.order({"do": "log", "task": "t-fit", "text": "bye\n"}, {"do": "move", "task": "t-fit", "state": "completed"})
    expect(panel.locator(".jp-diamond-log")).to_contain_text("bye", timeout=5 * SECONDS)
    expect(panel.locator(".jp-diamond-logline")).to_contain_text("complete")
    verdict = panel.locator('[data-part="verdict"]')
    expect(verdict).to_contain_text("`fit` did not do what was asked. Its log shows a loss that is no number.")
    expect(verdict).to_contain_text("nan_loss: epoch 13 <b>loss</b> nan")
    quiet(page, lab, "t-fit")


def quiet(page: Page, lab: Lab, task: str) -> None:
    """The log is not asked for any more: three beats pass (counted by the page's own clock) without a request."""
    deadline = time.monotonic() + 15
    before, since = asked(lab, task), time.monotonic()
    while time.monotonic() - since < 3:
        assert time.monotonic() < deadline, "the log is still being asked for"
        page.wait_for_timeout(200)
        now = asked(lab, task)
        if now != before:
            before, since = now, time.monotonic()


def test_a_long_log_shows_its_end_first_and_its_start_on_demand(page: Page, lab: Lab):
    lab.order({"do": "log", "task": "t-prep", "text": "".join(f"line {n:06d}\n" for n in range(20_000))})
    panel = open_task(page, lab, "t-prep")
    log = panel.locator(".jp-diamond-log")
    expect(log).to_contain_text("line 019999")
    assert "line 000000" not in log.inner_text()
    panel.locator('[data-action="earlier"]').click()
    expect(log).to_contain_text("line 000000", timeout=5 * SECONDS)
    text = log.evaluate("node => node.textContent")
    assert text == "".join(f"line {n:06d}\n" for n in range(20_000))
    expect(panel.locator('[data-action="earlier"]')).to_have_count(0)


def test_no_log_yet_is_said(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-hold")
    expect(panel.locator(".jp-diamond-logline")).to_contain_text("No log yet")


def test_why_here_gives_choice_runner_up_refusals_and_the_table(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-fit")
    panel.locator('[data-action="why"]').click()
    why = panel.locator('[role="tabpanel"][data-tab="why"]')
    expect(why.locator(".jp-diamond-lead")).to_contain_text("delta:gpuA100x4 starts at once")
    expect(why.locator('[data-part="runner-up"]')).to_have_text(
        "Runner-up: delta:gpuA40x4-interactive: 10 min wait + 1 h run = 1 h 10 min; done 10 min later; about 1 SU, at most 4."
    )
    expect(why.locator('[data-part="refusals"] li').first).to_contain_text(
        "delta:cpu, anvil:shared: Its nodes have no GPU."
    )
    candidates = why.locator("[data-candidate]")
    expect(candidates).to_have_count(5)
    expect(candidates.first).to_have_attribute("data-chosen", "true")
    expect(why.locator('[data-part="terms"]')).to_have_text(
        "Time: no wait + 1 h run = 1 h. Charge: about 2 SU, at most 8."
    )
    expect(candidates.nth(1).locator("td").nth(2)).to_have_text("in about 10 min (5-25)")
    expect(candidates.nth(1).locator("td").nth(4)).to_have_text("about 1 SU, at most 4")
    expect(why.locator("p.jp-diamond-fine")).to_contain_text("by the rules, for earliest completion.")
    unknown = why.locator('[data-candidate="anvil:gpu"]')
    expect(unknown.get_by_role("img", name="unknown")).to_have_count(1)
    expect(unknown.locator("td").nth(2)).to_have_text("?")
    candidates.first.locator("button").click()
    expect(why.locator('[data-part="sizes"] li')).to_have_count(2)
    why.locator('[data-candidate="delta:cpu"] button').click()
    expect(why.locator('[data-rule="gpus_per_node"][data-answer="fail"]')).to_be_visible()


def test_attempts_names_and_events_are_all_there(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-sweep")
    attempts = choose(panel, "attempts")
    expect(attempts.locator("[data-attempt]")).to_have_count(2)
    expect(attempts.locator('[data-attempt="1"]')).to_contain_text("oom_kill event")
    expect(attempts.locator('[data-attempt="2"]')).to_contain_text("64 GB")
    cell = choose(panel, "cell")
    expect(cell.locator('[data-name="x"]')).to_contain_text("9.7 MB")
    expect(cell.locator('[data-name="train"]')).to_contain_text("as source")
    expect(cell.locator(".jp-diamond-source")).to_contain_text("model = train(x, y)")
    events = choose(panel, "events")
    expect(events.locator('[data-type="decision.made"]')).to_contain_text("chosen delta:gpuA100x4")


def test_cancel_asks_first_and_then_does_it(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-fit")
    panel.locator('[data-action="cancel"]').click()
    page.get_by_role("button", name="Keep it").click()
    expect(panel.locator(".jp-diamond-dhead")).to_have_attribute("data-state", "running")
    panel.locator('[data-action="cancel"]').click()
    page.get_by_role("button", name="Cancel the task").click()
    expect(panel.locator(".jp-diamond-dhead")).to_have_attribute("data-state", "cancelled")
    expect(row(page, "t-fit")).to_have_attribute("data-state", "cancelled", timeout=3 * SECONDS)
    expect(panel.locator('[data-action="cancel"]')).to_have_count(0)


def test_the_reference_is_copied_for_a_notebook(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-fit")
    panel.locator('[data-action="copy"]').click()
    expect(panel.locator('[data-action="copy"]')).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == 'diamond.task("fit")'


def test_an_open_panel_follows_its_task(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-sweep")
    expect(panel.locator(".jp-diamond-dstate")).to_contain_text("pending · will run")
    lab.order({"do": "move", "task": "t-sweep", "state": "running"})
    expect(panel.locator(".jp-diamond-dhead")).to_have_attribute("data-state", "running", timeout=3 * SECONDS)
    expect(panel.locator(".jp-diamond-progress")).to_contain_text(re.compile(r"0:00:\d\d of 4:00:00"))
    lab.order({"do": "move", "task": "t-sweep", "state": "failed", "cause": "ValueError: x has NaN. Clean x first."})
    expect(panel.locator('[data-part="cause"]')).to_have_text(
        "ValueError: x has NaN. Clean x first.", timeout=3 * SECONDS
    )


def test_tabs_follow_the_arrow_keys(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-prep")
    panel.locator('[role="tab"][data-tab="log"]').focus()
    page.keyboard.press("ArrowLeft")
    expect(panel.locator('[role="tab"][data-tab="events"]')).to_have_attribute("aria-selected", "true")
    expect(panel.locator('[role="tab"][data-tab="events"]')).to_be_focused()


def test_a_panel_that_was_closed_opens_again(page: Page, lab: Lab):
    panel = open_task(page, lab, "t-fit")
    page.locator('.lm-DockPanel-tabBar .lm-TabBar-tab:has-text("fit") .lm-TabBar-tabCloseIcon').click()
    expect(panel).to_have_count(0)
    open_task(page, lab, "t-fit")
    expect(panel.locator(".jp-diamond-log")).to_contain_text("epoch 13")
