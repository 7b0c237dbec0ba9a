"""What each site's commands can do (B06): tried there once, kept in the store, tried again when its version changes."""

from __future__ import annotations

import logging
import math
import time
from datetime import datetime, timezone

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.schedulers.base import Adapting

_NOT_SOONER_S = 600.0
"""A trial that failed, or was contradicted by a later answer, is made again no sooner."""


class Trials:
    """Gives each scheduler the capabilities that fit what the site says of itself."""

    def __init__(self, ledger: Ledger, log: logging.Logger, *, timeout_s: float) -> None:
        self._ledger, self._log, self._timeout_s = ledger, log, timeout_s
        self._looked_up: set[str] = set()
        self._not_before: dict[str, float] = {}

    def due(self, link: SiteLink, reading: SiteReading) -> bool:
        """Whether something is to be found out. Capabilities of another version are not used any more."""
        scheduler = link.scheduler
        if not isinstance(scheduler, Adapting):
            return False
        if scheduler.capabilities is not None and scheduler.capabilities.version != reading.scheduler_version:
            scheduler.capabilities = None
        known = scheduler.capabilities
        if known is not None and known.accounting == reading.accounting:
            return False
        return time.monotonic() >= self._not_before.get(link.name, -math.inf)

    async def learn(self, link: SiteLink, reading: SiteReading) -> None:
        """From the store, else by one script at the site. Raises DiamondError; the older ways of asking stay in use."""
        scheduler = link.scheduler
        assert isinstance(scheduler, Adapting), "only such a scheduler is ever due"
        if link.name not in self._looked_up:
            self._looked_up.add(link.name)
            known = await self._ledger.do(self._ledger.store.capabilities, link.name)
            said = (reading.scheduler_version, reading.accounting)
            if known is not None and (known.version, known.accounting) == said:
                scheduler.capabilities = known
                return
        self._not_before[link.name] = time.monotonic() + _NOT_SOONER_S
        done = await link.run(scheduler.trial_script(), timeout_s=self._timeout_s)
        found = scheduler.parse_trial(done, reading, tried_at=datetime.now(timezone.utc))
        scheduler.capabilities = found
        await self._ledger.do(self._ledger.store.put_capabilities, link.name, found)
        self._log.info("%s: tried what its commands can do, in %.2f s: %s", link.name, done.seconds, found.flags)
