"""12 sites of 10 partitions and 10,000 tasks in headless Chromium: start, first paint, news, scrolling, memory.

Run: make bench-lab, or PYTHONPATH=tests/labextension python -m tests.benchmarks.lab
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab_browser import ARGS, CHROMIUM, TOKEN, Lab, start_lab, stop_lab
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tests.benchmarks.table import load, median, p95, verdict

STARTS = 7
TIMES = 10
EVENTS = 600
TASKS = 9_990
SCREENS = {"wall": ".jp-diamond-wallrow", "tasks": ".jp-diamond-board [data-line]"}
SCROLLED = {"wall": ".jp-diamond-wall", "tasks": ".jp-diamond-board"}

WATCH_START = """
Object.defineProperty(window, 'jupyterapp', {
  set(app) { this.theApp = app; app.restored.then(() => { window.restoredAt = performance.now(); }); },
  get() { return this.theApp; }
});
"""
OPEN = """async ([screen, row]) => {
  const start = performance.now();
  void window.jupyterapp.commands.execute('diamond:open-screen', { screen });
  for (;;) {
    await new Promise(requestAnimationFrame);
    const found = document.querySelector(row);
    if (found !== null && found.getClientRects().length > 0) { return performance.now() - start; }
  }
}"""
SCROLL = """async selector => {
  const node = document.querySelector(selector);
  const long = [];
  const observer = new PerformanceObserver(list => long.push(...list.getEntries().map(entry => entry.duration)));
  observer.observe({ entryTypes: ['longtask'] });
  const frames = [];
  let before = performance.now();
  const end = before + 4000;
  let down = 1;
  while (performance.now() < end) {
    node.scrollTop += 300 * down;
    if (node.scrollTop + node.clientHeight >= node.scrollHeight - 1) { down = -1; }
    if (node.scrollTop <= 0) { down = 1; }
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    frames.push(now - before);
    before = now;
  }
  await new Promise(resolve => setTimeout(resolve, 100));
  observer.disconnect();
  return [long, frames];
}"""
NEWS = """async ([url, order, row, state]) => {
  const start = performance.now();
  await fetch(url, { method: 'POST', body: JSON.stringify([order]), headers: { 'Content-Type': 'application/json' } });
  for (;;) {
    const found = document.querySelector(row);
    if (found !== null && found.dataset.state === state) { return performance.now() - start; }
    await new Promise(requestAnimationFrame);
  }
}"""


def row(what: str, values: Sequence[float], limit: float | None = None, unit: str = "ms") -> None:
    """One line of the table."""
    judged = "" if limit is None else f"   {verdict(median(values), limit)} (target {limit:g})"
    print(f"{what:58} {median(values):9.1f} {p95(values):9.1f} {unit}{judged}", flush=True)


def address(lab: Lab) -> str:
    """A page with nothing open."""
    return f"{lab.url}/lab?token={TOKEN}&reset"


def started(browser: Browser, lab: Lab) -> tuple[float, float]:
    """Milliseconds until JupyterLab has its layout, in a browser that knows nothing yet, and those in code of ours."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = context.new_page()
    page.add_init_script(WATCH_START)
    session = context.new_cdp_session(page)
    session.send("Profiler.enable")
    session.send("Profiler.setSamplingInterval", {"interval": 500})
    session.send("Profiler.start")
    page.goto(address(lab))
    page.wait_for_function("window.restoredAt !== undefined", timeout=60_000)
    profile = session.send("Profiler.stop")["profile"]
    taken = float(page.evaluate("window.restoredAt"))
    context.close()
    return taken, in_our_code(profile)


def in_our_code(profile: dict[str, Any]) -> float:
    """Milliseconds of samples in which a function of the extension is on the stack, whatever it had called."""
    nodes = {node["id"]: node for node in profile["nodes"]}
    above = {child: node["id"] for node in profile["nodes"] for child in node.get("children", ())}

    def ours(at: int | None) -> bool:
        while at is not None:
            if "/jupyter-diamond/" in nodes[at]["callFrame"]["url"]:
                return True
            at = above.get(at)
        return False

    spent = zip(profile["samples"], profile["timeDeltas"], strict=True)
    return sum(microseconds for at, microseconds in spent if ours(at)) / 1000


