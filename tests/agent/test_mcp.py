"""Another agent over MCP: the SDK's own client over stdio, a real Jupyter server, the process scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import sys
import threading
from datetime import timedelta

import pytest
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import McpError

from jupyter_diamond.agent.tools.registry import all_specs
from jupyter_diamond.errors import ServerUnavailable
from jupyter_diamond.mcp import Remote, call, choose_server
from jupyter_diamond.notebook.connect import ServerAddress
from tests.engine import cells
from tests.live.jupyter import JupyterServer

pytestmark = pytest.mark.asyncio
WAIT = timedelta(seconds=150)


@contextlib.asynccontextmanager
async def client(server: JupyterServer):
    """An agent that has started the MCP server as its child, as the README says."""
    how = StdioServerParameters(command=sys.executable, args=["-m", "jupyter_diamond.mcp"], env=server.env)
    with (server.base / "mcp.err").open("w") as errors:
        async with (
            stdio_client(how, errlog=errors) as (incoming, outgoing),
            ClientSession(
                incoming, outgoing, client_info=types.Implementation(name="Claude Code", version="9")
            ) as agent,
        ):
            await agent.initialize()
            yield agent


async def use(agent: ClientSession, tool: str, **arguments):
    answer = await agent.call_tool(tool, arguments, read_timeout_seconds=WAIT)
    assert json.loads(answer.content[0].text) == answer.structuredContent
    assert not answer.isError, answer.structuredContent
    return answer.structuredContent


async def begun(agent: ClientSession, **arguments) -> asyncio.Task[types.CallToolResult]:
    """A wait that has begun: its first progress has come."""
    begins = asyncio.Event()

    async def heard(_progress: float, _total: float | None, _message: str | None) -> None:
        begins.set()

    wait = asyncio.create_task(agent.call_tool("wait_task", arguments, WAIT, progress_callback=heard))
    async with asyncio.timeout(WAIT.total_seconds()):
        await begins.wait()
    return wait


async def test_an_agent_looks_proposes_waits_through_a_restart_and_reads_the_result(tmp_path):
    gate = tmp_path / "gate"
    source = cells.held(gate, "score = 42")
    with JupyterServer(tmp_path / "jupyter") as server:
        async with client(server) as agent:
            listed = (await agent.list_tools()).tools
            assert {tool.name for tool in listed} == {spec.name for spec in all_specs()}
            hints = {tool.name: tool.annotations for tool in listed}
            assert (hints["find_idle"].readOnlyHint, hints["cancel_task"].destructiveHint) == (True, True)
            assert (await use(agent, "list_resources"))["sites"][0]["site"] == "here"
            wrong = await agent.call_tool("find_idle", {"gpu": 1})
            assert (wrong.isError, "did you mean `gpus`?" in wrong.structuredContent["message"]) == (True, True)

            fit = {"name": "fit", "source": source, "time": "5m", "outputs": ["score"], "intent": "a first try"}
            asked = (await use(agent, "submit_task", **fit))["needs_approval"]
            assert server.api("GET", "tasks")["tasks"] == []
            seen = server.api("GET", f"proposals/{asked['proposal']}")
            assert (seen["by"]["agent"], seen["by"]["channel"][:4], seen["intent"]) == (
                "Claude-Code",
                "mcp:",
                "a first try",
            )
            word = await begun(agent, task=asked["proposal"], until="running", at_most="5m")
            server.api("POST", f"proposals/{asked['proposal']}/approve", json={"hash": asked["hash"]})
            assert (await word).structuredContent["state"] == "running", "it waited for the word, and then for the task"
            task = (await use(agent, "get_proposal", proposal=asked["proposal"]))["task"]
            assert (await use(agent, "submit_task", **fit))["task"] == task, "asked again, it is the same task"

            given_up = await begun(agent, task=task, at_most="10m")
            number = agent._request_id - 1
            told = types.CancelledNotification(params=types.CancelledNotificationParams(requestId=number))
            await agent.send_notification(types.ClientNotification(told))
            with pytest.raises(McpError, match="cancelled"):
                await given_up

            waiting = await begun(agent, task=task, at_most="10m")
            await asyncio.to_thread(server.restart)
            gate.touch()
            ended = (await waiting).structuredContent
            assert (ended["over"], ended["state"]) == (True, "completed")
            assert (await use(agent, "get_result_manifest", task="fit"))["values"][0]["value"] == "42"

            server.stop()
            gone = await agent.call_tool("list_tasks", {}, WAIT)
            assert gone.isError
            assert "None of your Jupyter servers is running" in gone.structuredContent["message"]
            assert len((await agent.list_tools()).tools) == len(listed), "what there is can be said without a server"


# ---- whom it asks


async def _silent(_done: float, _message: str) -> None:
    pass


class Answers(http.server.BaseHTTPRequestHandler):
    """A Jupyter server of some other kind: every request is answered in the same way."""

    status, body = 404, b"<html>"

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_GET = do_POST = answer  # noqa: N815 - as it is called

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def answering(status: int, body: bytes):
    handler = type("Handler", (Answers,), {"status": status, "body": body})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as there:
        thread = threading.Thread(target=there.serve_forever, args=(0.05,))
        thread.start()
        yield ServerAddress(f"http://127.0.0.1:{there.server_port}/", "t")
        there.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "body", "said"), [
    (404, b"<html>", "has no tools for agents: its jupyter_diamond is missing, or older than"),
    (403, b"", "does not accept the token; set DIAMOND_SERVER_URL and DIAMOND_SERVER_TOKEN."),
    (500, b'{"code": "store", "message": "The task store is damaged."}', "The task store is damaged."),
    (200, b'{"surprise": 1}', "has another version of jupyter_diamond"),
])  # fmt: skip
async def test_what_is_wrong_with_the_server_is_a_sentence(status, body, said):
    with answering(status, body) as address:
        remote = Remote(lambda: address)
        answer = await call(remote, "doctor", {}, "tester", _silent)
        await remote.close()
    assert answer.error
    assert said in answer.content["message"]


async def test_waiting_goes_on_step_by_step_and_says_how_far_it_is():
    told: list[tuple[float, str]] = []

    async def progress(done: float, message: str) -> None:
        told.append((done, message))
        await asyncio.sleep(0.4)  # as long as a server would have waited

    body = json.dumps({"tool": "wait_task", "content": {"over": False, "name": "fit", "state": "running"}}).encode()
    with answering(200, body) as address:
        remote = Remote(lambda: address)
        answer = await call(remote, "wait_task", {"task": "fit", "at_most": "1s"}, "tester", progress)
        wrong = await call(remote, "wait_task", {"task": "fit", "at_most": "soon"}, "tester", progress)
        await remote.close()
    assert answer.content["over"] is False
    assert told[0] == (0.0, "waits for fit")
    assert {message for _, message in told[1:]} == {"fit: running"}
    assert 2 <= len(told[1:]) <= 4
    assert (wrong.error, wrong.content["error"]) == (True, "invalid_request")


async def test_a_server_that_is_gone_is_said_and_what_to_do(monkeypatch):
    monkeypatch.setattr("jupyter_diamond.mcp.PAUSES_S", (0.01, 5.0))
    with answering(200, b"") as address:
        pass
    remote = Remote(lambda: address)
    answer = await call(remote, "doctor", {}, "tester", _silent)
    assert (answer.content["error"], answer.content["try_again"]) == ("server_unavailable", True)
    assert "does not answer" in answer.content["message"]


def runtime(folder, monkeypatch, *addresses):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
    for number, address in enumerate(addresses):
        (folder / f"jpserver-{number}.json").write_text(json.dumps({"url": address.url, "token": "t"}))


STATUS = json.dumps({
    "version": "1", "advances_work": True, "lease_holder": "x", "store_path": "/x", "active_tasks": 0, "newest_event": 0,
    "limits": {"value_bytes": 1, "bundle_bytes": 1, "inline_result_bytes": 1},
}).encode()  # fmt: skip


async def test_the_only_server_is_found_and_of_several_one_must_be_named(tmp_path, monkeypatch):
    with answering(200, STATUS) as one, answering(200, STATUS) as two, answering(404, b"") as without:
        runtime(tmp_path, monkeypatch, one, without)
        assert choose_server({}).url == one.url
        runtime(tmp_path, monkeypatch, one, two)
        with pytest.raises(ServerUnavailable, match="Several of your Jupyter servers serve Diamond"):
            choose_server({})
        assert choose_server({"DIAMOND_SERVER_URL": two.url, "DIAMOND_SERVER_TOKEN": "t"}).url == two.url
        (tmp_path / "jpserver-77.json").write_text(json.dumps({"url": two.url, "token": "t"}))
        assert choose_server({"JPY_PARENT_PID": "77"}).url == two.url, "the server that started the agent"
        runtime(tmp_path, monkeypatch, without, without)
        (tmp_path / "jpserver-77.json").unlink()
        with pytest.raises(ServerUnavailable, match=r"serves Diamond \(.* runs without Diamond"):
            choose_server({"JPY_PARENT_PID": "77"})
