"""A server that is killed for good in the middle of a transfer, at every point: the next one goes on, and it arrives once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_diamond.store import Store
from tests.data.conftest import asked, at, catalogue, home, read, tree

REPOSITORY = Path(__file__).parents[2]
POINTS = ("created", "begun", "half", "fetched", "verified", "placed", "ending")
BIG = 2 << 20
"""24 of them move. It was 8 MiB when this was written; the points are the same, and CI is slow."""


@pytest.fixture(scope="module")
def dying(own_jupyter, tmp_path_factory):
    """Run one server until it dies, or the transfer has ended: ``dying(order)``."""
    folder = tmp_path_factory.mktemp("dying")
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    argv = [sys.executable, "-m", "tests.data.dying"]
    with (folder / "servers.log").open("wb") as log:
        parent = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=env, cwd=folder, text=True
        )

        def run(order):
            parent.stdin.write(json.dumps(order) + "\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield run
        parent.stdin.close()
        parent.wait(60)
        parent.stdout.close()


@pytest.mark.parametrize(("mover", "source", "points", "single"), [
    pytest.param("copy", home, POINTS, False, id="copy"),
    pytest.param("rsync", home, ("half",), False, marks=pytest.mark.sshd, id="rsync"),
    pytest.param("stream", lambda path: at("delta", path), ("half",), True, marks=pytest.mark.sshd, id="stream"),
])  # fmt: skip
def test_killed_anywhere_it_goes_on_and_arrives_once(
    request, tmp_path, dying, monkeypatch, mover, source, points, single
):
    if mover != "copy":
        nodes = request.getfixturevalue("nodes")
        catalogue(tmp_path / "sites.yaml", nodes)
    files = {"x": os.urandom(24 * BIG)} if single else {f"d{n % 3}/f{n}": os.urandom(BIG) for n in range(24)}
    tree(tmp_path / "from", files)
    target = tmp_path / "to" / "there"
    here, there = (tmp_path / "from" / "x" if single else tmp_path / "from"), home(target)
    if mover != "copy":
        there = at("anvil", target)
    order = {
        "store": str(tmp_path / "store.sqlite"), "sites": str(tmp_path / "sites.yaml"), "to": str(target),
        "request": asked(source(here), there).model_dump(mode="json"),
    }  # fmt: skip
    for number, point in enumerate(points, 1):
        assert dying({**order, "die": point, "grown": number * 5 * BIG}) == -9, point
    assert dying({**order, "die": None}) == 0
    store = Store(tmp_path / "store.sqlite")
    (transfer,) = store.transfers.list()
    store.close()
    assert (transfer.state, transfer.mover, transfer.cause) == ("succeeded", mover, "")
    assert (target.read_bytes() == files["x"]) if single else (read(target) == files)
    assert [path.name for path in target.parent.iterdir()] == ["there"]
    assert sum("Goes on" in line for line in transfer.log) >= len(points) - 1
