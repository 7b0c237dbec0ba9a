"""What is kept of one chat while something is said in it: each change is in the store before the next one."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.chat import MOST_TASKS, Card, ChatState, ChatTask

if TYPE_CHECKING:
    from .chats import Chats

_MOST_CARDS = 50


class ChatMemory:
    """Made for one turn, with the chat's lock held."""

    def __init__(self, chats: Chats, chat_id: str, state: ChatState) -> None:
        self._chats, self.chat_id, self.state = chats, chat_id, state

    @classmethod
    async def of(cls, chats: Chats, chat_id: str, *, root: str, path: str) -> ChatMemory:
        """What is kept; a new chat is noted at once, so that its moves are followed."""
        ledger = chats.ledger
        known = await ledger.do(ledger.store.channels.get, f"chat:{chat_id}")
        memory = cls(chats, chat_id, known or ChatState(root=root, path=path))
        if known is None or (known.root, known.path) != (root, path) or known.gone_since is not None:
            await memory.change(root=root, path=path, gone_since=None)
        return memory

    @property
    def channel(self) -> str:
        """Of everything that is said here."""
        return f"chat:{self.chat_id}"

    async def change(self, **changes: Any) -> None:
        """Change fields, and store them."""
        ledger = self._chats.ledger
        empty = self.state

        def how(known: ChatState | None) -> ChatState:
            return (known or empty).model_copy(update=changes)

        now = from_epoch(time.time())
        self.state = await ledger.do(ledger.store.channels.change, self.channel, how, now)
        self._chats.index(self.chat_id, self.state)

    async def is_at(self, path: str) -> None:
        """Its file was found there."""
        if self.state.path != path or self.state.gone_since is not None:
            await self.change(path=path, gone_since=None)

    async def gone(self, at: datetime) -> None:
        """Its file is nowhere."""
        if self.state.gone_since is None:
            await self.change(gone_since=at)

    async def task(self, task_id: str, **changes: Any) -> ChatTask:
        """Note something of a task; the oldest are forgotten where there are too many."""
        known = self.state.tasks.get(task_id) or ChatTask(name=changes["name"])
        changed = known.model_copy(update=changes)
        tasks = {**self.state.tasks, task_id: changed}
        await self.change(tasks=dict(list(tasks.items())[-MOST_TASKS:]))
        return changed

    async def card(self, proposal_id: str, **changes: Any) -> Card:
        """Note something of a plan's card."""
        known = self.state.cards.get(proposal_id) or Card(message=changes.get("message", ""))
        changed = known.model_copy(update=changes)
        cards = {**self.state.cards, proposal_id: changed}
        await self.change(cards=dict(list(cards.items())[-_MOST_CARDS:]))
        return changed

    def waiting_cards(self) -> list[str]:
        """Plans that the user has said nothing to, the newest first."""
        return [each for each, card in reversed(self.state.cards.items()) if card.standing == "waiting"]
