"""``jupyter diamond`` in a process of its own, in the private environment of a real server.

The process is forked from one that has loaded the command line; some tests start it as a shell would.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.forked import Ended, forks
from tests.live.jupyter import JupyterServer, private_environment


class Said(Ended):
    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    def __init__(self, env: dict[str, str]) -> None:
        self.env = env

    def __call__(self, *words: str, stdin: str = "", seconds: float = 120) -> Said:
        done = forks().run(words, self.env, stdin, seconds)
        assert "Traceback" not in done.err, done.err
        return Said(done.status, done.out, done.err)

    def started(self, *words: str) -> Said:
        """As a shell starts it: where it matters what is loaded."""
        command = [sys.executable, "-c", "from jupyter_diamond.cli import main; main()", *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    def json(self, *words: str) -> Any:
        said = self(*words, "--json")
        assert said.status == 0, said
        return said.json


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    with JupyterServer(tmp_path_factory.mktemp("cli")) as started:
        yield started


@pytest.fixture
def cli(server: JupyterServer) -> Cli:
    return Cli(server.env)


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    """Without any server."""
    return Cli(private_environment(tmp_path))
