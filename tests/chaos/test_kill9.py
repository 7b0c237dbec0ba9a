"""A real server, killed for good at real moments, over this machine's own queue: each cell runs once, and ends well."""

from __future__ import annotations

import random
import time
from pathlib import Path

from jupyter_diamond.model.states import State
from jupyter_diamond.store import Store

from .servers import servers

# the kill falls a few milliseconds after such an event was written
MOMENTS = (
    "task.created", "attempt.submitting", "attempt.submitted", "attempt.state_changed", "attempt.result_ready",
    "attempt.submitted", "attempt.submitting", "attempt.state_changed", "task.cancel_requested", "attempt.terminal",
)  # fmt: skip


def test_ten_kills_lose_nothing_and_double_nothing(tmp_path):
    rng = random.Random(9)
    ran = tmp_path / "ran"
    ran.mkdir()
    with servers(tmp_path, tmp_path / "none.yaml") as them:
        for number, moment in enumerate(MOMENTS):
            name = f"cell{number}"
            source = f"import time\nopen({str(ran / name)!r}, 'a').write('run ')\ntime.sleep({rng.choice((0.0, 0.4))})"
            newest = them.newest()
            them.start()
            them.order(name=name, source=source, envelope={"walltime_s": {"min": 600, "max": 600}})
            if moment == "task.cancel_requested":
                them.order(cancel=name)
            them.happens(moment, newest, 20.0)
            time.sleep(rng.choice((0.0, 0.001, 0.01, 0.05)))
            them.kill()
        them.start()
        deadline = time.monotonic() + 90.0
        while them.unended(len(MOMENTS)):
            assert time.monotonic() < deadline, Path(tmp_path / "servers.log").read_text()[-3000:]
            time.sleep(0.1)
    store = Store(tmp_path / "diamond" / "store.sqlite")
    tasks = [store.task(f"cell{number}") for number in range(len(MOMENTS))]
    events = [event.seq for event in store.events(0, 10_000)]
    store.close()
    assert events == sorted(set(events))
    for task, moment in zip(tasks, MOMENTS, strict=True):
        runs = (ran / task.name).read_text().count("run") if (ran / task.name).exists() else 0
        wanted = {State.CANCELLED, State.COMPLETED} if moment == "task.cancel_requested" else {State.COMPLETED}
        assert task.state in wanted, (task.name, task.state, task.cause)
        assert len(task.attempts) == 1
        assert runs == 1 or (task.state is State.CANCELLED and runs == 0), task.name
