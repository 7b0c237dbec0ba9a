"""A real JupyterLab with the committed bundle, a headless Chromium, and a canned pool behind the REST API."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

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
    link = home / "ext" / "jupyter-diamond"
    if not link.exists():
        link.symlink_to(ROOT / "jupyter_diamond" / "labextension")
    env = {**os.environ, "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_DATA_DIR": str(home / "data"),
           "JUPYTER_RUNTIME_DIR": str(home / "runtime"), "JUPYTER_PREFER_ENV_PATH": "1", "JUPYTERLAB_SETTINGS_DIR": str(home / "config" / "set"),
           "JUPYTERLAB_WORKSPACES_DIR": str(home / "config" / "work"),
           "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}  # fmt: skip
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
               "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home / 'root'}",
               f"--ServerApp.jpserver_extensions={{'pool_stub': {stub}, 'jupyter_diamond': False}}",
               f"--LabApp.extra_labextensions_path={home / 'ext'}", "--LabApp.expose_app_in_browser=True"]  # fmt: skip
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


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
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
