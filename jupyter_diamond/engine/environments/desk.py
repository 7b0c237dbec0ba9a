"""Environments at sites: which there are, what a task's is ready for, and what its job says to run in it."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from jupyter_diamond.engine.batch import Batch
from jupyter_diamond.engine.engine import Engine
from jupyter_diamond.engine.environments.builds import Builds, Wanted
from jupyter_diamond.engine.environments.outlook import Outlook
from jupyter_diamond.engine.environments.setting import Setting, expanded, is_built, named, own, runs
from jupyter_diamond.engine.interpreters import Interpreters
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink, SiteLinks
from jupyter_diamond.errors import DiamondError, TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import BuiltEnvironment, Environment, NamedEnvironment, SiteEnvironments
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import KernelPython, Task
from jupyter_diamond.model.views import Interpreter
from jupyter_diamond.placement.world import World

Names = Iterable[str]


class EnvironmentDesk:
    """One for a service. It is a Readiness: a batch waits until what it runs in is there, and was tried."""

    def __init__(self, ledger: Ledger, links: SiteLinks, log: logging.Logger, timeout_s: float) -> None:
        self._ledger, self._links = ledger, links
        self._engine: Engine | None = None
        self._interpreters = Interpreters(timeout_s)
        self.builds = Builds(ledger, log, holds=lambda: self._engine is not None and self._engine.advances)
        self._outlook = Outlook(ledger, links, self.builds, self._interpreters, _unstarted)

    def serve(self, engine: Engine) -> None:
        """From now on the engine waits for environments, and its planner knows of them."""
        self._engine = engine
        engine.readiness.add(self)
        engine.planner.environments = self.world

    async def stop(self) -> None:
        """Look after no build any more."""
        await self.builds.stop()

    # ---- looking

    async def list(self, site: str) -> SiteEnvironments:
        """What is configured for a site, and what was built there. Raises NotFound."""
        link = self._links[site]
        return SiteEnvironments(
            site=site, builds=link.site.builds_environments,
            named=tuple(
                NamedEnvironment(name=name, runs=runs(each), note=each.note)
                for name, each in link.site.environments.items()
            ),
            built=await self._ledger.do(self._ledger.store.environments.all, site),
        )  # fmt: skip

    async def interpreter(
        self, site: str, python: str | None, modules: Iterable[str], env: Environment | None = None,
        packages: Iterable[str] = (),
    ) -> Interpreter:  # fmt: skip
        """What would run a cell at a site, which modules it lacks, and its versions of packages.

        Nothing is built for this: of what is still to be built, only that is told. Answers are kept for ten minutes.
        Raises InvalidRequest where the site has no environment of that name, and TransportError.
        """
        link = self._links[site]
        if env is None:
            return await self._interpreters.ask(link, own(link, python), modules, packages)
        if not is_built(env):
            return await self._interpreters.ask(link, await named(link, env.name, python), modules, packages)
        built = await self._ledger.do(self._ledger.store.environments.get, site, _unstarted(link, env).digest)
        if built is None or built.state != "ready":
            now = from_epoch(time.time())
            return Interpreter(executable="", version=None, environment=env.name, to_build=True, read_at=now)
        return await self._interpreters.ask(link, _inside(link, env, built.prefix), modules, packages)

    async def world(self, envelope: Envelope, world: World) -> World:
        """What a decision may know of the environment of a task, site by site."""
        return await self._outlook.world(envelope, world)

    # ---- making ready

    def concerns(self, envelope: Envelope) -> bool:
        """Whether a task of this envelope names an environment."""
        return envelope.env is not None

    async def ready(self, batch: Batch, link: SiteLink, wake: Callable[[], None]) -> Batch | None:
        """The batch, once its environment is there and has what the cell imports."""
        request = await self._ledger.do(self._ledger.store.request, batch.lead.id)
        env = request.envelope.env
        if env is None:
            return batch
        if is_built(env):
            built = self._built(link, env, request.python, batch.attempt.created_at, wake)
            if built is None:
                return await self._waiting(batch, link, env)
            setting = _inside(link, env, built.prefix)
        else:
            setting = await named(link, env.name, request.python.executable)
        found = await self._interpreters.ask(link, setting, request.imports)
        if found.problem:
            raise DiamondError(found.problem)
        if found.missing:
            raise DiamondError(lacks(link.name, env, found))
        return batch

    def _built(
        self, link: SiteLink, env: Environment, python: KernelPython, since: datetime, wake: Callable[[], None]
    ) -> BuiltEnvironment | None:
        if not link.site.builds_environments:
            raise DiamondError(
                f"Nothing is built at {link.name}: builds_environments is off in the site catalogue. Turn it on, or "
                "name one of the site's environments with --env."
            )
        return self.builds.ready(wanted(link, env, python), since, wake)

    async def _waiting(self, batch: Batch, link: SiteLink, env: Environment) -> Batch | None:
        """Say once that it is waited for."""
        if batch.attempt.state is not State.STAGING_IN:
            told = {"environment": env.name, "site": link.name, "why": f"The environment {env.name} is being built."}
            await self._ledger.update_all(batch.tasks, "attempt.staging", told, state=State.STAGING_IN)
        return None

    async def dressed(self, job: JobRequest, batch: Batch, link: SiteLink) -> JobRequest:
        """The job, to run its command in the environment."""
        env = batch.lead.envelope.env
        assert env is not None, "only a task with an environment comes here"
        if is_built(env):
            setting = _inside(link, env, await self._prefix(link, env))
        else:
            setting = await named(link, env.name, job.command[0])
        seen = () if setting.container is None else await self._seen(batch, link, job)
        return job.model_copy(
            update={
                "command": (setting.python, *job.command[1:]), "modules": setting.modules,
                "env": {**job.env, **setting.env}, "activate_d": setting.activate_d, "container": setting.container,
                "seen_inside": (*job.seen_inside, *seen),
            }
        )  # fmt: skip

    async def _prefix(self, link: SiteLink, env: Environment) -> str:
        key = _unstarted(link, env).key
        prefix = self.builds.prefix(key)
        if prefix is None:  # this server was started after it was found ready
            built = await self._ledger.do(self._ledger.store.environments.get, *key)
            prefix = built.prefix if built is not None and built.state == "ready" else None
        if prefix is None:
            raise TransportError(f"Whether {env.name} is built at {link.name} is asked again.", outcome="not_sent")
        return prefix

    async def _seen(self, batch: Batch, link: SiteLink, job: JobRequest) -> tuple[str, ...]:
        """What a cell in a container works with. Each is there: a runtime starts nothing without what it is to bind."""
        folders = [await expanded(link, link.site.workdir), *(each.path for each in batch.attempt.staged)]
        words = job.command
        folders += [words[at + 1] for at, word in enumerate(words[:-1]) if word == "--cwd"]
        return tuple(dict.fromkeys(folders))

    async def let_go(self, tasks: Sequence[Task]) -> None:
        """A build goes on: the next task that asks for it finds it."""


def wanted(link: SiteLink, env: Environment, python: KernelPython) -> Wanted:
    """What is to be built there; with the kernel's own Python where the site sees it, and it is the one asked for."""
    minor = f"{python.version[0]}.{python.version[1]}"
    here = link.transport.shares_files
    mine = here and env.python in (None, minor)
    beside = str(Path(sys.executable).with_name("uv")) if here else ""
    own_python = link.site.python or ""
    return Wanted(link, env, python.executable if mine else env.python or minor, own_python, beside)


def _unstarted(link: SiteLink, env: Environment) -> Wanted:
    """To look at only: with which Python it would be built does not matter yet."""
    return wanted(link, env, KernelPython(executable=sys.executable, version=sys.version_info[:3]))


def lacks(site: str, env: Environment, found: Interpreter) -> str:
    """That an environment lacks what the cell imports, and what to do."""
    names = ", ".join(f"`{name}`" for name in found.missing)
    more = "Add it to the requirements" if is_built(env) else "Install it there"
    return (
        f"The cell imports {names}, which the environment {env.name} at {site} does not have. {more}, or name another "
        "with --env. Nothing was submitted."
    )


def _inside(link: SiteLink, env: Environment, prefix: str) -> Setting:
    return Setting(f"{prefix}/bin/python", name=env.name, modules=link.site.modules)
