"""Sites on loopback that each transport reaches: this machine, a real login node, an endpoint behind the stand-in."""

import asyncio
import time

import pytest
import pytest_asyncio

from jupyter_diamond.globus import bucket
from jupyter_diamond.transport.globus_compute import GlobusComputeTransport
from jupyter_diamond.transport.local import LocalTransport
from jupyter_diamond.transport.ssh import SshTransport
from jupyter_diamond.transport.ssh_client import Client
from tests.live.sshd import Sshd
from tests.transport.globus import signed_in, site_at


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


@pytest.fixture
def unmetered(monkeypatch):
    """A test asks more often than a server would; how often that is, is a matter of the bucket's own tests."""
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket(100_000))


@pytest.fixture
def endpoint(globus_services):
    """An endpoint of ours that is online, with one worker."""
    return globus_services.compute.add_endpoint("login")


@pytest_asyncio.fixture
async def far(globus_services, unmetered, tmp_path):
    """Make transports to an endpoint: ``far(endpoint)``. All share one login."""
    made = []
    globus = signed_in(globus_services, tmp_path, timeout_s=5.0)

    def make(endpoint, env=None, answer_s=20.0, **fields):
        site = site_at(endpoint.id, tmp_path / "work", env=env or {}, **fields)
        made.append(GlobusComputeTransport(globus, site, answer_s))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()
    await globus.close()


KINDS = ["local", pytest.param("ssh", marks=pytest.mark.sshd), "globus-compute"]


@pytest_asyncio.fixture
async def here():
    """Make transports to this machine."""
    made = []

    def make(env=None):
        made.append(LocalTransport(env or {}, where="delta"))
        return made[-1]

    yield make
    for transport in made:
        await transport.close()


@pytest.fixture(params=KINDS)
def anyhow(request):
    """Make transports to the site delta: ``anyhow(env)``, by each transport in turn."""
    if request.param == "local":
        return request.getfixturevalue("here")
    to, way = {"ssh": ("node", "reach"), "globus-compute": ("endpoint", "far")}[request.param]
    make, there = request.getfixturevalue(way), request.getfixturevalue(to)
    return lambda env=None: make(there, env)


async def until(condition, within=10.0):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "not within the deadline"
        await asyncio.sleep(0.02)
