"""``python -m tests.live.screenshots FOLDER``: every view as a picture, light and dark, on the real clusters."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from jupyter_diamond.agent.chat.bridge import PERSONA
from jupyter_diamond.model.snapshot import NodeShape, Record, SiteReading, Snapshot
from tests.live.browser import SECONDS, SERVER_ARGUMENTS, LabPage, chromium, write_notebook
from tests.live.globus import StandIn
from tests.live.jupyter import JupyterServer
from tests.live.screenshots_screens import picture_screens
from tests.live.slurm import Testbed, TestbedError
from tests.live.slurm.testbed import sweep

LOAD = "%load_ext jupyter_diamond\nimport time\nimport matplotlib.pyplot as plt\nimport numpy as np"
VALUES = (
    "rng = np.random.default_rng(7)\nx = rng.normal(size=(4000, 5))\ny = x @ [1, -2, 0.5, 0, 3] + rng.normal(size=4000)"
)
FIT = """\
%%diamond_submit fit --cpus 2-4 --memory 2G --time 10m --in x,y --out model
for epoch in range(1, 100):
    print(f"epoch {epoch:2d}  loss {0.2 + 2 / epoch:.3f}", flush=True)
    time.sleep(0.5)
    if epoch == 14:
        break
model = np.linalg.lstsq(np.c_[np.ones(len(x)), x], y, rcond=None)[0]
figure, axes = plt.subplots(figsize=(4.5, 3))
axes.plot(y, np.c_[np.ones(len(x)), x] @ model, ".", markersize=2)
axes.set(xlabel="measured", ylabel="fitted");"""
BROKEN = """\
%%diamond_submit broken --time 10m
def tokens(path, limit):
    rows = {"train": 100, "test": 20}
    print("reading", path)
    return rows[path][:limit]

tokens("validation", 10)"""
SLEEPER = "%%diamond_submit sweep --time 2h --cpus 8\nprint('seed 0', flush=True)\ntime.sleep(600)"
WAITER = "%%diamond_submit big --gpus 4 --nodes 2 --time 4h --site delta:gpuA100x4\ntime.sleep(600)"
DRY = "%%diamond_submit plan --gpus 1 --memory 32G --time 1h --dry-run\nx.mean()"
GROUP = """\
%%diamond_submit grid --cpus 1 --time 10m --sweep lr=1e-1,1e-2,1e-3,1e-4 --sweep seed=0-5 --out loss
if lr == 1e-1 and seed > 3:
    raise ValueError(f"the loss of seed {seed} is not finite")
