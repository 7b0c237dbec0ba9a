"""How fast the store opens, lists 1,000 tasks and takes a change. Run: python -m tests.benchmarks.bench_store."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jupyter_diamond.store import Store
from tests.store.charged import cap, decided, end, put
from tests.store.store_samples import at, put_task

TASKS = 1000


def milliseconds(action: Callable[[], object], times: int) -> str:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(taken):8.2f} {max(taken):8.2f}"


def reopen(path: Path) -> None:
    Store(path).close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "diamond" / "store.sqlite"
        start = time.perf_counter()
        store = Store(path)
        first = (time.perf_counter() - start) * 1000
        start = time.perf_counter()
        for number in range(TASKS):
            put_task(store, number)
        create = (time.perf_counter() - start) * 1000 / TASKS
        numbers = iter(range(TASKS))

        def change() -> None:
            store.update_attempt(
                f"t{next(numbers):07d}", 1, at=at(1), type="attempt.submitted", data={}, changes={"state": "pending"}
            )

        print(f"store with {TASKS} tasks, ms      median      max")
        print(f"make a new one, with Alembic    {first:8.2f}")
        print(f"open it again                   {milliseconds(lambda: reopen(path), 20)}")
        print(f"create a task                   {create:8.2f}")
        print(f"change an attempt               {milliseconds(change, 200)}")
        print(f"tasks(limit={TASKS})               {milliseconds(lambda: store.tasks(limit=TASKS), 20)}")
        print(f"task by name                    {milliseconds(lambda: store.task('fit'), 50)}")
        print(f"active(), all of them           {milliseconds(store.active, 5)}")
        print(f"events(0, 500)                  {milliseconds(lambda: store.events(0, 500), 20)}")
        print(f"size of the file                {path.stat().st_size / 1e6:8.2f} MB")
        store.close()
        charges(Path(folder) / "charged" / "store.sqlite")


def charges(path: Path) -> None:
    """What it costs to reserve and to settle, beside the same without any charge, in turns; and to ask for sums."""
    store, free = Store(path), decided(None, "", charged=False)
    caps = (cap(1e9), cap(1e9, "task"), cap(1e9, "account", site="alpha"))
    taken: dict[str, list[float]] = {}
    for number in range(TASKS):
        kind = ("nobody pays", "charged", "charged, 3 caps")[number % 3]
        start = time.perf_counter()
        put(store, number, free if kind == "nobody pays" else decided(), caps=caps if "caps" in kind else ())
        made = time.perf_counter()
        end(store, number, ran_s=60.0, state="completed")
        taken.setdefault(f"create, {kind}", []).append(made - start)
        taken.setdefault(f"end, {kind}", []).append(time.perf_counter() - made)
    print(f"\ncharges of {TASKS} tasks, ms       median      max")
    for what, each in sorted(taken.items()):
        print(f"{what:31} {statistics.median(each) * 1000:8.2f} {max(each) * 1000:8.2f}")
    print(f"what stands against 3 caps      {milliseconds(lambda: store.charges.spent(caps, at(0)), 20)}")
    print(f"sums by account                 {milliseconds(lambda: store.charges.accounts(at(-1)), 20)}")
    print(f"attempts, task by task          {milliseconds(lambda: store.charges.tasks(at(-1)), 5)}")
    print(f"what a balance does not show    {milliseconds(lambda: store.charges.held({'alpha': at(-1)}), 20)}")
    store.close()


if __name__ == "__main__":
    main()
