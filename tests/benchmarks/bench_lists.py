"""1,000 tasks in the store: how long their list takes over REST and as ``%diamond tasks`` in a real kernel.

Run: python -m tests.benchmarks.bench_lists
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from jupyter_diamond.store import Store
from tests.benchmarks.stage import call
from tests.benchmarks.table import load, median, p95, verdict
from tests.live.jupyter import JupyterServer
from tests.store.store_samples import at, put_task

TASKS = 1000
TIMES = 30
TARGET_MS = 100

IN_KERNEL = """
import json, time
%load_ext jupyter_diamond
def listed():
    start = time.perf_counter()
    table = get_ipython().run_line_magic("diamond", "tasks --limit {tasks}")
    answered = time.perf_counter()
    table._repr_html_(), repr(table)
    shown = time.perf_counter()
    assert len(table) == {tasks}
    return (answered - start) * 1000, (shown - start) * 1000
"""


def fill(path: Path) -> None:
    """Ended tasks of many names."""
    store = Store(path)
    for number in range(TASKS):
        task = put_task(store, number, name=f"fit{number % 50}")
        changes = {"state": "completed", "started_at": at(number), "ended_at": at(number + 60), "cause": ""}
        store.update_attempt(task.id, 1, at=at(number + 60), type="attempt.terminal", data={}, changes=changes)
    store.close()


def timed(action: Callable[[], object]) -> list[float]:
    """Milliseconds, the first one (imports, connections) left out."""
    action()
    taken = []
    for _ in range(TIMES):
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1000)
    return taken


def row(what: str, milliseconds: Sequence[float]) -> None:
    """One line of the table."""
    middle = median(milliseconds)
    print(f"{what:52} {middle:8.1f} {p95(milliseconds):8.1f}   {verdict(middle, TARGET_MS)}")


def main() -> None:
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    try:
        fill(base / "diamond" / "store.sqlite")
        with JupyterServer(base) as server:
            print(f"{TASKS} tasks, ms (target {TARGET_MS}); {load()}{'median':>12} {'p95':>8}")
            for asked in ("limit=100", f"limit={TASKS}", f"phase=ended&limit={TASKS}", f"phase=active&limit={TASKS}"):
                path = f"jupyter_diamond/api/tasks?{asked}"
                row(f"GET tasks?{asked}", timed(lambda path=path: server.client.get(path)))
            answer = server.client.get(f"jupyter_diamond/api/tasks?limit={TASKS}")
            assert len(answer.json()["tasks"]) == TASKS
            row(f"  its {len(answer.content) / 1e3:.0f} kB read as JSON", timed(lambda: json.loads(answer.content)))
            with server.kernel() as kernel:
                kernel.execute(IN_KERNEL.replace("{tasks}", str(TASKS)))
                call(kernel, "listed()")
                pairs = [call(kernel, "listed()") for _ in range(TIMES)]
                row(f"%diamond tasks --limit {TASKS}: the DataFrame", [answered for answered, _ in pairs])
                row("  and its text and HTML for the page", [shown for _, shown in pairs])
                line = f"%diamond tasks --limit {TASKS}"
                row("  the whole cell, seen from the browser's side", timed(lambda: kernel.execute(line)))
                row("%diamond tasks (100)", timed(lambda: kernel.execute("%diamond tasks")))
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
