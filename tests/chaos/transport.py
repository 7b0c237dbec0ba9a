"""The way to a toy site, with all that can happen to a script and its answer on it."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from pathlib import Path

from jupyter_diamond.errors import TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.transport.base import Completed

from .clock import Clock
from .cluster import Cluster, named
from .plan import CALM_AT, SUBMISSION, Plan
from .scheduler import DONE
from .shell import Fault, Shell

_LOOK = re.compile(r"^look (\d+) (\S+) (\S*)$", re.MULTILINE)
_RETURN_S = 0.01


def kind_of(script: str) -> str:
    """What a script is for."""
    if script.startswith("toy "):
        return script.split()[1]
    if "toy-submit" in script:
        return "submit"
    if "\nlook 0 " in script:
        return "look"
    if "/checkpoints/" in script and script.startswith("cd "):
        return "checkpoints"
    if script.startswith("cd "):
        return "peek"
    if script.startswith("umask 077\nmkdir"):
        return "fence"
    raise ValueError(f"what is this? {script!r}")


class Site:
    """What stands at the other end: a cluster, a folder, a shell. It outlives every server."""

    def __init__(
        self, cluster: Cluster, folder: Path, shell: Shell, clock: Clock, plan: Plan, rng: random.Random
    ) -> None:
        self.cluster, self.folder, self.clock, self.plan = cluster, folder, clock, plan
        self._shell, self._rng = shell, rng
        self._before: dict[str, Completed] = {}
        """By script, what it was last answered."""

    def at_news(self, until: float, act: Callable[[], None]) -> None:
        """Have something happen when a job writes a file, or at a moment, whichever comes first; once."""
        waiting = [act]

        def now() -> None:
            if waiting:
                self.cluster.listeners.remove(now)
                waiting.pop()()

        self.cluster.listeners.append(now)
        self.clock.at(until, now)

    def execute(self, script: str, stdin: bytes) -> Completed:
        """Run a script now."""
        kind = kind_of(script)
        if kind in ("submit", "peek", "fence"):
            fault = self._fault() if kind == "submit" else ""
            return self._shell.run(script, stdin, fault=fault, take=self.cluster.take, next_id=self.cluster.next_id)
        if kind == "checkpoints":
            return self._shell.checkpoints(script)
        if kind == "look":
            return Completed(exit=0, stdout=self.look(script), stderr=b"")
        return self._command(kind, script.split()[2:])

    def _fault(self) -> Fault:
        now = self.clock.now
        if (forced := self.plan.by_hand("shell")) is not None:
            self.plan.count(f"submit {forced}")
            return forced  # type: ignore[return-value]
        for window, fault in (("site_full", "full"), ("controller_down", "down")):
            if self.plan.on(window, now):
                self.plan.count(window)
                return fault  # type: ignore[return-value]
        if now < CALM_AT and self._rng.random() < self.plan.sickly:
            fault = self._rng.choice(SUBMISSION)
            self.plan.count(f"submit {fault}")
            return fault  # type: ignore[return-value]
        return ""

    def stale(self, script: str, done: Completed) -> Completed:
        """The answer to the same question that was asked before, if it was."""
        before, self._before[script] = self._before.get(script), done
        return before or done

    def doubled(self, kind: str, script: str, done: Completed) -> Completed:
        """An answer of an older state of things and of the newer one, each twice."""
        lines = done.stdout.decode().splitlines()
        if kind not in ("queue", "accounting") or lines[-1:] != [DONE]:
            return done
        wanted = set(script.split()[2].split(","))
        rows = [*self.cluster.old_rows(lambda job: named(job, wanted)), *lines[:-1]]
        text = "".join(f"{line}\n" for line in (*rows, *rows, DONE))
        return done.model_copy(update={"stdout": text.encode()})

    def _command(self, kind: str, words: list[str]) -> Completed:
        now, lines = self.clock.now, list[str]()
        controller, books = not self.plan.on("controller_down", now), not self.plan.on("accounting_down", now)
        wanted = set(words[0].split(",")) if words else set()
        if (not controller and kind != "accounting") or (not books and kind == "accounting"):
            self.plan.count("accounting_down" if controller else "controller_down")
            return Completed(exit=1, stdout=b"", stderr=b"toy: cannot connect\n")
        if kind == "queue":
            lines = self.cluster.queue(lambda job: named(job, wanted))
        elif kind == "accounting":
            lines = self.cluster.accounting(lambda job: named(job, wanted), float(words[1]))
        elif kind == "cancel":
            self.cluster.cancel(wanted, waiting_only="waiting" in words)
        elif kind == "lookup":
            found = {line.split("\x1f")[0]: line for line in self.cluster.queue(lambda job: job.name in wanted)}
            if books:
                told = self.cluster.accounting(lambda job: job.name in wanted, float(words[1]))
                found |= {line.split("\x1f")[0]: line for line in told if line.split("\x1f")[0] not in found}
            else:
                self.plan.count("accounting_down")
                lines.append("incomplete")
            lines += found.values()
        return Completed(exit=0, stdout="".join(f"{line}\n" for line in (*lines, DONE)).encode(), stderr=b"")

    @staticmethod
    def read(path: str) -> bytes:
        """A file of the site."""
        return Path(path).read_bytes()

    def look(self, script: str) -> bytes:
        """What the look script finds at once."""
        said = b""
        for number, folder, start in _LOOK.findall(script):
            names = [files.STARTED] if start else []
            if (Path(folder) / files.END).exists():
                names += [files.END, files.MANIFEST]
            for name in names:
                if (Path(folder) / name).exists():
                    data = (Path(folder) / name).read_bytes()
                    said += b"@@diamond:%s %s %d\n%s\n" % (number.encode(), name.encode(), len(data), data)
        return said


class ToyTransport:
    """One server's way to a site. ``passes`` hears of each boundary, and may kill the server there."""

    shares_files = False

    def __init__(
        self, site: Site, rng: random.Random, passes: Callable[[str], None], tell: Callable[[str], None]
    ) -> None:
        self._site, self._rng, self._passes, self._tell = site, rng, passes, tell
        self._plan, self._clock = site.plan, site.clock
        self.longest_wait_s = site.plan.waits

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float, max_bytes: int = 8 << 20, hold_stdin: bool = False
    ) -> Completed:
        kind = kind_of(script)
        self._boundary(kind, "before")
        fault = self._draw(kind)
        if fault:
            self._plan.count(fault)
            self._tell(f"{self._site.cluster.name}: {kind}: {fault}")
        if fault == "not_sent":
            await asyncio.sleep(0.5)
            raise TransportError("The site cannot be reached.", outcome="not_sent")
        answer = await self._answer(kind, script, stdin, fault, timeout_s)
        self._boundary(kind, "after")
        if fault == "cut":
            return answer.model_copy(update={"stdout": answer.stdout[: len(answer.stdout) // 2], "truncated": True})
        if fault == "garbled":
            return answer.model_copy(update={"stdout": b"Welcome to the toy!\n"})
        if fault == "doubled":
            return self._site.doubled(kind, script, answer)
        return answer

    def _draw(self, kind: str) -> str:
        now = self._clock.now
        if (forced := self._plan.by_hand(kind)) is not None:
            return forced
        for window, fault in (("way_down", "not_sent"), ("hang", "hang")):
            if self._plan.on(window, now) and (window == "way_down" or kind != "probe"):
                return fault
        if kind == "probe" or now >= CALM_AT:  # a lost probe costs a user's patience, nothing else
            return ""
        rates = self._plan.rates
        return self._rng.choices([*rates, ""], [*rates.values(), 1.0 - sum(rates.values())])[0]

    async def _answer(self, kind: str, script: str, stdin: bytes, fault: str, timeout_s: float) -> Completed:
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[Completed] = loop.create_future()
        site, clock = self._site, self._clock

        def arrive(*, heard_by: asyncio.Future[Completed] | None) -> None:
            done = site.execute(script, stdin)
            if kind in ("queue", "accounting"):
                before = site.stale(script, done)
                done = before if fault == "stale" else done
            if kind == "look" and not done.stdout and clock.now < patience:
                site.at_news(patience, lambda: arrive(heard_by=heard_by))
                return
            if heard_by is None:
                return
            if not loop.dead:  # type: ignore[attr-defined]
                self._passes(f"{kind} ran")
            wait = self._return_s(fault, timeout_s)
            if not loop.dead and wait is not None:  # type: ignore[attr-defined]
                loop.call_later(wait, lambda: heard_by.done() or heard_by.set_result(done))

        way = clock.now + 0.02 + self._rng.random() * 0.2
        patience = way + self._plan.waits - 0.001
        if fault == "late_run":
            clock.at(way + self._rng.choice(self._plan.late_s), lambda: arrive(heard_by=None))
        elif fault not in ("lost_before", "hang"):
            clock.at(way, lambda: arrive(heard_by=heard))
        if fault == "twice":
            clock.at(way + self._rng.choice(self._plan.twice_s), lambda: arrive(heard_by=None))
        done, _ = await asyncio.wait({heard}, timeout=timeout_s)
        if not done:
            heard.cancel()
            raise TransportError(f"The site did not finish a command within {timeout_s:g} s.", outcome="unknown")
        return heard.result()

    def _return_s(self, fault: str, timeout_s: float) -> float | None:
        if fault == "lost_after":
            return None
        return min(timeout_s, 45.0) * self._rng.random() if fault == "slow" else _RETURN_S

    def _boundary(self, kind: str, side: str) -> None:
        self._passes(f"{kind} {side}")
        if asyncio.get_running_loop().dead:  # type: ignore[attr-defined]
            raise asyncio.CancelledError

    async def put(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        raise NotImplementedError

    async def get(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        self._boundary("get", "before")
        fault = self._draw("get")
        await asyncio.sleep(0.05)
        if fault in ("not_sent", "hang", "lost_before", "lost_after", "late_run"):
            self._plan.count(fault)
            raise TransportError("The site cannot be reached.", outcome="unknown")
        return self._site.read(path)

    async def size(self, path: str) -> int | None:
        await asyncio.sleep(0.05)
        return None

    async def expand(self, path: str) -> str:
        return path

    async def close(self) -> None:
        return
