"""The live card's rows of data on its way, in a real browser with nothing of JupyterLab around it."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from jupyter_diamond.model.states import State
from jupyter_diamond.notebook.card_view import KernelSide, card_view
from jupyter_diamond.notebook.static_files import module, static
from tests.live.browser import chromium

from .test_card_text import NOW, task
from .test_data_words import a_transfer
from .test_staging_view import staged

pytestmark = pytest.mark.browser
PAGE = """
<style>STYLE</style><div id="card"></div>
<script type="module">
MODULE
const heard = {};
window.model = {
  view: VIEW, get: name => ({ view: window.model.view, log: '', outputs: [] })[name], send: () => undefined,
  on: (name, act) => { heard[name] = act; }, off: () => undefined,
};
window.show = view => { window.model.view = view; heard['change:view'](); };
card.render({ model: window.model, el: document.getElementById('card') });
</script>"""


def view(*transfers):
    told = {each.id: each for each in transfers}
    waits = tuple(each for one in transfers for each in staged(one.request.dataset, transfer=one.id))
    return card_view(
        task(State.STAGING_IN, native=None, staged=waits), now=NOW, here=KernelSide(transfers=told)
    )  # fmt: skip


@pytest.fixture
def page():
    with chromium() as browser:
        made = browser.new_page(viewport={"width": 900, "height": 400})
        errors = []
        made.on("pageerror", lambda error: errors.append(str(error)))
        yield made
        assert errors == []


def draw(page: Page, first) -> None:
    script = module("card.js").replace("export default { render };", "const card = { render };")
    style = static("card_static.css") + static("card.css")
    page.set_content(PAGE.replace("STYLE", style).replace("MODULE", script).replace("VIEW", json.dumps(first)))


def test_data_on_its_way_has_a_bar_and_what_needs_the_user_one_link(page):
    evil = a_transfer(request={"dataset": "labels"}, id="x2", state="stalled", trouble="<img src=x onerror=alert(1)>")
    draw(page, view(a_transfer(), evil))
    rows = page.locator(".jd-move")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("imagenet")
    expect(rows.nth(0)).to_contain_text("31 GB of 145 GB · 88 MB/s · about 22 min left")
    expect(rows.nth(0).get_by_role("progressbar")).to_have_attribute("aria-valuenow", "21")
    expect(rows.nth(1)).to_contain_text("<img src=x onerror=alert(1)>")
    stuck = a_transfer(state="needs_you", trouble="Globus wants your consent.", link="https://auth.globus.org/x")
    page.evaluate("view => window.show(view)", view(stuck))
    expect(rows).to_have_count(1)
    link = rows.get_by_role("link", name="Give what it needs")
    expect(link).to_have_attribute("href", "https://auth.globus.org/x")
    link.focus()
    page.evaluate("view => window.show(view)", view(stuck))
    expect(link).to_be_focused()
    page.evaluate("view => window.show(view)", card_view(task(State.PENDING), now=NOW))
    expect(page.locator(".jd-moves")).to_be_hidden()
