"""An MCP server over stdio for other agents: ``python -m jupyter_diamond.mcp``. All tools, over the REST API.

It is a child of the agent, opens no port, and holds nothing: the user's Jupyter server does the work, and may restart
in between. Who asks is the client that the agent names; each process is a session of its own. There is no tool that
approves.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import ValidationError

from jupyter_diamond import __version__
from jupyter_diamond.cli.servers import START, running
from jupyter_diamond.errors import DiamondError, InvalidRequest, ServerUnavailable
from jupyter_diamond.model.tool import ToolAnswer, ToolList, ToolSpec
from jupyter_diamond.notebook.connect import PARENT, TOKEN, URL, ServerAddress, find_server

if TYPE_CHECKING:
    from mcp import types
    from mcp.server.lowlevel import Server

NEEDS = "The MCP server needs the package mcp: pip install 'jupyter-diamond[ai]'."
ANSWER_S = 200.0
"""The longest that one tool takes: a preflight of a slow site."""
STEP = "25s"
PAUSES_S = (0.3, 1.0, 2.0, 3.0)
"""Between two tries to reach a server that does not answer; the last one again and again while it is waited."""

_GROUPS = ("pool", "tasks", "groups", "drafting", "data", "site")
Progress = Callable[[float, str], Awaitable[None]]


def choose_server(env: Mapping[str, str] | None = None) -> ServerAddress:
    """The environment's server, the one that started the agent, or the only one that runs. Raises ServerUnavailable."""
    env = os.environ if env is None else env
    if env.get(URL, "").strip():
        return find_server(env)
    if env.get(PARENT, "").strip():
        try:
            return find_server(env)
        except ServerUnavailable:  # started by something that Jupyter had started, which has gone
            pass
    found = running(env)
    serving = [each for each in found if each.status is not None]
    if len(serving) == 1:
        return serving[0].address
    if serving:
        names = ", ".join(each.address.host for each in serving)
        raise ServerUnavailable(
            f"Several of your Jupyter servers serve Diamond ({names}). Say which in the environment of this MCP "
            f"server: {URL} and {TOKEN}."
        )
    said = "; ".join(f"{each.address.host} {each.problem}" for each in found)
    raise ServerUnavailable(
        f"None of your running Jupyter servers serves Diamond ({said})."
        if found
        else f"None of your Jupyter servers is running on this machine. {START} {URL} and {TOKEN} name another one.",
        transient=not found,
    )


class Remote:
    """The user's Jupyter server. It is looked for anew whenever it cannot be reached."""

    def __init__(self, find: Callable[[], ServerAddress] = choose_server) -> None:
        self._find = find
        self._address: ServerAddress | None = None
        self._http: httpx.AsyncClient | None = None
        self.session = secrets.token_hex(8)

    async def close(self) -> None:
        """Let go of the connections."""
        if self._http is not None:
            await self._http.aclose()
        self._http = self._address = None

    async def tools(self) -> tuple[ToolSpec, ...]:
        """What the server has; where none can be asked, what this version has."""
        try:
            answer = await self._ask("GET", "tools", timeout=10.0)
            return ToolList.model_validate_json(answer.content).tools
        except (DiamondError, ValidationError):
            from jupyter_diamond.agent.tools.registry import all_specs

            return all_specs()

    async def call(self, name: str, arguments: Mapping[str, Any], agent: str) -> ToolAnswer:
        """Call a tool once. Raises ServerUnavailable, …."""
        body = {"arguments": dict(arguments), "agent": agent, "session": self.session}
        answer = await self._ask("POST", f"tools/{name}", json=body)
        try:
            return ToolAnswer.model_validate_json(answer.content)
        except ValidationError:
            raise ServerUnavailable(
                "The Jupyter server has another version of jupyter_diamond than this MCP server; restart it after an "
                "upgrade, or start this one from its environment."
            ) from None

    async def _ask(self, method: str, path: str, *, timeout: float = ANSWER_S, **how: Any) -> httpx.Response:
        if self._address is None or self._http is None:
            self._address = await asyncio.to_thread(self._find)
            token = self._address.token
            self._http = httpx.AsyncClient(
                base_url=self._address.api, headers={"Authorization": f"token {token}"} if token else {},
                trust_env=not self._address.loopback, verify=self._address.url.startswith("https:"),
            )  # fmt: skip
        host = self._address.host
        try:
            answer = await self._http.request(method, path, timeout=httpx.Timeout(timeout, connect=5.0), **how)
        except httpx.TransportError as fault:
            await self.close()
            raise ServerUnavailable(
                f"The Jupyter server at {host} does not answer ({type(fault).__name__}). Start it, then call the same "
                "again: what was done already is not done twice.",
                transient=True,
            ) from fault
        if answer.status_code >= 400:
            await self._refused(answer, host)
        return answer

    async def _refused(self, answer: httpx.Response, host: str) -> None:
        """Raise what an answer that is none says."""
        if answer.status_code in (401, 403):
            await self.close()
            raise ServerUnavailable(f"The Jupyter server at {host} does not accept the token; set {URL} and {TOKEN}.")
        try:
            told = answer.json()
            message, code = str(told["message"]), str(told["code"])
        except (ValueError, KeyError, TypeError):
            message, code = f"it answered {answer.status_code}", ""
        if answer.status_code == 404 and code in ("", "http_404"):
            raise ServerUnavailable(
                f"The Jupyter server at {host} has no tools for agents: its jupyter_diamond is missing, or older than "
                f"{__version__}. Upgrade it and restart the server."
            )
        if answer.status_code >= 500:
            raise ServerUnavailable(f"The Jupyter server at {host}: {message}", transient=answer.status_code >= 502)
        raise InvalidRequest(message)


