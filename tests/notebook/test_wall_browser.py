"""The wall in a real JupyterLab: it lives without the kernel's loop, filters, sorts, fits, and keeps to text."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone

import pytest
from playwright.sync_api import expect

from jupyter_diamond.model.snapshot import NodeShape, Record, SiteReading, Snapshot
from tests.live.browser import SERVER_ARGUMENTS, lab_page, write_notebook
from tests.live.jupyter import JupyterServer

pytestmark = pytest.mark.browser
EVIL = '<img src=x onerror="window.evil=1">'
T0 = datetime(2026, 1, 1, tzinfo=timezone.utc)


def partition(site, name, gpus, free):
    shape = NodeShape(cpus=64, gpus=4 if gpus else 0, nodes=2)
    return Record(
        site=site, partition=name, state="up", read_at=T0, shapes=(shape,), cpus_total=128, cpus_free=64, gpus_total=gpus,
        gpus_free=free, pending=3, running=1, mine_pending=0, mine_running=0, walltime_cap_s=3600,
    )  # fmt: skip


def recording(folder):
    """Eleven sites of two partitions; one has a name that is markup."""
    sites = [
        SiteReading(
            site=f"sim{n:02}", transport="local", scheduler="slurm", read_at=T0, gpus_free=n, gpus_total=8, cpus_free=64,
            cpus_total=128, pending=3, running=1,
            records=(partition(f"sim{n:02}", "gpu", 8, n), partition(f"sim{n:02}", EVIL if n == 3 else "cpu", 0, 0)),
        )
        for n in range(11)
    ]  # fmt: skip
    (folder / "recording.json").write_text(Snapshot(id=1, taken_at=T0, sites=tuple(sites)).model_dump_json())
    entries = [
        f"  - {{name: {site.site}, scheduler: simulated, env: {json.dumps({'DIAMOND_SIMULATED': str(folder / 'recording.json')})}}}"
        for site in sites
    ]
    (folder / "sites.yaml").write_text("\n".join(["sites:", *entries, ""]))
    return folder / "sites.yaml"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("wall")
    arguments = (*SERVER_ARGUMENTS, "--DiamondEngine.probe_tick_s=1")
    with JupyterServer(base, sites=recording(base), arguments=arguments) as started:
        write_notebook(
            started.notebooks / "pool.ipynb", "%load_ext jupyter_diamond", "%diamond wall", "import time\ntime.sleep(8)"
        )
        yield started


@pytest.fixture
def page(server):
    with lab_page(server, width=1280, height=1600) as lab:
        lab.open("pool.ipynb")
        lab.run(0)
        lab.run(1)
        lab.outputs(1).locator(".jd-wall-live .jd-site").first.wait_for()
        yield lab.page
        assert lab.heard.our_errors() == []


def names(page):
    return page.locator(".jd-wall-live .jd-site").evaluate_all("all => all.map(each => each.dataset.site)")


def test_the_wall_in_jupyterlab(page):
    wall = page.locator(".jd-wall-live")
    # live while the kernel runs a cell: numbers are read anew every second, so no age grows old
    page.locator(".jp-CodeCell").nth(2).locator(".jp-InputArea-editor").click()
    page.keyboard.press("Control+Enter")
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]').first.wait_for(state="attached")
    clock = wall.locator('.jd-site[data-site="here"] tr[data-partition="machine"]')
    seen = clock.get_attribute("title")
    expect(clock).not_to_have_attribute("title", seen, timeout=6000)
    assert page.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]').count(), "the cell has ended already"

    # twelve sites fit without scrolling sideways; the simulated ones stand behind and say so
    assert len(names(page)) == 12
    assert wall.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert names(page)[0] == "here"
    assert wall.locator('.jd-site[data-site="sim00"] .jd-means').inner_text() == "simulated"
    assert wall.locator(".jd-sum").first.inner_text().split() == ["0", "free", "GPUs"], "simulated GPUs are no GPUs"

    # foreign text stays text
    assert wall.locator(
        f'.jd-site[data-site="sim03"] .jd-part:text-is("{EVIL.replace(chr(34), chr(92) + chr(34))}")'
    ).count()
    assert page.evaluate("window.evil") is None

    # sort and filter
    wall.locator(".jd-sort").select_option("gpus")
    assert names(page)[1:4] == ["sim10", "sim09", "sim08"]
    wall.locator(".jd-filter").fill("sim0 gpu")
    assert len(names(page)) == 10
    assert wall.locator("tr.jd-row").count() == 10
    wall.locator(".jd-filter").fill("nothing like this")
    expect(wall.locator(".jd-empty").last).to_contain_text("No site or partition has these words.")
    wall.locator(".jd-filter").fill("")

    # exact figures on a click, by keyboard too, and they outlive the next reading
    part = wall.locator('.jd-site[data-site="sim10"] .jd-part').first
    part.focus()
    page.keyboard.press("Enter")
    detail = wall.locator('.jd-site[data-site="sim10"] tr.jd-detail').first
    expect(detail).to_contain_text("10 of 8 GPUs free")
    before = detail.inner_text()
    expect(detail).not_to_have_text(before, timeout=6000)
    expect(part).to_be_focused()
    assert re.search(r"read \d\d:\d\d:\d\d", detail.inner_text())


def test_both_themes_are_readable(page):
    """Text against its ground, by the contrast of WCAG: 4.5 for all that is said, in light and in dark."""
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', { theme: name })", theme)
        light = str("Light" in theme).lower()
        page.locator(f'body[data-jp-theme-light="{light}"]').wait_for(state="attached")
        page.wait_for_function("document.querySelector('#jupyterlab-splash') === null")
        for part in (
            ".jd-value",
            ".jd-label",
            ".jd-name",
            ".jd-means",
            ".jd-age",
            ".jd-word",
            ".jd-part",
            ".jd-unit",
            "th",
        ):
            found = page.locator(f".jd-wall-live {part}").first.evaluate(CONTRAST)
            assert found >= 4.5, (theme, part, found)


CONTRAST = """element => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const parse = color => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
        return Array.from(canvas.getImageData(0, 0, 1, 1).data);
    };
    const ground = () => {
        for (let at = element; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255, 255];
    };
    const raw = getComputedStyle(element).color;
    const alpha = Number((raw.match(/rgba\\(.*, ([\\d.]+)\\)/) || [0, 1])[1]);
    const under = ground();
    const solid = parse(raw.replace(/rgba\\((.*), [\\d.]+\\)/, 'rgb($1)'));
    const over = solid.map((value, at) => value * alpha + under[at] * (1 - alpha));
    const light = color => {
        const [r, g, b] = color.slice(0, 3).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [a, b] = [light(over), light(under)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
}"""
