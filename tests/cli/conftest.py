"""``jupyter diamond`` in a process of its own, in the private environment of a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.jupyter import JupyterServer, private_environment


@dataclass
class Said:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    def __init__(self, env: dict[str, str]) -> None:
        self.env = env

    def __call__(self, *words: str, stdin: str = "", seconds: float = 120) -> Said:
        command = [sys.executable, "-c", "from jupyter_diamond.cli import main; main()", *words]
        done = subprocess.run(
            command, env=self.env, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert "Traceback" not in done.stderr, done.stderr
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
