"""One daemon thread a kernel: waits for events of the server and keeps the followed tasks up to date.

It never holds up the kernel, sleeps while nothing is followed, and lives through an outage of the server with a
growing pause, during which the cards say since when the server has been silent.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from datetime import datetime, timezone

from jupyter_diamond.errors import DiamondError, NotFound, ResultUnavailable, ServerUnavailable
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Task

from .binding import ExpectedNames
from .client import DiamondClient
from .following import LOG_BYTES, Following
from .group_following import GroupFollowing
from .group_watcher import GroupWatcher
from .vocabulary import wall_clock

WAIT_S = 25.0
SOON_S = 0.3
HAND_IN_S = 0.05
PASSING = {"task.created", "decision.made", "attempt.submitting"}
"""What is followed by the scheduler's answer, mostly at once: shown only when that takes longer than ``SOON_S``."""
PAUSES_S = (0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two tries while the server is silent."""


class Watcher:
    """Follows tasks and groups of one kernel."""

    def __init__(self, client: DiamondClient) -> None:
        self._client = client
        self._groups = GroupWatcher(client)
        self._lock = threading.Condition()
        self._followed: dict[str, Following] = {}
        self._cursor = -1
        self._passing: list[Following] = []
        self._fresh = False
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self._silent_since: datetime | None = None

    def follow(self, task: Task, expected: ExpectedNames | None = None) -> Following:
        """Follow a task until it has ended; the same Following for the same task."""
        with self._lock:
            following = self._followed.get(task.id)
            if following is None:
                following = self._followed[task.id] = Following(self._client, task, expected)
            elif expected is not None:
                following.expect(expected)
            if self._cursor < 0 and not task.state.terminal:
                self._cursor = task.version  # what happened before is in the task itself
                self._fresh = task.state in (State.WAITING, State.SUBMITTING)
            self._run()
            missed = self._cursor > task.version
            self._lock.notify_all()
        if missed or task.state.terminal or (task.attempt is not None and task.attempt.result_ready):
            with suppress(ServerUnavailable):  # the thread tries again
                self._bring_up_to_date(following)
        return following

    def follow_group(self, group: Group) -> GroupFollowing:
        """Follow a group until it has ended; the same one for the same group."""
        with self._lock:
            following = self._groups.follow(group)
            if self._cursor < 0 and group.phase is not Phase.ENDED:
                self._cursor = group.version
            self._run()
            self._lock.notify_all()
        if following.group.version <= group.version:
            with suppress(ServerUnavailable):  # the thread tries again
                self._groups.bring_up_to_date(following)
        return following

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopped.set()
        with self._lock:
            self._lock.notify_all()

    def active(self) -> list[Following]:
        """What has not ended."""
        with self._lock:
            return [following for following in self._followed.values() if not following.ended.is_set()]

    # -- the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._watch, name="diamond-watcher", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            with self._lock:
                if not self.active() and not self._groups.active():
                    self._cursor = -1
                    self._lock.wait(timeout=60.0)
                    continue
            try:
                self._turn()
                failures = 0
                self._answered()
            except DiamondError as fault:
                self._silent(fault)
                self._stopped.wait(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
                failures += 1

    def _turn(self) -> None:
        """Wait for events and act on them."""
        if self._fresh or self._passing:
            # the server is busy handing the task in: asking now would only hold it up
            self._fresh = False
            self._stopped.wait(HAND_IN_S)
        soon = self._passing or self._groups.late
        wait_s = 0.0 if self._silent_since else SOON_S if soon else WAIT_S
        page = self._client.events(self._cursor, wait_s=wait_s)
        if self._silent_since is not None or page.cursor < self._cursor:
            # Events may have been missed, or the store is another one.
            self._cursor = page.cursor
            self._refresh_all()
            return
        self._act(page.events)
        self._cursor = page.cursor

    def _act(self, events: tuple[Event, ...]) -> None:
        """Results first: a value must be in the kernel before anything is drawn."""
        kinds: dict[str, set[str]] = {}
        for event in events:
            owner, _, task_id = event.subject.partition(":")
            if owner == "task":
                kinds.setdefault(task_id, set()).add(event.type)
        with self._lock:
            touched = [
                (self._followed[task_id], types) for task_id, types in kinds.items() if task_id in self._followed
            ]
        for following, types in touched:
            if "attempt.result_ready" in types:
                with following.turn:
                    self._fetch_result(following)
        passing = [following for following, types in touched if types <= PASSING]
        changed = [following for following, types in touched if not types <= PASSING]
        late, self._passing = [following for following in self._passing if following not in changed], passing
        for following in changed + late:
            self._bring_up_to_date(following)
        moved = {event.subject.removeprefix("transfer:") for event in events if event.subject.startswith("transfer:")}
        for following in self.active() if moved else ():
            self._look_at(following, moved)
        self._groups.act(events)

    def _refresh_all(self) -> None:
        for following in self.active():
            self._bring_up_to_date(following)
        self._groups.refresh_all()

    def _bring_up_to_date(self, following: Following) -> None:
        """Ask for the task's newest word, and for its result when it has one."""
        with following.turn:
            if not following.ended.is_set():
                self._ask(following)

    def _ask(self, following: Following) -> None:
        try:
            task = self._client.task(following.task.id)
        except NotFound as gone:
            following.take_no_result(ResultUnavailable(gone.message))
            self._end(following)
            return
        following.turn_to(task)
        refused = None
        if task.attempt and task.attempt.result_ready:
            refused = self._fetch_result(following, final=task.state.terminal)
        if task.state.terminal and not following.settled.is_set():
            following.take_no_result(refused or ResultUnavailable(_no_result(task)))
        if following.settled.is_set():
            self._last_log(following)
        self._learn_decision(following)
        following.take_task(task)
        self._look_at(following)
        if task.state.terminal:
            self._end(following)

    def _look_at(self, following: Following, moved: set[str] | None = None) -> None:
        """Ask for the transfers that a task waits for; of those that it knows of only what has ``moved``."""
        wanted = [each for each in following.moves() if not following.knows(each)]
        wanted = wanted if moved is None else [each for each in wanted if each in moved]
        found = []
        for each in wanted:
            with suppress(NotFound):  # pruned meanwhile
                found.append(self._client.transfer(each))
        if found:
            following.take_transfers(found)

    def _end(self, following: Following) -> None:
        """Only handles keep what has ended, so that a deleted handle frees its values."""
        following.take_end()
        with self._lock:
            self._followed.pop(following.task.id, None)

    def _fetch_result(self, following: Following, *, final: bool = False) -> ResultUnavailable | None:
        if following.settled.is_set():
            return None
        try:
            following.take_result(self._client.result(following.task.id), final=final)
        except ResultUnavailable as fault:
            return fault
        return None

    def _last_log(self, following: Following) -> None:
        """What the log holds beyond what was followed; the card's log must not lack its last lines."""
        with suppress(DiamondError):
            start = following.log_offset
            asked = {"limit": LOG_BYTES} if start else {"tail": LOG_BYTES}
            chunk = self._client.logs(following.task.id, start, **asked)
            following.take_log(start, chunk.text, chunk.next_offset)

    def _learn_decision(self, following: Following) -> None:
        if following.decision is None:
            with suppress(NotFound):
                following.decision = self._client.decision(following.task.id)

    # -- outages -----------------------------------------------------------------------------------------------

    def _silent(self, fault: DiamondError) -> None:
        now = datetime.now(timezone.utc)
        self._silent_since = self._silent_since or now
        said = f"The Jupyter server has not answered since {wall_clock(self._silent_since, now)}"
        why = "" if isinstance(fault, ServerUnavailable) and fault.transient else f" ({fault.message})"
        for following in self.active():
            following.take_outage(f"{said}{why}. The job itself is not affected; asking again.")
        self._groups.take_outage(f"{said}{why}. Its jobs are not affected; asking again.")

    def _answered(self) -> None:
        if self._silent_since is None:
            return
        self._silent_since = None
        for following in self.active():
            following.take_outage("")
        self._groups.take_outage("")


def _no_result(task: Task) -> str:
    if task.state is State.COMPLETED:
        return f"{task.name} ended well, but its receipt is not there. Look at its log: {task.name}.logs()."
    said = task.cause or f"It ended as {task.state.value}."
    return f"{task.name} returned nothing. {said} {task.next}".strip()


class LogFollower:
    """A thread that reads the logs that someone looks at, at most twice a second; it ends when nobody does."""

    FASTEST_S = 0.5
    SLOWEST_S = 2.0

    def __init__(self, client: DiamondClient, watcher: Watcher) -> None:
        self._client = client
        self._watcher = watcher
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Start reading if there is something to read, or soon will be."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._read, name="diamond-logs", daemon=True)
                self._thread.start()

    def _read(self) -> None:
        pace = self.FASTEST_S
        while followed := self._watcher.active():
            wanted = [following for following in followed if following.wants_log]
            news = [self._read_one(following) for following in wanted]
            pace = self.FASTEST_S if any(news) or not wanted else min(pace * 1.3, self.SLOWEST_S)
            time.sleep(max(pace, 0.05 * len(wanted)))

    def _read_one(self, following: Following) -> bool:
        start = following.log_offset
        asked = {"limit": LOG_BYTES} if start else {"tail": LOG_BYTES}
        try:
            chunk = self._client.logs(following.task.id, start, **asked)
        except DiamondError:  # the watcher says so on the card
            return False
        following.take_log(start, chunk.text, chunk.next_offset)
        return bool(chunk.text)
