"""The way to the store: one worker thread, so that SQLite never blocks the loop, and news for whoever waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event, EventType
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.store import Store
from jupyter_diamond.store.attempt_book import Change
from jupyter_diamond.store.bulk import uncollected

P = ParamSpec("P")
T = TypeVar("T")
Listener = Callable[[Event], None]

_PAGE = 500


Each = Callable[[Task], tuple[dict[str, Any], dict[str, Any]]]


def changed(task: Task, type_: EventType, data: dict[str, Any], changes: dict[str, Any]) -> Change:
    """A change of a task's newest attempt, with the event that says why."""
    attempt = task.attempt
    assert attempt is not None, "a task always has an attempt"
    if "state" in changes:
        data = {"state": State(changes["state"]).value, **data}
    told = {name: value[:1000] if isinstance(value, str) else value for name, value in data.items()}
    return Change(task.id, attempt.n, type_, told, changes)


class Ledger:
    """The store behind an executor of one thread, and its event log as something to wait for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="diamond-store")
        self._store: Store | None = None
        self._cursor = 0
        """The newest event that has been told; moved on the loop."""
        self._read = 0
        """The newest event that has been read; moved in the store's thread, so that none is told twice."""
        self._version = -1
        self._news = asyncio.Event()
        self._listeners: list[Listener] = []

    async def open(self) -> None:
        """Open the store, migrating it when needed. Raises StoreError."""
        self._store = await asyncio.get_running_loop().run_in_executor(self._thread, Store, self.path)
        self._cursor = self._read = await self.do(self.store.newest_event)
        self._version = await self.do(self.store.data_version)

    async def close(self) -> None:
        """Close the store and its thread."""
        if self._store is not None:
            await self.do(self._store.close)
            self._store = None
        self._thread.shutdown(wait=True)

    @property
    def store(self) -> Store:
        """The open store, for naming its methods; call them only through ``do``."""
        assert self._store is not None, "the ledger is not open"
        return self._store

    @property
    def newest(self) -> int:
        """The newest event that listeners were told of."""
        return self._cursor

    async def do(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a method of the store in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: method(*args, **kwargs))

    async def write(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a method that appends events, and tell whoever waits for them. One visit to the store's thread."""
        loop = asyncio.get_running_loop()

        def write_and_read() -> T:
            with uncollected():
                result = method(*args, **kwargs)
                self._read_news(loop)
            return result

        return await loop.run_in_executor(self._thread, write_and_read)

    async def update(self, task: Task, type_: EventType, data: dict[str, Any], **changes: Any) -> Task:
        """Change the newest attempt of a task together with the event that says why."""
        (now,) = await self.update_all((task,), type_, data, **changes)
        return now

    async def update_all(
        self, tasks: Sequence[Task], type_: EventType, data: dict[str, Any], *, each: Each | None = None, **changes: Any
    ) -> tuple[Task, ...]:
        """Change the newest attempts of tasks, all or none, each together with the event that says why.

        ``each`` gives what only one task's event says, and what only its attempt is changed to.
        """
        with uncollected():
            parts = [each(task) if each is not None else ({}, {}) for task in tasks]
            wanted = [
                changed(task, type_, {**data, **said}, {**changes, **own})
                for task, (said, own) in zip(tasks, parts, strict=True)
            ]
        return await self.change(wanted)

    async def change(self, wanted: Sequence[Change]) -> tuple[Task, ...]:
        """Make changes of attempts, all or none; their tasks, in the same order."""
        if not wanted:
            return ()
        return await self.write(self.store.attempts.update, wanted, at=from_epoch(time.time()))

    def listen(self, listener: Listener) -> None:
        """Call ``listener`` on the loop for every new event, whichever process wrote it."""
        self._listeners.append(listener)

    def tell(self, event: Event) -> None:
        """Give an event to the listeners without storing it (fresh readings of a site)."""
        for listener in self._listeners:
            listener(event)

    async def foreign_news(self) -> bool:
        """Look whether another process wrote; cheap enough to ask twice a second."""
        loop = asyncio.get_running_loop()

        def look() -> bool:
            version = self.store.data_version()
            if version == self._version:
                return False
            self._version = version
            return self._read_news(loop)

        return await loop.run_in_executor(self._thread, look)

    def _read_news(self, loop: asyncio.AbstractEventLoop) -> bool:
        """In the store's thread: hear what is new in the log, and have it told before the caller goes on.

        What this process has written is not read again; what others have, is.
        """
        found, events = False, self.store.told(self._read)
        while events or (events := self.store.events(self._read, _PAGE)):
            found = True
            self._read = events[-1].seq
            for at in range(0, len(events), _PAGE):
                loop.call_soon_threadsafe(self._tell_all, events[at : at + _PAGE])
            events = ()
        return found

    def _tell_all(self, events: tuple[Event, ...]) -> None:
        self._cursor = events[-1].seq
        for event in events:
            self.tell(event)
        self._news.set()
        self._news = asyncio.Event()

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there are events after ``after``, or when the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            news = self._news
            if self._cursor > after:
                return
            left = deadline - time.monotonic()
            if left <= 0:
                return
            try:
                await asyncio.wait_for(news.wait(), left)
            except asyncio.TimeoutError:
                return
