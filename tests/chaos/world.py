"""What outlives every server of a run: the sites, the store's file, the user's acts, the readers, and the report."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.task import TaskRequest
from jupyter_diamond.service import DiamondService
from jupyter_diamond.store import Store
from tests.engine import cells

from .clock import Clock
from .cluster import WALLTIME_S, Cluster
from .plan import Kill, Plan, Wish
from .shell import QuickShell, RealShell
from .transport import Site

_SOURCE = "answer = 1"


@dataclass
class Report:
    """What a run met, and what did not hold."""

    seed: int
    injected: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    tasks: int = 0
    jobs: int = 0
    states: Counter[str] = field(default_factory=Counter)


@cache
def _empty_store() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store" / "store.sqlite"
        Store(path).close()
        return path.read_bytes()


@cache
def cell(name: str, wish: Wish) -> tuple[TaskRequest, bytes]:
    """What is handed in under a name."""
    data = cells.bundle(_SOURCE, name=name)
    least, most = (each << 30 for each in wish.memory)
    envelope = Envelope(
        walltime_s=Span.exactly(WALLTIME_S),
        memory_bytes=Span(min=least, max=most),
        site="toy0" if wish.pinned else None,
    )
    token = f"chaos-token-of-{name}"
    request = cells.request(
        _SOURCE, data, name=name, client_token=token, envelope=envelope, again=True,
        healing=Healing(segments=wish.segments),
    )  # fmt: skip
    return request, data


def group(name: str, wish: Wish) -> tuple[GroupRequest, bytes]:
    """The same for a group."""
    request, data = cell(name, wish)
    rounds = [number for number, size in enumerate(wish.rounds, 1) for _ in range(size)]
    members = (Member(index=index, round=number) for index, number in enumerate(rounds))
    asked = GroupRequest(request=request, members=tuple(members), next_round=wish.next_round, at_once=wish.at_once)
    return asked, data


class Reader:
    """Reads the log page by page, in whichever server lives, and remembers where it was."""

    def __init__(self, name: str, wait_s: float, rest_s: float) -> None:
        self.name, self._wait_s, self._rest_s = name, wait_s, rest_s
        self.cursor = 0
        self.seen: list[int] = []

    async def read(self, service: DiamondService) -> None:
        """Until the server dies."""
        while True:
            try:
                await self._page(service, self._wait_s)
            except DiamondError:
                await asyncio.sleep(5.0)
            await asyncio.sleep(self._rest_s)

    async def catch_up(self, service: DiamondService) -> None:
        """What has happened by now."""
        while await self._page(service, 0.0):
            pass

    async def _page(self, service: DiamondService, wait_s: float) -> int:
        page = await service.events(self.cursor, wait_s, limit=7)
        self.seen += [each.seq for each in page.events]
        self.cursor = page.cursor
        return len(page.events)


class World:
    """All that outlives a server."""

    def __init__(self, plan: Plan, folder: Path, *, real_shell: bool) -> None:
        self.plan, self.folder, self.clock = plan, folder, Clock()
        self.rng = random.Random(f"{plan.seed} world")
        self.report = Report(plan.seed)
        self.store_path = folder / "diamond" / "store.sqlite"
        self.store_path.parent.mkdir(mode=0o700)
        self.store_path.write_bytes(_empty_store())
        self.store_path.chmod(0o600)
        self.sites = [self._site(f"toy{i}", real_shell) for i in range(plan.sites)]
        self.readers = [Reader("one that waits", 25.0, 10.0), Reader("one that looks", 0.0, 97.0)]
        self.kills = list(plan.kills)
        self.passed: Counter[str] = Counter()
        self.acts = list(plan.acts)
        self.stops = list(plan.stops)
        self.refused: set[str] = set()
        """What a cap did not let in."""
        self.watched: dict[str, tuple[str, bool]] = {}
        for at, by in plan.jumps:
            self.clock.at(at, lambda by=by: self._jump(by))

    def _site(self, name: str, real_shell: bool) -> Site:
        folder = self.folder / name
        folder.mkdir()
        cluster = Cluster(name, self.clock, self.plan, self.rng, self.tell)
        shell = RealShell(folder / "shell") if real_shell else QuickShell()
        return Site(cluster, folder, shell, self.clock, self.plan, self.rng)

    def _jump(self, by: float) -> None:
        self.plan.count("clock_jump")
        self.clock.shift += by
        self.tell(f"the server's clock is set by {by:+.0f} s")

    def tell(self, line: str) -> None:
        """A line of the trace."""
        self.report.trace.append(f"{self.clock.now:9.2f}  {line}")

    def violated(self, what: str) -> None:
        """Something did not hold."""
        if what not in self.report.violations:
            self.report.violations.append(what)
            self.tell(f"VIOLATED: {what}")

    def deadly(self, boundary: str) -> Kill | None:
        """The kill that is planned for this passing of a boundary."""
        self.passed[boundary] += 1
        for kill in self.kills:
            if kill.boundary == boundary and kill.nth == self.passed[boundary]:
                return kill
        return None
