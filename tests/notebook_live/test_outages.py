"""The server, the kernel, the disk and the site go away while a job is under way: nothing is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.live.jupyter import JupyterServer

from .notebook import Notebook, outliving_kernel, until

GATED = (
    "import pathlib, time\nwhile not pathlib.Path({gate!r}).exists(): time.sleep(0.05)\nv = 41 + 1\nprint('through')"
)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[JupyterServer]:
    with JupyterServer(tmp_path / "server") as server:
        yield server


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "small disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_server_that_stops_under_a_job_loses_nothing(own, tmp_path):
    gate = tmp_path / "gate"
    kernel = outliving_kernel(own, tmp_path)
    try:
        ran = kernel.ok("%%diamond_submit fit --out v\n" + GATED.format(gate=str(gate)))
        card = ran.displays[0]["transient"]["display_id"]
        kernel.ok("import time\nwhile fit.state.value != 'running': time.sleep(0.05)")
        own.stop()

        assert kernel.ok("6 * 7").result == "42"
        refusal = kernel.run("%diamond tasks")
        assert refusal.stderr.startswith("UsageError: The Jupyter server at http://127.0.0.1:"), refusal.everything
        assert "cannot be reached. Tasks at their sites are not affected" in refusal.stderr
        said = kernel.until(
            lambda: kernel.ok("print(repr(fit))").stdout.split("\n", 1)[1], 15, "the card says that the server is away"
        )
        kernel.until(
            lambda: "has not answered since" in kernel.ok("print(repr(fit))").stdout,
            15,
            f"an outage on the card: {said}",
        )
        gate.touch()  # the job ends while nobody looks
        attempts = own.base / "diamond" / "here" / "attempts"
        until(lambda: list(attempts.glob("*/end.json")), 20, "the job's end without a server")

        own.start()
        assert kernel.ok("fit.result(timeout=30), v", 60).result == "(42, 42)"
        assert kernel.ok("fit.wait(20)", 30).result == "True"
        kernel.until(
            lambda: any("✓ succeeded" in u["data"].get("text/plain", "") for u in kernel.updates(card)),
            10,
            "a folded card",
        )
        assert kernel.ok("print(fit.logs())").stdout.strip() == "through"
    finally:
        kernel.stop()


def test_a_killed_kernel_finds_its_task_again(server):
    gate = server.base / "gate of the killed"
    notebook = Notebook(server, "killed kernel.ipynb")
    notebook.run("%%diamond_submit survivor --out v\n" + GATED.format(gate=str(gate)))
    task = notebook.value("survivor.id")
    notebook.kernel.kill()
    until(
        lambda: server.client.get(f"api/kernels/{notebook.kernel.id}").json().get("execution_state") == "idle", 60,
        "the server restarts the kernel",
    )  # fmt: skip
    assert notebook.value("'survivor' in globals()") is False
    gate.touch()
    assert notebook.run("import jupyter_diamond; jupyter_diamond.task('survivor').result()").text == "42"
    assert notebook.value("jupyter_diamond.task('survivor').id") == task
    notebook.close()


def test_the_same_cell_in_a_new_kernel_attaches_to_the_job_of_the_dead_one(server):
    gate = server.base / "gate of the attached"
    cell = "%%diamond_submit again --out v\n" + GATED.format(gate=str(gate))
    notebook = Notebook(server, "attached.ipynb")
    notebook.run(cell)
    task = notebook.value("again.id")
    notebook.kernel.restart()
    notebook.run("%load_ext jupyter_diamond")
    ran = notebook.run(cell)
    assert "is attached to this cell; nothing was sent" in ran.text
    gate.touch()
    assert notebook.run("again.result()").text == "42"
    assert notebook.value("[again.id, v]") == [task, 42]
    notebook.close()


@pytest.mark.users
def test_a_full_disk_at_the_site_refuses_the_job_and_says_so(tmp_path, full_disk):
    with JupyterServer(tmp_path / "server", arguments=(f"--DiamondSites.this_machine_workdir={full_disk}",)) as server:
        notebook = Notebook(server, "full.ipynb")
        notebook.submit("roomy --out v", "v = 1")
        notebook.run("filler = b'x' * 4_000_000")
        ran = notebook.submit("fit --out v", "v = len(filler)")
        (card,) = ran.cards
        assert "✗ refused on here" in card
        assert "No space left on device. Nothing was submitted. Free some quota there" in card
        failed = notebook.fails("fit.result()")
        assert failed.error.startswith("ResultUnavailable: fit returned nothing. "), failed.error
        assert "No space left on device" in failed.error
        assert not list((full_disk / "attempts").glob("dmd-*/bundle.tar"))[1:], "half a bundle keeps the disk full"
        notebook.submit("fit --out v", "v = 7")
        assert notebook.value("v") == 7


@pytest.mark.users
def test_a_disk_that_fills_while_the_cell_runs_still_says_what_happened(tmp_path, full_disk):
    with JupyterServer(tmp_path / "server", arguments=(f"--DiamondSites.this_machine_workdir={full_disk}",)) as server:
        notebook = Notebook(server, "filling.ipynb")
        ran = notebook.submit("fit --out v,w", "w = 5\nv = bytes(range(256)) * 20_000\nprint('done')")
        (card,) = ran.cards
        assert "✗ failed" in card
        assert "full or over quota" in card
        assert "`v`" in card or "'v'" in card
        assert notebook.value("w") == 5  # what could be kept came back


def test_a_site_without_its_scheduler_is_named_and_holds_up_no_other(tmp_path):
    sites = tmp_path / "sites.yaml"
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in Path("/usr/bin").iterdir():
        if not tool.name.startswith(("sb", "sc", "si", "sq", "sa", "sr", "st")) or tool.name == "stat":
            (tools / tool.name).symlink_to(tool)
    sites.write_text(f"sites:\n  - {{name: away, transport: local, scheduler: slurm, env: {{PATH: '{tools}'}}}}\n")
    with JupyterServer(tmp_path / "server", sites=sites) as server:
        notebook = Notebook(server, "away.ipynb")
        notebook.submit("fit --out v", "v = 3")
        assert notebook.value("v") == 3
        ran = notebook.run("%%diamond_submit lost --site away --wait\nprint(1)")
        assert "✗ refused on away" in ran.cards[0], ran.text
        assert "away" in ran.cards[0]
        assert "sbatch" in ran.cards[0]


def of(message):
    return message["parent_header"].get("msg_id")


def test_a_kernel_that_is_interrupted_while_it_waits_is_fine(nb):
    gate = nb.server.base / "gate of the interrupted"
    nb.run("%%diamond_submit blocked --out v\n" + GATED.format(gate=str(gate)))
    pid = nb.kernel.pid()
    for waiting in ("blocked.result()", "blocked.wait()", "blocked.logs(follow=True)", "await blocked"):
        sent = nb.kernel._send("execute_request", {"code": waiting, "silent": False, "store_history": True})
        nb.kernel.listen(lambda m, sent=sent: m["msg_type"] == "execute_input" and of(m) == sent)
        until(lambda: psutil.Process(pid).status() == psutil.STATUS_SLEEPING, 10, "the kernel waits")
        nb.interrupt()
        reply = nb.kernel.listen(lambda m, sent=sent: m["msg_type"] == "execute_reply" and of(m) == sent, seconds=15)
        assert reply["content"]["status"] == "error", waiting
        assert reply["content"]["ename"] in ("KeyboardInterrupt", "CancelledError"), reply["content"]
        assert nb.value("1 + 1") == 2
    gate.touch()
    assert nb.run("blocked.result()").text == "42"
