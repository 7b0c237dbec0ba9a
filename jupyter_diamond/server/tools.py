"""The tools of agents: what there is, a call, and what teaches an agent to use them."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.model.tool import ToolCall, ToolList

from .base import DiamondHandler, PollHandler
from .forms import ToolsQuery


class ToolsHandler(DiamondHandler):
    """What there is."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """All tools, or those of some groups."""
        from jupyter_diamond.agent.tools.registry import GROUPS

        groups = self.query(ToolsQuery).named
        specs = self.agent.tools.specs(groups, everything=groups is None)
        self.answer(ToolList(groups=GROUPS, tools=specs))


class ToolHandler(PollHandler):
    """One tool."""

    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        """Call it. Who calls is an agent of the user: what needs approval is approved elsewhere."""
        from jupyter_diamond.agent.guard.speakers import speaker

        asked = self.form(ToolCall)
        channel = f"mcp:{asked.session}" if asked.session else "rest"
        by = speaker(self.current_user.username, channel=channel, agent=asked.agent)
        answer = self.agent.tools.call(name, asked.arguments, by)
        # who waits may go; what acts is never cut short because nobody listens any more
        self.answer(await (self.poll(answer) if name == "wait_task" else answer))


class SkillHandler(DiamondHandler):
    """What teaches an agent to work here."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """SKILL.md."""
        from jupyter_diamond.agent.tools.skill import skill

        self.finish(skill(), set_content_type="text/markdown; charset=utf-8")


class SkillApiHandler(DiamondHandler):
    """Every tool with its parameters."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """It as Markdown, made from the tools."""
        from jupyter_diamond.agent.tools.skill import reference

        self.finish(reference(), set_content_type="text/markdown; charset=utf-8")


TOOL_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/tools", ToolsHandler),
    ("/tools/([^/]+)", ToolHandler),
    ("/skill", SkillHandler),
    ("/skill/api", SkillApiHandler),
]