time.sleep(2 + 2 * seed)
loss = lr * seed"""
CHAT_CODE = "for epoch in range(3):\n    print('epoch', epoch)\nraise ValueError('the loss is not finite')"
GROUP_RESULTS = "grid.results()"
CHAT = (
    ("what can you do?", "No language model is set up"),
    (f"draft train it on 2 GPUs for 3 h\n```python\n{CHAT_CODE}\n```", "A draft, to be read and changed"),
    ("plan called fit, 1 core for 5 min", "Run fit at"),
)
"""What is typed, and a part of the answer."""
TALL = 5200
"""So that every cell is drawn: those out of sight are not in the page."""
SITES, TASKS = "%diamond sites", "%diamond tasks"
WALL, IDLE = "%diamond wall", "%diamond idle --gpus 2 --cpus 8"


class Album:
    """Where pictures go; every one is taken in both themes."""

    def __init__(self, folder: Path, lab: LabPage) -> None:
        self.folder = folder
        self.lab = lab

    def take(self, name: str, *parts: Locator, margin: int = 8) -> None:
        """A picture of one part of the page or of several side by side; of the whole page when none is named."""
        for dark in (False, True):
            self.lab.theme(dark=dark)
            path = self.folder / f"{name}-{'dark' if dark else 'light'}.png"
            boxes = [box for part in parts if (box := part.bounding_box())]
            if not boxes:
                self.lab.page.screenshot(path=path, animations="disabled")
                continue
            left, top = (max(0.0, min(box[side] for box in boxes) - margin) for side in ("x", "y"))
            right = max(box["x"] + box["width"] for box in boxes) + margin
            bottom = max(box["y"] + box["height"] for box in boxes) + margin
            clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
            self.lab.page.screenshot(path=path, clip=clip, animations="disabled")  # type: ignore[arg-type]
        print(name, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Take all pictures."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pictures go")
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    base = Path(tempfile.mkdtemp(prefix="diamond-shots-"))
    try:
        with clusters(base) as testbed, chromium("--hide-scrollbars") as browser:
            picture_jobs(folder, base / "jobs", browser, testbed)
            picture_chat(folder, base / "chat", browser)
            picture_sites(folder, base / "sites", browser)
            picture_missing_half(folder, base / "bare", browser)
            picture_screens(folder, base / "screens", browser, Album)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return 0


@contextmanager
def clusters(base: Path) -> Iterator[Testbed | None]:
    """The clusters; None where they cannot be started: the pictures then show this machine."""
    sweep()
    try:
        testbed = Testbed()
    except TestbedError as error:
        print(f"Without Slurm: {error}", file=sys.stderr)
        yield None
        return
    try:
        testbed.up()
    except TestbedError as error:
        print(f"Without Slurm: {error}", file=sys.stderr)
        testbed.down()
        yield None
        return
    try:
        yield testbed
    finally:
        testbed.down()


def picture_jobs(folder: Path, base: Path, browser: Browser, testbed: Testbed | None) -> None:
    """The notebook, its cards and the sidebar, from the first submit to the last end."""
    sites = testbed.sites_yaml(base / "sites.yaml", base / "work") if testbed else None
    arguments = ("--DiamondSites.this_machine=False",) if sites else ()
    fit, sleeper = FIT, SLEEPER
    if testbed is None:  # a small machine has room for two small jobs, and none that waits
        fit, sleeper = (re.sub(r"--cpus \S+", "--cpus 1", cell) for cell in (FIT, SLEEPER))
    else:
        fill(testbed)
    with JupyterServer(base, sites=sites, arguments=(*arguments, *SERVER_ARGUMENTS)) as server:
        cells = (LOAD, VALUES, fit, BROKEN, sleeper, WAITER, DRY, SITES, TASKS, WALL, IDLE)
        write_notebook(server.notebooks / "study.ipynb", *cells)
        lab = LabPage(browser, server, height=TALL)
        try:
            picture_notebook(Album(folder, lab), waiting=testbed is not None)
        finally:
            lab.close()
        write_notebook(server.notebooks / "grid.ipynb", LOAD, GROUP, GROUP_RESULTS)
        lab = LabPage(browser, server, height=850)
        try:
            picture_group(Album(folder, lab))
        finally:
            lab.close()
        write_notebook(server.notebooks / "today.ipynb", LOAD, VALUES, fit, sleeper)
        lab = LabPage(browser, server, height=850)
        try:
            picture_page(Album(folder, lab))
        finally:
            lab.close()


def fill(testbed: Testbed) -> None:
    """Others use the clusters too."""
    for n in range(3):
        testbed.sbatch("delta", "sleep 900", "-p", "cpu", "-n", str(20 + 30 * n))
    busy = testbed.sbatch("delta", "sleep 900", "-p", "gpuA100x4", "-N", "1", "--gres=gpu:3", "-A", "bbka-delta-gpu")
    testbed.wait_running("delta", busy)
    testbed.sbatch("anvil", "sleep 900", "-p", "shared", "-n", "90")
    testbed.sbatch("anvil", "sleep 900", "-p", "ai", "--gres=gpu:4", "-A", "cis220051-ai")


def picture_notebook(album: Album, *, waiting: bool) -> None:
    """Each card by itself, in every state; the tables."""
    lab = album.lab
    lab.open("study.ipynb")
    lab.run(0)
    lab.run(1)
    lab.show_sidebar()
    if waiting:
        lab.run(5)
        lab.wait_card(5, "pending")
        expect(lab.card(5)).to_contain_text("will run", timeout=20 * SECONDS)
        album.take("card-pending", lab.card(5))
    lab.run(4)
    lab.wait_card(4, "running")
    lab.run(2)
    running = lab.wait_card(2, "running")
    expect(running.locator(".jd-last")).to_contain_text("epoch")
    album.take("card-running", lab.card(2))
    if running.locator(".jd-button-candidates").is_visible():  # one candidate is no choice
        running.locator(".jd-button-candidates").click()
    running.locator(".jd-button-more").click()
    album.take("card-running-unfolded", lab.card(2))
    lab.task("fit").click()
    expect(lab.details.locator(".jp-diamond-log")).to_contain_text("epoch")
    picture_details(album)
    lab.wait_card(2, "completed")
    album.take("card-ended", lab.outputs(2))
    lab.card(2).locator("summary").click()
    album.take("card-ended-unfolded", lab.card(2))
    lab.run(3)
    lab.wait_card(3, "failed")
    album.take("card-failed", lab.outputs(3))
    lab.card(4).locator(".jd-button-cancel").click()
    lab.wait_card(4, "cancelled")
    album.take("card-cancelled", lab.outputs(4))
    for n, name in ((6, "dry-run"), (7, "sites-table"), (8, "tasks-table"), (9, "wall"), (10, "idle-table")):
        lab.run(n)
        album.take(name, lab.cell(n))


def picture_details(album: Album) -> None:
    """The task's own page, tab by tab."""
    lab = album.lab
    lab.page.set_viewport_size({"width": 1400, "height": 850})
    album.take("details-log", lab.details)
    for tab in ("why", "attempts", "cell", "events"):
        lab.details.locator(f'[role="tab"][data-tab="{tab}"]').click()
        expect(lab.details.locator(f'.jp-diamond-tabbody[data-tab="{tab}"]')).not_to_be_empty()
        album.take(f"details-{tab}", lab.details)
    lab.page.set_viewport_size({"width": 1400, "height": TALL})
    lab.activate_notebook("study.ipynb")


