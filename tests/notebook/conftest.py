"""Fixtures: a REST server in memory, a client of it, and a real kernel connected to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.connect import ServerAddress

from .live_kernel import LiveKernel
from .rest_server import TOKEN, RestServer


@pytest.fixture
def rest() -> Iterator[RestServer]:
    server = RestServer().start()
    yield server
    server.stop()


@pytest.fixture
def client(rest: RestServer) -> Iterator[DiamondClient]:
    made = DiamondClient(lambda: ServerAddress(rest.url, TOKEN))
    yield made
    made.close()


@pytest.fixture
def kernel(rest: RestServer, tmp_path: Path) -> Iterator[LiveKernel]:
    made = LiveKernel({"DIAMOND_SERVER_URL": rest.url, "DIAMOND_SERVER_TOKEN": TOKEN}, tmp_path)
    made.ok("%load_ext jupyter_diamond\nx, y = 3, 4")
    yield made
    made.stop()
