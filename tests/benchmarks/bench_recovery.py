"""A start with 10,000 tasks in the store, 1,000 of them active, and how fast events are appended and read again.

Run: python -m tests.benchmarks.bench_recovery
"""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import sqlite3
import tempfile
import time
from pathlib import Path

import psutil

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.states import State
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore
from jupyter_diamond.store import Store
from jupyter_diamond.transport.base import Completed
from tests.chaos.cluster import US
from tests.chaos.scheduler import DONE, ToyScheduler
from tests.store.store_samples import at, put_task

from .table import load

TASKS, ACTIVE, EVENTS = 10_000, 1_000, 5_000
_OWN = re.compile(r"t000000[12]|dmd-0000000[12]|token-000000000[12]|70000[12]")


class Instant:
    """A site that answers at once: every job waits."""

    shares_files, longest_wait_s = False, 0.0

    def __init__(self, rows: str) -> None:
        self._rows = rows
        self.asked: dict[str, float] = {}
        self.commands = 0

    async def run(self, script: str, **_: object) -> Completed:
        kind = script.split()[1] if script.startswith("toy ") else "look"
        self.commands += 1
        self.asked.setdefault(kind, time.perf_counter())
        said = f"{self._rows}{DONE}\n" if kind == "queue" else "" if kind == "look" else f"{DONE}\n"
        return Completed(exit=0, stdout=said.encode(), stderr=b"")

    async def expand(self, path: str) -> str:
        return path

    async def close(self) -> None:
        return


def fill(path: Path) -> None:
    """One task that has ended and one that waits, written by the store, and then copied row by row."""
    store = Store(path)
    for number, state in ((1, State.COMPLETED), (2, State.PENDING)):
        put_task(store, number)
        changes = {
            "state": State.PENDING,
            "native": NativeJob(id=f"70000{number}"),
            "folder": f"/w/{number}",
            "submissions": 1,
        }
        store.update_attempt(f"t{number:07d}", 1, at=at(1), type="attempt.submitted", data={}, changes=changes)
        if state.terminal:
            end = {"state": state, "started_at": at(5), "ended_at": at(9), "result_ready": True}
            store.update_attempt(f"t{number:07d}", 1, at=at(9), type="attempt.terminal", data={}, changes=end)
    store.close()
    raw = sqlite3.connect(path)
    for table, key in (("tasks", "id"), ("attempts", "task_id"), ("events", "subject")):
        for model, numbers in (("1", range(3, TASKS - ACTIVE + 2)), ("2", range(TASKS - ACTIVE + 2, TASKS + 1))):
            cursor = raw.execute(f"SELECT * FROM {table} WHERE {key} LIKE '%t000000{model}'")
            names = [column[0] for column in cursor.description]
            kept = [i for i, name in enumerate(names) if name not in ("row", "seq")]
            rows = cursor.fetchall()
            copies = ([_renamed(row[i], number) for i in kept] for number in numbers for row in rows)
            columns = ", ".join(f'"{names[i]}"' for i in kept)
            raw.executemany(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(kept))})", copies)
    raw.commit()
    raw.close()


def _renamed(value: object, number: int) -> object:
    if not isinstance(value, str):
        return value
    return _OWN.sub(lambda found: re.sub(r"\d+$", lambda digits: str(number).zfill(len(digits[0])), found[0]), value)


def queue_rows(path: Path) -> str:
    raw = sqlite3.connect(path)
    query = "SELECT native_id, token FROM attempts WHERE state = 'pending'"
    rows = [
        US.join((job, token, "PENDING", "", "", "", "", "1800000000.0", "", "")) for job, token in raw.execute(query)
    ]
    raw.close()
    assert len(rows) == ACTIVE, len(rows)
    return "".join(f"{row}\n" for row in rows)


async def recover(path: Path) -> None:
    transport = Instant(queue_rows(path))
    service = DiamondService(
        store=DiamondStore(path=str(path)), sites=DiamondSites(path=str(path.parent / "none"), this_machine=False),
        engine=DiamondEngine(), limits=DiamondLimits(), log=logging.getLogger("bench"),
    )  # fmt: skip
    site = Site(name="alpha", transport="ssh", host="a", scheduler="slurm", machine="none")
    service.links._links["alpha"] = SiteLink(site=site, transport=transport, scheduler=ToyScheduler())
    gc.collect()
    before, begun = psutil.Process().memory_info().rss, time.perf_counter()
    await service.start()
    started = time.perf_counter()
    (watcher,) = service.engine._watchers.values()
    while not all(known.queue_row for known in watcher.watched.values()):  # noqa: ASYNC110 - seen from outside
        await asyncio.sleep(0.01)
    known = time.perf_counter()
    gc.collect()
    grown = (psutil.Process().memory_info().rss - before) / 1e6
    print(f"start with {TASKS:,} tasks, {ACTIVE:,} of them active")
    print(f"  the service has started           {1000 * (started - begun):8.0f} ms")
    print(f"  the site was asked for its queue  {1000 * (transport.asked['queue'] - begun):8.0f} ms")
    print(f"  every job's state is known        {1000 * (known - begun):8.0f} ms")
    print(f"  commands that the site has seen   {transport.commands:8}")
    print(f"  memory, grown by                  {grown:8.1f} MB ({1000 * grown / ACTIVE:.0f} KB an active task)")
    await service.stop()


def events(path: Path) -> None:
    store = Store(path)
    begun = time.perf_counter()
    for number in range(EVENTS):
        store.append_event(
            "attempt.trouble", "task:t0000001", {"why": "nothing", "n": number}, from_epoch(1.0 + number)
        )
    appended = time.perf_counter() - begun
    begun, cursor, read = time.perf_counter(), 0, 0
    while page := store.events(cursor, 500):
        cursor, read = page[-1].seq, read + len(page)
    replayed = time.perf_counter() - begun
    store.close()
    print("the event log")
    print(f"  appended, each its own commit     {EVENTS / appended:8.0f} a second")
    print(f"  read again, in pages of 500       {read / replayed:8.0f} a second ({read:,} events)")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "diamond" / "store.sqlite"
        fill(path)
        print(load())
        asyncio.run(recover(path))
        events(path)


if __name__ == "__main__":
    main()