def picture_group(album: Album) -> None:
    """A sweep: its card while it runs and when it has ended, its row, its page."""
    lab = album.lab
    lab.open("grid.ipynb")
    lab.run(0)
    lab.show_sidebar()
    lab.run(1)
    card = lab.cell(1).locator(".jd-group")
    expect(card.locator(".jd-failure")).to_have_count(1, timeout=90 * SECONDS)
    row = lab.page.locator('#jupyter-diamond-sidebar [data-group-name="grid"]')
    row.locator(".jp-diamond-fold").click()
    expect(row.locator("[data-member]").first).to_be_visible()
    album.take("group-card", card)
    album.take("group-page")
    row.locator(".jp-diamond-taskrow").first.click()
    expect(lab.page.locator('.jp-diamond-details [data-part="members"]')).to_be_visible()
    album.take("group-details", lab.page.locator(".jp-diamond-details"))
    lab.activate_notebook("grid.ipynb")
    expect(lab.cell(1).locator(".jd-static")).to_be_visible(timeout=180 * SECONDS)
    lab.run(2)
    album.take("group-ended", lab.cell(1), lab.cell(2))


def picture_page(album: Album) -> None:
    """What a researcher has before the eyes: JupyterLab as a whole, and the sidebar by itself."""
    lab = album.lab
    lab.open("today.ipynb")
    for n in (0, 1, 3, 2):
        lab.run(n)
    lab.show_sidebar()
    card = lab.wait_card(2, "running")
    lab.wait_card(3, "running")
    expect(card.locator(".jd-last")).to_contain_text("epoch  5")
    card.scroll_into_view_if_needed()
    album.take("lab")
    album.take("sidebar", lab.page.locator("#jp-left-stack"), margin=0)
    lab.wait_card(2, "completed")
    album.take("lab-ended")
    lab.restart_kernel()
    gone = lab.outputs(3).locator(".jp-diamond-keptcard:visible")
    gone.scroll_into_view_if_needed()
    album.take("card-kernel-gone", gone)


def picture_chat(folder: Path, base: Path, browser: Browser) -> None:
    """Jupyter AI's chat without a language model: what Diamond takes, a draft, a plan, a change, and a job's end."""
    arguments = (f"--PersonaManager.default_persona_id={PERSONA}", *SERVER_ARGUMENTS)
    with JupyterServer(base, arguments=arguments, chat=True) as server:
        (server.notebooks / "study.chat").write_text("{}")
        lab = LabPage(browser, server, width=1000, height=1250)
        try:
            page, album = lab.page, Album(folder, lab)
            page.goto(f"{server.url}lab/tree/study.chat?token={server.token}&reset")
            page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=90 * SECONDS)
            for words, answer in CHAT:
                expect(page.locator(".jp-chat-input-container", has_text="Diamond")).to_be_visible()
                page.locator(".jp-chat-input-container textarea").first.click()
                page.keyboard.insert_text(words)
                page.keyboard.press("Enter")
                expect(page.locator(".jp-chat-rendered-message", has_text=answer).last).to_be_visible()
            card = page.locator(".jp-chat-rendered-message .jp-diamond-proposal")
            card.locator('[data-action="change"]').click()
            album.take("chat-plan")
            card.locator('[data-action="approve"]').click()
            expect(page.locator(".jp-chat-rendered-message", has_text="fit failed on").last).to_be_visible()
            album.take("chat-report")
        finally:
            lab.close()


