"""What a notebook shows where no kernel and no server half is: nbconvert's HTML, and a Jupyter server without us."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.live.browser import LabPage, lab_page
from tests.live.jupyter import JupyterServer

from .conftest import LOAD

pytestmark = pytest.mark.browser
DRAW = """\
%%diamond_submit draw --time 10m
import matplotlib.pyplot as plt
print("drawn at the site")
fig = plt.figure(figsize=(3, 2))
fig.gca().plot([1, 4, 9])
fig"""


@pytest.mark.slurm
def test_a_saved_notebook_reads_well_as_html(lab: LabPage, open_notebook: Callable[..., str], tmp_path: Path) -> None:
    name = open_notebook("page.ipynb", LOAD, DRAW, ran=1)
    lab.run(1)
    lab.wait_card(1, "completed")
    expect(lab.outputs(1).locator("img")).to_have_count(1)
    lab.save()
    page = tmp_path / "page.html"
    convert = [sys.executable, "-m", "nbconvert", "--to", "html", "--output", str(page), name]
    subprocess.run(convert, cwd=lab.server.notebooks, env=lab.server.env, check=True, capture_output=True, timeout=150)

    assert lab.heard.strangers() == set()
    lab.page.context.set_offline(True)  # nbconvert's page would load MathJax and require.js from elsewhere
    lab.page.goto(page.as_uri(), wait_until="commit")
    body = lab.page.locator("body")
    card = body.locator(".jd-card")
    expect(card).to_have_count(1)
    expect(card.locator("summary")).to_contain_text(re.compile(r"draw\s+✓ succeeded on \w+:\w+ · job \d+"))
    assert card.locator("summary").bounding_box()["height"] < 60, "the card is not folded to a line"
    expect(body.locator("pre", has_text="drawn at the site").last).to_be_visible()
    picture = body.locator(".jp-RenderedImage img")
    expect(picture).to_have_count(1)
    assert picture.evaluate("image => image.naturalWidth") > 100
    for never in ("model not found", "Loading widget", "Error displaying"):
        assert never not in body.inner_text()
    lab.heard.requests.clear()  # JupyterLab's own were looked at above; these are nbconvert's, and went nowhere


def test_a_missing_server_half_is_said_where_the_sites_would_stand(tmp_path: Path) -> None:
    without = ("--ServerApp.jpserver_extensions={'jupyter_diamond': False}",)
    with JupyterServer(tmp_path, arguments=without) as server, lab_page(server, height=900) as lab:
        assert server.client.get("jupyter_diamond/api/status").status_code == 404
        lab.open()
        sidebar = lab.show_sidebar()
        notice = sidebar.locator('[data-notice="missing"]')
        expect(notice).to_be_visible()
        expect(notice).to_contain_text("jupyter server extension enable jupyter_diamond")
        expect(lab.status_item).to_have_text("Diamond: server half missing")
        assert lab.heard.strangers() == set()
