"""A card without its kernel shows what its job brought back: text, figure, table; foreign markup never runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.live.browser import SECONDS, lab_page, write_notebook
from tests.live.jupyter import JupyterServer

pytestmark = pytest.mark.browser
LOAD = "%load_ext jupyter_diamond"
DRAW = """\
%%diamond_submit draw --time 10m
import time
from IPython.display import HTML, SVG, display
import matplotlib.pyplot as plt
print("drawing", flush=True)
time.sleep(6)
display(HTML("<table><tr><td>cell of a table</td></tr></table><img src=x onerror='window.evil=1'><script>window.evil=1</script>"))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20"/></svg>'))
fig = plt.figure(figsize=(3, 2))
fig.gca().plot([1, 4, 9])
fig"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with JupyterServer(tmp_path_factory.mktemp("kept")) as started:
        write_notebook(started.notebooks / "kept.ipynb", LOAD, DRAW)
        yield started


def test_what_a_job_brought_back_stands_below_its_card_when_the_kernel_is_gone(server: JupyterServer) -> None:
    with lab_page(server) as lab:
        lab.open("kept.ipynb")
        lab.run(0)
        lab.run(1)
        lab.wait_card(1, "running")
        lab.restart_kernel()
        card = lab.outputs(1).locator(".jp-diamond-keptcard:visible")
        outputs = lab.outputs(1).locator(".jp-diamond-keptoutputs")
        expect(card).to_have_attribute("data-state", "completed", timeout=60 * SECONDS)
        expect(outputs.get_by_text(re.compile("^drawing"))).to_be_visible()
        expect(outputs.get_by_text("cell of a table")).to_be_visible()
        figure = outputs.locator('img[src^="data:image/png"], .jp-RenderedImage img').last
        expect(figure).to_be_visible()
        assert figure.evaluate("image => image.naturalWidth") > 100, "the figure has no picture in it"
        expect(outputs.locator('img[src^="data:image/svg"]')).to_be_visible()
        assert outputs.locator("script, [onerror]").count() == 0
        assert lab.page.evaluate("window.evil") is None
        assert lab.heard.our_errors() == []
        assert lab.heard.strangers() == set()
