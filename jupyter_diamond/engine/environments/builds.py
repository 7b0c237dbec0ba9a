"""Builds that go on at sites: each is looked after by one task here, whoever waits for it.

The build itself runs at the site and needs nobody: this only starts it, asks how it stands, and keeps what came of it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from jupyter_diamond.engine.environments import build_script
from jupyter_diamond.engine.environments.build_script import Told
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.pace import Pace, end
from jupyter_diamond.errors import DiamondError, StoreError, TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.environment import BuildState, BuiltEnvironment, Environment
from jupyter_diamond.parsing.environments import digest_of

_CHECKED_S = 600.0
"""For so long what was found whole is not looked at again."""
_ASK_FIRST_S, _ASK_MOST_S = 0.25, 10.0
_LOOK_S = 60.0
"""A look at each file of a large environment takes long on a busy file system."""
_STORE_S = 5.0
MOST_DEATHS = 3
_DIGITS = 16
"""Of the digest so many stand in the name of its folder."""

Key = tuple[str, str]


class BuildFailed(DiamondError):
    """An environment cannot be built at a site; ``evidence`` is what was said there last."""


@dataclass
class Wanted:
    """What is to be built. ``python`` is what ``uv`` is told: a version, or a path at the site."""

    link: SiteLink
    environment: Environment
    python: str
    own: str = ""
    """The site's own interpreter: it is taken where it is of that version."""
    beside: str = ""
    """One more place where ``uv`` may be."""
    digest: str = ""

    def __post_init__(self) -> None:
        self.digest = self.digest or digest_of(self.environment)

    @property
    def key(self) -> Key:
        """Site and digest."""
        return self.link.name, self.digest

    @property
    def sent(self) -> bytes:
        """The text that is installed."""
        return (self.environment.requirements or "").encode()


@dataclass
class _Build:
    wakes: set[Callable[[], None]] = field(default_factory=set)
    trouble: TransportError | None = None


