"""Jupyter AI's real chats in this process, over plain WebSockets; Diamond's desk over a real store, no site behind it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
import uuid
from types import SimpleNamespace

import pytest

from jupyter_diamond.agent.chat.bridge import PERSONA
from jupyter_diamond.agent.chat.chats import Chats
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.news.conditions import Match
from jupyter_diamond.engine.news.consumers import Consumers
from jupyter_diamond.engine.news.waking import as_data, waking
from jupyter_diamond.engine.secrets import Secrets
from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.chat import ChatState
from jupyter_diamond.model.continuation import Registration, Terminal
from jupyter_diamond.model.states import State
from jupyter_diamond.settings import DiamondNews
from tests.live.extensions import own_entry_points
from tests.store.store_samples import put_task

WAIT_S = 20.0


async def until(what, seconds=WAIT_S, say="it did not come about"):
    """Wait until ``what()`` is something."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, say
        await asyncio.sleep(0.02)
    return found


class Groups:
    async def group(self, ref):
        raise NotFound(f"There is no group {ref}.")


class StoreService:
    """Tasks as the store has them, and the news of their ends."""

    def __init__(self, path):
        self.ledger = Ledger(path)
        self.consumers = Consumers(self.ledger, DiamondNews(), logging.getLogger("chat"))
        self.groups = Groups()

    def on_change(self, listener):
        self.ledger.listen(listener)

    async def task(self, ref):
        return await self.ledger.do(self.ledger.store.task, ref)

    async def tasks(self, name=None, phase=None, notebook=None, limit=100):
        return await self.ledger.do(self.ledger.store.tasks, name=name, phase=phase, notebook=notebook, limit=limit)

    async def made(self, chat_id, number=1, name="fit"):
        """A task that a chat waits for."""
        task = await self.ledger.write(put_task, self.ledger.store, number, name)
        wish = Registration(
            id=f"{chat_id[:8]}-{task.id}-end",
            subject=f"task:{task.id}",
            condition=Terminal(),
            consumer=f"chat:{chat_id}",
        )
        await self.consumers.register(wish)
        return task

    async def ends(self, chat_id, task, state=State.COMPLETED):
        """It ends, and the chat is told."""
        now = from_epoch(time.time())
        task = await self.ledger.update(task, "attempt.terminal", {}, state=state, ended_at=now)
        known = await self.ledger.do(self.ledger.store.continuations.known, f"{chat_id[:8]}-{task.id}-end")
        told = waking(known.continuation, task, "fired", Match(1, f"1:{state.value}", now))
        await self.ledger.write(
            self.ledger.store.continuations.close, known.continuation.id, "fired", as_data(told), at=now, dedup_key="end"
        )  # fmt: skip
        return task


@pytest.fixture
def jp_server_config(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(own_entry_points(tmp_path / "entry_points")))
    monkeypatch.setenv("FASTMCP_CHECK_FOR_UPDATES", "off")
    wanted = {"jupyterlab_chat": True, "jupyter_ai_router": True, "jupyter_ai_persona_manager": True}
    return {
        "ServerApp": {"jpserver_extensions": {**wanted, "jupyter_diamond": False, "jupyter_server_terminals": False}}
    }


@pytest.fixture
def service(tmp_path, jp_asyncio_loop):
    made = StoreService(tmp_path / "store.sqlite")
    jp_asyncio_loop.run_until_complete(made.ledger.open())
    yield made
    jp_asyncio_loop.run_until_complete(made.ledger.close())


@pytest.fixture
def room(jp_serverapp, jp_ws_fetch, jp_root_dir, service, jp_asyncio_loop):
    """The server with its chats, and a way to be a tab."""
    made = Room(jp_serverapp, jp_ws_fetch, jp_root_dir, service)
    jp_asyncio_loop.run_until_complete(made.start())
    yield made
    jp_asyncio_loop.run_until_complete(made.chats.stop())


class Room:
    def __init__(self, serverapp, fetch, root, service):
        self.serverapp, self.fetch, self.root, self.service = serverapp, fetch, root, service
        self.settings = serverapp.web_app.settings

    async def start(self):
        """As a server does at its start."""
        self.desk = SimpleNamespace(
            service=self.service,
            log=logging.getLogger("chat"),
            models=SimpleNamespace(configured=False),
            secrets=Secrets(),
        )
        self.chats = self.desk.chats = Chats(self.desk, self.serverapp, self.desk.log)
        self.settings["diamond_agent"] = self.desk
        await until(lambda: self.chats.bridge.present)
        await self.chats.start()

    async def tab(self, path):
        """A tab with a chat."""
        if not (self.root / path).exists():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("{}")
        router = self.settings["jupyter-ai"]["router"]
        await until(lambda: router.chat_init_observers)
        socket = await self.fetch("api", "chat", "ws", path)
        tab = Tab(socket, json.loads(await socket.read_message())["id"])
        await until(lambda: tab.chat in self.settings["jupyter-ai"]["persona-managers"])
        return tab

    async def known(self, tab, path):
        """Something was said in it before: it has its id in its file, and is known to us."""
        state = ChatState(root=str(self.chats.bridge.root), path=path)
        channels = self.service.ledger.store.channels
        await self.service.ledger.do(channels.change, f"chat:{tab.chat}", lambda _: state, from_epoch(time.time()))
        await tab.say("help")
        await until(lambda: "I place jobs" in self.text(path))

    async def closed(self, tab):
        """The tab is closed, and the chat is out of memory."""
        tab.socket.close()
        await until(lambda: self.settings["chat_manager"].get(tab.chat) is None)

    def text(self, path):
        return (self.root / path).read_text() if (self.root / path).exists() else ""

    def said(self, path):
        """Every message of Diamond's, oldest first."""
        if not self.text(path):
            return []
        return [each["body"] for each in json.loads(self.text(path))["messages"] if each["sender"] == PERSONA]


class Tab:
    def __init__(self, socket, chat):
        self.socket, self.chat = socket, chat

    async def say(self, body, **more):
        told = {
            "type": "client",
            "action": "send",
            "id": uuid.uuid4().hex,
            "body": body,
            "metadata": {"to_persona": PERSONA},
        }
        await self.socket.write_message(json.dumps({**told, **more}))

    async def hears(self, words):
        async with asyncio.timeout(WAIT_S):
            while words not in (await self.socket.read_message() or ""):
                pass
