"""One real server for the folder, with a blank and foreign letters in every path; a kernel for each module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.jupyter import JupyterServer

from .notebook import Notebook


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    base = tmp_path_factory.mktemp("live")
    workdir = base / "wörk dir 'quoted'"
    with JupyterServer(
        base, notebooks=base / "my näme · 笔记", arguments=(f"--DiamondSites.this_machine_workdir={workdir}",)
    ) as started:
        yield started


@pytest.fixture(scope="session")
def workdir(server: JupyterServer) -> Path:
    return server.base / "wörk dir 'quoted'"


@pytest.fixture(scope="module")
def nb(server: JupyterServer, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    notebook = Notebook(server, f"ünï côde {request.module.__name__.rpartition('.')[2]}.ipynb")
    yield notebook
    notebook.close()
