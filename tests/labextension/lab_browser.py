"""Starts JupyterLab over the canned pool, and what the browser tests share."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Page, expect

from tests.live.extensions import NO_NEWS, link_lab_extensions, server_extensions

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
ARGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync")  # fmt: skip
TOKEN = "for-tests"


@dataclass
class Lab:
    url: str
    process: subprocess.Popen[bytes]

    def order(self, *orders: dict[str, Any]) -> None:
        """Tell the canned pool what to do."""
        self._call("pool_stub", json.dumps(orders).encode())

    def asked(self) -> dict[str, int]:
        """How often each path of the REST API was asked."""
        return json.loads(self._call("pool_stub"))

    def workspace(self) -> str:
        """The layout that JupyterLab has saved."""
        return self._call("lab/api/workspaces/default").decode()

    def _call(self, path: str, body: bytes | None = None) -> bytes:
        headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/{path}", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()

    def alive(self) -> bool:
        try:
            self._call("api/status")
        except (urllib.error.URLError, OSError):
            return False
        return True


def start_lab(home: Path, *, stub: bool, port: int | None = None) -> Lab:
    if port is None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
    for name in ("config", "data", "runtime", "root", "ext"):
        (home / name).mkdir(exist_ok=True)
    (home / "config" / "labconfig").mkdir(exist_ok=True)
    (home / "config" / "labconfig" / "page_config.json").write_text(json.dumps({"disabledExtensions": NO_NEWS}))
    link_lab_extensions(home / "ext", ROOT / "jupyter_diamond" / "labextension")
    extensions = {**server_extensions(chat=False), "pool_stub": stub, "jupyter_diamond": False}
    env = {**os.environ, "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"),
           "JUPYTER_RUNTIME_DIR": str(home / "runtime"), "JUPYTER_PREFER_ENV_PATH": "1", "JUPYTERLAB_SETTINGS_DIR": str(home / "config" / "set"),
           "JUPYTERLAB_WORKSPACES_DIR": str(home / "config" / "work"),
           "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}  # fmt: skip
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
               "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home / 'root'}",
               f"--ServerApp.jpserver_extensions={extensions}", f"--LabApp.labextensions_path={home / 'ext'}",
               "--LabApp.expose_app_in_browser=True"]  # fmt: skip
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=home / "root", env=env, stdout=log, stderr=log)
    lab = Lab(f"http://127.0.0.1:{port}", process)
    deadline = time.monotonic() + 60
    while not lab.alive():
        if process.poll() is not None or time.monotonic() > deadline:
            stop_lab(lab)
            pytest.fail("JupyterLab did not start:\n" + (home / "server.log").read_text()[-3000:])
        time.sleep(0.1)
    return lab


def stop_lab(lab: Lab) -> None:
    lab.process.terminate()
    try:
        lab.process.wait(20)
    except subprocess.TimeoutExpired:
        lab.process.kill()
        lab.process.wait()


SIDEBAR = "#jupyter-diamond-sidebar"
SECONDS = 1000


def open_lab(page: Page, lab: Lab, *, reset: bool = True) -> None:
    page.goto(f"{lab.url}/lab?token={TOKEN}{'&reset' if reset else ''}")
    page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=60 * SECONDS)
    if reset:  # the launcher comes a while after the splash has gone, and takes the focus of whoever has it then
        page.wait_for_function("document.activeElement?.closest('.jp-Launcher') != null", timeout=60 * SECONDS)


def show_sidebar(page: Page, lab: Lab) -> None:
    open_lab(page, lab)
    page.locator('.jp-SideBar .lm-TabBar-tab[data-id="jupyter-diamond-sidebar"]').click()
    page.locator(SIDEBAR).wait_for(state="visible")


def row(page: Page, task: str):
    return page.locator(f'{SIDEBAR} [data-task-id="{task}"]')


def settle(page: Page) -> None:
    """Wait until the first lists stand."""
    row(page, "t-fit").wait_for()


def renew(page: Page) -> None:
    """Bring a page that was used back to its start: no panel, no dialog, all unfolded, the pool as it is now."""
    page.keyboard.press("Escape")
    page.evaluate("""() => {
        for (const panel of [...window.jupyterapp.shell.widgets("main")])
            if (panel.hasClass("jp-diamond-details") || panel.hasClass("jp-diamond-screenpanel")) panel.close();
        document.activeElement?.blur();
    }""")
    page.locator(".jp-Dialog").wait_for(state="detached")
    deadline = time.monotonic() + 30
    while True:  # a check that runs already ends before the next one is heard
        try:
            with page.expect_response(
                lambda answer: answer.url.split("?")[0].endswith("/api/sites"), timeout=2 * SECONDS
            ):
                page.evaluate("window.dispatchEvent(new Event('online'))")
            break
        except Error:
            assert time.monotonic() < deadline, "the page does not ask for the sites"
    expect(page.locator(f"{SIDEBAR} .jp-diamond-task")).to_have_count(8)
    expect(page.locator(f"{SIDEBAR} [data-notice]")).to_have_count(0)
    expect(page.locator(f"{SIDEBAR} .jp-diamond-site")).to_have_count(4)
    for fold in page.locator(f'{SIDEBAR} .jp-diamond-siterow[aria-expanded="false"]').all():
        fold.click()
    for fold in page.locator(f'{SIDEBAR} .jp-diamond-partition [aria-expanded="true"]').all():
        fold.click()
