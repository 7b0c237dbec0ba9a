"""Chaos on three real Slurm clusters: each round breaks one real thing under a real server, mends it, and looks.

One cluster stands behind a real ssh daemon. A round hands in one cell, waits for a moment of its life, and then: kills
the server, the controller, accounting, the ssh daemon or the node's daemon, cuts the line, or cancels; some two at once.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.store import Store
from tests.live.slurm import Testbed
from tests.live.sshd import Sshd

from .servers import Servers, servers

MOMENTS = ("attempt.submitting", "attempt.submitted", "attempt.state_changed", "attempt.result_ready")
FAULTS = ("server", "controller", "accounting", "sshd", "line", "node", "cancel", "server+controller", "server+sshd")
BEHIND_SSH = "vista"
_PATIENCE_S = 120.0


@dataclass
class Rounds:
    """What the rounds met."""

    done: int = 0
    last: str = ""
    faults: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class Real:
    """Three clusters, a login node, a store, and servers that come and go."""

    def __init__(self, testbed: Testbed, node: Sshd, them: Servers, folder: Path, seed: int) -> None:
        self._testbed, self._node, self._them, self._folder = testbed, node, them, folder
        self._rng = random.Random(f"{seed} real")
        self._sites = ("delta", "anvil", BEHIND_SSH)
        self.report = Rounds()

    def round(self, number: int) -> None:
        """Break one thing, mend it, and look."""
        rng, begun = self._rng, time.monotonic()
        site, fault = self._sites[number % 3], FAULTS[number % len(FAULTS)]
        if site != BEHIND_SSH and ("sshd" in fault or fault == "line"):
            site = BEHIND_SSH
        name, moment = f"round{number}", rng.choice(MOMENTS)
        ran = self._folder / f"{name}.ran"
        seconds = 6.0 if fault == "node" else rng.choice((0.0, 1.0))
        source = (
            f"import os, time\nopen({str(ran)!r}, 'a').write(os.environ['SLURM_JOB_ID'] + ' ')\ntime.sleep({seconds})"
        )
        size = {"site": site, "walltime_s": {"min": 300, "max": 300}, "memory_bytes": {"min": 1 << 29, "max": 1 << 29}}
        newest = self._them.newest()
        if not self._them.alive:
            self._them.start()
        self._them.order(name=name, source=source, envelope=size)
        self._them.happens("attempt.state_changed" if fault == "node" else moment, newest, 30.0)
        time.sleep(rng.choice((0.0, 0.005, 0.05, 0.3)))
        mend = [self._break(each, site, name) for each in fault.split("+")]
        time.sleep(rng.choice((0.2, 1.0, 2.0)))
        for each in mend:
            each()
        if not self._them.alive:
            self._them.start()
        self._settled(number + 1)
        self.report.done += 1
        self.report.faults[f"{fault} at {moment}"] += 1
        self.report.last = f"{fault} at {site}, {moment}"
        self.report.seconds.append(time.monotonic() - begun)
        self._look(name, site, fault, ran)

    def _break(self, what: str, site: str, name: str) -> Callable[[], object]:
        """Break it, and give back how it is mended."""
        if what == "node":
            return self._node_down(site)
        testbed, node, them = self._testbed, self._node, self._them
        breaks: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "server": (them.kill, lambda: None),
            "controller": (lambda: testbed.kill_controller(site), lambda: testbed.start_controller(site)),
            "accounting": (testbed.kill_accounting, testbed.start_accounting),
            "sshd": (node.kill, node.start),
            "line": (node.line.hold, node.line.release),
            "cancel": (lambda: them.order(cancel=name), lambda: None),
        }
        breaks[what][0]()
        return breaks[what][1]

    def _node_down(self, site: str) -> Callable[[], object]:
        nodes = self._testbed.run(site, "squeue", "-a", "-h", "-t", "running", "-o", "%N").stdout.split()
        if not nodes:
            return lambda: None
        self._testbed.down_node(site, nodes[0])

        def mend() -> None:
            self._testbed.start_node(site, nodes[0], wait=False)
            self._testbed.run(site, "scontrol", "update", f"nodename={nodes[0]}", "state=resume", check=False)
            self._testbed.wait_ready(site)

        return mend

    def _settled(self, wanted: int) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while self._them.unended(wanted) and time.monotonic() < deadline:
            time.sleep(0.05)

    def _look(self, name: str, site: str, fault: str, ran: Path) -> None:
        store = Store(self._them.store)
        try:
            task = store.task(name)
            seqs = [event.seq for event in store.events(0, 100_000)]
        finally:
            store.close()
        self.report.states[task.state.value] += 1
        for violation in self._violations(task, site, fault, ran):
            self.report.violations.append(f"{name} ({fault} at {site}): {violation}")
        if seqs != sorted(set(seqs)):
            self.report.violations.append(f"{name}: the log is out of order")

    def _violations(self, task: Task, site: str, fault: str, ran: Path) -> Iterator[str]:
        runs = ran.read_text().split() if ran.exists() else []
        known = {attempt.token: attempt for attempt in task.attempts}
        if not task.state.terminal:
            yield f"it has not ended: {task.attempt!r}"
        elif task.state is not State.COMPLETED and not task.cause:
            yield "it does not say why"
        if task.state is State.COMPLETED and not runs:
            yield "it is completed and never ran"
        # a controller that was killed before it had saved a start begins that very job once more
        again = "controller" in fault
        if len(set(runs) if again else runs) > len(known):
            yield f"the cell ran in the jobs {runs}, and there were {len(known)} attempts"
        for token, attempt in known.items():
            jobs = self._jobs(site, token)
            if len(jobs) > 1:
                yield f"{len(jobs)} jobs were handed in: {jobs}"
            if jobs and (attempt.native is None or attempt.native.id not in jobs):
                yield f"the cluster has {jobs}, the store {attempt.native}"
        allowed = {State.COMPLETED} | ({State.CANCELLED} if fault == "cancel" else set())
        if task.state.terminal and task.state not in allowed | ({State.NODE_FAIL} if fault == "node" else set()):
            yield f"it is {task.state.value}: {task.cause}"

    def _jobs(self, site: str, token: str) -> list[str]:
        argv = ("sacct", "-X", "-n", "-P", "-S", "now-1hour", f"--name={token}", "-o", "JobIDRaw")
        return sorted(set(self._testbed.run(site, *argv).stdout.split()))


@contextmanager
def real(testbed: Testbed, folder: Path, seed: int) -> Iterator[Real]:
    """The clusters with a login node before one of them, and servers that are gone afterwards."""
    home = folder / "home"  # start-up files that are killed half-way may keep later logins waiting
    home.mkdir()
    node = Sshd(folder / "ssh", BEHIND_SSH, env={**testbed.env(BEHIND_SSH), "HOME": str(home)})
    try:
        sites = testbed.sites_yaml(folder / "sites.yaml", folder / "work", nodes=[node])
        with servers(folder / "user", sites) as them:
            yield Real(testbed, node, them, folder, seed)
    finally:
        node.close()
