"""A real try of one site: what its endpoint says where it has one, then its login node and its interpreter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from jupyter_diamond.engine import lookaround
from jupyter_diamond.engine.endpoints import checks
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.looks import Preflight, SiteEnv
from jupyter_diamond.model.views import Interpreter

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus


async def tried(
    link: SiteLink,
    globus: Globus,
    interpreter: Callable[[], Coroutine[Any, Any, Interpreter]],
    env: Callable[[], Coroutine[Any, Any, SiteEnv]],
) -> Preflight:
    """All checks of a site; where its endpoint fails, nothing else is tried: it fails of the same cause."""
    first = await checks(link, globus) if link.site.transport == "globus-compute" else ()
    if any(check.answer == "fail" for check in first):
        return Preflight(site=link.name, checks=first)
    answers = await asyncio.gather(lookaround.or_its_problem(interpreter()), lookaround.or_its_problem(env()))
    found = await lookaround.preflight(link, *answers)
    return found.model_copy(update={"checks": (*first, *found.checks)})
