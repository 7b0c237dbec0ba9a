"""Fixtures: a REST server in memory, a client of it, and a real kernel connected to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@pytest.fixture(scope="module")
def asked_only() -> Iterator[RestServer]:
    """One for the tests of a module in which nothing is sent."""
    server = RestServer().start()
    yield server
    assert (server.pool.tasks, server.pool.groups) == ({}, {}), "something was sent"
    server.stop()


@pytest.fixture
def client(rest: RestServer) -> Iterator[DiamondClient]:
    made = DiamondClient(lambda: ServerAddress(rest.url, TOKEN))
    yield made
    made.close()


@pytest.fixture
def kernel(rest: RestServer, tmp_path: Path) -> Iterator[LiveKernel]:
    with connected(rest, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def asking_kernel(asked_only: RestServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveKernel]:
    """One for the tests of a module that leave nothing in it: a kernel's start takes a second of CPU."""
    with connected(asked_only, tmp_path_factory.mktemp("asking")) as made:
        yield made


@contextmanager
def connected(rest: RestServer, folder: Path) -> Iterator[LiveKernel]:
    """A kernel with the extension and two variables."""
    made = LiveKernel({"DIAMOND_SERVER_URL": rest.url, "DIAMOND_SERVER_TOKEN": TOKEN}, folder)
    try:
        made.ok("%load_ext jupyter_diamond\nx, y = 3, 4")
        yield made
    finally:
        made.stop()
