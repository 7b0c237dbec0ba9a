"""The persona's tools for a model: the registry's, as pydantic-ai takes them. Acts wait for the user's word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, RunContext, Tool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from .talk import CODE_HERE, Deps

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

_CODE = ("source", "code")


def agent(desk: AgentDesk, instructions: str) -> Agent[Deps, Any]:
    """The agent; its model comes with each turn."""
    every = desk.tools.specs(everything=True)
    groups = {spec.name: "" if spec.first else spec.group for spec in every}
    tools = [
        Tool.from_schema(_called(spec.name), spec.name, spec.description, spec.parameters, takes_ctx=True, sequential=True)
        for spec in every
    ]

    def seen(context: RunContext[Deps], definition: ToolDefinition) -> bool:
        group = groups.get(definition.name, "")
        return not group or group in context.deps.groups

    toolset: FunctionToolset[Deps] = FunctionToolset(tools=tools)
    return Agent(
        deps_type=Deps, output_type=[str, DeferredToolRequests], instructions=instructions, toolsets=[toolset.filtered(seen)],
        retries=2, defer_model_check=True,
    )  # fmt: skip


def _called(name: str) -> Any:
    async def call(context: RunContext[Deps], **arguments: Any) -> dict[str, Any]:
        deps = context.deps
        if name == "more_tools" and arguments.get("group"):
            deps.groups.add(str(arguments["group"]))
        for each in _CODE:
            if arguments.get(each) == CODE_HERE:
                if deps.code is None:
                    return {"error": "no_code", "message": "There is no code in this chat: ask the user to attach it."}
                arguments[each] = deps.code.source
        answer = await deps.desk.tools.call(name, arguments, deps.speaker)
        content: dict[str, Any] = answer.content
        wanted = content.get("needs_approval")
        if isinstance(wanted, dict):
            raise ApprovalRequired(metadata={"proposal": str(wanted.get("proposal", ""))})
        if (content.get("submitted") or content.get("done")) and content.get("proposal"):
            deps.done.append(str(content["proposal"]))
        return content

    call.__name__ = name
    return call