def bench_start(browser: Browser, lab: Lab, ours: Path) -> None:
    """With and without the extension, in turns. Between two whole starts lies what else the machine does, too."""
    target = ours.readlink()
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    started(browser, lab)
    for _ in range(STARTS):
        for there in (True, False):
            if there and not ours.is_symlink():
                ours.symlink_to(target)
            if not there:
                ours.unlink()
            found[there].append(started(browser, lab))
    ours.symlink_to(target)
    with_it, without = ([taken for taken, _ in found[there]] for there in (True, False))
    row("JupyterLab's start, without the extension", without)
    row("  with it", with_it)
    row("  the one median less the other", [median(with_it) - median(without)], 100)
    row("  of it in code of the extension, by samples", [mine for _, mine in found[True]], 100)


def ready(browser: Browser, lab: Lab) -> Page:
    """A page over the full pool."""
    page = browser.new_context(viewport={"width": 1366, "height": 768}).new_page()
    page.goto(address(lab))
    page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=60_000)
    page.wait_for_function("document.querySelector('.jp-diamond-statusitem')?.textContent.includes('running')")
    return page


def bench_screens(page: Page, lab: Lab) -> None:
    """First paint, scrolling and news of each screen."""
    for name, first in SCREENS.items():
        row(f"{name}: first paint, its chunk not loaded yet", [page.evaluate(OPEN, [name, first])])
        page.evaluate("for (const w of [...window.jupyterapp.shell.widgets('main')]) w.close()")
        page.wait_for_timeout(300)
        row(f"{name}: first paint, opened again", [page.evaluate(OPEN, [name, first])])
        if name == "tasks":
            page.locator('[data-part="counts"]').filter(has_text="9,999").wait_for(timeout=60_000)
        page.wait_for_timeout(1500)
        long, frames = page.evaluate(SCROLL, SCROLLED[name])
        row(f"{name}: a frame while scrolling ({len(frames)} in 4 s)", frames)
        print(
            f"{f'{name}: tasks > 50 ms while scrolling':58} {len(long):9d}     {long or '(aim 0)'}",
            flush=True,
        )
    page.evaluate("document.querySelector('.jp-diamond-board').scrollTop = 0")
    url = f"{lab.url}/pool_stub?token={TOKEN}"
    states = ["running", "completing"]
    news = []
    for n in range(TIMES):
        order = {"do": "move", "task": "t-sweep", "state": states[n % 2]}
        news.append(page.evaluate(NEWS, [url, order, '.jp-diamond-board [data-line="t-sweep"]', states[n % 2]]))
        page.wait_for_timeout(600)
    row("tasks: from the change to its row, of 10,000", news)


def heap(session: CDPSession) -> float:
    """Megabytes that are really held."""
    session.send("HeapProfiler.collectGarbage")
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["JSHeapUsedSize"]) / 1e6


def bench_heap(page: Page, lab: Lab) -> None:
    """Events of two minutes at five a second, as fast as the server takes them."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = heap(session)
    for n in range(EVENTS):
        lab.order({"do": "move", "task": "t-sweep", "state": ("running", "completing")[n % 2]})
    page.wait_for_timeout(1500)
    print(f"{f'heap before and after {EVENTS} events':58} {before:9.1f} {heap(session):9.1f} MB", flush=True)


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="diamond-bench-lab-"))
    lab = start_lab(home, stub=True)
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
            print(f"{load()}\n{'':58} {'median':>9} {'p95':>9}")
            bench_start(browser, lab, home / "ext" / "jupyter-diamond")
            lab.order({"do": "sites", "sites": 12, "partitions": 10}, {"do": "fill", "count": TASKS}, {"do": "group"})
            page = ready(browser, lab)
            bench_screens(page, lab)
            bench_heap(page, lab)
            browser.close()
    finally:
        stop_lab(lab)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
