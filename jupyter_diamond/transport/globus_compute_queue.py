"""Commands on their way to one endpoint: those that wait together travel together.

An agent on a login node has one worker, and the service counts requests: so at most two tasks are out at a time, one
that runs and one behind it, and whatever comes meanwhile is carried by the next one, to run side by side.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jupyter_diamond.errors import GlobusProblem, TransportError

from .globus_compute_endpoint import Endpoint
from .globus_compute_tasks import ComputeTasks, Open
from .globus_compute_wire import ORDER_BYTES, SCRIPTS, FarAnswer, FarAnswers, Piece, Script, order

_OUT = 2
_GATHER_S = 0.02
"""What is asked for at the same instant comes within this time."""
_OVERDUE_S = 20.0
"""A task that is out for so much longer than its scripts may take keeps no other from going out."""
_LOOK_S, _LOOK_AGAIN_S = 8.0, 20.0
"""When an endpoint is asked for that has not taken a task: waking up takes it some seconds."""
_NOT_TAKEN = ("received", "waiting-for-ep")
_ROUND_TRIP_S = 15.0
_SMALL_BYTES = 256 << 10
"""Packing it takes less time than a way to another thread and back."""


@dataclass(eq=False)
class Command:
    """A script, or a piece of an upload, that waits for its answer until ``ends_at`` by the monotonic clock."""

    what: Script | Piece
    packed: dict[str, Any]
    start_by: float
    """When it must have begun at the site, so that its answer comes in time."""
    ends_at: float
    sent: bool = False
    answer: asyncio.Future[FarAnswer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def size(self) -> int:
        """How much of an order it takes."""
        return sum(len(part) for part in self.packed.values() if isinstance(part, str))


class CommandQueue:
    """The commands of one site. ``env`` and ``folder`` are the site's own."""

    def __init__(self, tasks: ComputeTasks, endpoint: Endpoint, *, env: dict[str, str], folder: str) -> None:
        self._tasks, self._endpoint = tasks, endpoint
        self._env, self._folder = env, folder
        self._waiting: list[Command] = []
        self._overdue_at: dict[asyncio.Task[None], float] = {}
        self._room = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    async def carry(self, what: Script | Piece, *, answer_s: float) -> FarAnswer:
        """Bring it to the site and its answer back, within ``answer_s`` beyond its own time. Raises TransportError."""
        packed = what.packed() if what.size <= _SMALL_BYTES else await asyncio.to_thread(what.packed)
        begun = time.monotonic()
        within_s = what.timeout_s + answer_s
        start_by = begun + answer_s - min(_ROUND_TRIP_S, answer_s / 4)
        command = Command(what, packed, start_by=start_by, ends_at=begun + within_s)
        self._waiting.append(command)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name=f"diamond-globus-{self._endpoint.where}")
        try:
            return await asyncio.wait_for(command.answer, within_s)
        except asyncio.TimeoutError:
            self._endpoint.doubt()
            if command.sent:
                raise self._endpoint.lost(time.monotonic() - begun) from None
            raise TransportError(
                f"{self._endpoint.where} was busy with other commands of ours for {within_s:.0f} s; nothing was sent.",
                outcome="not_sent",
            ) from None
        finally:
            if command in self._waiting:
                self._waiting.remove(command)

    async def close(self) -> None:
        """Send no more, and wait for nothing; what is out goes on at the site."""
        mine = [*self._overdue_at, *([self._sending] if self._sending is not None else [])]
        for task in mine:
            task.cancel()
        if mine:
            await asyncio.wait(mine)

    async def _send(self) -> None:
        while self._waiting:
            await asyncio.sleep(_GATHER_S)
            while (wait := self._until_room()) > 0:
                self._room.clear()
                try:
                    await asyncio.wait_for(self._room.wait(), wait)
                except asyncio.TimeoutError:
                    continue
            commands = self._take()
            if commands:
                out = asyncio.create_task(self._out(commands), name=f"diamond-globus-{self._endpoint.where}-task")
                longest = max(command.what.timeout_s for command in commands)
                self._overdue_at[out] = time.monotonic() + longest + _OVERDUE_S
                out.add_done_callback(self._back)

    def _until_room(self) -> float:
        """How long until one more task may go out, unless one comes back before."""
        now = time.monotonic()
        out = sorted(at for at in self._overdue_at.values() if at > now)
        return out[-_OUT] - now if len(out) >= _OUT else 0.0

    def _back(self, task: asyncio.Task[None]) -> None:
        del self._overdue_at[task]
        self._room.set()
        if not task.cancelled() and (defect := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler({"message": "a task of ours failed", "exception": defect})

    def _take(self) -> list[Command]:
        """As many as one task may carry, in turn."""
        taken: list[Command] = []
        room = ORDER_BYTES
        while self._waiting and len(taken) < SCRIPTS and (not taken or self._waiting[0].size <= room):
            command = self._waiting.pop(0)
            if not command.answer.done():
                taken.append(command)
                room -= command.size
        return taken

    async def _out(self, commands: Sequence[Command]) -> None:
        """One task from its submission to its answers."""
        try:
            answers = await self._answers(commands)
        except TransportError as error:
            _give_up(commands, error)
            return
        except BaseException:
            _give_up(commands, self._endpoint.lost(0.0))
            raise
        for command, answer in zip(commands, answers, strict=True):
            if not command.answer.done():
                command.answer.set_result(answer)

    async def _answers(self, commands: Sequence[Command]) -> Sequence[FarAnswer]:
        while True:
            await self._endpoint.check()
            sent_at = time.time()
            task = await self._submit(commands)
            try:
                found = await self._heard(task, commands)
            except GlobusProblem as problem:
                self._endpoint.doubt()
                raise self._endpoint.error(problem, sent=True) from problem
            finally:
                self._tasks.forget(task)
            self._endpoint.clock.note(sent_at=sent_at, heard_at=time.time(), far=found.now)
            self._endpoint.answered()
            if found.late and time.monotonic() < min(command.start_by for command in commands):
                continue  # it was not late: the site's clock is ahead, and now we know by how much
            if found.late:
                raise self._endpoint.late()
            if len(found.answers) != len(commands):
                raise self._endpoint.error(_miscounted(len(commands), len(found.answers)))
            return found.answers

    async def _submit(self, commands: Sequence[Command]) -> Open:
        start_by = min(command.start_by for command in commands) - time.monotonic()
        body = order(
            [command.packed for command in commands],
            env=self._env,
            folder=self._folder,
            start_by=self._endpoint.clock.there(time.time() + start_by),
        )
        for command in commands:
            command.sent = True
        try:
            return await self._tasks.submit(self._endpoint.id, body, doing=self._endpoint.doing)
        except GlobusProblem as problem:
            raise self._endpoint.error(problem) from problem

    async def _heard(self, task: Open, commands: Sequence[Command]) -> FarAnswers:
        """The answer, if it comes in time. An endpoint that has not taken it is looked at meanwhile."""
        ends_at = max(command.ends_at for command in commands)
        look_at = time.monotonic() + _LOOK_S
        while True:
            now = time.monotonic()
            if now >= ends_at:
                self._endpoint.doubt()
                raise self._endpoint.lost(now - task.begun)
            await asyncio.wait({task.heard}, timeout=max(0.0, min(look_at, ends_at) - now))
            if task.heard.done():
                return task.heard.result()
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_AGAIN_S
                if task.status in _NOT_TAKEN and await self._surely_away():
                    raise self._endpoint.offline(outcome="unknown")

    async def _surely_away(self) -> bool:
        try:
            await self._endpoint.check(anew=True)
        except TransportError:
            return self._endpoint.away
        return False


def _give_up(commands: Sequence[Command], error: TransportError) -> None:
    for command in commands:
        if not command.answer.done():
            command.answer.set_exception(error)
            command.answer.exception()  # whoever waited may be gone


def _miscounted(asked: int, came: int) -> GlobusProblem:
    return GlobusProblem(
        f"The endpoint gave {came} answers to {asked} commands, so none of them is believed.",
        outcome="failed", sent=True,
    )  # fmt: skip
