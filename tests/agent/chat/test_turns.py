"""What is said in a chat, over the whole server extension and this machine as a site: with and without a model."""

from __future__ import annotations

import json

import nbformat
import pytest

from jupyter_diamond.agent.chat.bridge import PERSONA
from jupyter_diamond.agent.chat.history import load, turns_of
from jupyter_diamond.agent.guard.speakers import speaker
from jupyter_diamond.store.store import Store
from tests.agent.chat.conftest import Tab, until
from tests.engine.cells import held
from tests.live.extensions import own_entry_points
from tests.live.model_stub import EMPTY, HUGE, ModelStub, call, drop, fail, noise, refuse, say

QUICK = "```python\nprint('hello from the job')\nprint('canary-' + 'c0ffee-12345')\nx = 1\n```"
CANARY = "canary-c0ffee-12345"


@pytest.fixture
def model():
    with ModelStub() as stub:
        yield stub


@pytest.fixture
def jp_server_config(tmp_path, monkeypatch, request):
    monkeypatch.syspath_prepend(str(own_entry_points(tmp_path / "entry_points")))
    monkeypatch.setenv("FASTMCP_CHECK_FOR_UPDATES", "off")
    monkeypatch.setenv("CANARY_API_TOKEN", CANARY)
    wanted = ("jupyterlab_chat", "jupyter_ai_router", "jupyter_ai_persona_manager", "jupyter_diamond")
    asked = {}
    if "model" in request.fixturenames:
        asked = {"model": "local:stub", "base_url": request.getfixturevalue("model").url}
    return {
        "ServerApp": {"jpserver_extensions": {**dict.fromkeys(wanted, True), "jupyter_server_terminals": False}},
        "DiamondStore": {"path": str(tmp_path / "diamond" / "store.sqlite")},
        "DiamondSites": {"path": str(tmp_path / "sites.yaml"), "this_machine_workdir": str(tmp_path / "here")},
        "DiamondAgent": asked,
    }


class Talker:
    """One tab, and what its chat says."""

    def __init__(self, serverapp, root, store):
        self.settings, self.file, self.store = serverapp.web_app.settings, root / "a.chat", store
        self.desk = self.settings["diamond_agent"]
        self.tab = None

    def messages(self):
        return json.loads(self.file.read_text()).get("messages", [])

    def said(self):
        return [each["body"] for each in self.messages() if each["sender"] == PERSONA]

    async def asks(self, words, more=1, **extra):
        """Say something, and wait for so many answers; the newest one."""
        before = len(self.said())
        await self.tab.say(words, **extra)
        await until(lambda: len(self.said()) >= before + more, say=f"no answer to {words!r}: {self.said()}")
        return self.said()[-1]

    async def hears(self, words):
        return await until(
            lambda: next((each for each in self.said() if words in each), None),
            say=f"{words} is not said: {self.said()}",
        )

    def state(self):
        return self.store.channels.get(f"chat:{self.tab.chat}")

    def history(self):
        return load(self.state().history)


@pytest.fixture
def talk(jp_serverapp, jp_ws_fetch, jp_root_dir, tmp_path, jp_asyncio_loop):
    async def start():
        await jp_serverapp.extension_manager.start_all_extensions()
        talker = Talker(jp_serverapp, jp_root_dir, Store(tmp_path / "diamond" / "store.sqlite"))
        router = talker.settings["jupyter-ai"]["router"]
        await until(lambda: router.chat_init_observers)
        talker.file.write_text("{}")
        socket = await jp_ws_fetch("api", "chat", "ws", "a.chat")
        talker.tab = Tab(socket, json.loads(await socket.read_message())["id"])
        await until(lambda: talker.tab.chat in talker.settings["jupyter-ai"]["persona-managers"])
        return talker

    made = jp_asyncio_loop.run_until_complete(start())
    yield made
    made.tab.socket.close()
    made.store.close()


