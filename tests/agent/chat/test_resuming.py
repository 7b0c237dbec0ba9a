"""A chat is told of a task's end with nobody's word, whatever became of its tab, its file and the server."""

from __future__ import annotations

import asyncio
import json
import shutil
from types import SimpleNamespace

from jupyter_diamond.agent.chat.bridge import Conversation
from jupyter_diamond.engine.secrets import Secrets
from tests.agent.chat.conftest import until


async def test_with_its_tab_open_it_appears_there(room):
    tab = await room.tab("a.chat")
    await room.known(tab, "a.chat")
    task = await room.service.made(tab.chat)
    await room.service.ends(tab.chat, task)
    await tab.hears("succeeded")
    assert "**fit** succeeded" in room.said("a.chat")[-1]
    tab.socket.close()


async def test_with_its_tab_closed_it_is_opened_again_and_told_once(room):
    tab = await room.tab("a.chat")
    await room.known(tab, "a.chat")
    task = await room.service.made(tab.chat)
    await room.closed(tab)
    await room.service.ends(tab.chat, task)
    await until(lambda: "succeeded" in room.text("a.chat"))
    again = await room.tab("a.chat")
    await again.say("help")
    await until(lambda: len(room.said("a.chat")) == 3)
    assert [("succeeded" in each) for each in room.said("a.chat")] == [False, True, False]
    again.socket.close()


async def test_renamed_moved_with_its_folder_or_by_hand_it_is_found(room, jp_fetch):
    tab = await room.tab("work/a.chat")
    await room.known(tab, "work/a.chat")
    tasks = [await room.service.made(tab.chat, number, f"fit{number}") for number in (1, 2, 3)]
    await room.closed(tab)

    async def rename(old, new):
        await jp_fetch("api", "contents", *old.split("/"), method="PATCH", body=json.dumps({"path": new}))

    async def told(number, path):
        await room.service.ends(tab.chat, tasks[number - 1])
        await until(lambda: f"fit{number}" in str(room.said(path)), say=f"fit{number} was not told in {path}")
        await until(lambda: not room.chats._delivering)  # until then it is kept, and no scan frees it
        chat = room.settings["chat_manager"].get(tab.chat)
        room.settings["chat_manager"]._free(tab.chat, "closed")  # as its scan does after a minute
        assert chat is not None

    await rename("work/a.chat", "work/b.chat")
    await told(1, "work/b.chat")
    await rename("work", "old work")
    await told(2, "old work/b.chat")
    (room.root / "deep" / "er").mkdir(parents=True)
    shutil.move(room.root / "old work" / "b.chat", room.root / "deep" / "er" / "c.chat")
    await told(3, "deep/er/c.chat")
    assert sorted(each.name for each in room.root.rglob("*.chat")) == ["c.chat"], "no file was made anew"


async def test_a_server_that_starts_tells_what_happened_while_none_ran(room):
    tab = await room.tab("a.chat")
    await room.known(tab, "a.chat")
    task = await room.service.made(tab.chat)
    await room.closed(tab)
    await room.chats.stop()
    await room.service.ends(tab.chat, task)
    await room.start()
    await until(lambda: "succeeded" in room.text("a.chat"))


async def test_a_tab_that_was_left_open_over_a_restart_shows_it(room):
    tab = await room.tab("a.chat")
    await room.known(tab, "a.chat")
    task = await room.service.made(tab.chat)
    await room.chats.stop()
    await room.closed(tab)
    await room.service.ends(tab.chat, task)
    again = await room.tab("a.chat")  # it connects by itself
    await room.start()
    await again.hears("succeeded")
    again.socket.close()


async def test_a_deleted_chat_is_not_made_anew_and_its_news_are_kept_until_it_is_back(room, jp_fetch):
    tab = await room.tab("a.chat")
    await room.known(tab, "a.chat")
    task = await room.service.made(tab.chat)
    await room.closed(tab)
    kept = room.text("a.chat")
    await jp_fetch("api", "contents", "a.chat", method="DELETE")
    await room.service.ends(tab.chat, task)
    store = room.service.ledger.store
    await until(lambda: store.channels.get(f"chat:{tab.chat}").gone_since is not None)
    assert not list(room.root.rglob("*.chat"))
    assert len(store.continuations.pending(f"chat:{tab.chat}")) == 1
    (room.root / "restored.chat").write_text(kept)
    back = await room.tab("restored.chat")
    await back.hears("succeeded")
    await until(lambda: not store.continuations.pending(f"chat:{tab.chat}"))
    back.socket.close()


async def test_news_that_were_shown_and_not_acknowledged_are_not_shown_again(room, monkeypatch):
    tab = await room.tab("a.chat")
    await room.known(tab, "a.chat")
    task = await room.service.made(tab.chat)
    acknowledged = []

    async def lost(consumer, seq):
        acknowledged.append(seq)
        raise OSError("the server ended here")

    ack = room.service.consumers.ack
    monkeypatch.setattr(room.service.consumers, "ack", lost)
    await room.service.ends(tab.chat, task)
    await until(lambda: acknowledged)
    await room.chats.stop()
    monkeypatch.setattr(room.service.consumers, "ack", ack)
    await room.start()
    store = room.service.ledger.store
    await until(lambda: not store.continuations.pending(f"chat:{tab.chat}"))
    assert sum("succeeded" in each for each in room.said("a.chat")) == 1
    tab.socket.close()


async def test_a_file_that_was_moved_away_before_it_was_seen_to_be_saved_is_looked_for_again(tmp_path):
    chat = Conversation(SimpleNamespace(get_path=lambda: "gone.chat"), tmp_path, Secrets())
    async with asyncio.timeout(20):  # one that is there is waited for longer
        assert not await chat.saved("a mark")
