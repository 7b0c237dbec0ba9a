"""A service over this machine and two login nodes of real OpenSSH servers, each with a folder of its own."""

from __future__ import annotations

import logging
from uuid import uuid4

import pytest
import pytest_asyncio
from ruamel.yaml import YAML

from jupyter_diamond.model.data import Location
from jupyter_diamond.model.transfer import TransferRequest
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondData, DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from tests.live.sshd import login_nodes


def home(path, **fields):
    return Location(kind="home", path=str(path), **fields)


def at(site, path):
    return Location(kind="site", site=site, path=str(path))


def asked(source, destination, **fields):
    return TransferRequest(client_token=uuid4().hex, source=source, destination=destination, **fields)


def catalogue(path, nodes):
    sites = [
        {
            "name": name, "transport": "ssh", "host": name, "ssh_config": str(node.config), "scheduler": "slurm",
            "workdir": str(path.parent / name),
        }
        for name, node in nodes.items()
    ]  # fmt: skip
    YAML().dump({"sites": sites}, path)
    return path


class Room:
    """Starts services of one user over one store, which move data for the test."""

    def __init__(self, folder, sites):
        self.folder, self.sites, self.services = folder, sites, []

    async def open(self, **data):
        service = DiamondService(
            store=DiamondStore(path=str(self.folder / "diamond" / "store.sqlite")),
            sites=DiamondSites(path=str(self.sites)), engine=DiamondEngine(), limits=DiamondLimits(),
            data=DiamondData(**data), log=logging.getLogger("diamond.test"),
        )  # fmt: skip
        await service.start()
        self.services.append(service)
        return service.transfers

    async def close(self):
        for service in self.services:
            await service.stop()


@pytest.fixture(scope="session")
def nodes(own_jupyter, tmp_path_factory):
    """Two login nodes, up for the whole run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        with login_nodes(tmp_path_factory.mktemp("ssh"), {"delta": {}, "anvil": {}}) as them:
            yield them


@pytest_asyncio.fixture
async def room(tmp_path):
    """Services that know this machine alone."""
    room = Room(tmp_path, tmp_path / "none.yaml")
    yield room
    await room.close()


@pytest_asyncio.fixture
async def far(tmp_path, nodes, monkeypatch, tmp_path_factory):
    """Services that know both login nodes."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    room = Room(tmp_path, catalogue(tmp_path / "sites.yaml", nodes))
    yield room
    await room.close()


def tree(folder, files):
    """Write files below a folder, names to content."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def read(folder):
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
