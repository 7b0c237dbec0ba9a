"""What is left on the user's accounts, asked of each site's own command: seldom, bounded, and kept.

Only a command that the profile of a known machine names is ever run, and only where what it prints is documented.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.parsing.balances import read_balances

EVERY_S = 3600.0
"""Sites bring their books up to date every few minutes at best, and their databases are everybody's."""
RETRY_S = 900.0
LOOK_S = 60.0
"""How often it is looked whether a site is due."""
KEPT_S = 86400.0
"""Older than this it says nothing about today."""
SECONDS = 20
BYTES = 65_536


class BalanceBook:
    """The newest answer of every site. ``told`` is what a decision may use."""

    def __init__(self) -> None:
        self._told: dict[str, Balances] = {}
        self._asked: dict[str, float] = {}

    def told(self, now: datetime) -> dict[str, Balances]:
        """By site, what was told within a day."""
        return {name: each for name, each in self._told.items() if (now - each.read_at).total_seconds() <= KEPT_S}

    def due(self, link: SiteLink) -> bool:
        """The site has a command that can be read, and it is time to ask it again."""
        asked = link.machine.balance if link.machine is not None else None
        if asked is None or asked.form is None:
            return False
        wait_s = EVERY_S if link.name in self._told else RETRY_S
        return time.monotonic() - self._asked.get(link.name, float("-inf")) >= wait_s

    async def keep(self, links: Iterable[SiteLink], answers: Callable[[str], bool]) -> None:
        """Ask every site that is due and answers, until cancelled; one that hangs keeps no other waiting."""
        asked = [link for link in links if link.machine is not None and link.machine.balance is not None]
        while asked:
            await asyncio.gather(*(self.refresh(link) for link in asked if answers(link.name)))
            await asyncio.sleep(LOOK_S)

    async def refresh(self, link: SiteLink) -> Balances | None:
        """Ask where it is due. None where nothing new was told: what was told before stays. Never raises for a site."""
        if not self.due(link):
            return None
        self._asked[link.name] = time.monotonic()
        try:
            found = await ask(link)
        except DiamondError:
            return None  # whether the site answers is the collector's business, and it says so
        if found is not None:
            self._told[link.name] = found
        return found


async def ask(link: SiteLink) -> Balances | None:
    """Run the site's own command. None where it has none, or prints nothing that is known. Raises TransportError."""
    asked = link.machine.balance if link.machine is not None else None
    if asked is None or asked.form is None:
        return None
    async with link.lane:
        done = await link.transport.run(script(asked.command), timeout_s=SECONDS + 5.0, max_bytes=BYTES)
    rows = read_balances(asked.form, done.out)
    if rows is None:
        return None
    return Balances(
        site=link.name, command=asked.command, read_at=datetime.now(timezone.utc), unreadable=rows.unreadable,
        accounts=tuple(Balance(account=name, left=left, unit=asked.unit) for name, left in rows.accounts),
    )  # fmt: skip


def script(command: str) -> str:
    """Shell text that runs it for a bounded time, without input."""
    quoted = " ".join(shlex.quote(word) for word in command.split())
    return (
        "LC_ALL=C; export LC_ALL; COLUMNS=200; export COLUMNS; cd 2>/dev/null\n"
        f"if command -v timeout >/dev/null 2>&1; then exec timeout -k 2 {SECONDS} {quoted} </dev/null\n"
        f"else exec {quoted} </dev/null; fi\n"
    )
