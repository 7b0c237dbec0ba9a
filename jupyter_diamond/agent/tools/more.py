"""The way to the tools that a model does not see at first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from jupyter_diamond.model.proposal import Speaker

from .registry import GROUPS, tool

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

GroupName = Literal["pool", "tasks", "groups", "drafting", "data", "site"]


@tool("read", "pool", first=True, long=True)
async def more_tools(desk: AgentDesk, _speaker: Speaker, *, group: GroupName | None = None) -> dict[str, Any]:
    """Which further tools there are: pool, tasks, groups (arrays and sweeps), drafting, data (results, files), site.

    Use it when none of the tools that you see does what is asked. In a chat, the group's tools can be called from then
    on.

    Args:
        group: the group whose tools are described; left out: what each group is for
    """
    if group is None:
        return {"groups": GROUPS}
    found = [spec for spec in desk.tools.specs([group]) if spec.group == group]
    return {
        "group": group,
        "for": GROUPS[group],
        "tools": [
            {"name": spec.name, "kind": spec.kind, "description": spec.description, "parameters": spec.parameters}
            for spec in found
        ],
    }
