"""The object that a submitted cell leaves in the notebook."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NoReturn

from jupyter_diamond.errors import CaptureRefused, DiamondError, InvalidRequest, ResultTimeout
from jupyter_diamond.model.receipt import Crate
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task

from .card import Card
from .card_text import plain, printable, static_bundle
from .charge_text import TaskCharge
from .conditions import condition
from .consumers import Callback
from .explanation import Explanation
from .receipt_text import Manifest
from .session import Session
from .task_files import Files, export_folder, fetched
from .text import Text
from .timeline import every_event, story
from .verdict_text import Verdict, shown

FOLLOW_S = 0.5
LOG_BYTES = 1 << 20


class TaskHandle:
    """One task: ``result()``, ``wait()``, ``logs()``, ``cancel()``, ``replan()``, ``hold()``, ``release()``,
    ``explain()``, ``timeline()``, ``manifest``, ``files``, ``fetch()``, ``export()``, ``state``, ``await``.

    It can be made again at any time, also after a kernel restart: ``diamond.task("fit")``.
    """

    def __init__(self, session: Session, task: Task) -> None:
        self._session = session
        self._following = session.follow(task)

    # -- what it is --------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name it was submitted under."""
        return self._following.task.name

    @property
    def id(self) -> str:
        """The task's own id."""
        return self._following.task.id

    @property
    def task(self) -> Task:
        """Everything that is known about it, asked for now unless it has ended."""
        if not self._following.ended.is_set():
            self._following.take_task(self._session.client.task(self.id))
        return self._following.task

    @property
    def state(self) -> State:
        """Its state now."""
        return self.task.state

    @property
    def charge(self) -> TaskCharge:
        """What it is charged now: ``predicted``, ``reserved``, ``actual`` and their ``unit``; shown as a sentence."""
        return TaskCharge(self.task)

    @property
    def verdict(self) -> Verdict:
        """Whether it did what was asked: accepted, started, log, outputs, size, end, each with the evidence; a text.

        ``.correct`` is "yes", "no" or "unknown"; its log, receipt and accounting are read now.
        """
        return shown(self._session.client.verdict(self.id))

    # -- waiting and results -----------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; False when ``timeout`` seconds have passed before that."""
        return self._following.ended.wait(timeout)

    def result(self, name: str | None = None, timeout: float | None = None) -> Any:
        """What it returned: one value when it was asked for one, else a dict of all; waits for it.

        :raises RemoteError: the cell raised; shows its own lines.
        :raises ResultUnavailable: it ended without a result, or a value could not travel back.
        :raises ResultTimeout: (a TimeoutError) ``timeout`` seconds have passed; the task goes on.
        """
        if not self._following.settled.wait(timeout):
            raise ResultTimeout(
                f"{self.name} has not returned anything after {timeout:g} s; it goes on. Ask again with a longer "
                f"timeout, or see {self.name}.state."
            )
        return self._value(name)

    def _value(self, name: str | None) -> Any:
        if name is not None:
            return self._following.value(name)
        fault = self._following.fault()
        if fault is not None:
            raise fault
        names = self._following.names()
        if len(names) == 1:
            return self._following.value(names[0])
        return {each: self._following.value(each) for each in names}

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    async def _awaited(self) -> Any:
        """Wait without holding up the kernel's event loop."""
        loop = asyncio.get_running_loop()
        settled = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has been closed meanwhile: nobody waits any more
                loop.call_soon_threadsafe(settled.set)

        self._following.on_change(wake)
        while not self._following.settled.is_set():
            with suppress(asyncio.TimeoutError):  # the stop button is seen only when the loop turns
                await asyncio.wait_for(settled.wait(), FOLLOW_S)
        return await asyncio.to_thread(self._value, None)

    # -- being woken -------------------------------------------------------------------------------------------

    def on_end(self, callback: Callback | None = None, *, consumer: str | None = None) -> None:
        """Call ``callback(news)`` between two cells when it has ended, at once when it has; also after a restart.

        ``consumer`` is a name under which any kernel may hear it, or ``"webhook"``; by default this notebook's.
        """
        self._session.consumers.on(f"task:{self.id}", condition("ended"), callback, consumer=consumer)

    def on(
        self,
        what: str,
        *rest: Any,
        running: str | float | None = None,
        waiting: str | float | None = None,
        consumer: str | None = None,
    ) -> None:
        """``on("milestone", "epoch 10", f)``, ``on("overrun", f, running="2h")``; running, failed, ended, trouble.

        :raises InvalidRequest: there is nothing of that name to wait for.
        """
        patterns = tuple(each for each in rest if isinstance(each, str))
        callbacks = tuple(each for each in rest if callable(each))
        if len(patterns) > 1 or len(callbacks) > 1 or len(patterns) + len(callbacks) < len(rest):
            raise InvalidRequest('Write it as on("milestone", "a pattern", f) or on("running", f).')
        wanted = condition(what, *patterns, running=running, waiting=waiting)
        self._session.consumers.on(f"task:{self.id}", wanted, callbacks[0] if callbacks else None, consumer=consumer)

    # -- log, cancel, explain ----------------------------------------------------------------------------------

    def logs(self, *, follow: bool = False, tail: int | None = None) -> Text | None:
        """The job's log; ``tail`` gives its last lines; ``follow`` prints it live until the task ends."""
        if follow:
            self._follow_logs()
            return None
        chunk = self._session.client.logs(self.id, tail=LOG_BYTES)
        text = printable(chunk.text)
        if tail is not None:
            text = "\n".join(text.rstrip("\n").split("\n")[-tail:]) if tail > 0 else ""
        if chunk.offset > 0 and tail is None:
            text = f"… {chunk.offset} bytes before; the whole log lies in the task's folder at its site.\n{text}"
        return Text(text)

    def _follow_logs(self) -> None:
        offset = 0
        while True:
            over = self._following.settled.is_set()
            chunk = self._session.client.logs(self.id, offset)
            if chunk.text:
                print(printable(chunk.text), end="", flush=True)  # noqa: T201 - printing is what was asked for
            more = chunk.next_offset > offset
            offset = chunk.next_offset
            if over and not more:
                return
            if not more:
                self._following.settled.wait(FOLLOW_S)
            else:
                time.sleep(0 if over else FOLLOW_S / 5)

    def cancel(self) -> TaskHandle:
        """Ask its site to end it. Returns at once; the state says ``cancelled`` when the site does."""
        self._following.take_task(self._session.client.cancel(self.id))
        return self

    def replan(self, *, unpin: bool = False) -> TaskHandle:
        """Plan it anew while it waits; ``unpin``: not bound any more to the place that you had named.

        :raises Conflict: it has started.
        :raises Infeasible: no place can take it; it stays where it is.
        """
        self._following.take_task(self._session.client.replan(self.id, unpin=unpin))
        return self

    def hold(self) -> TaskHandle:
        """Submit nothing of it until ``release()``; a job of it that waits is taken back.

        :raises Conflict: it has started.
        """
        self._following.take_task(self._session.client.hold(self.id))
        return self

    def release(self) -> TaskHandle:
        """Let it go on after ``hold()``."""
        self._following.take_task(self._session.client.release(self.id))
        return self

    def timeline(self) -> Text:
        """Its attempts with the reason for each, and what happened, oldest first."""
        client = self._session.client
        return Text(story(client.task(self.id), every_event(client, self.id), datetime.now(timezone.utc)))

    # -- what it left ------------------------------------------------------------------------------------------

    @property
    def manifest(self) -> Manifest:
        """Its receipt, read now: where it ran, how it ended, what it took, what it left, and what can be done next."""
        return self.receipt()

    def receipt(self, attempt: int | None = None) -> Manifest:
        """The receipt of an attempt by its number; of the newest by default."""
        return Manifest(self._session.client.receipt(self.id, attempt))

    @property
    def files(self) -> Files:
        """The files that it left and ``--stage-out`` names, its values and its log: a list that shows as a table."""
        return Files([self._session.client.files(self.id)])

    def fetch(self, *patterns: str, to: str | Path | None = None, attempt: int | None = None) -> list[Path]:
        """Bring the files that patterns name, ``fit.fetch("ckpt/*.pt")``, to ``to`` (a folder of its name); all of them
        without a pattern. What is here already with that digest is not sent again.

        :raises NotFound: no file is named by them.
        :raises ResultUnavailable: a file has been changed at its site since its receipt was written.
        """
        found = Files([self._session.client.files(self.id, attempt)])
        return fetched(self._session, found, patterns, Path(to or self.name).expanduser())

    def export(self, folder: str | Path | None = None, *, copy: int | None = None) -> Crate:
        """Write what is known of it, and its smaller files, as an RO-Crate that other people and programs can read.

        ``copy``: files up to so many bytes are copied into it; larger ones are named with their digests.
        """
        to = export_folder(self.name, folder)
        return self._session.client.crate(self.id, to, copy_bytes=copy)

    def explain(self) -> Explanation:
        """Why it went where it went: the decision that was stored when it was sent, not a new one.

        It is a text; a notebook shows it with a table of all candidates, and ``.table()`` gives a DataFrame of them.
        """
        return Explanation(self._session.client.decision(self.id))

    # -- how it shows ------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Put a live card below the running cell, with places for the cell's outputs unless a card has them already."""
        card = Card(
            self._session.publisher,
            self._following.view(),
            slots=not self._following.has_slots,
            acts={"cancel": self._cancel_from_card},
        )
        card.show(alive=not self._following.ended.is_set())
        self._following.add_card(card)
        if self._following.settled.is_set():
            self._following.redraw()
        self._session.logs.wake()

    def _cancel_from_card(self) -> None:
        try:
            self.cancel()
        except DiamondError as fault:
            self._following.take_trouble(f"Not cancelled: {fault.message}")

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ARG002
        return static_bundle(self._following.view(), self._following.log)

    def __repr__(self) -> str:
        return plain(self._following.view())

    def __reduce__(self) -> NoReturn:
        """A handle speaks with this kernel's server, so it cannot travel with a cell; what it returned can."""
        raise CaptureRefused(
            f"`{self.name}` is a task's handle, which lives in this kernel. Take what it returned in a cell before: "
            f"value = {self.name}.result()."
        )