async def call(remote: Remote, name: str, arguments: Mapping[str, Any], agent: str, progress: Progress) -> ToolAnswer:
    """Call a tool; ``wait_task`` goes on from its cursor as long as was said. What went wrong is an answer."""
    try:
        if name == "wait_task":
            return await _wait(remote, dict(arguments), agent, progress)
        return await _patiently(remote, name, arguments, agent, within_s=4.0)
    except DiamondError as problem:
        told = {"error": problem.code, "message": problem.message, "try_again": problem.transient}
        return ToolAnswer(tool=name[:100], content=told, error=True)


async def _patiently(
    remote: Remote, name: str, arguments: Mapping[str, Any], agent: str, *, within_s: float
) -> ToolAnswer:
    """Try again while the server starts or restarts: every call can be repeated."""
    deadline, pauses = time.monotonic() + within_s, chain(PAUSES_S, repeat(PAUSES_S[-1]))
    while True:
        try:
            return await remote.call(name, arguments, agent)
        except ServerUnavailable as gone:
            pause = next(pauses)
            if not gone.transient or time.monotonic() + pause > deadline:
                raise
        await asyncio.sleep(pause)


async def _wait(remote: Remote, arguments: dict[str, Any], agent: str, progress: Progress) -> ToolAnswer:
    """In steps of 25 s, until it is over or as long as was said; a server that restarts meanwhile is waited for."""
    from jupyter_diamond.agent.tools.waiting import parse_wait

    most_s = parse_wait(str(arguments.get("at_most") or STEP))
    await progress(0.0, f"waits for {arguments.get('task', 'it')}")
    began = time.monotonic()
    while True:
        left = most_s - (time.monotonic() - began)
        step = arguments | {"at_most": STEP if left > 25 else f"{max(0, round(left))}s"}
        answer = await _patiently(remote, "wait_task", step, agent, within_s=max(4.0, left))
        waited = time.monotonic() - began
        if answer.error or answer.content.get("over") or waited >= most_s:
            return answer
        await progress(min(waited, most_s), f"{answer.content.get('name', 'it')}: {answer.content.get('state', '?')}")


def _groups(text: str) -> tuple[str, ...]:
    named = tuple(each.strip() for each in text.split(",") if each.strip())
    wrong = next((each for each in named if each not in _GROUPS), None)
    if wrong is not None:
        raise argparse.ArgumentTypeError(f"there is no group {wrong!r}; there are: {', '.join(_GROUPS)}")
    return named


def _agent_name(told: str | None) -> str:
    """The client's own name, as one of ours."""
    name = re.sub(r"[^A-Za-z0-9_.:@-]+", "-", told or "").strip("-._:@")[:64]
    return name or "mcp"


def _as_tool(spec: ToolSpec) -> types.Tool:
    from mcp import types

    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        inputSchema=spec.parameters,
        outputSchema={"type": "object"},
        annotations=types.ToolAnnotations(
            readOnlyHint=spec.kind == "read", destructiveHint=spec.destroys, idempotentHint=True, openWorldHint=True
        ),
    )  # fmt: skip


def make_server(remote: Remote, groups: Collection[str] | None = None) -> Server[Any, Any]:
    """The MCP server over one Jupyter server. ``groups``: which tools are listed beside the first; None for all."""
    from mcp import types
    from mcp.server.lowlevel import Server

    from jupyter_diamond.agent.tools.skill import INSTRUCTIONS

    server: Server[Any, Any] = Server("jupyter-diamond", version=__version__, instructions=INSTRUCTIONS)

    async def list_tools() -> list[types.Tool]:
        specs = await remote.tools()
        return [_as_tool(spec) for spec in specs if groups is None or spec.first or spec.group in groups]

    async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        context = server.request_context
        client = context.session.client_params
        token = context.meta.progressToken if context.meta else None

        async def progress(done: float, message: str) -> None:
            if token is not None:
                await context.session.send_progress_notification(
                    token, done, message=message, related_request_id=str(context.request_id)
                )

        answer = await call(remote, name, arguments, _agent_name(client.clientInfo.name if client else None), progress)
        text = json.dumps(answer.content, ensure_ascii=False)
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structuredContent=answer.content, isError=answer.error)

    server.list_tools()(list_tools)  # type: ignore[no-untyped-call]  # the SDK's decorators are not typed
    server.call_tool(validate_input=False)(call_tool)  # refusals of ours say what to write instead
    return server


async def serve(groups: Collection[str] | None = None) -> None:
    """Serve stdin and stdout until the agent closes them."""
    from mcp.server.stdio import stdio_server

    remote = Remote()
    server = make_server(remote, groups)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await remote.close()


def main(words: Sequence[str] | None = None) -> int:
    """Start it; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m jupyter_diamond.mcp", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--groups", metavar="G,G", type=_groups,
        help=f"list the first tools and those of these groups alone, of {','.join(_GROUPS)}; default: all. What is "
        "not listed can be called all the same: more_tools describes it",
    )  # fmt: skip
    said = parser.parse_args(words)
    try:
        import mcp  # noqa: F401 - whether it is there
    except ImportError:
        sys.stderr.write(NEEDS + "\n")
        return 1
    asyncio.run(serve(said.groups))
    return 0


if __name__ == "__main__":
    sys.exit(main())
