"""The names of Jupyter AI and jupyterlab-chat that they do not promise, and that the bridge uses: all still there."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import jupyter_ai_persona_manager.persona_manager as managers
import pytest
from jupyter_ai_persona_manager import BasePersona, PersonaDefaults, PersonaRequirementsUnmet
from jupyter_ai_router.router import MessageRouter
from jupyterlab_chat.chat_manager import ChatManager
from jupyterlab_chat.models import BaseChatModel, Message, MimeModel, NewMessage
from jupyterlab_chat.websocket_model import WsChatModel

from jupyter_diamond.agent.chat import persona
from jupyter_diamond.agent.chat.bridge import PERSONA, Bridge
from jupyter_diamond.agent.chat.persona import AVATAR, DiamondPersona
from jupyter_diamond.engine.secrets import Secrets


def test_what_the_bridge_calls_takes_what_it_is_given():
    assert list(inspect.signature(ChatManager.get).parameters) == ["self", "chat_id"]
    assert list(inspect.signature(ChatManager.create).parameters) == ["self", "path"]
    assert list(inspect.signature(WsChatModel._on_path_change).parameters) == ["self", "new_path"]
    assert inspect.isgeneratorfunction(inspect.unwrap(WsChatModel.keep_alive))
    for method in ("add_message", "update_message"):
        assert "trigger_actions" in inspect.signature(getattr(BaseChatModel, method)).parameters
    assert {"to_persona"} == {managers.PersonaManager.TO_PERSONA_METADATA_KEY}
    assert isinstance(inspect.getattr_static(managers.PersonaManager, "personas"), property)
    assert {"body", "sender", "mime_model"} <= set(inspect.signature(NewMessage).parameters)
    assert {"metadata", "deleted", "attachments"} <= set(inspect.signature(Message).parameters)
    assert "data" in inspect.signature(MimeModel).parameters
    assert "avatar_path" in PersonaDefaults.model_fields


def test_a_running_server_has_what_the_bridge_looks_for(jp_serverapp, room):
    settings = jp_serverapp.web_app.settings
    assert isinstance(settings["chat_manager"], ChatManager)
    assert isinstance(settings["jupyter-ai"]["router"], MessageRouter)
    assert isinstance(settings["jupyter-ai"]["router"].chat_init_observers, list)
    assert settings["jupyter-ai"]["persona-managers"] == {}
    assert settings["server_root_dir"]
    assert Bridge(jp_serverapp, jp_serverapp.log, Secrets()).present
    assert not Bridge(None, jp_serverapp.log, Secrets()).present


def test_without_a_part_of_the_extra_jupyter_ai_leaves_the_persona_out(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pydantic_ai" else 1 / 0)
    with pytest.raises(PersonaRequirementsUnmet, match=r"jupyter-diamond\[ai\]"):
        exec(compile(Path(persona.__file__).read_text(), persona.__file__, "exec"), {"__name__": "again"})


async def test_the_personas_id_is_the_one_that_chats_keep(room):
    tab = await room.tab("a.chat")
    ours = room.settings["jupyter-ai"]["persona-managers"][tab.chat].personas[PERSONA]
    assert isinstance(ours, DiamondPersona)
    assert isinstance(ours, BasePersona)
    assert AVATAR.read_text().startswith("<svg")
    tab.socket.close()
