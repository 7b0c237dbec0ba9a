"""A service with its agent's desk, and one scenario played on it."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from jupyter_diamond.agent.desk import AgentDesk
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondSites, DiamondStore

from .agents import SUBMIT, Conversation
from .report import Row
from .scenarios import Scenario, World


@asynccontextmanager
async def desk_over(base: Path, catalogue: Path, *, this_machine: bool = False) -> AsyncIterator[AgentDesk]:
    """The desk of a started service with the sites of a catalogue."""
    log = logging.getLogger("diamond.bench")
    service = DiamondService(
        store=DiamondStore(path=str(base / "diamond" / "store.sqlite")),
        sites=DiamondSites(path=str(catalogue), this_machine=this_machine), engine=DiamondEngine(),
        limits=DiamondLimits(), log=log,
    )  # fmt: skip
    await service.start()
    desk = AgentDesk(service, log=log)
    await desk.start()
    await service.refresh(None)
    try:
        yield desk
    finally:
        await desk.stop()
        await service.stop()


async def play(desk: AgentDesk, sites: tuple[str, ...], scenario: Scenario, number: int) -> Row:
    """One scenario in a chat of its own."""
    chat = Conversation(desk, number)
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="diamond-bench-") as folder:
            played = await scenario.play(World(desk, sites, chat, Path(folder)))
        right, why, spans = played.right, played.why, played.spans
    except (AssertionError, KeyError, ValueError, TimeoutError) as problem:
        right, why, spans = False, f"{type(problem).__name__}: {problem}", []
    used = chat.used
    submits = any(used.calls[name] for name in SUBMIT)
    return Row(
        scenario.name, scenario.control, right, used.looked, submits, sum(used.calls.values()), len(used.asked_at),
        used.during(spans), used.prompt_tokens, used.answer_tokens, time.monotonic() - began, why[:500],
    )  # fmt: skip
