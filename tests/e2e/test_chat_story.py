"""The agent in JupyterLab's chat, against real Slurm: asked, planned, approved by a click, quiet, woken, reported.

In between the tab is closed and the server is started anew. The model is a stub over real HTTP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from jupyter_diamond.agent.chat.bridge import PERSONA
from tests.live.browser import SECONDS, LabPage, chromium
from tests.live.jupyter import JupyterServer
from tests.live.model_stub import ModelStub, Turn, call, say
from tests.live.slurm import Testbed, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slurm]
CODE = """\
import pathlib, time
for epoch in range(1, 11):
    print(f"epoch {epoch:2d}  loss {1 / epoch:.3f}", flush=True)
while not pathlib.Path(GO).exists():
    time.sleep(0.1)
loss = 1 / epoch"""
ASKED = "fine-tune this model on two A100s of delta, so that it starts today"
PLAN = "Two A100s are free on delta and would start now. Here is the plan."
QUIET = "Submitted to delta; I am quiet until it ends."
SIDE = "It runs on delta. I report here when it ends."
AFTER = "The loss was still falling at epoch 10. I would run it again for 20 epochs: shall I plan that?"


def colleague(messages: list[dict[str, Any]]) -> Turn:
    """A model that looks, proposes, is quiet, and reports."""
    last, said = messages[-1], str(messages[-1].get("content"))
    called = [each["function"]["name"] for one in messages for each in one.get("tool_calls") or ()]
    if last["role"] == "user" and "an event of a task" in said:
        return say(AFTER)
    if last["role"] == "user" and "how is it going" in said:
        return say(SIDE)
    if last["role"] == "user":
        return call("find_idle", json.dumps({"gpus": "2"}))
    if called[-1] == "find_idle":
        needs = {"gpus": "2", "cpus": "2", "time": "10m", "site": "delta", "outputs": "loss"}
        told = {"name": "finetune", "source": "@chat", "intent": "Fine-tune the model of the chat on two A100s."}
        return call("submit_task", json.dumps(needs | told), PLAN)
    return say(QUIET)


@pytest.fixture
def model() -> Iterator[ModelStub]:
    with ModelStub(colleague) as stub:
        yield stub


@pytest.fixture
def server(testbed: Testbed, tmp_path: Path, model: ModelStub) -> Iterator[JupyterServer]:
    sites = testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work")
    arguments = ("--DiamondSites.this_machine=False", f"--PersonaManager.default_persona_id={PERSONA}")
    env = {"JUPYTER_DIAMOND_MODEL": "local:stub", "JUPYTER_DIAMOND_MODEL_URL": model.url}
    with JupyterServer(tmp_path, sites=sites, arguments=arguments, env=env, chat=True) as started:
        (started.notebooks / "study.chat").write_text("{}")
        yield started


def open_chat(lab: LabPage) -> None:
    lab.page.goto(f"{lab.server.url}lab/tree/study.chat?token={lab.server.token}&reset")
    lab.page.locator("#jupyterlab-splash").wait_for(state="detached", timeout=90 * SECONDS)


def type_in(lab: LabPage, words: str) -> None:
    expect(lab.page.locator(".jp-chat-input-container", has_text="Diamond")).to_be_visible()
    lab.page.locator(".jp-chat-input-container textarea").first.click()
    lab.page.keyboard.insert_text(words)
    lab.page.keyboard.press("Enter")


def shows(lab: LabPage, words: str) -> None:
    expect(lab.page.locator(".jp-chat-rendered-message", has_text=words).first).to_be_visible()


def test_from_the_question_to_the_report_over_a_closed_tab_and_a_restart(
    server: JupyterServer, model: ModelStub, tmp_path: Path
) -> None:
    chat, go = server.notebooks / "study.chat", tmp_path / "go"
    with chromium() as browser:
        lab = LabPage(browser, server, width=1200, height=900)
        open_chat(lab)
        type_in(lab, f"{ASKED}\n```python\n{CODE.replace('GO', repr(str(go)))}\n```")
        card = lab.page.locator(".jp-chat-rendered-message .jp-diamond-proposal")
        expect(card).to_have_attribute("data-standing", "waiting")
        expect(card).to_contain_text("Run finetune at delta:gpuA100x4: 2 cores, 2 GPUs, for at most 10 min")
        assert server.api("GET", "tasks")["tasks"] == [], "nothing is sent before the click"
        card.get_by_role("button", name="Approve").click()
        expect(card).to_have_attribute("data-standing", "done")
        shows(lab, QUIET)
        wait_until(
            lambda: server.api("GET", "tasks/finetune")["phase"] == "RUNNING", 60, "it does not start", every=0.2
        )
        type_in(lab, "how is it going?")
        shows(lab, SIDE)
        assert lab.heard.our_errors() == []
        lab.close()
        asked = model.calls

        server.restart()
        assert model.calls == asked, "a model was asked while the job ran"
        go.touch()
        wait_until(lambda: AFTER in chat.read_text(), 60, "no report", every=0.1)
        assert model.calls == asked + 1

        lab = LabPage(browser, server, width=1200, height=900)
        open_chat(lab)
        shows(lab, "finetune succeeded on delta:gpuA100x4")
        shows(lab, AFTER)
        expect(lab.page.locator(".jp-chat-rendered-message .jp-diamond-proposal")).to_have_attribute(
            "data-standing", "done"
        )
        assert lab.heard.our_errors() == []
        assert lab.heard.strangers() == set()
        lab.close()
    story = [each for each in json.loads(chat.read_text())["messages"] if each["sender"] == PERSONA]
    plan, submitted, side, report = [each["body"] for each in story[1:]]
    task = server.api("GET", "tasks/finetune")
    assert story[0]["body"] == PLAN
    assert re.search(rf"Run finetune at delta:gpuA100x4.*Submitted as `{task['id']}`", plan, re.DOTALL)
    assert "application/vnd.jupyter-diamond.proposal+json" in story[1]["mime_model"]["data"]
    assert submitted.startswith(QUIET)
    assert "✓ succeeded" in submitted, "its line went on, in its place"
    assert side == SIDE
    assert "✓ **finetune** succeeded on `delta:gpuA100x4`" in report
    assert "`loss`" in report
