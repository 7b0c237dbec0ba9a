"""One task as this kernel follows it: its newest word, its result, its cards, and who waits for it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from jupyter_diamond.cell.result import load_value, remote_error, was_stopped
from jupyter_diamond.engine.heal.causes import of_error
from jupyter_diamond.errors import DiamondError, NotFound, ResultUnavailable
from jupyter_diamond.model.attempt_files import RESULT
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.manifest import Manifest, ResultFile
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.model.views import ResultView

from .binding import ExpectedNames
from .card import Card
from .card_view import CardView, KernelSide, card_view
from .client import DiamondClient
from .staging_view import moves_of
from .vocabulary import byte_size

LOG_BYTES = 32 * 1024


class Following:
    """Thread-safe. ``settled`` is set when the result is here or surely never comes, ``ended`` when nothing follows."""

    def __init__(self, client: DiamondClient, task: Task, expected: ExpectedNames | None = None) -> None:
        self._client = client
        self._lock = threading.RLock()
        self._drawing = threading.RLock()
        self.turn = threading.RLock()
        """Held while the task is brought up to date: one thread at a time fetches and judges its result."""
        self.task = task
        self._attempts = len(task.attempts)
        self.decision: Decision | None = None
        self.result: ResultView | None = None
        self.log = ""
        self.log_offset = 0
        self.log_readers = 0
        self._transfers: dict[str, Transfer] = {}
        self.outage = ""
        self._trouble = ""
        self.settled = threading.Event()
        self.ended = threading.Event()
        self._expected = expected
        self._values: dict[str, Any] = {}
        self._fault: DiamondError | None = None
        self._problems: dict[str, DiamondError] = {}
        self._fetching: tuple[str, ...] = ()
        self._cards: list[Card] = []
        self._waiting: list[Callable[[], None]] = []

    # -- what the watcher brings -------------------------------------------------------------------------------

    def take_task(self, task: Task) -> None:
        """A newer word about the task; older ones are passed over."""
        with self._lock:
            if task.version < self.task.version:
                return
            self.turn_to(task)
            self.task = task
            self.outage = self._trouble = ""  # the server has just answered
        self.redraw()

    def turn_to(self, task: Task) -> None:
        """Where another attempt has begun: it is another job, with a log and a place of its own."""
        with self._lock:
            if len(task.attempts) > self._attempts:
                self._attempts = len(task.attempts)
                self.log, self.log_offset, self.decision = "", 0, None

    def take_result(self, view: ResultView, *, final: bool = False) -> None:
        """Decode what came inline and bind it at once; larger values follow from a thread of their own.

        A failure that the task may go on after is passed over, unless it is ``final``: nothing follows.
        """
        with self._lock:
            if self.result is not None and self.result.attempt >= view.attempt:
                return
            if not final and _may_go_on(view.manifest):
                return
            self.result = view
            self.outage = ""
            stopped = was_stopped(view.manifest)
            if view.manifest.outcome == "FAILED" and not stopped:
                self._fault = remote_error(view.manifest)
            inline = {_path(name): content for name, content in view.inline.items()}
            large = [file for file in view.manifest.values if _path(file.file) not in inline]
            self._fetching = tuple(f"{file.name} ({byte_size(file.bytes)})" for file in large)
        for file in view.manifest.values:
            if _path(file.file) in inline:
                self._decode(file, base64.b64decode(inline[_path(file.file)]), view.key)
        for gone in view.manifest.missing:
            self._problems[gone.name] = ResultUnavailable(f"`{gone.name}` did not come back: {gone.why}")
        self.redraw()
        if not stopped:  # else the scheduler's word is still to come, and says why
            self._settle()
        if large and self._expected is not None:
            threading.Thread(target=self._fetch, args=(large, view), name="diamond-fetch", daemon=True).start()

    def take_no_result(self, why: DiamondError) -> None:
        """It ended, and there is nothing to fetch."""
        with self._lock:
            self._fault = self._fault or why
        self._settle()

    def take_end(self) -> None:
        """Nothing will follow; called when the cards have been folded for the last time."""
        self.ended.set()
        self._call_waiting()

    def take_log(self, after: int, text: str, next_offset: int) -> None:
        """More of the log, as asked for after an offset; what another thread has brought already is passed over."""
        with self._lock:
            if after != self.log_offset or not text:
                return
            self.log = (self.log + text)[-LOG_BYTES:]
            self.log_offset = next_offset
            for card in self._cards:
                card.add_log(self.log)

    def moves(self) -> tuple[str, ...]:
        """The transfers that it waits for now, by their ids."""
        with self._lock:
            return moves_of(self.task.attempt)

    def knows(self, transfer_id: str) -> bool:
        """Whether it was told of this transfer, and it has ended."""
        with self._lock:
            known = self._transfers.get(transfer_id)
            return known is not None and known.ended

    def take_transfers(self, found: list[Transfer]) -> None:
        """How far they are now."""
        with self._lock:
            self._transfers |= {each.id: each for each in found}
        self.redraw()

    def take_trouble(self, trouble: str) -> None:
        """Something that was asked for on a card did not work."""
        with self._lock:
            self._trouble = trouble
        self.redraw()

    def take_outage(self, outage: str) -> None:
        """The server does not answer (or does again: empty)."""
        with self._lock:
            if outage == self.outage:
                return
            self.outage = outage
        if not self.ended.is_set():
            self.redraw()

    def expect(self, expected: ExpectedNames) -> None:
        """Bind what comes back, when nothing was expected so far."""
        with self._lock:
            if self._expected is None and not self.settled.is_set():
                self._expected = expected

    # -- what handles ask --------------------------------------------------------------------------------------

    def value(self, name: str) -> Any:
        """One returned value; raises what kept it from coming back."""
        with self._lock:
            if name in self._values:
                return self._values[name]
            view, fault, problem = self.result, self._fault, self._problems.get(name)
        if view is not None and (problem is None or problem.transient):
            for file in view.manifest.values:
                if file.name == name:
                    return self._fetch_one(file, view)
        trouble = fault or problem
        if trouble is not None:
            raise trouble
        if view is None:
            raise ResultUnavailable(f"{self.task.name} has not returned anything yet.", transient=True)
        raise NotFound(
            f"{self.task.name} returned no `{name}`; it returned {', '.join(self.names()) or 'nothing'}. "
            f"Name it in --out."
        )

    def names(self) -> tuple[str, ...]:
        """What the cell was asked to return."""
        return self.task.outputs

    def fault(self) -> DiamondError | None:
        """Why there is no result; RemoteError when the user's own code raised."""
        with self._lock:
            return self._fault

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call once, from any thread, at the next settling or ending."""
        with self._lock:
            self._waiting.append(callback)

    # -- cards -------------------------------------------------------------------------------------------------

    def add_card(self, card: Card) -> None:
        """Keep a card fresh from now on."""
        with self._lock:
            self._cards.append(card)
            if self.log:
                card.add_log(self.log)

    @property
    def has_slots(self) -> bool:
        """True when the outputs will stand below a card of this kernel."""
        with self._lock:
            return any(card.slots for card in self._cards)

    @property
    def wants_log(self) -> bool:
        """True while someone looks at the log of a job that may still write."""
        with self._lock:
            running = self.task.state in (State.RUNNING, State.SUSPENDED, State.COMPLETING)
            return running and not self.settled.is_set() and bool(self._cards or self.log_readers)

    def view(self) -> CardView:
        """What a card shows now."""
        with self._lock:
            expected = self._expected
            here = KernelSide(
                result_here=self.result is not None,
                outage=self.outage or self._trouble,
                bound=expected.bound if expected else (),
                note=self._note(),
                transfers=dict(self._transfers),
            )
            return card_view(self.task, now=datetime.now(timezone.utc), decision=self.decision, here=here)

    def redraw(self) -> None:
        """Show the newest word on every card; fold them once the result is here or the task has ended."""
        with self._drawing:  # else an older view could be drawn over a newer one
            view = self.view()
            over = self.result is not None or self.settled.is_set()
            outputs = self.result.outputs if self.result is not None else ()
            with self._lock:
                cards = list(self._cards)
            for card in cards:
                if over:
                    card.fold(view, outputs)
                else:
                    card.refresh(view)

    def _note(self) -> str:
        parts = []
        if self._expected and self._expected.kept:
            name = self._expected.kept[0]
            names = ", ".join(f"`{kept}`" for kept in self._expected.kept)
            parts.append(f"kept your newer {names}; the returned one is {self.task.name}.result({name!r}).")
        if self._fetching:
            parts.append(f"fetching {', '.join(self._fetching)}.")
        said = [problem.message for problem in self._problems.values()]
        parts += [text if text.endswith(".") else f"{text}." for text in said]
        if isinstance(self._fault, ResultUnavailable) and self.task.state is State.COMPLETED:
            parts.append(self._fault.message)
        if self.result is not None and self.result.manifest.outputs_truncated:
            parts.append("The cell's output was too long and is cut; the log has all of it.")
        return " ".join(parts)

    # -- values ------------------------------------------------------------------------------------------------

    def _decode(self, file: ResultFile, data: bytes, key: str) -> None:
        try:
            value = load_value(file, data, key)
        except DiamondError as fault:
            self._problems[file.name] = fault
            return
        with self._lock:
            self._values[file.name] = value
            self._problems.pop(file.name, None)
        if self._expected is not None:
            self._expected.bind(file.name, value)

    def _fetch_one(self, file: ResultFile, view: ResultView) -> Any:
        self._decode(file, self._client.file(view.task_id, _path(file.file)), view.key)
        with self._lock:
            if file.name in self._values:
                return self._values[file.name]
            raise self._problems[file.name]

    def _fetch(self, files: list[ResultFile], view: ResultView) -> None:
        """Bring the values that were too large to come with the receipt."""
        for file in files:
            self._try_fetch(file, view)
        with self._lock:
            self._fetching = ()
        self.redraw()

    def _try_fetch(self, file: ResultFile, view: ResultView) -> None:
        try:
            self._fetch_one(file, view)
        except DiamondError as fault:
            self._problems[file.name] = fault

    def _settle(self) -> None:
        self.settled.set()
        self._call_waiting()

    def _call_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


def _may_go_on(manifest: Manifest) -> bool:
    """The cell was ended from outside, or by something that another attempt may mend, or left off to be continued."""
    error = manifest.error
    if error is None:
        return manifest.outcome == "FAILED" and not manifest.missing
    return was_stopped(manifest) or of_error(error).failure != "app_args"


def _path(name: str) -> str:
    """A result file's path in its attempt's folder."""
    return name if name.startswith(f"{RESULT}/") else f"{RESULT}/{name}"
