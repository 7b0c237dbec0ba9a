"""What one script, one submission and one end cost on this machine. Prints a table; run it from the project's root."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobRequest, NativeJob
from jupyter_diamond.schedulers.process.scheduler import ProcessScheduler
from jupyter_diamond.transport.local import LocalTransport

ROUNDS = 30


def row(what: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    print(f"{what:42} {ordered[len(ordered) // 2] * 1000:8.1f} {ordered[-1] * 1000:8.1f}")


async def once(root: Path, scheduler: ProcessScheduler, transport: LocalTransport, number: int) -> list[float]:
    folder = root / f"job{number}"
    folder.mkdir()
    job = JobRequest(
        token=f"dmd-{number:08x}",
        name="bench",
        folder=str(folder),
        size=Size(walltime_s=60),
        command=("bash", "cell.sh"),
    )
    (folder / "cell.sh").write_text("date +%s.%N > last\n")
    (folder / "job.sh").write_text(scheduler.job_script(job))
    begun = time.time()
    answer = await transport.run(f"cd {folder} && {scheduler.submit_command(job)}", timeout_s=30)
    answered = time.time()
    native: NativeJob = scheduler.parse_submit(answer)
    record = root / "queue" / "ended" / native.id / "end.json"
    while not record.exists():  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.002)
    started = json.loads((folder / "started.json").read_text())["at"]
    ended = json.loads(record.read_text())["ended_at"]
    return [answered - begun, started - begun, ended - float((folder / "last").read_text())]


async def timed(transport: LocalTransport, script: str) -> float:
    begun = time.perf_counter()
    await transport.run(script, timeout_s=30)
    return time.perf_counter() - begun


async def main() -> None:
    root = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    transport = LocalTransport({"DIAMOND_PROCESS_QUEUE": str(root / "queue")})
    scheduler = ProcessScheduler()
    print(f"{'milliseconds':42} {'median':>8} {'worst':>8}")
    row("one script through the transport", [await timed(transport, "true") for _ in range(ROUNDS)])
    row("probe", [await timed(transport, scheduler.probe_script()) for _ in range(ROUNDS)])
    asked = [NativeJob(id=f"p{number}-000000") for number in range(100)]
    row("query of 100 jobs", [await timed(transport, scheduler.queue_script(asked)) for _ in range(ROUNDS)])
    rounds = [await once(root, scheduler, transport, number) for number in range(ROUNDS)]
    names = ("submit -> job id", "submit -> job.sh runs (limit 150)", "last command -> end record (limit 30)")
    for what, seconds in zip(names, zip(*rounds, strict=True), strict=True):
        row(what, list(seconds))
    await transport.close()


asyncio.run(main())
