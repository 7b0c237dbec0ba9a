"""What a decision may know of the environment that a task names: asked once a site, and kept for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from statistics import median

from jupyter_diamond.engine.environments.build_script import Told
from jupyter_diamond.engine.environments.builds import Builds, Key, Wanted
from jupyter_diamond.engine.environments.setting import is_built
from jupyter_diamond.engine.interpreters import Interpreters
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import BuiltEnvironment, Environment
from jupyter_diamond.placement.environment_at import EnvironmentAt
from jupyter_diamond.placement.environment_rules import with_environment
from jupyter_diamond.placement.world import World

_KEPT_S, _SILENT_S = 600.0, 60.0
"""How long an answer is good for, and how long a site that gave none is let alone."""
_PATIENCE_S = 8.0
"""A decision waits for sites no longer than this."""


class Outlook:
    """One for a service."""

    def __init__(
        self, ledger: Ledger, links: SiteLinks, builds: Builds, interpreters: Interpreters,
        wanted: Callable[[SiteLink, Environment], Wanted],
    ) -> None:  # fmt: skip
        self._ledger, self._links, self._builds, self._interpreters = ledger, links, builds, interpreters
        self._wanted = wanted
        self._told: dict[Key, tuple[float, Told | str]] = {}

    async def world(self, envelope: Envelope, world: World) -> World:
        """The world with what is known of the environment at each site that may be chosen. Raises StoreError."""
        env = envelope.env
        if env is None:
            return world
        links = list(self._links.values())
        if not is_built(env):
            return with_environment(world, {link.name: self._named(link, env) for link in links})
        asked = [link for link in links if self._is_open(link) and _may_be(link.name, envelope)]
        await self._look([self._wanted(link, env) for link in asked])
        known = await self._ledger.do(self._ledger.store.environments.all)
        return with_environment(world, {link.name: self._built(link, env, known) for link in links})

    @staticmethod
    def _is_open(link: SiteLink) -> bool:
        return link.site.builds_environments and not link.site.simulated

    def _named(self, link: SiteLink, env: Environment) -> EnvironmentAt:
        if env.name not in link.site.environments:
            return EnvironmentAt("absent")
        problem = self._interpreters.problem(link.name, env.name)
        return EnvironmentAt("broken", said=problem) if problem else EnvironmentAt("named")

    async def _look(self, wanted: Iterable[Wanted]) -> None:
        """Ask the sites that nobody has asked lately, all at once; one that hangs holds nothing up for long."""
        now, asking = time.monotonic(), list[asyncio.Task[None]]()
        for each in wanted:
            at, told = self._told.get(each.key, (-_KEPT_S, ""))
            if now - at >= (_SILENT_S if isinstance(told, str) else _KEPT_S):
                asking.append(asyncio.create_task(self._ask(each), name=f"diamond-environment-look-{each.link.name}"))
        if asking:
            _, late = await asyncio.wait(asking, timeout=_PATIENCE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, wanted: Wanted) -> None:
        self._told[wanted.key] = (time.monotonic(), "it does not answer")
        try:
            self._told[wanted.key] = (time.monotonic(), await self._builds.look(wanted))
        except DiamondError as problem:
            self._told[wanted.key] = (time.monotonic(), problem.message)

    def _built(self, link: SiteLink, env: Environment, known: Iterable[BuiltEnvironment]) -> EnvironmentAt:
        if not self._is_open(link):
            return EnvironmentAt("off")
        site, digest = key = self._wanted(link, env).key
        last = next((each for each in known if (each.site, each.digest) == key), None)
        if last is not None and last.state == "ready":
            return EnvironmentAt("built")
        _, told = self._told.get(key, (0.0, ""))
        if not isinstance(told, str):
            return _seen(told, last, expected(site, digest, known))
        return EnvironmentAt("unknown", said=told)


def _seen(told: Told, last: BuiltEnvironment | None, build_s: float | None) -> EnvironmentAt:
    if told.fate == "ready":
        return EnvironmentAt("built")
    if told.uv is False:
        return EnvironmentAt("no_uv")
    if last is not None and last.state == "failed":
        return EnvironmentAt("failed", said=last.problem)
    return EnvironmentAt("to_build", build_s)


def expected(site: str, digest: str, known: Iterable[BuiltEnvironment]) -> float | None:
    """How long a build will take: as this one took elsewhere, as others took here, as any took anywhere."""
    timed = [(each, each.seconds) for each in known if each.seconds is not None]
    for mine in (
        [seconds for each, seconds in timed if each.digest == digest],
        [seconds for each, seconds in timed if each.site == site],
        [seconds for _, seconds in timed],
    ):
        if mine:
            return median(mine)
    return None


def _may_be(name: str, envelope: Envelope) -> bool:
    return name == envelope.site if envelope.site is not None else not envelope.sites or name in envelope.sites
