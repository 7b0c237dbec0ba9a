"""All chats of a server: who speaks into one, and when. One thing at a time in each; nothing is kept in a persona.

A chat is told of what happens to its tasks at least once, and shown it once: news are acknowledged when the message
about them is saved, and a message carries the id of its news.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.chat import ChatState
from jupyter_diamond.model.continuation import Waking
from jupyter_diamond.model.event import Event

from .bridge import Bridge, Conversation
from .memory import ChatMemory

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

    from .turns import Turns

CHANNEL = "chat:"
_CONSUMER = f"consumer:{CHANNEL}"
_AGAIN_S = (2.0, 10.0, 60.0, 300.0)
"""After a chat could not be told."""
_PROGRESS_S = 0.5
"""Changes of a task within this time are one change of its line."""


class Chats:
    """One of a server. Without Jupyter AI it does nothing, and news wait in the store."""

    def __init__(self, desk: AgentDesk, serverapp: Any, log: logging.Logger) -> None:
        self._desk, self._log = desk, log
        self.bridge = Bridge(serverapp, log, desk.secrets)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._work: set[asyncio.Task[None]] = set()
        self._delivering: set[str] = set()
        self._news: set[str] = set()
        """Chats for which there is news that no delivery has looked for yet."""
        self._dirty: set[str] = set()
        """Chats of which a task's line is about to be written anew."""
        self._of_task: dict[str, str] = {}
        self._of_card: dict[str, str] = {}
        self._runs = False
        self._turns: Turns | None = None
        desk.service.on_change(self._hear)

    @property
    def turns(self) -> Turns:
        """What answers; it needs the extra ``ai`` only where a model is asked."""
        if self._turns is None:
            from .turns import Turns

            self._turns = Turns(self._desk, self)
        return self._turns

    async def start(self) -> None:
        """Take up the chats of before; tell each what has happened since."""
        if not self.bridge.present:
            return
        self._runs = True
        self.bridge.follow_moves(lambda old, new: self._spawn(self._moved(old, new), "moved"))
        for channel, state in (await self.ledger.do(self.ledger.store.channels.chats)).items():
            if state.root == str(self.bridge.root):
                self.index(channel.removeprefix(CHANNEL), state)
                self._begin_delivery(channel.removeprefix(CHANNEL), look_at_cards=True)

    async def stop(self) -> None:
        """Say nothing more; what was not told is told after the next start."""
        self._runs = False
        self.bridge.stop()
        for each in tuple(self._work):
            each.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    @property
    def ledger(self) -> Any:
        """The store, as something to wait for."""
        return self._desk.service.ledger

    def index(self, chat_id: str, state: ChatState) -> None:
        """Remember which chat a task or a plan belongs to."""
        self._of_task |= dict.fromkeys(state.tasks, chat_id)
        self._of_card |= dict.fromkeys(state.cards, chat_id)

    # ---- a user speaks

    async def heard(self, persona: Any, message: Any) -> None:
        """A message to Diamond."""
        chat = self.bridge.of(persona)
        async with self._locks[chat.id]:
            memory = await self._memory(chat)
            await self.turns.answer(chat, memory, message)

    async def _memory(self, chat: Conversation) -> ChatMemory:
        return await ChatMemory.of(self, chat.id, root=str(self.bridge.root), path=chat.path)

    # ---- something happens

    def _hear(self, event: Event) -> None:
        """On the loop, for every new event of whichever server."""
        if not self._runs:
            return
        kind, _, rest = event.subject.partition(":")
        if event.subject.startswith(_CONSUMER) and event.type in ("continuation.fired", "continuation.expired"):
            self._begin_delivery(event.subject.removeprefix(_CONSUMER))
        elif kind in ("task", "group") and (chat_id := self._of_task.get(rest)) is not None:
            self._begin_progress(chat_id)
        elif kind == "proposal" and (chat_id := self._of_card.get(rest)) is not None:
            self._spawn(self._settle(chat_id, rest), f"card {rest}")

    def _begin_delivery(self, chat_id: str, *, look_at_cards: bool = False) -> None:
        self._news.add(chat_id)
        if chat_id not in self._delivering:
            self._delivering.add(chat_id)
            self._spawn(self._deliver_safely(chat_id, look_at_cards=look_at_cards), f"news for {chat_id}")

    async def _deliver_safely(self, chat_id: str, *, look_at_cards: bool) -> None:
        """Try until it was told; a chat that cannot be told keeps no other waiting."""
        tries = 0
        try:
            while chat_id in self._news:
                self._news.discard(chat_id)
                try:
                    if look_at_cards:
                        await self._with(chat_id, self.turns.look_at_cards)
                        look_at_cards = False
                    if await self._deliver(chat_id):
                        self._news.add(chat_id)
                    tries = 0
                except (DiamondError, OSError, TimeoutError) as problem:
                    self._log.warning("The chat %s could not be told: %s It is tried again.", chat_id, problem)
                    await asyncio.sleep(_AGAIN_S[min(tries, len(_AGAIN_S) - 1)])
                    tries += 1
                    self._news.add(chat_id)
        finally:
            self._delivering.discard(chat_id)

    async def _deliver(self, chat_id: str) -> bool:
        """Tell what is new; whether there may be more. What no chat can be told stays as it is."""
        consumers, consumer = self._desk.service.consumers, f"{CHANNEL}{chat_id}"
        page = await consumers.wait(consumer, limit=20)
        if not page.events:
            return False

        async def tell(chat: Conversation, memory: ChatMemory) -> None:
            for event in page.events:
                news = _read(event)
                if news is not None:
                    await self.turns.woken(chat, memory, news)
                await consumers.ack(consumer, event.seq)

        return await self._with(chat_id, tell)

    async def _settle(self, chat_id: str, proposal_id: str) -> None:
        """A plan was approved, denied or done, wherever that was said."""

        async def settle(chat: Conversation, memory: ChatMemory) -> None:
            await self.turns.settle(chat, memory, proposal_id)

        await self._with(chat_id, settle)

    async def _with(self, chat_id: str, what: Callable[[Conversation, ChatMemory], Awaitable[None]]) -> bool:
        """Open a chat of this server and do something in it, alone. False where there is no such chat here any more."""
        async with self._locks[chat_id]:
            state = await self.ledger.do(self.ledger.store.channels.get, f"{CHANNEL}{chat_id}")
            if state is None or state.root != str(self.bridge.root):
                return False
            async with self.bridge.opened(chat_id, state.path) as chat:
                memory = ChatMemory(self, chat_id, state)
                if chat is None:
                    await memory.gone(self.now())
                    self._log.warning("The chat %s is gone; what it was to be told stands in the sidebar.", state.path)
                    return False
                await memory.is_at(chat.path)
                await what(chat, memory)
                return True

    # ---- lines that are edited

    def _begin_progress(self, chat_id: str) -> None:
        if chat_id not in self._dirty:
            self._dirty.add(chat_id)
            self._spawn(self._progress(chat_id), f"progress in {chat_id}")

    async def _progress(self, chat_id: str) -> None:
        """Only where somebody may look: a closed chat is not opened for it."""
        await asyncio.sleep(_PROGRESS_S)
        self._dirty.discard(chat_id)
        chat = self.bridge.live(chat_id)
        if chat is None:
            return
        async with self._locks[chat_id]:
            await self.turns.progress(chat, await self._memory(chat))

    async def _moved(self, old: str, new: str) -> None:
        await self.ledger.do(self.ledger.store.channels.moved, str(self.bridge.root), old, new)

    def opened(self, chat_id: str) -> None:
        """A chat was opened: its lines may be old, and it may have been gone before."""
        if self._runs:
            self._begin_progress(chat_id)
            self._begin_delivery(chat_id)

    # ---- background work

    def _spawn(self, work: Any, name: str) -> None:
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(lambda done: self._done(done, name))

    def _done(self, task: asyncio.Task[None], name: str) -> None:
        self._work.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._log.error("Diamond's chat (%s): %s", name, fault, exc_info=fault)

    @staticmethod
    def now() -> Any:
        """The time."""
        return from_epoch(time.time())


def _read(event: Event) -> Waking | None:
    """None for what a newer version wrote."""
    try:
        return Waking.model_validate(event.data)
    except ValidationError:
        return None
