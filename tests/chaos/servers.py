"""Real servers as real processes, to be killed for good: one parent that has loaded all, and forks when it is told.

``python -m tests.chaos.servers STORE SITES ORDERS LEASE_S`` reads ``start`` from its input and answers with the new
server's process id. A server carries out every order (a JSON file in ORDERS) once: submits of a cell, with the client
token that makes it the same task whoever asks again, and cancels.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from jupyter_diamond.store import Store
from tests.engine import arrays, cells

REPOSITORY = Path(__file__).parents[2]


class Servers:
    """Starts and kills servers of one user over one store."""

    def __init__(self, folder: Path, sites: Path, *, lease_s: float = 1.0) -> None:
        self.store = folder / "diamond" / "store.sqlite"
        self.orders = folder / "orders"
        self.orders.mkdir(parents=True)
        self.log = (folder / "servers.log").open("wb")
        Store(self.store).close()
        argv = [sys.executable, "-m", "tests.chaos.servers", self.store, sites, self.orders, lease_s]
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        self._parent = subprocess.Popen(
            list(map(str, argv)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=env, cwd=folder
        )
        self._pid: int | None = None
        self._number = 0
        self._reading = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)

    def start(self) -> None:
        """Start a server."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(b"start\n")
        self._parent.stdin.flush()
        self._pid = int(self._parent.stdout.readline())

    @property
    def alive(self) -> bool:
        """Whether a server was started and not killed."""
        return self._pid is not None

    def kill(self) -> None:
        """Kill -9, whatever it does at the moment."""
        assert self._pid is not None
        os.kill(self._pid, signal.SIGKILL)
        self._pid = None

    def order(self, **what: Any) -> None:
        """Have the next, or the present, server do something."""
        self._number += 1
        path = self.orders / f"{self._number:04}.json"
        path.with_suffix(".tmp").write_text(json.dumps(what))
        path.with_suffix(".tmp").rename(path)

    def newest(self) -> int:
        """The number of the newest event."""
        return int(self._reading.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])

    def happens(self, kind: str, after: int, seconds: float) -> bool:
        """Whether an event of a kind comes within so many seconds."""
        deadline = time.monotonic() + seconds
        query = "SELECT 1 FROM events WHERE seq > ? AND type = ?"
        while time.monotonic() < deadline:
            if self._reading.execute(query, (after, kind)).fetchone():
                return True
            time.sleep(0.002)
        return False

    def unended(self, wanted: int) -> int:
        """How many of the wanted tasks have not ended, or are not there yet."""
        return wanted - int(self._reading.execute("SELECT count(*) FROM tasks WHERE ended").fetchone()[0])

    def close(self) -> None:
        """Kill what is left; reap the parent."""
        self._reading.close()
        if self.alive:
            self.kill()
        self._parent.kill()
        self._parent.communicate()
        self.log.close()


@contextlib.contextmanager
def servers(folder: Path, sites: Path, *, lease_s: float = 1.0) -> Iterator[Servers]:
    """Servers that are all gone afterwards."""
    made = Servers(folder, sites, lease_s=lease_s)
    try:
        yield made
    finally:
        made.close()


async def _serve(store: str, sites: str, orders: Path, lease_s: float) -> None:
    service = DiamondService(
        store=DiamondStore(path=store, lease_s=lease_s),
        sites=DiamondSites(path=sites, this_machine_workdir=str(orders.parent / "here")),
        engine=DiamondEngine(lookup_for_s=3.0, command_timeout_s=20.0),
        limits=DiamondLimits(),
        log=logging.getLogger("diamond"),
    )
    await service.start()
    done: set[str] = set()
    while True:
        for path in await asyncio.to_thread(lambda: sorted(orders.glob("*.json"))):
            if path.name not in done and await _carry_out(service, path.read_text()):
                done.add(path.name)
        await asyncio.sleep(0.02)


async def _carry_out(service: DiamondService, order: str) -> bool:
    what = json.loads(order)
    try:
        if "cancel" in what:
            await service.cancel(what["cancel"], "you")
            return True
        name, source, members = what["name"], what["source"], what.get("members", 0)
        data = arrays.bundle(source, range(members), name=name) if members else cells.bundle(source, name=name)
        request = cells.request(
            source, data, name=name, client_token=f"real-token-of-{name.replace('_', '-')}", again=True,
            envelope=Envelope.model_validate(what["envelope"]), healing=Healing(**what.get("healing", {})),
        )  # fmt: skip
        if members:
            asked = GroupRequest(request=request, members=tuple(Member(index=index) for index in range(members)))
            await service.groups.submit(asked, data)
        else:
            await service.submit(request, data)
    except DiamondError as problem:
        logging.getLogger("diamond").warning("%s: %s", what, problem.message)
        await asyncio.sleep(0.5)
        return False
    return True


def main() -> None:
    store, sites, orders, lease_s = sys.argv[1:]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the killed
    for line in sys.stdin:
        if line.strip() != "start":
            continue
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
            asyncio.run(_serve(store, sites, Path(orders), float(lease_s)))
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
