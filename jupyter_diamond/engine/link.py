"""One site, with everything that is needed to talk to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_diamond.errors import NotFound, TransportError
from jupyter_diamond.model.attempt_files import attempt_folder
from jupyter_diamond.model.machine import Machine
from jupyter_diamond.model.site import Site
from jupyter_diamond.schedulers.base import Scheduler
from jupyter_diamond.schedulers.registry import scheduler_for
from jupyter_diamond.sites.machines import machine_of
from jupyter_diamond.transport.base import Completed, Transport
from jupyter_diamond.transport.registry import transport_for

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus

_GRACE_S = 5.0
"""A transport keeps its own time limit; this much later nobody waits for it any more."""


@dataclass
class SiteLink:
    """A site's transport and scheduler. ``lane`` bounds how many commands of ours a site sees at once.

    ``machine`` is what is documented of the machine that the site is; None where it is not a known one.
    """

    site: Site
    transport: Transport
    scheduler: Scheduler
    machine: Machine | None = None
    lane: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(4))
    _workdir: str | None = None

    @property
    def name(self) -> str:
        """The site's name."""
        return self.site.name

    @property
    def poll_floor_s(self) -> float:
        """Ask the scheduler no more often than this: the slower of what the user set and what the site wants."""
        floor = self.machine.poll_floor if self.machine is not None else None
        return max(self.site.poll_floor_s, floor.every if floor is not None else 0.0)

    @property
    def patience_s(self) -> float:
        """How much longer than a command's own time its answer may be on the way, by this transport."""
        return float(getattr(self.transport, "answer_s", 0.0)) + _GRACE_S

    async def run(self, script: str, *, stdin: bytes = b"", timeout_s: float) -> Completed:
        """Run a script in this site's lane. Raises TransportError."""
        async with self.lane:
            return await self.transport.run(script, stdin=stdin, timeout_s=timeout_s)

    async def folder(self, token: str) -> str:
        """The absolute folder of an attempt at the site."""
        if self._workdir is None:
            self._workdir = await self.transport.expand(self.site.workdir)
        return attempt_folder(self._workdir, token)

    async def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes | None:
        """(A part of) a file, None when it is surely not there. Raises TransportError when nobody can say."""
        try:
            return await self.transport.get(path, offset=offset, limit=limit)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise TransportError(
                f"{path} at {self.name} cannot be read: {problem.strerror or problem}.", outcome="refused"
            ) from problem


class SiteLinks(Mapping[str, SiteLink]):
    """The links of all configured sites, by name."""

    def __init__(self, sites: tuple[Site, ...], globus: Globus, *, answer_s: float = 120.0) -> None:
        """``answer_s``: how long an endpoint's answer is waited for beyond the command's own time."""
        self._links = {
            site.name: SiteLink(
                site=site,
                transport=transport_for(site, globus, answer_s=answer_s),
                scheduler=scheduler_for(site),
                machine=machine_of(site),
            )
            for site in sites
        }

    def __getitem__(self, name: str) -> SiteLink:
        """The link of one site. Raises NotFound with the names that there are."""
        try:
            return self._links[name]
        except KeyError:
            known = ", ".join(self._links) or "none"
            raise NotFound(f"There is no site {name!r}; the sites are: {known}.") from None

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - Mapping's own signature
        """Names, in the catalogue's order."""
        return iter(self._links)

    def __len__(self) -> int:
        return len(self._links)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The configured sites."""
        return tuple(link.site for link in self._links.values())

    async def close(self) -> None:
        """Close every transport, side by side; jobs are not touched."""
        await asyncio.gather(*(link.transport.close() for link in self._links.values()), return_exceptions=True)
