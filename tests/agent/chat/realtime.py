"""Run by ``test_realtime.py`` in a process of its own, where chats are documents of real-time collaboration."""

from __future__ import annotations

import json
import time

import pytest
from jupyterlab_chat.models import NewMessage
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.chat import ChatState
from tests.agent.chat.conftest import until


@pytest.fixture
def jp_server_config(jp_server_config):
    wanted = dict.fromkeys(("jupyter_server_ydoc", "jupyter_server_fileid"), True)
    jp_server_config["ServerApp"]["jpserver_extensions"] |= wanted
    return {**jp_server_config, "YDocExtension": {"document_save_delay": 0.1, "document_cleanup_delay": 0.3}}


async def tab(room, jp_fetch, headers):
    """It opens the chat's room; when it is closed the room goes a moment later."""
    (room.root / "a.chat").write_text("{}")
    form = json.dumps({"format": "text", "type": "chat"})
    session = json.loads((await jp_fetch("api", "collaboration", "session", "a.chat", method="PUT", body=form)).body)
    address = f"{room.serverapp.connection_url}api/collaboration/room/text:chat:{session['fileId']}".replace(
        "http", "ws", 1
    )
    return await websocket_connect(HTTPRequest(f"{address}?sessionId={session['sessionId']}", headers=headers))


async def test_a_chat_that_is_open_and_one_whose_room_was_left_are_told(room, jp_fetch, jp_auth_header):
    socket = await tab(room, jp_fetch, jp_auth_header)
    chats = room.settings["chats_by_id"]
    (chat_id,) = await until(lambda: tuple(chats))
    chat, store = chats[chat_id], room.service.ledger.store
    assert type(chat).__name__ == "YChat"
    state = ChatState(root=str(room.chats.bridge.root), path="a.chat")
    await room.service.ledger.do(store.channels.change, f"chat:{chat_id}", lambda _: state, from_epoch(time.time()))
    chat.add_message(NewMessage(body="How is it going?", sender="somebody"))
    await until(lambda: chat_id in room.text("a.chat"))
    tasks = [await room.service.made(chat_id, number, f"fit{number}") for number in (1, 2)]

    await room.service.ends(chat_id, tasks[0])
    await until(lambda: any("**fit1** succeeded" in each.body for each in chat.get_messages()))
    await until(lambda: "fit1" in str(room.said("a.chat")))

    socket.close()
    await until(lambda: chat_id not in chats)
    await room.service.ends(chat_id, tasks[1])
    await until(lambda: "**fit2** succeeded" in str(room.said("a.chat")))
    assert [("fit1" in each, "fit2" in each) for each in room.said("a.chat")] == [(True, False), (False, True)]
    await until(lambda: not store.continuations.pending(f"chat:{chat_id}"))
