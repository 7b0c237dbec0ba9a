"""Jupyter AI's chats: to find one again by its id, whatever became of its tab, its file or the server, and to speak.

The only module that uses what Jupyter AI and jupyterlab-chat do not promise: keys of the server's settings, and a few
names of classes. They change with a minor release, so the extra ``ai`` is pinned to one, and
``tests/agent/chat/test_canary.py`` fails when one of these names is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_diamond.engine.secrets import Secrets

from .chat_files import find_by_id, id_in

if TYPE_CHECKING:
    from jupyterlab_chat.models import BaseChatModel, Message, User

PERSONA = "jupyter-ai-personas::jupyter_diamond::DiamondPersona"
"""Jupyter AI makes it of the top-level package and the class. Chats keep it: neither may ever be renamed."""
OURS = "jupyter_diamond"
"""Our key in a message's metadata."""
MOVES = "https://events.jupyter.org/jupyter_server/contents_service/v1"
_PERSONA_S = 20.0
_READY_S = 60.0
_SAVED_S = 30.0
_MOVED_S = 1.0

Moved = Callable[[str, str], None]


class Conversation:
    """One chat that is in memory."""

    def __init__(self, chat: BaseChatModel, root: Path, secrets: Secrets) -> None:
        self._chat, self._root, self._secrets = chat, root, secrets

    @property
    def id(self) -> str:
        """What stays, whatever its file is called."""
        return str(self._chat.get_id())

    @property
    def path(self) -> str:
        """Where its file is now, below the server's root folder."""
        return str(self._chat.get_path())

    @property
    def people(self) -> dict[str, User]:
        """Who has been here, by the name that messages carry; personas too."""
        return dict(self._chat.get_users())

    def messages(self) -> list[Message]:
        """All of them, oldest first."""
        return list(self._chat.get_messages())

    def attachments(self, message: Message) -> list[Any]:
        """What the user attached to a message: files, notebooks, cells."""
        known = self._chat.get_attachments()
        return [known[each] for each in message.attachments or () if each in known]

    def marked(self, mark: str) -> Message | None:
        """Our message with this mark: what was said once is not said again."""
        return next((each for each in self.messages() if mark in _marks(each)), None)

    def say(self, words: str, *, card: Mapping[str, Any] | None = None, mark: str = "") -> str:
        """Write a message and save it, its mark within the same write; its id. A chat's file may be shared and kept for
        long: this server's secrets, which a log may have printed, are left out.
        """
        from jupyterlab_chat.models import MimeModel, NewMessage

        def sign(message: Any, _chat: Any) -> None:
            message.metadata = {OURS: {"mark": mark}}

        mime = MimeModel(data=self._secrets.blot_all(card)) if card else None
        message = NewMessage(body=self._secrets.blot(words), sender=PERSONA, mime_model=mime)
        return str(self._chat.add_message(message, trigger_actions=[sign] if mark else []))

    def edit(self, message_id: str, words: str, *, card: Mapping[str, Any] | None = None) -> bool:
        """Change a message of ours. False where it is gone, or the user has deleted it."""
        from jupyterlab_chat.models import MimeModel

        known = self._chat.get_message(message_id)
        if known is None or known.deleted:
            return False
        words = self._secrets.blot(words)
        mime = MimeModel(data=self._secrets.blot_all(card)) if card else known.mime_model
        if known.body != words or mime != known.mime_model:
            self._chat.update_message(dataclasses.replace(known, body=words, mime_model=mime))
        return True

    @contextlib.contextmanager
    def thinking(self, words: str) -> Iterator[None]:
        """Show below the chat what Diamond is doing, for as long as the block lasts."""
        user = self._chat.get_users().get(PERSONA)
        if user is not None:
            self._chat.broadcast_writing_status(user, {"typingIndicator": words})
        try:
            yield
        finally:
            if user is not None:
                self._chat.broadcast_writing_status(user, None)

    async def saved(self, marks: str) -> bool:
        """Wait until a message with these words stands in the file: real-time collaboration saves with a delay.

        Where its file is gone, moved by hand perhaps, that is soon said: the chat is to be looked for again.
        """
        path, began = self._root / self.path, time.monotonic()
        while marks not in await asyncio.to_thread(_text_of, path):
            if time.monotonic() > began + (_SAVED_S if path.exists() else _MOVED_S):
                return False
            await asyncio.sleep(0.2)
        return True

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Keep it in memory though its last tab is closed. Real-time collaboration keeps its rooms itself."""
        hold = getattr(self._chat, "keep_alive", contextlib.nullcontext)
        with hold():
            yield


class Bridge:
    """The way from a server to its chats."""

    def __init__(self, serverapp: Any, log: logging.Logger, secrets: Secrets) -> None:
        self._serverapp, self._log, self._secrets = serverapp, log, secrets
        self._moved: Moved | None = None

    @property
    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self._serverapp.web_app.settings
        return settings

    @property
    def root(self) -> Path:
        """The server's root folder, which paths of chats begin at."""
        return Path(self._settings.get("server_root_dir", ".")).expanduser().resolve()

    @property
    def present(self) -> bool:
        """Whether this server has chats with personas. True at the earliest when all extensions are loaded."""
        if self._serverapp is None:
            return False
        return "chat_manager" in self._settings and "persona-managers" in self._settings.get("jupyter-ai", {})

    def follow_moves(self, moved: Moved) -> None:
        """Call ``moved(old, new)`` for each file or folder that is renamed by way of the server."""
        self._moved = moved
        self._serverapp.event_logger.add_listener(schema_id=MOVES, listener=self._hear_move)

    def stop(self) -> None:
        """Hear no more."""
        if self._moved is not None:
            self._serverapp.event_logger.remove_listener(listener=self._hear_move)
            self._moved = None

    async def _hear_move(self, logger: Any, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        if data.get("action") == "rename" and self._moved is not None:
            self._moved(str(data.get("source_path", "")).strip("/"), str(data.get("path", "")).strip("/"))

    def of(self, persona: Any) -> Conversation:
        """The chat that a persona was made for."""
        return Conversation(persona.chat, self.root, self._secrets)

    def live(self, chat_id: str) -> Conversation | None:
        """A chat that is in memory now, and has its file."""
        chat = self._settings["chat_manager"].get(chat_id) if self.present else None
        if chat is None or not (self.root / chat.get_path()).exists():
            return None
        return Conversation(chat, self.root, self._secrets)

    @contextlib.asynccontextmanager
    async def opened(self, chat_id: str, path: str) -> AsyncIterator[Conversation | None]:
        """A chat by its id, in memory until the end of the block; None where its file is gone.

        ``path`` is where it was last. A file that was moved by hand is looked for below the root folder. A deleted
        chat is not made anew.
        """
        await self._ready()
        chat = self._settings["chat_manager"].get(chat_id)
        found = await asyncio.to_thread(self._locate, chat_id, path if chat is None else chat.get_path())
        if found is None:
            yield None
            return
        chat = self._settings["chat_manager"].get(chat_id)  # a tab may have been opened, or the last one closed
        if chat is None:
            chat = await self._load(found)
        elif chat.get_path() != found and hasattr(chat, "_on_path_change"):
            chat._on_path_change(found)  # noqa: SLF001 - it was moved by hand; a save would make the old file anew
        if chat is None or chat.get_id() != chat_id:
            yield None
            return
        conversation = Conversation(chat, self.root, self._secrets)
        with conversation.kept():
            await self._persona_of(chat_id)
            yield conversation

    def _locate(self, chat_id: str, path: str) -> str | None:
        """Where the chat's file is, below the root folder; blocks."""
        root = self.root
        if path and id_in(root / path) == chat_id:
            return path
        found = find_by_id(root, chat_id)
        return None if found is None else os.path.relpath(found, root).replace(os.sep, "/")

    async def _load(self, path: str) -> BaseChatModel | None:
        chat: BaseChatModel | None = await self._settings["chat_manager"].create(path)
        rooms = self._settings.get("jupyter_server_ydoc")
        if chat is None and rooms is not None:  # real-time collaboration: its rooms are asked for elsewhere
            chat = await rooms.get_document(
                path=path, content_type="chat", file_format="text", copy=False, create=True
            )  # fmt: skip
        return chat

    async def _ready(self) -> None:
        """Wait until a chat that opens is heard of; before, its persona would never be made."""
        deadline = time.monotonic() + _READY_S
        while True:
            router = self._settings.get("jupyter-ai", {}).get("router")
            if router is not None and router.chat_init_observers and "chat_manager" in self._settings:
                return
            if time.monotonic() > deadline:
                raise TimeoutError("Jupyter AI's chats did not start.")
            await asyncio.sleep(0.05)

    async def _persona_of(self, chat_id: str) -> None:
        """Wait until the chat knows our name and picture. Without them it is spoken all the same."""
        deadline = time.monotonic() + _PERSONA_S
        while time.monotonic() < deadline:
            manager = self._settings["jupyter-ai"]["persona-managers"].get(chat_id)
            if manager is not None and PERSONA in manager.personas:
                return
            await asyncio.sleep(0.05)
        self._log.warning("Diamond's persona did not come up in the chat %s; it is spoken without.", chat_id)


def _marks(message: Message) -> tuple[str, ...]:
    ours = (message.metadata or {}).get(OURS)
    return (str(ours.get("mark", "")),) if isinstance(ours, dict) else ()


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
