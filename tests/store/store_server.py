"""One of two servers that share a store: ``store_server.py PATH NAME advance TTL_S`` or ``… create COUNT``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from jupyter_diamond.store import Store
from tests.store.store_samples import a_decision, a_request, an_attempt, at, put_task


def advance(store: Store, name: str, ttl_s: float) -> None:
    """Note one step of work at each turn that the lease allows, as the engine does. Ends when its input closes."""
    os.set_blocking(0, False)
    while _input() != b"":
        if store.take_lease(name, at=time.time(), ttl_s=ttl_s):
            store.append_event("snapshot.refreshed", "site:alpha", {"by": name, "now": time.time()}, at(0))
        time.sleep(ttl_s / 10)


def _input() -> bytes | None:
    try:
        return os.read(0, 1)
    except BlockingIOError:
        return None


def create(store: Store, name: str, count: int) -> None:
    """Make tasks of its own, and one that every process asks for under the same client token."""
    first = {"alice": 1000, "bob": 2000}[name]
    for number in range(first, first + count):
        put_task(store, number, name=name)
        store.update_attempt(
            f"t{number:07d}", 1, at=at(1), type="attempt.submitted", data={"by": name}, changes={"state": "pending"}
        )
        store.create_task(
            a_request(f"shared-{number - first:010d}", "shared"),
            task_id=f"s{number}",
            key="00",
            decision=a_decision(),
            attempt=an_attempt(f"dmd-s{number:07d}"),
            why_here="",
            at=at(0),
        )


def main() -> None:
    path, name, what, number = sys.argv[1:]
    store = Store(Path(path))
    print("ready", flush=True)
    if what == "create":
        sys.stdin.read(1)  # both start together
        create(store, name, int(number))
    else:
        advance(store, name, float(number))
    store.close()


if __name__ == "__main__":
    main()
