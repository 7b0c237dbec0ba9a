"""Durable transfers against bare rsync, in the same run: 1,000 small files and one large one, between loopback sites.

Run: python -m tests.benchmarks.bench_transfer   (GB=2 TIMES=3 KIND=small|large). Two real OpenSSH servers stand for two
sites; both programs reach them with the same key and ciphers. Seconds are medians of rounds that take turns.

Where both ends are sites, rsync has no way of its own: whoever uses it copies to this machine, then from it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from ruamel.yaml import YAML

from jupyter_diamond.model.data import Location
from jupyter_diamond.model.transfer import Transfer, TransferRequest
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from tests.benchmarks.table import load, median, verdict
from tests.live.sshd import Sshd, login_nodes

GB, ROUNDS = float(os.environ.get("GB", "2")), int(os.environ.get("TIMES", "3"))
MOST = 1.1
FILES = 1000
AGAIN_S = 2.0


class Bench:
    """A service, two sites, and rsync beside them."""

    def __init__(self, folder: Path, nodes: dict[str, Sshd], service: DiamondService) -> None:
        self.folder, self.nodes, self.service = folder, nodes, service

    def place(self, site: str, path: Path) -> Location:
        if site == "home":
            return Location(kind="home", path=str(path))
        return Location(kind="site", site=site, path=str(path))

    async def ours(
        self, source: str, destination: str, data: Path, to: Path, **fields: object
    ) -> tuple[float, Transfer]:
        """Seconds of one transfer, from the asking to the end that is stored."""
        request = TransferRequest.model_validate({
            "client_token": uuid4().hex, "source": self.place(source, data), "destination": self.place(destination, to),
            **fields,
        })  # fmt: skip
        start = time.perf_counter()
        done = await self.service.transfers.wait((await self.service.transfers.start(request)).id)
        assert done.state == "succeeded", done.cause
        return time.perf_counter() - start, done

    def rsync(self, source: str, destination: str, data: Path, to: Path) -> float:
        """Seconds of bare rsync; by way of this machine where both ends are sites."""
        start = time.perf_counter()
        if "home" not in (source, destination):
            between = self.folder / "between"
            self._rsync(source, "home", data, between)
            self._rsync("home", destination, between, to)
            seconds = time.perf_counter() - start
            clear(between)
            return seconds
        self._rsync(source, destination, data, to)
        return time.perf_counter() - start

    def sha256sum(self, source: str, destination: str, data: Path, to: Path) -> float:
        """Seconds until sha256sum has read both, at the same time, each where it lies."""
        start = time.perf_counter()
        reading = []
        for site, path in ((source, data), (destination, to)):
            words = f"find {path} -type f -exec sha256sum {{}} +"
            ssh = ["ssh", "-F", str(self.folder / "direct"), "-T", "-o", "BatchMode=yes", site]
            argv = ["sh", "-c", words] if site == "home" else [*ssh, words]
            reading.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL))
        assert [each.wait(600) for each in reading] == [0, 0]
        return time.perf_counter() - start

    def _rsync(self, source: str, destination: str, data: Path, to: Path) -> None:
        slash = "/" if data.is_dir() else ""
        names = [
            (f"{site}:" if site != "home" else "") + str(path) + slash
            for site, path in ((source, data), (destination, to))
        ]
        ssh = f"ssh -F {self.folder / 'direct'} -T -o BatchMode=yes"
        subprocess.run(["rsync", "-a", "-e", ssh, *names], check=True, timeout=600)


def clear(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


async def compare(bench: Bench, name: str, source: str, destination: str, data: Path) -> None:
    """One row with its re-run."""
    to = bench.folder / "to" / "there"
    to.parent.mkdir(exist_ok=True)
    seconds: dict[str, list[float]] = {"rsync": [], "ours": [], "sha256sum": [], "verified": []}

    async def rsync() -> float:
        return bench.rsync(source, destination, data, to)

    async def rsync_verified() -> float:
        return bench.rsync(source, destination, data, to) + bench.sha256sum(source, destination, data, to)

    async def ours() -> float:
        return (await bench.ours(source, destination, data, to, sync=None, verify=False))[0]

    async def verified() -> float:
        return (await bench.ours(source, destination, data, to, sync=None))[0]

    acts: dict[str, Callable[[], Awaitable[float]]] = {
        "rsync": rsync, "ours": ours, "sha256sum": rsync_verified, "verified": verified,
    }  # fmt: skip
    for _ in range(ROUNDS):
        for kind, act in acts.items():
            clear(to)
            seconds[kind].append(await act())
    again, done = await bench.ours(source, destination, data, to, sync="mtime")
    same, _ = await bench.ours(source, destination, data, to)
    middle = {kind: median(values) for kind, values in seconds.items()}
    plain, sure = middle["ours"] / middle["rsync"], middle["verified"] / middle["sha256sum"]
    print(
        f"{name:34} {middle['rsync']:7.2f} {middle['ours']:7.2f} {plain:6.2f}x {verdict(plain, MOST):6}"
        f" {middle['sha256sum']:8.2f} {middle['verified']:8.2f} {sure:6.2f}x {verdict(sure, MOST):6}"
        f" {again:6.2f} {done.progress.bytes_sent:5} {verdict(again, AGAIN_S)} {same:6.2f}"
        f" {verdict(same, AGAIN_S)}  ({done.mover})",
        flush=True,
    )
    clear(to)


def directly(folder: Path, nodes: dict[str, Sshd]) -> Path:
    """A config that leads to the servers without the tests' own slow line."""
    text = (folder / "ssh" / "ssh_config").read_text()
    for node in nodes.values():
        text = text.replace(f"Port {node.line.port}\n", f"Port {node.port}\n")
        with node.known_hosts.open("a") as file:
            kind, key = (node.folder / "host_key.pub").read_text().split()[:2]
            file.write(f"[127.0.0.1]:{node.port} {kind} {key}\n")
    path = folder / "direct"
    path.write_text(text)
    return path


