"""The persona's tools for a model: the registry's, in a chat. An act that needs a word of the user's ends the turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, RunContext
from pydantic_ai.toolsets.abstract import ToolsetTool

from jupyter_diamond.agent.tools.toolset import DiamondTools
from jupyter_diamond.model.chat import Code

from .prompts import CODE_HERE, INSTRUCTIONS

_CODE = ("source", "code")


@dataclass
class ChatTools(DiamondTools):
    """Of one turn."""

    code: Code | None = None
    yes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What came of calls that the user said yes to, by their ids: it was done then, and is not done twice."""
    done: list[str] = field(default_factory=list)
    """Proposals that were carried out in this turn."""

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # fmt: skip
        """Call one, with the chat's code where it is meant."""
        if ctx.tool_call_id in self.yes:
            return self.yes[ctx.tool_call_id]
        given = dict(tool_args)
        for each in _CODE:
            if given.get(each) == CODE_HERE:
                if self.code is None:
                    return {"error": "no_code", "message": "There is no code in this chat: ask the user to attach it."}
                given[each] = self.code.source
                if name in ("submit_task", "submit_group"):
                    given.setdefault("language", self.code.language)
        content = await super().call_tool(name, given, ctx, tool)
        wanted = content.get("needs_approval")
        if isinstance(wanted, dict):
            raise ApprovalRequired(metadata={"proposal": str(wanted.get("proposal", ""))})
        if (content.get("submitted") or content.get("done")) and content.get("proposal"):
            self.done.append(str(content["proposal"]))
        return content


@cache
def agent() -> Agent[None, Any]:
    """The persona's agent; its model and its tools come with each turn."""
    made: Agent[None, Any] = Agent(
        output_type=[str, DeferredToolRequests], instructions=INSTRUCTIONS, retries=2, defer_model_check=True
    )
    return made
