"""The tools as a pydantic-ai toolset: the persona's, and any agent's of ours. Nothing is defined a second time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.tool import ToolAnswer, ToolSpec

from .registry import Toolbox

_ANYTHING = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""Arguments are checked by the toolbox, whose refusals say what to write instead."""


@dataclass
class DiamondTools(AbstractToolset[Any]):
    """Those that every model sees, and those of the groups that it has asked for with ``more_tools``.

    ``open_groups`` belongs to the conversation: hand in the same set for each turn. ``on_answer`` hears every answer.
    """

    toolbox: Toolbox
    speaker: Speaker
    open_groups: set[str] = field(default_factory=set)
    on_answer: Callable[[ToolSpec, ToolAnswer], Awaitable[None]] | None = None
    kinds: Collection[str] = ("read", "act", "spends")
    """Which kinds of tools are there: ``("read",)`` for who may only look."""

    @property
    def id(self) -> str | None:
        """One of a run."""
        return "diamond"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002 - as it has it
        """What the model sees now."""
        seen = (spec for spec in self.toolbox.specs(self.open_groups) if spec.kind in self.kinds)
        return {spec.name: self._tool(spec) for spec in seen}

    def _tool(self, spec: ToolSpec) -> ToolsetTool[Any]:
        definition = ToolDefinition(
            name=spec.name, description=spec.description, parameters_json_schema=spec.parameters, strict=False,
            metadata={"kind": spec.kind, "group": spec.group},
        )  # fmt: skip
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=3, args_validator=_ANYTHING)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002 - as it has it
        tool: ToolsetTool[Any],  # noqa: ARG002 - as it has it
    ) -> Any:
        """Call one; what went wrong is an answer, too."""
        answer = await self.toolbox.call(name, tool_args, self.speaker)
        if name == "more_tools" and not answer.error and tool_args.get("group"):
            self.open_groups.add(str(tool_args["group"]))
        if self.on_answer is not None:
            spec = next(each for each in self.toolbox.specs(everything=True) if each.name == name)
            await self.on_answer(spec, answer)
        return answer.content
