"""The tools over REST: what there is, a call, and what teaches an agent to use them."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from jupyter_diamond.agent.tools import served
from jupyter_diamond.agent.tools.registry import all_specs
from jupyter_diamond.server.app import DiamondApp

MAKE_SERVICE = DiamondApp.make_service
REAL = pytest.mark.parametrize("make_service", [MAKE_SERVICE], indirect=True)


async def test_all_tools_are_listed_and_those_of_groups(ask, service):
    every = (await ask("GET", "tools")).json
    assert {each["name"] for each in every["tools"]} == {spec.name for spec in all_specs()}
    some = (await ask("GET", "tools", params={"groups": "site"})).json["tools"]
    assert {each["group"] for each in some if not each["first"]} == {"site"}
    refused = await ask("GET", "tools", params={"groups": "nope"})
    assert (refused.code, refused.json["code"]) == (400, "invalid_request")


async def test_the_skill_and_the_reference_are_served(ask, service):
    skill = await ask("GET", "skill")
    assert (skill.type, skill.body.startswith(b"---\nname: jupyter-diamond")) == ("text/markdown", True)
    reference = await ask("GET", "skill/api")
    assert b"\n## submit_task\n" in reference.body


@pytest.mark.parametrize("form", [
    {"arguments": []}, {"agent": "two words"}, {"session": "a/b"}, {"user": "root"}, {"channel": "lab"},
])  # fmt: skip
async def test_a_client_names_its_agent_and_its_session_and_nothing_else(ask, service, form):
    refused = await ask("POST", "tools/doctor", form=form, good=False)
    assert (refused.code, refused.json["code"]) == (400, "invalid_request")


@REAL
async def test_a_call_looks_or_proposes_and_the_user_is_who_logged_in(started, ask):
    looked = (await ask("POST", "tools/list_resources", form={})).json
    assert looked["content"]["sites"][0]["site"] == "here"
    wrong = (await ask("POST", "tools/find_idle", form={"arguments": {"gpu": 1}})).json
    assert (wrong["error"], wrong["content"]["error"]) == (True, "invalid_request")
    unknown = (await ask("POST", "tools/nope", form={})).json
    assert unknown["content"]["error"] == "not_found"

    arguments = {"name": "fit", "source": "x = 1", "time": "5m"}
    asked = {"arguments": arguments, "agent": "claude", "session": "s1"}
    proposed = (await ask("POST", "tools/submit_task", form=asked)).json["content"]["needs_approval"]
    found = await started.agent.guard.proposal(proposed["proposal"])
    assert (found.by.agent, found.by.channel, found.by.guest) == ("claude", "mcp:s1", False)
    other = (await ask("POST", "tools/submit_task", form=asked | {"session": "s2"})).json["content"]["needs_approval"]
    assert other["proposal"] != proposed["proposal"], "another session's approvals are not its own"
    assert (await ask("GET", "tasks")).json["tasks"] == []


def test_the_extension_is_imported_without_the_service_and_without_what_serves_agents():
    heavy = "{'jupyter_diamond.service', 'jupyter_diamond.agent.desk', 'jupyter_diamond.agent.tools.registry', 'mcp'}"
    code = f"import jupyter_diamond.server.app, sys; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# ---- the MCP server of jupyter_server_mcp, which asks for no token


@pytest.fixture
def app(started, jp_serverapp, monkeypatch):
    """As that server finds us: by the running ServerApp."""
    from jupyter_server import serverapp

    monkeypatch.setattr(serverapp, "ServerApp", SimpleNamespace(instance=lambda: jp_serverapp))
    return jp_serverapp


@REAL
async def test_nothing_is_open_unless_the_user_says_so_and_then_looks_alone(app):
    assert served.tools() == []
    app.web_app.settings["diamond_open_tools"] = True
    names = {each.partition(":diamond_")[2] for each in served.tools()}
    kinds = {spec.name: spec.kind for spec in all_specs()}
    assert {kinds[name] for name in names} == {"read"}
    found = await served.diamond_list_resources(site="here")
    assert found["sites"][0]["site"] == "here"
    assert (await served.diamond_find_idle(gpus="x"))["error"] == "invalid_request"