class Builds:
    """All of a service. ``holds`` says whether this server is the one that acts."""

    def __init__(self, ledger: Ledger, log: logging.Logger, *, holds: Callable[[], bool]) -> None:
        self._ledger, self._log, self._holds = ledger, log, holds
        self._ready: dict[Key, tuple[float, BuiltEnvironment]] = {}
        self._failed: dict[Key, BuiltEnvironment] = {}
        self._under_way: dict[Key, _Build] = {}
        self._owned: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Look after none any more; what is being built at sites goes on there."""
        await end(list(self._owned), within_s=1.0)

    def ready(self, wanted: Wanted, since: datetime, wake: Callable[[], None]) -> BuiltEnvironment | None:
        """What was built; None while it is looked for or built, and ``wake`` is called when there is news.

        Raises BuildFailed where that was tried after ``since``, and TransportError while the site cannot be asked.
        """
        key = wanted.key
        at, built = self._ready.get(key, (0.0, None))
        if built is not None and time.monotonic() - at < _CHECKED_S:
            return built
        failed = self._failed.get(key)
        if failed is not None and failed.changed_at >= since:
            raise BuildFailed(failed.problem, evidence=failed.evidence)
        build = self._under_way.get(key)
        if build is None:
            build = self._under_way[key] = _Build()
            task = asyncio.create_task(self._looked_after(wanted, build), name=f"diamond-environment-{key[0]}")
            self._owned.add(task)
            task.add_done_callback(self._owned.discard)
        build.wakes.add(wake)
        if build.trouble is not None:
            raise build.trouble
        return None

    def prefix(self, key: Key) -> str | None:
        """Where one is that was found ready."""
        known = self._ready.get(key)
        return None if known is None else known[1].prefix

    async def look(self, wanted: Wanted) -> Told:
        """How it stands at the site; nothing is started. Raises TransportError."""
        link = wanted.link
        script = build_script.script(await folder(wanted), wanted.python, beside=wanted.beside, may_start=False)
        told = answer(link, build_script.read(await link.run(script, timeout_s=_LOOK_S)))
        if told.fate == "ready":  # another server of the user may have built it
            await self._keep(wanted, _of(wanted, told, "ready"))
        return told

    async def _looked_after(self, wanted: Wanted, build: _Build) -> None:
        try:
            built = await self._built(wanted, build)
        except StoreError as problem:
            self._log.warning("%s", problem.message)
            await asyncio.sleep(_STORE_S)  # whoever waits asks again then
        except Exception:  # noqa: BLE001 - a defect of ours must not let those who wait sleep for ever
            self._log.exception("building an environment at %s failed", wanted.link.name)
        else:
            if built is not None and built.state == "ready":
                self._ready[wanted.key] = (time.monotonic(), built)
            elif built is not None:
                self._failed[wanted.key] = built
        finally:
            del self._under_way[wanted.key]
            for wake in build.wakes:
                wake()

    async def _built(self, wanted: Wanted, build: _Build) -> BuiltEnvironment | None:
        """Ask until it is settled; None where another server has taken over."""
        pace, first, told = Pace(_ASK_FIRST_S, _ASK_MOST_S), 0, None
        while self._holds():
            try:
                told = await self._ask(wanted, first=first, newest=told.n if told is not None else 0)
                build.trouble = None
            except TransportError as problem:
                if build.trouble is None:
                    self._log.warning("%s: %s", wanted.link.name, problem.message)
                build.trouble, told = problem, None
                for wake in build.wakes:
                    wake()
                await asyncio.sleep(pace.next())
                continue
            if (settled := _settled(wanted, told, first)) is not None:
                return await self._keep(wanted, settled)
            if not first:
                first = told.n
                await self._keep(wanted, _of(wanted, told, "building"))
            await asyncio.sleep(pace.next())
        return None

    async def _ask(self, wanted: Wanted, *, first: int, newest: int) -> Told:
        """One look. What failed before this was asked for is tried again; what fails from then on is its end."""
        link = wanted.link
        script = build_script.script(
            await folder(wanted), wanted.python, own=wanted.own, beside=wanted.beside, check=not first,
            seen=first - 1 if first else 1 << 30, may_start=not first or newest < first + MOST_DEATHS - 1,
        )  # fmt: skip
        return answer(link, build_script.read(await link.run(script, stdin=wanted.sent, timeout_s=_LOOK_S)))

    async def _keep(self, wanted: Wanted, built: BuiltEnvironment) -> BuiltEnvironment:
        store = self._ledger.store.environments
        known = await self._ledger.do(store.get, *wanted.key)
        if known is None or (known.state, known.prefix, known.problem) != (built.state, built.prefix, built.problem):
            await self._ledger.write(store.put, built, wanted.environment.name)
        return built


async def folder(wanted: Wanted) -> str:
    """Where it is built, but for the architecture, which the site adds."""
    link = wanted.link
    return f"{await link.transport.expand(link.site.workdir)}/envs/{wanted.digest[:_DIGITS]}"


def answer(link: SiteLink, told: Told | None) -> Told:
    """What was told. Raises TransportError where that was nothing."""
    if told is None:
        raise TransportError(
            f"{link.name} did not say how its environment stands; it is asked again.", outcome="unknown"
        )
    return told


def _settled(wanted: Wanted, told: Told, first: int) -> BuiltEnvironment | None:
    """What became of it; None while it is being built."""
    site, name = wanted.link.name, wanted.environment.name
    if told.fate == "ready":
        return _of(wanted, told, "ready")
    if told.fate == "no_uv":
        how = "Install uv there (https://docs.astral.sh/uv), or name one of the site's environments with --env"
        return _of(wanted, told, "failed", f"{site} has no uv to build the environment {name} with. {how}.")
    if told.fate == "no_folder":
        what = f"{site} cannot make {told.folder}, where the environment {name} is built"
        return _of(wanted, told, "failed", f"{what}. Free some quota there, or set another workdir.")
    if told.fate == "failed":
        said = next((line.strip() for line in reversed(told.log) if line.strip()), "it did not say why")
        what = f"The environment {name} cannot be built at {site}: {said.removesuffix('.')}"
        return _of(wanted, told, "failed", f"{what}. The whole log is {told.folder}/{told.n}/log there.")
    if told.fate == "none" and first:
        what = f"The build of the environment {name} was ended {MOST_DEATHS} times at {site}, by nothing of ours"
        return _of(wanted, told, "failed", f"{what}. See {told.folder}/{told.n}/log there, or build it there by hand.")
    return None


def _of(wanted: Wanted, told: Told, state: BuildState, problem: str = "") -> BuiltEnvironment:
    site, digest = wanted.key
    return BuiltEnvironment(
        site=site, digest=digest, state=state, prefix=told.prefix, python_version=told.version,
        packages=told.packages, problem=problem, evidence=told.log, seconds=told.seconds,
        changed_at=from_epoch(time.time()),
    )  # fmt: skip