async def run(folder: Path, nodes: dict[str, Sshd]) -> None:
    config = directly(folder, nodes)
    sites = [
        {"name": name, "transport": "ssh", "host": name, "ssh_config": str(config), "scheduler": "slurm"} for name in nodes
    ]  # fmt: skip
    YAML().dump({"sites": sites}, folder / "sites.yaml")
    service = DiamondService(
        store=DiamondStore(path=str(folder / "diamond" / "store.sqlite")), sites=DiamondSites(path=str(folder / "sites.yaml")),
        engine=DiamondEngine(), limits=DiamondLimits(), log=logging.getLogger("bench"),
    )  # fmt: skip
    await service.start()
    bench = Bench(folder, nodes, service)
    small, large = folder / "small", folder / "large"
    for number in range(FILES):
        path = small / f"d{number % 10}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(4096))
    if os.environ.get("KIND", "large") == "large":
        with large.open("wb") as file:
            for _ in range(int(GB * 16)):
                file.write(os.urandom(64 << 20))
    kinds = {"small": (f"{FILES:,} files of 4 KiB", small), "large": (f"one of {GB:g} GiB", large)}
    try:
        for kind in ("small", "large") if "KIND" not in os.environ else (os.environ["KIND"],):
            name, data = kinds[kind]
            for source, destination in (("home", "delta"), ("delta", "home"), ("delta", "anvil"), ("home", "home")):
                await compare(bench, f"{name}, {source} -> {destination}", source, destination, data)
    finally:
        await service.stop()


def main() -> None:
    print(load())
    print(
        f"{'':34} {'rsync':>7} {'ours':>7} {'':14} {'+sha256':>8} {'verified':>8} {'':15} {'again':>5} {'bytes':>5} {'':3} {'again, by checksum'}"
    )
    with tempfile.TemporaryDirectory(prefix="diamond-bench-") as name:
        folder = Path(name)
        with login_nodes(folder / "ssh", {"delta": {}, "anvil": {}}) as nodes:
            asyncio.run(run(folder, nodes))
    print(load())


if __name__ == "__main__":
    main()
