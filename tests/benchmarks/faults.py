"""What a user sees, and when, of five faults on a real Slurm cluster: ours and submitit's, side by side.

Run: python -m tests.benchmarks.faults   (about four minutes, so it is not part of ``make bench``).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks.stage import CLUSTER, Stage, call, stage
from tests.benchmarks.table import load
from tests.live.kernel import Kernel

WITNESS = """
import threading
seen = {}
def witness(what, job):
    def run():
        try:
            said = f"value {job.result():.0f}"
        except Exception as fault:
            said = f"{type(fault).__name__}: {fault}"
        seen[what] = dict(at=time.time(), said=said)
    threading.Thread(target=run, daemon=True).start()
"""

EVENT = "import time\nopen(PATH, 'w').write(str(time.time()))\n"
CELLS = {
    "out of memory": EVENT + "hold = bytearray(900 << 20)\nfor i in range(0, len(hold), 4096): hold[i] = 1\n"
    "time.sleep(30)\nx = 1",
    "time limit of 60 s": EVENT + "time.sleep(600)\nx = 1",
    "scancel by hand": EVENT + "time.sleep(600)\nx = 1",
    "kernel killed": "import time\ntime.sleep(8)\n" + EVENT + "x = time.time()",
    "slurmctld down 15 s": EVENT + "time.sleep(4)\n" + EVENT + "x = time.time()",
}
OPTIONS = {"out of memory": "--memory 200M", "time limit of 60 s": "--time 1m"}

THEIRS = """
def theirs(what, source, minutes, memory):
    one = executor()
    one.update_parameters(timeout_min=minutes, mem_gb=memory)
    def job(source):
        names = {}
        exec(source, names)
        return names["x"]
    jobs[what] = one.submit(job, source)
jobs = {}
"""


@dataclass
class Play:
    """The jobs of both sides, each with the file in which it notes when its fault came."""

    played: Stage
    ours: Kernel
    theirs: Kernel
    events: dict[tuple[str, str], Path] = field(default_factory=dict)

    def submit(self, what: str) -> None:
        """The same cell on both sides."""
        name = what.replace(" ", "_")
        for whose in ("ours", "theirs"):
            path = self.played.base / f"{whose}-{name}"
            self.events[whose, what] = path
            source = CELLS[what].replace("PATH", repr(str(path)))
            if whose == "ours":
                self.ours.execute(f"tasks[{what!r}] = submit({name!r}, {source!r}, '--out x {OPTIONS.get(what, '')}')")
                self.ours.execute(f"witness({what!r}, tasks[{what!r}])")
            else:
                minutes, memory = 1 if "limit" in what else 5, 0.2 if "memory" in what else 0.5
                self.theirs.execute(f"theirs({what!r}, {source!r}, {minutes}, {memory})")
                self.theirs.execute(f"witness({what!r}, jobs[{what!r}])")

    def event(self, whose: str, what: str, *, seconds: float = 60) -> float:
        """When the job noted its event."""
        deadline = time.monotonic() + seconds
        while not (self.events[whose, what].exists() and self.events[whose, what].read_text()):
            assert time.monotonic() < deadline, f"{what}: the job of {whose} did not start"
            time.sleep(0.05)
        return float(self.events[whose, what].read_text())

    def seen(self, whose: str, what: str, *, seconds: float) -> dict[str, Any]:
        """What the user saw, and when; a dash when nothing in time."""
        kernel = self.ours if whose == "ours" else self.theirs
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = call(kernel, f"seen.get({what!r})")
            kernel.disconnect()  # the server closes a connection that nobody reads for a minute
            if found:
                return dict(found)
            time.sleep(0.5)
        return {"at": None, "said": f"nothing within {seconds:.0f} s"}


def report(play: Play, what: str, after: str, events: dict[str, float], *, seconds: float = 60) -> None:
    """One line a side."""
    for whose in ("ours", "theirs"):
        found = play.seen(whose, what, seconds=seconds)
        delay = "-" if found["at"] is None else f"{found['at'] - events[whose]:.1f} s"
        said = " ".join(found["said"].split())
        print(
            f"{what:20} {'jupyter_diamond' if whose == 'ours' else 'submitit':16} {delay:>8} after {after}: {said[:180]}"
        )


def scancel(play: Play) -> dict[str, float]:
    """End both by hand when they have run for a while: by then pollers ask seldom."""
    what = "scancel by hand"
    for whose in ("ours", "theirs"):
        play.event(whose, what)
    time.sleep(20)
    ids = {
        "ours": call(play.ours, f"tasks[{what!r}].task.attempt.native.id"),
        "theirs": call(play.theirs, f"jobs[{what!r}].job_id"),
    }
    events = {}
    for whose, job in ids.items():
        events[whose] = time.time()
        play.played.testbed.run(CLUSTER, "scancel", str(job))
    return events


def outage(play: Play) -> dict[str, float]:
    """The controller goes away while both run, for 15 s."""
    what = "slurmctld down 15 s"
    play.submit(what)
    for whose in ("ours", "theirs"):
        play.event(whose, what)
    play.played.testbed.stop_controller(CLUSTER)
    time.sleep(15)
    play.played.testbed.start_controller(CLUSTER)
    return {whose: play.event(whose, what) for whose in ("ours", "theirs")}


def killed_kernels(play: Play) -> None:
    """Both kernels die while their jobs run; new ones ask for the value."""
    what = "kernel killed"
    play.submit(what)
    folder = call(play.theirs, f"str(jobs[{what!r}].paths.folder)")
    job = call(play.theirs, f"jobs[{what!r}].job_id")
    for kernel in (play.ours, play.theirs):
        kernel.disconnect()
        kernel.kill()
    play.ours, play.theirs = play.played.ours("again.ipynb"), play.played.submitit("again-submitit.ipynb")
    for kernel in (play.ours, play.theirs):
        kernel.execute(WITNESS)
    play.ours.execute(f"import jupyter_diamond as diamond; witness({what!r}, diamond.task('kernel_killed'))")
    play.theirs.execute(f"witness({what!r}, submitit.SlurmJob(folder={folder!r}, job_id={job!r}))")
    asked = time.time()
    events = {whose: max(asked, play.event(whose, what)) for whose in ("ours", "theirs")}
    report(play, what, "function end, or asking when that came later", events)


def main() -> None:
    with stage() as played:
        print(f"n=1 each; {load()}", flush=True)
        play = Play(played, played.ours(), played.submitit())
        play.ours.execute("tasks = {}" + WITNESS)
        play.theirs.execute(THEIRS + WITNESS)
        for what in ("time limit of 60 s", "out of memory", "scancel by hand"):
            play.submit(what)
        cancelled = scancel(play)
        starts = {what: {whose: play.event(whose, what) for whose in ("ours", "theirs")} for what in OPTIONS}
        report(play, "out of memory", "it begins to take memory", starts["out of memory"])
        report(play, "scancel by hand", "scancel", cancelled)
        report(play, "time limit of 60 s", "its start", starts["time limit of 60 s"], seconds=150)
        report(play, "slurmctld down 15 s", "function end", outage(play), seconds=60)
        killed_kernels(play)


if __name__ == "__main__":
    sys.exit(main())
