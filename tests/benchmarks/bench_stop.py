"""How long a service takes to stop, whatever it is at: on a real Slurm cluster behind a line that falls silent.

Run: python -m tests.benchmarks.bench_stop   (TIMES=3). Each act is under way at the moment when the line falls silent,
and is found again by the next service.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.service import DiamondService
from tests.benchmarks.bench_watch import SITE, Place, place
from tests.benchmarks.table import load, verdict
from tests.engine import cells

MOST_S = 2.0
Act = Callable[[DiamondService, Place], Awaitable[object]]


async def submit(service: DiamondService, name: str, source: str) -> Task:
    data = cells.bundle(source)
    envelope = Envelope(site=SITE, walltime_s=Span.exactly(300), memory_bytes=Span.exactly(500 << 20))
    return (await service.submit(cells.request(source, data, name=name, envelope=envelope), data)).task


async def until(service: DiamondService, task: Task, *states: State) -> None:
    while (await service.task(task.id)).state not in states:  # noqa: ASYNC110 - seen from outside
        await asyncio.sleep(0.02)


async def nothing(service: DiamondService, here: Place) -> None:
    """Only the script that waits for news."""


async def submission(service: DiamondService, here: Place) -> None:
    here.node.line.hold()
    await until(service, await submit(service, "late", "pass"), State.SUBMITTING)


async def cancel(service: DiamondService, here: Place) -> None:
    here.node.line.hold()
    (runs,) = (task for task in await service.tasks(phase="active") if task.name == "runs")
    await service.cancel(runs.id, "you")
    await asyncio.sleep(0.3)


async def probe(service: DiamondService, here: Place) -> None:
    here.node.line.hold()
    probing = asyncio.create_task(service.refresh(SITE))
    await asyncio.sleep(0.3)
    probing.cancel()


async def dead(service: DiamondService, here: Place) -> None:
    """The login node is gone, and the next one that takes the connection says nothing."""
    here.node.line.hold()
    here.node.line.cut()
    probing = asyncio.create_task(service.refresh(SITE))
    await asyncio.sleep(0.3)
    probing.cancel()


ACTS: dict[str, Act] = {
    "a script waits for news of a job": nothing, "and a submission is under way": submission,
    "and a cancel is under way": cancel, "and a probe is under way": probe, "the host is dead": dead,
}  # fmt: skip


async def measured(here: Place, name: str, act: Act, times: int) -> None:
    taken = []
    for number in range(times):
        folder = f"{act.__name__}{number}"
        catalogue, _ = here.site("ssh", folder, counts=False)
        service = here.service(catalogue)
        await service.start()
        await service.refresh(SITE)
        runs = await submit(service, "runs", "import time; time.sleep(250)")
        await until(service, runs, State.RUNNING)
        await act(service, here)
        begun = time.monotonic()
        await service.stop()
        taken.append(time.monotonic() - begun)
        here.node.line.release()
        await asyncio.to_thread(here.testbed.heal)
    print(f"{name:36} {', '.join(f'{each:.2f}' for each in taken)} s: {verdict(max(taken), MOST_S)}", flush=True)


def main() -> None:
    with place() as here:
        print(f"stop(), target: at most {MOST_S:g} s; {load()}")
        for name, act in ACTS.items():
            asyncio.run(measured(here, name, act, int(os.environ.get("TIMES", "3"))))


if __name__ == "__main__":
    main()
