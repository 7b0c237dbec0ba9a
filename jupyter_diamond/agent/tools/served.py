"""Looking tools for the MCP server of jupyter_server_mcp, where the user has turned them on.

That server asks nobody for a token: whoever has an account on the machine can call what is registered there. So there
are tools that look only, none by default, and who calls is a guest.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from pydantic import Field

from jupyter_diamond.model.proposal import Speaker

from .registry import Tool, every_tool

PREFIX = "diamond_"
NOBODY = Speaker(user="somebody", agent="jupyter_server_mcp", channel="mcp:jupyter_server_mcp", guest=True)
_THEIR_OWN = ("register_continuation", "ack_events", "recent_events", "more_tools", "wait_task")
"""Tools that look, and keep something for who calls, or are of no use there."""


def tools() -> list[str]:
    """What jupyter_server_mcp asks for by the entry point: none unless ``c.DiamondMcp.tools_without_token``."""
    settings = _settings()
    if not settings.get("diamond_open_tools", False):
        return []
    return [f"{__name__}:{PREFIX}{name}" for name, found in every_tool().items() if _is_open(found)]


def _settings() -> dict[str, Any]:
    from jupyter_server.serverapp import ServerApp

    settings: dict[str, Any] = ServerApp.instance().web_app.settings
    return settings


def _is_open(found: Tool) -> bool:
    return found.spec.kind == "read" and found.spec.name not in _THEIR_OWN


def __getattr__(name: str) -> Callable[..., Awaitable[dict[str, Any]]]:
    found = every_tool().get(name.removeprefix(PREFIX))
    if not name.startswith(PREFIX) or found is None or not _is_open(found):
        raise AttributeError(name)
    return _function(found)


def _function(found: Tool) -> Callable[..., Awaitable[dict[str, Any]]]:
    """The tool as a plain function with the signature that its registry reads."""

    async def call(**arguments: Any) -> dict[str, Any]:
        answer = await _settings()["diamond_agent"].tools.call(found.spec.name, arguments, NOBODY)
        content: dict[str, Any] = answer.content
        return content

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.is_required() else field.default,
            annotation=Annotated[field.rebuild_annotation(), Field(description=field.description)],
        )
        for name, field in found.parameters.fields.items()
    ]  # fmt: skip
    call.__name__ = call.__qualname__ = f"{PREFIX}{found.spec.name}"
    call.__doc__ = found.spec.description
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": dict[str, Any]}
    call.__signature__ = inspect.Signature(parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    return call