async def test_without_a_model_words_do_from_the_plan_to_the_report(talk, tmp_path):
    assert "No language model is set up" in await talk.asks("@Diamond what can you do?")
    assert "| place | free |" in await talk.asks("wall")
    assert "attach a cell" in await talk.asks("submit")
    card = await talk.asks(f"plan called hello, 1 core for 5 min\n{QUICK}")
    assert "Nothing is sent before you say yes" in card
    assert await talk.desk.service.tasks() == ()
    submitted = await talk.asks("yes")
    assert "I am quiet until it ends" in submitted
    (task,) = await talk.desk.service.tasks()
    report = await talk.hears("**hello** succeeded")
    assert "Next: `log hello`" in report
    await until(lambda: any("✓ succeeded on" in each for each in talk.said()), say="its line does not go on")
    log = await talk.asks("log hello")
    assert "hello from the job" in log
    assert "[a secret, left out]" in log
    assert CANARY not in talk.file.read_text()
    assert "hello" in await talk.asks("why hello")
    assert task.id in await talk.asks(f"status {task.id}")
    assert sum("before you say yes: the button" in each for each in talk.said()) == 0, "the card says what came of it"


async def test_what_the_user_cancels_here_is_no_news_here(talk, tmp_path):
    await talk.asks(f"plan\n```python\n{held(tmp_path / 'never', 'pass')}\n```")
    await talk.asks("approve")
    (task,) = await talk.desk.service.tasks()
    await talk.asks(f"cancel {task.name}")
    await until(lambda: any(" cancelled on " in each for each in talk.said()), say="its line does not go on")
    consumer = f"chat:{talk.tab.chat}"
    await until(lambda: not talk.store.continuations.pending(consumer) and talk.store.continuations.cursor(consumer))
    assert not [each for each in talk.said() if "was cancelled" in each]


async def test_a_plan_is_dropped_or_changed_by_a_word(talk):
    await talk.asks(f"plan 1 core for 5 min\n{QUICK}")
    assert await talk.asks("no") == "Dropped. Nothing was sent."
    await talk.asks("plan 1 core for 5 min")
    waiting = await until(
        lambda: next((each for each, card in talk.state().cards.items() if card.standing == "waiting"), None)
    )
    again = await talk.asks(f"deny {waiting} for 20 min instead", more=2)
    assert "20 min" in again
    assert "Nothing is sent before you say yes" in again
    assert await talk.desk.service.tasks() == ()


