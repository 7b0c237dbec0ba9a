"""The tools that agents have, each defined once: from here come REST, MCP, the persona's tools, CLI and SKILL.md.

A tool is an async function ``(desk, speaker, *, …)`` below ``@tool``. It gives a dict, or a value of ours, and raises
our errors. What it changes goes through ``desk.guard``, see ``acts.py``.
"""

from __future__ import annotations

import asyncio
import difflib
import importlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel

from jupyter_diamond.errors import (
    DiamondError,
    GlobusProblem,
    InvalidRequest,
    NotFound,
    ParseError,
    PolicyBlocked,
    SchedulerError,
    TransportError,
)
from jupyter_diamond.model.proposal import Speaker, ToolKind
from jupyter_diamond.model.tool import ToolAnswer, ToolSpec

from .answers import DEFAULT_KIB, MOST_KIB, Foreign, bounded, odd, without
from .parameters import Parameters, described

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

ToolGroup = Literal["pool", "tasks", "groups", "drafting", "data", "site"]
GROUPS: dict[str, str] = {
    "pool": "what the sites have, what is free, what waits, what it costs",
    "tasks": "one task: submit, look, wait, be woken, intervene",
    "groups": "many tasks of one cell: arrays and sweeps",
    "drafting": "what a job needs, and where it would go",
    "data": "receipts, files and logs of ended tasks; small files to a site; data by name, and moving it",
    "site": "one site's login node: facts, checks, a look around",
}
"""Which groups there are, and what for."""
_MODULES = (
    "pool",
    "looks",
    "tasks",
    "waiting",
    "groups",
    "drafting",
    "data",
    "files",
    "moving",
    "site",
    "proposals",
    "more",
)
KIB = "answer_kib"
"""The parameter of tools whose answers may be long."""

Function = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Tool:
    """A tool and how it is called."""

    spec: ToolSpec
    function: Function
    parameters: Parameters
    long: bool


_TOOLS: dict[str, Tool] = {}


def tool(
    kind: ToolKind, group: ToolGroup, *, first: bool = False, long: bool = False, destroys: bool = False
) -> Callable[[Function], Function]:
    """Register a function. ``long``: its answer may be long, and more of it can be asked for."""

    def register(function: Function) -> Function:
        about, told = described(function)
        parameters = Parameters(function, told)
        name = function.__name__
        title = about.split(". ")[0].split("\n")[0].rstrip(".")
        schema = {**parameters.schema, "properties": {**parameters.schema["properties"], **(_ASK_MORE if long else {})}}
        spec = ToolSpec(
            name=name,
            kind=kind,
            group=group,
            title=title,
            description=about,
            parameters=schema,
            first=first,
            destroys=destroys,
        )
        assert name not in _TOOLS, f"two tools are called {name}"
        _TOOLS[name] = Tool(spec, function, parameters, long)
        return function

    return register


_ASK_MORE = {
    KIB: {
        "type": "integer", "minimum": 1, "maximum": MOST_KIB, "default": DEFAULT_KIB,
        "description": "the most that the answer may have, in KiB; what is left out is said",
    }
}  # fmt: skip


@cache
def every_tool() -> dict[str, Tool]:
    """All of them by name, in the order in which they are shown."""
    for module in _MODULES:
        importlib.import_module(f".{module}", __package__)
    order = {group: at for at, group in enumerate(get_args(ToolGroup))}
    return dict(sorted(_TOOLS.items(), key=lambda item: (not item[1].spec.first, order[item[1].spec.group])))


def all_specs() -> tuple[ToolSpec, ...]:
    """All tools, whatever server there is."""
    return tuple(each.spec for each in every_tool().values())


class Toolbox:
    """The tools over one service."""

    def __init__(self, desk: AgentDesk) -> None:
        self._desk = desk

    def specs(self, groups: Collection[str] | None = None, *, everything: bool = False) -> tuple[ToolSpec, ...]:
        """Those that every model sees, and those of the ``groups``; with ``everything``, all. Raises InvalidRequest."""
        wrong = next((group for group in groups or () if group not in GROUPS), None)
        if wrong is not None:
            raise InvalidRequest(f"There is no group of tools {wrong[:40]!r}; the groups are: {', '.join(GROUPS)}.")
        return tuple(spec for spec in all_specs() if everything or spec.first or spec.group in (groups or ()))

    async def call(self, name: str, arguments: Mapping[str, Any], speaker: Speaker) -> ToolAnswer:
        """Call one by its name. What went wrong is an answer, too: ``error``, ``message``."""
        from jupyter_diamond.agent.guard.foreign import block

        met_foreign, secrets = False, self._desk.secrets

        def wrap(text: Foreign) -> str:
            nonlocal met_foreign
            met_foreign = True
            return block(secrets.blot(text.text), source=text.source, limit=text.limit)

        try:
            found = self._find(name)
            if speaker.guest and found.spec.kind != "read":
                raise PolicyBlocked(f"A guest may look, and do nothing else: {name} is for the owner of this server.")
            given = dict(arguments)
            most = _kib(given.pop(KIB, None)) if found.long else DEFAULT_KIB
            content = await found.function(self._desk, speaker, **found.parameters.read(given))
            failed = False
        except DiamondError as problem:
            content, failed, most = _told(problem), True, DEFAULT_KIB
        if isinstance(content, BaseModel):
            content = content.model_dump(mode="json")
        shown = secrets.blot_all(await asyncio.to_thread(bounded, content, most << 10, wrap))
        shown = without(shown, self._odd_names())
        if met_foreign:
            await self._desk.guard.foreign(speaker.channel)
        return ToolAnswer(tool=name[:100], content=shown, error=failed, foreign=met_foreign)

    def _odd_names(self) -> list[str]:
        """What sites call their partitions that reads as a sentence: our own sentences name places, too."""
        records = (record for each in self._desk.service.engine.collector.snapshot().sites for record in each.records)
        return sorted({each.partition for each in records if odd(each.partition)}, key=len, reverse=True)

    @staticmethod
    def _find(name: str) -> Tool:
        found = every_tool().get(name)
        if found is None:
            close = difflib.get_close_matches(name[:100], list(every_tool()), n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"more_tools lists those of a group: {', '.join(GROUPS)}."
            raise NotFound(f"There is no tool {name[:60]!r}; {hint}")
        return found


def _kib(given: Any) -> int:
    if given is None:
        return DEFAULT_KIB
    try:
        amount = int(given)
    except (TypeError, ValueError):
        amount = 0
    if not 1 <= amount <= MOST_KIB:
        raise InvalidRequest(f"`{KIB}` is a whole number from 1 to {MOST_KIB}, not {str(given)[:40]!r}.")
    return amount


def _told(problem: DiamondError) -> dict[str, Any]:
    """An error as an answer. Its sentence is ours, and may quote what a site said: so it is marked where it does."""
    evidence = [Foreign(line, "what was answered there", 400) for line in problem.evidence[:5]]
    quotes = isinstance(problem, TransportError | SchedulerError | GlobusProblem | ParseError)
    message = Foreign(problem.message, "our sentence, which quotes a site", 1000) if quotes else problem.message
    return {"error": problem.code, "message": message, "try_again": problem.transient} | (
        {"evidence": evidence} if evidence else {}
    )
