"""JupyterLab as a user drives it: headless Chromium, a notebook's cells, the live card, the sidebar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, expect, sync_playwright

from tests.live.jupyter import JupyterServer
from tests.live.slurm import wait_until

CHROMIUM = "/usr/bin/chromium"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--font-render-hinting=none")  # fmt: skip
SERVER_ARGUMENTS = ("--LabApp.expose_app_in_browser=True",)
"""A server whose pages are to change their theme needs them."""
SECONDS = 1000
expect.set_options(timeout=30 * SECONDS)  # its own five seconds are few on a machine that runs other tests too
SIDEBAR = "#jupyter-diamond-sidebar"
_OURS = ("jupyter-diamond", "jupyter_diamond", "jd-card", "diamond")
# Playwright cannot tell when a cell has run: its prompt may carry the same number as before.
_WATCH_RUN = """cell => {
    cell.dataset.ran = "no";
    const watch = new MutationObserver(() => {
        const text = cell.querySelector(".jp-InputPrompt").textContent;
        if (text.includes("*")) cell.dataset.ran = "busy";
        else if (cell.dataset.ran === "busy" && /\\d/.test(text)) { cell.dataset.ran = "yes"; watch.disconnect(); }
    });
    watch.observe(cell, { childList: true, characterData: true, subtree: true });
}"""


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """Debian's Chromium with a fresh profile."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


def write_notebook(path: Path, *sources: str) -> None:
    """Write a notebook of code cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    path.parent.mkdir(parents=True, exist_ok=True)
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), path)


@dataclass
class Heard:
    """What the page said and asked for."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> None:
        """Keep everything from now on."""
        page.on("pageerror", lambda error: self.errors.append(f"{error.message}\n{error.stack}"))
        page.on("console", self._console)
        page.context.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def our_errors(self, *, server_was_down: bool = False) -> list[str]:
        """Errors that name us. While a server is down, the browser itself logs every request that found nobody."""
        ours = [error for error in self.errors if any(word in error for word in _OURS)]
        return [error for error in ours if not (server_was_down and error.startswith("Failed to load resource"))]

    def strangers(self) -> set[str]:
        """Hosts other than this machine that were asked for anything."""
        hosts = {urlsplit(url).hostname for url in self.requests if urlsplit(url).scheme not in ("data", "blob")}
        return {str(host) for host in hosts - {"127.0.0.1"}}