async def test_an_attached_cell_becomes_the_code(talk, jp_root_dir):
    cells = [nbformat.v4.new_code_cell(each) for each in ("import math", "print(math.pi)")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.write(notebook, jp_root_dir / "study.ipynb")
    cell = {"id": notebook.cells[1]["id"], "input_type": "code"}
    attached = {"type": "notebook", "value": "study.ipynb", "cells": [cell]}
    card = await talk.asks("plan", attachments=[attached])
    assert "study" in card
    code = talk.state().code
    assert (code.origin, code.notebook) == ("cell 2 of study.ipynb", "study.ipynb")
    assert code.source == "import math\n\nprint(math.pi)", "with what it uses of the cells before it"
    outside = await talk.asks("draft", more=2, attachments=[{"type": "file", "value": "../../etc/passwd"}])
    assert "outside of the server's root folder" in str(talk.said()) or outside


async def test_a_guest_looks_and_does_no_more(talk, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_USER", "alice")
    guest = {"sender": {"username": "bob", "name": "Bob"}}
    assert "| place | free |" in await talk.asks("wall", **guest)
    assert "bob is a guest" in await talk.asks(f"plan\n{QUICK}", **guest)
    assert talk.state().code is None
    await talk.asks(f"plan\n{QUICK}", sender={"username": "alice", "name": "Alice"})
    assert "guest" in await talk.asks("yes", **guest)
    assert await talk.desk.service.tasks() == ()


SUBMIT = {"name": "hello", "source": "@chat", "time": "5m", "cpus": "1"}


async def test_a_model_proposes_waits_for_the_click_and_is_not_asked_while_the_job_runs(
    talk, model, tmp_path, jp_fetch
):
    go = tmp_path / "go"
    model.play([call("submit_task", SUBMIT, "Here is the plan."), say("It still waits for your yes.")])
    await talk.asks(f"run this\n```python\n{held(go, 'x = 1')}\n```", more=2)
    assert talk.said()[0] == "Here is the plan."
    assert await talk.asks("is it fast?") == "It still waits for your yes."
    assert await talk.desk.service.tasks() == ()
    (proposal,) = await talk.desk.guard.proposals()
    body = json.dumps({"hash": proposal.hash})
    await jp_fetch("jupyter_diamond", "api", "proposals", proposal.id, "approve", method="POST", body=body)
    await talk.hears("I am quiet until it ends")  # the call was answered by "not decided yet": no model is asked for it
    assert model.calls == 2
    model.play([call("submit_task", {**SUBMIT, "again": True}), say("Submitted a second one.")])
    await talk.asks("and once more")
    asked = model.calls
    model.play([say("Submitted a second one.")])
    await talk.asks("yes")
    assert await talk.hears("Submitted a second one.")
    assert model.calls == asked + 1
    model.play([say("It says 1: done."), say("It says 1: done.")])
    go.touch()
    await until(lambda: sum("It says 1" in each for each in talk.said()) == 2, say=str(talk.said()))
    assert model.calls == asked + 3
    reports = [each for each in talk.said() if "It says 1" in each]
    assert all(each.startswith("✓ **hello** succeeded on") for each in reports)
    assert len(turns_of(talk.history())) >= 5


FAULTS = {
    "429": [fail(429)], "500": [fail(500)], "empty": [EMPTY] * 4, "dropped": [drop()], "no JSON": [noise()],
    "a refusal": [refuse()], "huge": [HUGE], "an unknown tool": [call("shell", {"command": "rm -rf"})] * 8,
    "wrong arguments": [call("submit_task", '{"name": ')] * 8, "an endless loop": [call("more_tools", {})] * 40,
}  # fmt: skip


async def test_whatever_a_model_does_the_chat_says_so_nothing_is_sent_and_it_goes_on(talk, model):
    for name, script in FAULTS.items():
        model.play([*script, say("I cannot do that.")])
        said = await talk.asks(f"hello ({name})")
        assert said, name
        assert "Traceback" not in said, name
        model.play([say(f"better now after {name}")])
        assert await talk.asks("and now?") == f"better now after {name}"
        assert talk.history(), name
    assert await talk.desk.service.tasks() == ()
    assert await talk.desk.guard.proposals() == ()


async def test_commands_need_no_model_where_there_is_one(talk, model):
    assert "| place | free |" in await talk.asks("wall")
    assert "goes to the model" in await talk.asks("help")
    assert model.calls == 0
    model.play([say("hello yourself")])
    await talk.asks("hello")
    await talk.asks("wall")
    assert "| place |" not in talk.state().history, "what a site wrote comes to a model by its tools alone"
    assert talk.history()
    assert "Forgotten" in await talk.asks("forget")
    await until(lambda: not talk.history())


async def test_a_group_is_one_plan_one_line_and_one_report(talk, model):
    asked = {"name": "sweep", "source": "@chat", "time": "5m", "cpus": "1", "array": "0-2"}
    model.play([call("more_tools", {"group": "groups"}), call("submit_group", asked)])
    card = await talk.asks("three of these\n```python\nprint(index)\n```")
    assert "Run sweep 3 times at here:machine" in card
    model.play([say("Three are on their way.")])
    assert "Three are on their way." in await talk.asks("yes")
    model.play([say("All three are there.")])
    report = await talk.hears("All three are there.")
    assert "**sweep**: of 3 members 3 succeeded." in report
    await until(lambda: any("succeeded 3/3" in each for each in talk.said()), say=f"its line: {talk.said()}")


async def test_with_agents_switched_off_it_reports_without_a_model_and_proposes_nothing(talk, model, tmp_path):
    go = tmp_path / "go"
    await talk.asks(f"plan called hello, 1 core for 5 min\n```python\n{held(go, 'x = 1')}\n```")
    await talk.asks("yes")
    asked = model.calls  # for the draft
    await talk.desk.guard.switch(on=False, by=speaker("somebody"))
    go.touch()
    report = await talk.hears("**hello** succeeded")
    assert "Next: `log hello`" in report
    assert "switched off" in report
    assert "switched off" in await talk.asks(f"plan 1 core\n{QUICK}")
    assert "switched off" in await talk.asks("and what now?")
    assert model.calls == asked
