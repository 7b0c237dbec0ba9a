"""``jupyter diamond wait``: the exit status tells what became of the task, also past a restart of the server."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import Said
from tests.engine import cells
from tests.live.jupyter import JupyterServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with JupyterServer(tmp_path_factory.mktemp("waiting"), arguments=("--DiamondStore.lease_s=3",)) as started:
        yield started


def submit(server: JupyterServer, source: str, name: str) -> dict:
    bundle = cells.bundle(source, name=name)
    request = cells.request(source, bundle, name=name)
    files = {"bundle": ("bundle.tar", bundle, "application/x-tar")}
    return server.api("POST", "tasks", data={"request": request.model_dump_json()}, files=files)["task"]


class Waiting:
    """``jupyter diamond wait …`` in the background."""

    def __init__(self, env, *words):
        command = [sys.executable, "-c", "from jupyter_diamond.cli import main; main()", "wait", *words]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def said(self, seconds=60) -> Said:
        out, err = self.process.communicate(timeout=seconds)
        return Said(self.process.returncode, out, err)


def registered(server, name):
    deadline = time.monotonic() + 30
    while not server.api("GET", "continuations", params={"task": name})["continuations"]:
        assert time.monotonic() < deadline, "nobody waits"
        time.sleep(0.05)


def test_the_status_tells_how_it_ended(server, cli):
    submit(server, "pass", "good")
    said = cli("wait", "good")
    assert (said.status, said.out, said.err) == (0, "good: succeeded, here:machine.\n", "")
    submit(server, "1 / 0", "bad")
    said = cli("wait", "bad", "--for", "1m")
    assert said.status == 1
    assert said.out.startswith("bad: failed, here:machine. ZeroDivisionError: division by zero.")
    assert cli("wait", "nothing").status == 4
    assert cli("wait", "good", "--for", "5").status == 2


def test_it_waits_for_a_line_of_the_log_and_for_the_start(server, cli, tmp_path):
    submit(server, "print('epoch 10 loss 0.5', flush=True)\n" + cells.held(tmp_path / "go", "pass"), "epochs")
    assert cli("wait", "epochs", "--until", "running").status == 0
    said = cli("wait", "epochs", "--until", r"epoch \d0", "--json")
    assert (said.status, said.json["line"], said.json["task_state"]) == (0, "epoch 10 loss 0.5", "running")
    late = cli("wait", "epochs", "--for", "1s")
    assert (late.status, late.out) == (5, "epochs: not yet after 1 s; it is running. It goes on.\n")
    assert server.api("GET", "continuations")["continuations"] == [], "nobody waits any more"
    (tmp_path / "go").touch()
    never = cli("wait", "epochs", "--until", "epoch 99")
    assert (never.status, "succeeded without what was waited for" in never.out) == (1, True)


def test_it_outlives_a_server_that_is_killed(server, cli, tmp_path):
    submit(server, cells.held(tmp_path / "go", "pass"), "long")
    waiting = Waiting(cli.env, "long", "--for", "2m", "--json")
    registered(server, "long")
    server.kill()
    (tmp_path / "go").touch()
    server.token = "another-token-after-the-crash"  # as a server has that is started by hand
    server.start()
    said = waiting.said()
    assert said.status == 0, said
    assert json.loads(said.out)["outcome"] == "OK"
    assert said.err.endswith("Still waiting.\n")
    assert said.err.count("\n") == 1, "an outage is told once"


@pytest.mark.parametrize("word", ["completed", "FAILED", "oom"])
def test_a_word_that_is_a_state_is_not_looked_for_in_the_log(cli, word):
    said = cli("wait", "good", "--until", word)
    assert (said.status, said.out) == (2, "")
    assert "ended or running" in said.err