def picture_sites(folder: Path, base: Path, browser: Browser) -> None:
    """Sites in every health: one that answers, one that fails, one that waits for a login, one that is simulated."""
    with StandIn() as services:
        endpoint = services.compute.add_endpoint("vista")
        write_catalogue(base, endpoint.id)
        with JupyterServer(
            base, sites=base / "sites.yaml", env=services.environment, arguments=SERVER_ARGUMENTS
        ) as server:
            write_notebook(server.notebooks / "pool.ipynb", LOAD, WALL)
            lab = LabPage(browser, server, height=1000)
            try:
                picture_gate(Album(folder, lab), services)
            finally:
                lab.close()


def write_catalogue(base: Path, endpoint: str) -> None:
    """A site that no host answers for, one behind Globus Compute, a recorded one; this machine is there by itself."""
    read = datetime.now(timezone.utc)
    shape = NodeShape(cpus=64, gpus=4, gpu_model="a100", gpu_memory_bytes=40 << 30, nodes=8)
    gpu = Record(
        site="rehearsal", partition="gpuA100x4", default=True, state="up", read_at=read, shapes=(shape,), cpus_total=512, cpus_free=190,
        gpus_total=32, gpus_free=6, pending=14, running=21, mine_pending=1, mine_running=1, walltime_cap_s=172_800,
    )  # fmt: skip
    recorded = SiteReading(
        site="rehearsal", transport="local", scheduler="slurm", health="online", read_at=read, records=(gpu,)
    )
    base.mkdir(parents=True, exist_ok=True)
    snapshot = Snapshot(id=1, taken_at=read, sites=(recorded,))
    (base / "recording.json").write_text(snapshot.model_dump_json(), encoding="utf-8")
    entries = (
        f"{{name: vista, transport: globus-compute, scheduler: slurm, endpoint: {endpoint}}}",
        "{name: anvil, transport: ssh, scheduler: slurm, host: login.anvil.invalid}",
        f"{{name: rehearsal, scheduler: simulated, env: {{DIAMOND_SIMULATED: {base / 'recording.json'}}}}}",
    )
    lines = "".join(f"  - {entry}\n" for entry in entries)
    (base / "sites.yaml").write_text(f"sites:\n{lines}", encoding="utf-8")


def picture_gate(album: Album, services: StandIn) -> None:
    """The sidebar before, during and after the login; the wall beside it."""
    lab = album.lab
    lab.open("pool.ipynb")
    lab.run(0)
    lab.run(1)
    sidebar = lab.show_sidebar()
    gate = lab.page.get_by_role("region", name="Log in to Globus")
    gate.wait_for(timeout=60 * SECONDS)
    expect(lab.site("vista")).to_have_attribute("data-health", "needs_login", timeout=60 * SECONDS)
    expect(lab.site("anvil").locator(".jp-diamond-problem")).to_contain_text("Since", timeout=60 * SECONDS)
    expect(lab.site("rehearsal")).to_contain_text("gpuA100x4")
    left = lab.page.locator("#jp-left-stack")
    album.take("sidebar-sites", left, margin=0)
    album.take("wall-sites", lab.outputs(1))
    with lab.page.expect_popup() as opened:
        gate.locator('[data-action="login"]').click()
    opened.value.close()
    expect(gate.get_by_label("Code")).to_be_visible()
    album.take("sidebar-code", left, margin=0)
    gate.get_by_label("Code").fill(services.auth.approve(gate.get_by_role("link").get_attribute("href") or "").code)
    lab.page.keyboard.press("Enter")
    expect(sidebar.locator(".jp-diamond-identity")).to_contain_text("Log out", timeout=30 * SECONDS)
    album.take("sidebar-logged-in", left, margin=0)


def picture_missing_half(folder: Path, base: Path, browser: Browser) -> None:
    """The frontend without its server half."""
    without = ("--ServerApp.jpserver_extensions={'jupyter_diamond': False}",)
    with JupyterServer(base, arguments=(*without, *SERVER_ARGUMENTS)) as server:
        lab = LabPage(browser, server, height=850)
        try:
            lab.open()
            lab.show_sidebar()
            lab.page.locator('[data-notice="missing"]').wait_for(timeout=20 * SECONDS)
            Album(folder, lab).take("server-half-missing", lab.page.locator("#jp-left-stack"), margin=0)
        finally:
            lab.close()


if __name__ == "__main__":
    sys.exit(main())
