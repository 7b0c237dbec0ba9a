"""A real login node on loopback, and transports that reach it by the system's ssh."""

import asyncio
import time

import pytest
import pytest_asyncio

from jupyter_diamond.transport.ssh import SshTransport
from jupyter_diamond.transport.ssh_client import Client
from tests.live.sshd import Sshd


@pytest.fixture
def run_folder(tmp_path_factory, monkeypatch):
    """Keep connections in a folder of the test's own, with a short path."""
    folder = tmp_path_factory.mktemp("run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def node(tmp_path, run_folder):
    node = Sshd(tmp_path / "ssh", "delta", env={"SITE_SAYS": "here I am"})
    yield node
    node.close()


@pytest_asyncio.fixture
async def reach(run_folder):
    """Make transports to a node: ``reach(node)``."""
    made = []

    def make(node, env=None, options=()):
        client = Client(host=node.alias, where=node.alias, options=options, config=str(node.config))
        made.append(SshTransport(client, env or {}))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()


async def until(condition, within=10.0):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "not within the deadline"
        await asyncio.sleep(0.02)