class LabPage:
    """One browser tab with JupyterLab in it."""

    def __init__(self, browser: Browser, server: JupyterServer, *, width: int = 1400, height: int = 1200) -> None:
        """High enough that JupyterLab draws every cell: those out of sight are not in the page."""
        self.server = server
        self._context = browser.new_context(viewport={"width": width, "height": height})
        self._context.set_default_timeout(30 * SECONDS)
        self.page = self._context.new_page()
        self.heard = Heard()
        self.heard.listen(self.page)

    def close(self) -> None:
        """Close the tab."""
        self._context.close()

    def open(self, notebook: str | None = None) -> None:
        """Open JupyterLab, and from its file browser a notebook; wait until its kernel is ready."""
        self.page.goto(f"{self.server.url}lab?token={self.server.token}&reset")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=90 * SECONDS)
        if notebook:
            self.page.locator(f'.jp-DirListing-item:has-text("{notebook}")').dblclick()
            # a notebook says idle before it has its cells, and passes over keys before it has a kernel
            wait_until(lambda: self._is_connected(notebook), 60, f"{notebook} got no kernel", every=0.1)
            self.wait_kernel("idle")

    def _is_connected(self, notebook: str) -> bool:
        self.page.wait_for_timeout(0)  # lets the page's events in
        kernels = [each["kernel"] for each in self.server.client.get("api/sessions").json() if each["path"] == notebook]
        return any(kernel["connections"] and kernel["execution_state"] == "idle" for kernel in kernels)

    def wait_kernel(self, status: str, *, seconds: float = 60) -> None:
        """Wait until the notebook's kernel is idle, busy …"""
        sign = self.page.locator(f'.jp-NotebookPanel .jp-Notebook-ExecutionIndicator[data-status="{status}"]')
        sign.first.wait_for(state="attached", timeout=seconds * SECONDS)

    # -- cells ---------------------------------------------------------------------------------------------------

    def cell(self, n: int) -> Locator:
        """The n-th code cell, from 0."""
        return self.page.locator(".jp-NotebookPanel:visible .jp-Notebook .jp-CodeCell").nth(n)

    def start(self, n: int) -> Locator:
        """Run a cell from the keyboard; its attribute ``data-ran`` turns to "yes" when it has run."""
        cell = self.cell(n)
        cell.evaluate(_WATCH_RUN)
        cell.locator(".jp-InputArea-editor").click(position={"x": 5, "y": 5})
        cell.locator(".cm-editor.cm-focused").wait_for()
        self.page.keyboard.press("Control+Enter")
        return cell

    def run(self, n: int, *, seconds: float = 60) -> Locator:
        """Run a cell and wait until it has returned; give its outputs."""
        expect(self.start(n)).to_have_attribute("data-ran", "yes", timeout=seconds * SECONDS)
        return self.outputs(n)

    def outputs(self, n: int) -> Locator:
        """Where a cell's outputs stand."""
        return self.cell(n).locator(".jp-OutputArea").first

    def card(self, n: int) -> Locator:
        """The card below a cell, live or folded."""
        return self.outputs(n).locator(".jd-card:visible")

    def wait_card(self, n: int, state: str, *, seconds: float = 60) -> Locator:
        """Wait until the card below a cell shows a state."""
        card = self.outputs(n).locator(f'.jd-card[data-state="{state}"]:visible')
        card.wait_for(timeout=seconds * SECONDS)
        return card

    def watch_card(self, n: int) -> None:
        """From now on keep every state that cards of this cell show; ``states_seen`` gives them."""
        self.cell(n).evaluate("""cell => {
            const seen = [];
            const look = () => {
                const state = [...cell.querySelectorAll(".jd-card")].find(card => card.offsetParent)?.dataset.state;
                if (state && state !== seen[seen.length - 1]) { seen.push(state); cell.dataset.seen = seen.join(" "); }
            };
            new MutationObserver(look).observe(cell, {
                childList: true, subtree: true, attributes: true, attributeFilter: ["data-state", "class"] });
            look();
        }""")

    def states_seen(self, n: int) -> list[str]:
        """The states that the card has shown since ``watch_card``."""
        return (self.cell(n).get_attribute("data-seen") or "").split()

    def save(self) -> None:
        """Save the notebook, as Ctrl+S does."""
        with self.page.expect_response(
            lambda answer: answer.request.method == "PUT" and "/api/contents/" in answer.url and answer.ok
        ):
            self.page.keyboard.press("Control+s")

    def restart_kernel(self) -> None:
        """Restart the kernel by the toolbar's button and its question."""
        self.page.locator('.jp-NotebookPanel:visible [data-jp-item-name="restart"]').click()
        self.page.locator(".jp-Dialog button.jp-mod-accept").click()
        self.page.locator(".jp-Dialog").wait_for(state="detached")
        self.wait_kernel("idle")

    # -- sidebar, status bar, details ------------------------------------------------------------------------------

    def show_sidebar(self) -> Locator:
        """Open our sidebar by its icon, unless it is open."""
        sidebar = self.page.locator(SIDEBAR)
        if not sidebar.is_visible():
            self.page.locator('.jp-SideBar .lm-TabBar-tab[data-id="jupyter-diamond-sidebar"]').click()
            sidebar.wait_for()
        return sidebar

    def site(self, name: str) -> Locator:
        """A site in the sidebar."""
        return self.page.locator(f'{SIDEBAR} [data-site="{name}"]:not([data-task-id])')

    def task(self, name: str) -> Locator:
        """A task in the sidebar."""
        return self.page.locator(f'{SIDEBAR} [data-task-name="{name}"]')

    @property
    def details(self) -> Locator:
        """The task that stands in the main area."""
        return self.page.locator(".jp-diamond-details:visible")

    @property
    def status_item(self) -> Locator:
        """Our count in the status bar."""
        return self.page.locator(".jp-diamond-statusitem")

    def activate_notebook(self, name: str) -> None:
        """Bring a notebook's tab to the front."""
        self.page.locator(f'.lm-DockPanel-tabBar .lm-TabBar-tab:has-text("{name}")').click()

    # -- looks -----------------------------------------------------------------------------------------------------

    def theme(self, *, dark: bool) -> None:
        """Change JupyterLab's theme; needs SERVER_ARGUMENTS."""
        name = f"JupyterLab {'Dark' if dark else 'Light'}"
        self.page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", name)
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")
        light = "false" if dark else "true"
        self.page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached", timeout=20 * SECONDS)


@contextmanager
def lab_page(server: JupyterServer, **size: int) -> Iterator[LabPage]:
    """A browser of its own with one tab."""
    with chromium() as browser:
        lab = LabPage(browser, server, **size)
        try:
            yield lab
        finally:
            try:
                lab.close()
            except Error as error:  # the browser is gone: its own failure is the one to report
                if not re.search("closed", error.message):
                    raise
