"""A restarted kernel, a killed kernel and a killed server lose nothing: the task is found again by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import expect

from tests.live.browser import SECONDS, LabPage
from tests.live.jupyter import JupyterServer
from tests.live.slurm import wait_until

from .conftest import FIT, FUNCTIONS, LOAD, VALUES

pytestmark = [pytest.mark.browser, pytest.mark.slurm]
AGAIN = """\
%load_ext jupyter_diamond
again = diamond.task("fit")
values = again.result(timeout=60)
print("again", again.id, sorted(values), values["model"].shape)"""
CARD_AGAIN = "%diamond task fit"


def running_task(lab: LabPage, open_notebook: Callable[..., str], name: str) -> dict[str, Any]:
    """Start the cell in a notebook and wait until its card says that it runs; the task as the server knows it."""
    open_notebook(name, LOAD, FUNCTIONS, VALUES, FIT, AGAIN, CARD_AGAIN, ran=3)
    lab.run(3)
    lab.wait_card(3, "running")
    return lab.server.api("GET", "tasks/fit")


def same_task_comes_back(lab: LabPage, before: dict[str, Any]) -> None:
    expect(lab.run(4)).to_contain_text(f"again {before['id']} ['model', 'scores'] (6,)")
    after = lab.server.api("GET", f"tasks/{before['id']}")
    assert [attempt["native"] for attempt in after["attempts"]] == [before["attempts"][0]["native"]]
    assert lab.server.api("GET", "tasks", params={"name": "fit", "limit": 1})["tasks"][0]["id"] == before["id"]
    lab.run(5)
    lab.wait_card(5, "completed")
    expect(lab.outputs(5).locator("img")).to_have_count(1)
    expect(lab.outputs(5)).to_contain_text("epoch 12 of 12")


def kernel_process(server: JupyterServer, notebook: str) -> psutil.Process:
    sessions = server.client.get("api/sessions").json()
    (kernel_id,) = [session["kernel"]["id"] for session in sessions if session["path"] == notebook]
    assert server.process is not None
    children = psutil.Process(server.process.pid).children(recursive=True)
    (process,) = [child for child in children if kernel_id in " ".join(child.cmdline())]
    return process


def test_a_restarted_kernel_finds_its_running_task_again(
    lab: LabPage, open_notebook: Callable[..., str], go: Path
) -> None:
    before = running_task(lab, open_notebook, "restarted.ipynb")
    lab.restart_kernel()
    assert lab.server.api("GET", f"tasks/{before['id']}")["state"] == "running"
    go.touch()
    same_task_comes_back(lab, before)
    assert lab.heard.our_errors() == []
    assert lab.heard.strangers() == set()


def test_a_killed_kernel_and_a_killed_server_lose_nothing(
    lab: LabPage, open_notebook: Callable[..., str], go: Path
) -> None:
    before = running_task(lab, open_notebook, "killed.ipynb")
    kernel = kernel_process(lab.server, "killed.ipynb")
    kernel.kill()
    wait_until(lambda: not kernel.is_running(), 10, "The kernel lives")
    dialog = lab.page.locator(".jp-Dialog")
    expect(dialog).to_contain_text("appears to have died")
    dialog.locator("button.jp-mod-accept").click()
    sidebar = lab.show_sidebar()
    # JupyterLab's own "Server Connection Error" may come at any moment
    lab.page.add_locator_handler(dialog, lambda _: dialog.locator("button").last.click())
    lab.server.kill()
    sidebar.locator('[data-action="refresh"]').click()
    expect(sidebar.locator('[data-notice="offline"]')).to_contain_text("your jobs are not affected")
    expect(lab.status_item).to_have_text("Diamond: out of touch with the server")
    go.touch()
    lab.server.start()
    expect(sidebar.locator(f'[data-task-id="{before["id"]}"]')).to_have_attribute("data-task-name", "fit")
    expect(lab.status_item).not_to_have_text("Diamond: out of touch with the server", timeout=40 * SECONDS)
    lab.open("killed.ipynb")
    same_task_comes_back(lab, before)
    assert lab.heard.our_errors(server_was_down=True) == []
    assert lab.heard.strangers() == set()
