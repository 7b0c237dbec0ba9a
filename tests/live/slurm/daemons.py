"""Start and stop daemons, remembered by pid and start time in files, so that a later process finds them again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from .host import TestbedError


def wait_until(true: Callable[[], bool], seconds: float, what: str, *, every: float = 0.05) -> None:
    """Poll until a condition holds; TestbedError says what did not happen in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TestbedError(f"{what} within {seconds:g} s.")
        time.sleep(every)


def started_at(pid: int) -> str | None:
    """When a process was started, in clock ticks since boot; None when there is no such process, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


class Daemons:
    """The daemons of one testbed. Only processes that are recorded here are ever signalled."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pids = root / "pids"
        self.logs = root / "log"
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def pid(self, name: str) -> int | None:
        """The daemon's pid while it is alive."""
        child = self._children.get(name)
        if child is not None:
            child.poll()
        try:
            pid, start = (self.pids / name).read_text().split()
        except (OSError, ValueError):
            return None
        return int(pid) if started_at(int(pid)) == start else None  # pids are used again

    def names(self) -> list[str]:
        """All daemons that were started and not stopped, alive or not."""
        return sorted(path.name for path in self.pids.iterdir()) if self.pids.is_dir() else []

    def start(self, name: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Start a daemon, unless it is alive."""
        if self.pid(name) is not None:
            return
        self.pids.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        with (self.logs / f"{name}.out").open("ab") as log:
            child = subprocess.Popen(
                argv,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.root,
            )
        self._children[name] = child
        (self.pids / name).write_text(f"{child.pid} {started_at(child.pid)}")

    def stop(self, names: Iterable[str], *, sig: int = signal.SIGTERM, seconds: float = 10) -> None:
        """Stop daemons and wait until they are gone; SIGKILL for those that do not go."""
        wanted = list(names)
        for name in wanted:
            self._signal(name, sig)
        try:
            wait_until(lambda: not any(map(self.pid, wanted)), seconds, "Daemons did not stop")
        except TestbedError:
            for name in wanted:
                self._signal(name, signal.SIGKILL)
            wait_until(lambda: not any(map(self.pid, wanted)), 5, f"Daemons outlived SIGKILL: {', '.join(wanted)}")
        for name in wanted:
            (self.pids / name).unlink(missing_ok=True)
            child = self._children.pop(name, None)
            if child is not None:
                child.wait()

    def _signal(self, name: str, sig: int) -> None:
        pid = self.pid(name)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sig)

    def last_words(self, name: str, lines: int = 5) -> str:
        """The end of what a daemon printed."""
        try:
            text = (self.logs / f"{name}.out").read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])
