"""A tool of agents as every face shows it, a call of one, and its answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from .base import Value
from .proposal import AgentName, ToolKind

SessionName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@-]{1,100}$")]


class ToolSpec(Value):
    """A tool. ``parameters`` is a JSON schema; ``first``: a model sees it without asking for its group.

    ``destroys``: what it ends or writes over does not come back.
    """

    name: str
    kind: ToolKind
    group: str
    title: str
    description: str
    parameters: dict[str, Any]
    first: bool = False
    destroys: bool = False


class ToolList(Value):
    """Which tools there are, and what each group is for."""

    groups: dict[str, str]
    tools: tuple[ToolSpec, ...]


class ToolCall(Value):
    """A call. ``agent``: who calls, by its own name; ``session``: one MCP client's, with its own news and budgets."""

    arguments: dict[str, Any] = Field(default_factory=dict)
    agent: AgentName = "rest"
    session: SessionName | None = None


class ToolAnswer(Value):
    """What a call gives. ``foreign``: some of its text was written by jobs or sites; it stands in marked blocks.

    ``error``: ``content`` has ``error`` and ``message``, which says what to write instead.
    """

    tool: str
    content: dict[str, Any]
    error: bool = False
    foreign: bool = False
