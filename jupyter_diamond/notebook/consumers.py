"""Callbacks for what happens to tasks: one thread a consumer hears its news, the kernel's main thread calls back.

News are acknowledged when every callback for them has returned, in their order; so a kernel that dies in between, or
that has no callback yet for something, hears it again when it is there.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

from jupyter_diamond.errors import DiamondError, InvalidRequest
from jupyter_diamond.model.continuation import WEBHOOK, Condition, Continuation, Registration, Waking
from jupyter_diamond.model.event import Event

from .client import DiamondClient

Callback = Callable[[Waking], object]
WAIT_S = 25.0
PAUSES_S = (0.3, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two tries while the server is silent."""


class Consumers:
    """The consumers of one kernel, by name."""

    def __init__(self, client: DiamondClient, shell: Any | None) -> None:
        self._client, self._shell = client, shell
        self._lock = threading.Lock()
        self._consumers: dict[str, Consumer] = {}

    def on(self, subject: str, condition: Condition, callback: Callback | None, *, consumer: str | None) -> None:
        """Call back once, when that happens to ``task:ID`` or ``group:ID``. The same line again: the newer callback."""
        name = consumer or own_name(os.environ)
        if callback is None and consumer is None:
            raise InvalidRequest("Say whom to call: on_end(f), or consumer=… for one that asks for its news itself.")
        if callback is not None and name == WEBHOOK:
            raise InvalidRequest("The consumer webhook is told by a POST; leave the callback out.")
        if callback is None:
            self._client.register(_asked(subject, condition, name))
        else:
            listening = self.named(name)
            listening.attach(self._registered(subject, condition, listening).id, callback)

    def on_rest(self, callback: Callback, *, consumer: str | None) -> None:
        """Call back for all news of a consumer that no other callback is for."""
        self.named(consumer or own_name(os.environ)).attach(None, callback)

    def named(self, name: str) -> Consumer:
        """A consumer, listened to from now on."""
        with self._lock:
            known = self._consumers.get(name)
            if known is None:
                known = self._consumers[name] = Consumer(self._client, name, self._shell)
            return known

    def stop(self) -> None:
        """Listen no more."""
        with self._lock:
            for each in self._consumers.values():
                each.stop()

    def _registered(self, subject: str, condition: Condition, consumer: Consumer) -> Continuation:
        """The continuation that this line means: it may have been registered, and told of, before this kernel was."""
        asked = _asked(subject, condition, consumer.name)
        answer = self._client.register(asked)
        found = answer.continuation
        told = found.event is not None and found.event > answer.cursor and not consumer.was_heard(found.id)
        if found.over is None or told:
            return found
        return self._client.register(asked.model_copy(update={"id": uuid4().hex})).continuation


def _asked(subject: str, condition: Condition, consumer: str) -> Registration:
    """The same line asks for the same continuation, in any kernel."""
    what = f"{consumer}|{subject.removeprefix('task:')}|{condition.model_dump_json()}"
    return Registration(
        id=hashlib.sha256(what.encode()).hexdigest()[:32], subject=subject, condition=condition,
        consumer=consumer,
    )  # fmt: skip


class Consumer:
    """One name's news. ``attach`` may be called from any thread; callbacks run in the kernel's main thread."""

    def __init__(self, client: DiamondClient, name: str, shell: Any | None) -> None:
        self.name = name
        self._client, self._shell = client, shell
        self._lock = threading.RLock()
        self._callbacks: dict[str | None, dict[str, Callback]] = {}
        self._received: dict[int, Event] = {}
        """What was not acknowledged, by number; in order."""
        self._called: set[int] = set()
        self._done: set[int] = set()
        self._heard: set[str] = set()
        self._after: int | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._listen, name=f"diamond-news-{name}", daemon=True)
        self._thread.start()

    def attach(self, continuation_id: str | None, callback: Callback) -> None:
        """Call back for one continuation, or (None) for whatever has no callback of its own; also what was missed."""
        with self._lock:
            self._callbacks.setdefault(continuation_id, {})[_identity(callback)] = callback
        self._dispatch()

    def was_heard(self, continuation_id: str) -> bool:
        """This kernel has called back for it already."""
        with self._lock:
            return continuation_id in self._heard

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()

    # ---- the thread

    def _listen(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            try:
                page = self._client.wait_for_news(self.name, self._after, wait_s=WAIT_S)
            except DiamondError:
                self._stopped.wait(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
                failures += 1
                continue
            failures = 0
            with self._lock:
                self._received.update((event.seq, event) for event in page.events)
                self._after = page.cursor
            self._dispatch()

    def _dispatch(self) -> None:
        """Hand what has a callback to the main thread, once."""
        with self._lock:
            ready = [event for event in self._received.values() if event.seq not in self._called and self._for(event)]
            self._called.update(event.seq for event in ready)
        for event in ready:
            self._call_soon(partial(self._call, event))

    def _for(self, event: Event) -> Mapping[str, Callback]:
        return self._callbacks.get(event.data.get("continuation")) or self._callbacks.get(None) or {}

    def _call_soon(self, act: Callable[[], None]) -> None:
        """In the kernel's main thread between two cells; in a plain script in this thread."""
        loop = getattr(getattr(self._shell, "kernel", None), "io_loop", None)
        if loop is None:
            act()
        else:
            loop.add_callback(act)

    def _call(self, event: Event) -> None:
        news = Waking.model_validate(event.data)
        with self._lock:
            callbacks = tuple(self._for(event).values())
            self._callbacks.pop(news.continuation, None)
            self._heard.add(news.continuation)
        for callback in callbacks:
            try:
                callback(news)
            except Exception:  # noqa: BLE001, PERF203 - the user's own code: its error is shown, and is no reason to call again
                self._show_error()
        self._acknowledge(event.seq)

    def _show_error(self) -> None:
        if self._shell is not None:
            self._shell.showtraceback()
        else:
            traceback.print_exc(file=sys.stderr)

    def _acknowledge(self, seq: int) -> None:
        """Move the cursor over all that was called for, up to the first that was not."""
        with self._lock:
            self._done.add(seq)
            reached = None
            for each in sorted(self._received):
                if each not in self._done:
                    break
                reached = each
                del self._received[each]
                self._done.discard(each)
        if reached is not None:
            threading.Thread(target=self._tell, args=(reached,), name="diamond-acknowledge", daemon=True).start()

    def _tell(self, seq: int) -> None:
        """Off the main thread: an outage must not hold up the user's next cell. Untold, it is heard again later."""
        with suppress(DiamondError):
            self._client.acknowledge(self.name, seq)


def own_name(env: Mapping[str, str]) -> str:
    """This notebook's consumer: the same after a restart of its kernel. A script's is its process's."""
    path = env.get("JPY_SESSION_NAME", "")
    if path:
        return f"notebook-{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    host = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
    return f"process-{host}-{os.getpid()}"


def _identity(callback: Callback) -> str:
    """The same function defined anew is the same callback; a lambda is where it is written."""
    name = getattr(callback, "__qualname__", "") or type(callback).__qualname__
    code = getattr(callback, "__code__", None)
    return f"{name}:{code.co_filename}:{code.co_firstlineno}" if code is not None and "<lambda>" in name else name
