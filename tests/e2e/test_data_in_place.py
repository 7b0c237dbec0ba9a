"""Data in place, as its example notebook has it: two real Slurm clusters with files of their own, Globus between them.

The clusters stand behind real sshd, and each has a collection of the Transfer stand-in, which really copies. The server
is killed in the midst of the transfer.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.live.globus import COMPUTE, TRANSFER, StandIn
from tests.live.jupyter import REPOSITORY, JupyterServer
from tests.live.slurm import Testbed
from tests.live.sshd import login_nodes
from tests.notebook.live_kernel import LiveKernel, Ran
from tests.notebook_live.notebook import outliving_kernel, until

pytestmark = [pytest.mark.slurm, pytest.mark.sshd, pytest.mark.globus]
SLOW = 150_000.0
"""Bytes a second: its 3.8 MB then take 25 s, long enough to be looked at on a slow machine."""


class TwoClusters:
    """A server that knows delta, where the data lies, and anvil, where cells shall run; and what is between them."""

    def __init__(self, base: Path, testbed: Testbed, services: StandIn, nodes: dict[str, Any]) -> None:
        self.services = services
        self.files = {name: base / f"{name} files" for name in nodes}
        self.collections = {name: services.transfer.add_collection(name, folder) for name, folder in self.files.items()}
        self.server = JupyterServer(
            base, sites=self._sites(base, testbed, nodes), arguments=("--DiamondSites.this_machine=False",),
            env={
                **services.environment,
                "JUPYTER_DIAMOND_TOKENS": json.dumps(services.auth.issue([COMPUTE, TRANSFER])),
                "XDG_RUNTIME_DIR": str(base / "run"),
            },
        )  # fmt: skip
        (base / "run").mkdir(mode=0o700)
        shots = self.files["delta"] / "me" / "shots"
        shots.mkdir(parents=True)
        for n in range(8):
            (shots / f"{n}.f64").write_bytes(array("d", [n + k / 60_000 for k in range(60_000)]).tobytes())
        self.shots = f"delta:{shots}"

    def _sites(self, base: Path, testbed: Testbed, nodes: dict[str, Any]) -> Path:
        """Sites whose folders are parts of their collections."""
        path = testbed.sites_yaml(base / "sites.yaml", base, names=nodes, nodes=nodes.values())
        catalogue = YAML(typ="safe").load(path)
        for site in catalogue["sites"]:
            files = self.files[site["name"]]
            site["workdir"] = str(files / "work")
            site["data"] = {"collections": [{"id": self.collections[site["name"]].id, "folder": str(files)}]}
        YAML().dump(catalogue, path)
        return path

    def transfers(self) -> list[dict[str, Any]]:
        """Oldest first."""
        found: list[dict[str, Any]] = self.server.api("GET", "transfers")["transfers"]
        return found[::-1]


@pytest.fixture
def two(testbed: Testbed, tmp_path: Path) -> Iterator[TwoClusters]:
    envs = {name: testbed.env(name) for name in ("delta", "anvil")}
    with StandIn() as services, login_nodes(tmp_path / "ssh", envs) as nodes:
        made = TwoClusters(tmp_path, testbed, services, nodes)
        with made.server:
            yield made


@pytest.fixture
def kernel(two: TwoClusters, tmp_path: Path) -> Iterator[LiveKernel]:
    """One that lives on when the server is killed; the user's own cell says where the data lies."""
    folder = tmp_path / "notebook folder"
    folder.mkdir()
    made = outliving_kernel(two.server, folder)
    made.ok(f"import os; os.environ['SHOTS'] = {two.shots!r}")
    yield made
    made.stop()


def cells() -> list[str]:
    """The code of the notebook, with its jobs sent to anvil."""
    notebook = json.loads((REPOSITORY / "example_notebooks" / "03_data.ipynb").read_text())
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [re.sub(r"\A(%%diamond_submit \w+)", r"\1 --site anvil", each) for each in code]


def seen(ran: Ran) -> str:
    """All that stands below a cell, as plain text."""
    return "\n".join((ran.everything, *(str(each["data"].get("text/plain", "")) for each in ran.displays)))


def staging(kernel: LiveKernel) -> list[str]:
    """What live cards have said of data on its way."""
    views = [each["content"]["data"].get("state", {}).get("view", {}) for each in kernel.comm_messages()]
    return [row["text"] for view in views for row in view.get("staging", ())]


def test_the_example_notebook_runs_survives_a_killed_server_and_moves_nothing_the_second_time(
    two: TwoClusters, kernel: LiveKernel, testbed: Testbed
) -> None:
    load, where, add, dry, submit, brought, files, table, again, count, moved = cells()
    kernel.ok(load + "\n" + where)
    assert "shots  3.6 MB in 8 files" in kernel.ok(add, 60).result
    planned = seen(kernel.ok(dry, 60))
    assert f"shots: 3.6 MB in 8 files from {two.shots} to anvil." in planned
    assert "before the job is sent." in planned

    collection = two.collections["anvil"]
    collection.rate = SLOW
    running = kernel.send(submit)
    (first,) = until(two.services.transfer.transfers, 60, "the transfer")
    task = until(lambda: two.server.api("GET", "tasks/mean"), what="the task")
    assert task["state"] == "staging_in"
    until(lambda: two.transfers()[0]["progress"]["bytes_done"], 60, "a part of the data")
    kernel.until(lambda: any(" of 3.6 MB" in each for each in staging(kernel)), 30, "the card's bar")
    two.server.kill()
    assert first.document["status"] == "ACTIVE", "killed in the midst of it"
    collection.rate = None
    two.server.start()
    ran = kernel.finish(running, 180)
    assert ran.status == "ok", ran.everything

    assert [each.document["task_id"] for each in two.services.transfer.transfers()] == [first.document["task_id"]]
    task = two.server.api("GET", "tasks/mean")
    (attempt,) = task["attempts"]
    assert (task["state"], attempt["submissions"], attempt["site"]) == ("completed", 1, "anvil")
    assert (
        len(testbed.run("anvil", "sacct", "-X", "-n", "-P", "--name", attempt["token"], "-o", "JobID").stdout.split())
        == 1
    )
    shown = kernel.ok(brought).result
    assert shown.startswith("(3.99999")
    assert "'0.txt', '1.txt', '2.txt', '3.txt', '4.txt', '5.txt', '6.txt', '7.txt'" in shown
    assert "means/7.txt" in seen(kernel.ok(files, 60))
    assert "there (staged)" in seen(kernel.ok(table, 60))

    before = two.transfers()
    assert [(each["request"]["purpose"], each["state"]) for each in before][:1] == [("stage_in", "succeeded")]
    kernel.ok(again, 180)
    assert kernel.ok(count).result == "8"
    assert two.transfers() == before, "nothing was moved"
    assert len(two.services.transfer.transfers()) == 1
    assert "arrived" in seen(kernel.ok(moved, 60))

    listed = kernel.ok("%diamond data drop shots anvil", 60).result
    assert "7.f64" in listed
    copy = next(two.files["anvil"].rglob("7.f64")).parent
    kernel.ok(listed.splitlines()[-1].removeprefix("To delete it: "), 60)
    assert not copy.exists()
    assert (two.files["delta"] / "me" / "shots" / "7.f64").exists()
    assert "there (staged)" not in seen(kernel.ok(table, 60))
