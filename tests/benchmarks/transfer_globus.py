"""Globus Transfer through our mover, beside a bare TransferClient script, against the same stand-in in the same run.

1,000 small files, and one file of 2 GB; then the same again with everything in place. Part of bench_transfer; alone:
python -m tests.benchmarks.transfer_globus   (GB=2 TIMES=3)
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import globus_sdk

from jupyter_diamond.data.base import End, Move, Moved
from jupyter_diamond.data.globus import GlobusMover
from jupyter_diamond.globus import bucket
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.transfer import SyncLevel, Transfer, TransferRequest
from jupyter_diamond.settings import DiamondGlobus
from jupyter_diamond.transport.local import LocalTransport
from tests.live.globus import COMPUTE, TRANSFER, Collection, StandIn

from .table import load, median, verdict

FILES, SMALL, LARGE = 1000, 4096, int(float(os.environ.get("GB", "2")) * 1024) << 20
ROUNDS = int(os.environ.get("TIMES", "3"))
LIMIT, AGAIN_S = 1.1, 2.0


def fill(root: Path) -> None:
    """What is to be moved."""
    (root / "many").mkdir(parents=True)
    (root / "one").mkdir()
    for number in range(FILES):
        (root / "many" / f"{number:04d}.dat").write_bytes(os.urandom(SMALL))
    block = os.urandom(64 << 20)
    with (root / "one" / "large.dat").open("wb") as file:
        for _ in range(LARGE // len(block)):
            file.write(block)


class Bench:
    """The two ways, between the same two collections."""

    def __init__(self, services: StandIn, folder: Path) -> None:
        self.services, self.number = services, 0
        self.a: Collection = services.transfer.add_collection("A", folder / "a")
        self.b: Collection = services.transfer.add_collection("B", folder / "b")
        fill(self.a.root)
        tokens = services.auth.issue([COMPUTE, TRANSFER])
        settings = DiamondGlobus(tokens_folder=str(folder / "globus"), client_id="")
        environ = {"HOME": str(folder), "JUPYTER_DIAMOND_TOKENS": json.dumps(tokens)}
        self.globus = Globus(settings, logging.getLogger("bench"), environ)
        self.mover, self.shell = GlobusMover(self.globus), LocalTransport({})
        token = services.auth.issue([TRANSFER])["access_token"]
        self.client = globus_sdk.TransferClient(
            base_url=services.url, authorizer=globus_sdk.AccessTokenAuthorizer(token)
        )

    async def bare(self, path: str) -> None:
        """What one would write by hand: submit it, wait for it."""
        data = globus_sdk.TransferData(self.a.id, self.b.id, verify_checksum=True, sync_level="checksum")
        data.add_item(f"{path}/", "/bare/", recursive=True)
        task = self.client.submit_transfer(data)["task_id"]
        while not await asyncio.to_thread(self.client.task_wait, task, timeout=600, polling_interval=1):
            pass
        status = self.client.get_task(task)["status"]
        if status != "SUCCEEDED":
            raise RuntimeError(status)

    async def ours(self, path: str, sync: SyncLevel = "checksum") -> Moved:
        """The same by our mover: looked at first, under a temporary name, then renamed."""
        self.number += 1
        now = datetime.now(timezone.utc)
        request = TransferRequest(
            client_token=f"a-token-of-the-bench-{self.number}",
            source=Location(kind="globus", collection=self.a.id, path=path),
            destination=Location(kind="globus", collection=self.b.id, path="/ours"),
            sync=sync,
        )  # fmt: skip
        transfer = Transfer(
            id=f"x{self.number:010d}", request=request, mover="globus", created_at=now, state_since=now,
            deadline=now + timedelta(hours=1),
        )  # fmt: skip
        source = End(request.source, path, collection=self.a.id, collection_path=path)
        destination = End(
            request.destination, str(self.b.root / "ours"), transport=self.shell, collection=self.b.id,
            collection_path="/ours",
        )  # fmt: skip
        return await self.mover.move(Move(transfer, source, destination, _keep, lambda _: None, _say))

    def clear(self) -> None:
        for name in ("bare", "ours"):
            shutil.rmtree(self.b.root / name, ignore_errors=True)


async def _keep(**_: Any) -> None:
    """A store has its own benchmark."""


async def _say(*_: str) -> None:
    """Nobody looks."""


async def timed(act: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[float, Any]:
    """Its seconds. Each begins with a limit of requests of which nothing is used: transfers are not made in a row."""
    bucket.PROCESS = bucket.Bucket()
    began = time.perf_counter()
    found = await act()
    return time.perf_counter() - began, found


async def compare(bench: Bench, what: str, path: str) -> None:
    """Turn about, so that whatever else the machine does meets both."""
    seconds: dict[str, list[float]] = {"bare": [], "ours": []}
    for turn in range(ROUNDS):
        for way in ("bare", "ours") if turn % 2 == 0 else ("ours", "bare"):
            bench.clear()
            os.sync()  # or the second of two waits for what the first has written
            seconds[way].append((await timed(lambda way=way: getattr(bench, way)(path)))[0])  # type: ignore[misc]  # bound at once
    bare, ours = median(seconds["bare"]), median(seconds["ours"])
    ratio = ours / bare
    print(f"{what:22} bare {bare:7.2f} s   ours {ours:7.2f} s   {ratio:.2f}x (<= {LIMIT}: {verdict(ratio, LIMIT)})")
    bench.clear()
    await bench.ours(path)
    for sync, how in (("mtime", "sizes and times"), ("checksum", "Globus reads both ends")):
        again, moved = await timed(lambda sync=sync: bench.ours(path, sync))  # type: ignore[misc]  # bound at once
        met = verdict(again + (moved.bytes_sent and 1e9), AGAIN_S)
        print(f"  again, all in place: {again:6.2f} s, {moved.bytes_sent} bytes sent ({how}; < {AGAIN_S:g} s: {met})")


async def main(folder: Path) -> None:
    """Both rows."""
    print(f"Globus Transfer, {ROUNDS} rounds, {load()}")
    with StandIn() as services, mock.patch.dict(os.environ, services.environment):
        bench = Bench(services, folder)
        try:
            await compare(bench, f"{FILES} files of {SMALL >> 10} KiB", "/many")
            await compare(bench, f"1 file of {LARGE / (1 << 30):g} GiB", "/one")
        finally:
            await bench.globus.close()
            await bench.shell.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(main(Path(name)))
