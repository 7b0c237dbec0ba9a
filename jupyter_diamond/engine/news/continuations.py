"""Wakes who waits for something to happen: it listens to the ledger, looks into logs, and knows the time.

What is waited for is judged by what is stored: so whatever happened while no server listened is found when one does.
Only the server that advances work tells anybody; telling is one transaction with noting that it was told.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.news.conditions import Match, due, match
from jupyter_diamond.engine.news.groups import first_failed, group_end, group_news, group_waking, match_group
from jupyter_diamond.engine.news.log_ear import MOST_HEARD, LogEar
from jupyter_diamond.engine.news.waking import as_data, waking
from jupyter_diamond.engine.pace import rest
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.errors import DiamondError, TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.continuation import AttemptFailed, Continuation, Milestone, Over, Waking
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.parsing.patterns import Pattern

_AGAIN_S = 30.0
"""After a site did not give the end of a log, or the store did not answer."""
_HEARD_S = 0.2
"""What a log grows by within this time is searched at once."""
_PIECE = 4 << 20
_LONGEST_PAUSE_S = 60.0
_MOST_EVENTS = 1000


@dataclass
class _Subject:
    """A task that somebody waits for."""

    waiting: dict[str, Continuation] = field(default_factory=dict)
    patterns: dict[str, Pattern] = field(default_factory=dict)
    ears: dict[int, LogEar] = field(default_factory=dict)
    """By attempt; of one whose log was searched to its end, None is kept in ``read``."""
    read: set[int] = field(default_factory=set)
    found: dict[str, Match] = field(default_factory=dict)
    look_at: float | None = 0.0
    """When to look again by the clock, in seconds since 1970; None: only when something happens."""
    looking: asyncio.Task[None] | None = None


class Continuations:
    """All that waits, by task. ``run`` works until cancelled; it is run by the holder of the lease alone."""

    def __init__(
        self,
        ledger: Ledger,
        links: SiteLinks,
        log: logging.Logger,
        *,
        holds: Callable[[], Awaitable[bool]],
        watched: Callable[[str], Watched | None],
    ) -> None:
        self._ledger, self._links, self._log = ledger, links, log
        self._holds, self._watched = holds, watched
        self._subjects: dict[str, _Subject] = {}
        self._registered: set[str] = set()
        self._runs = False
        self._wake = asyncio.Event()
        ledger.listen(self._hear)

    async def run(self) -> None:
        """Take up what waits, and wake whom it concerns, until cancelled."""
        self._subjects, self._registered, self._runs = {}, set(), True
        try:
            for each in await self._ledger.do(self._ledger.store.continuations.waiting):
                self._take_up(each)
            while True:
                self._wake.clear()
                await self._meet()
                self._begin_looks()
                await rest(self._wake, self._pause())
        finally:
            self._runs = False
            looking = [subject.looking for subject in self._subjects.values() if subject.looking is not None]
            for look in looking:
                look.cancel()
            await asyncio.gather(*looking, return_exceptions=True)

    def _hear(self, event: Event) -> None:
        """On the loop, for every new event of whichever server."""
        if not self._runs:
            return
        if event.type == "continuation.registered":
            self._registered.add(str(event.data["continuation"]))
        elif event.type == "continuation.withdrawn":
            self._forget(str(event.data["subject"]), str(event.data["continuation"]))
        elif (subject := self._subjects.get(event.subject)) is not None:
            subject.look_at = 0.0
        elif event.type == "attempt.terminal" and (of_group := self._subjects.get(group_of(event.subject))) is not None:
            of_group.look_at = _earliest(of_group.look_at, time.time() + _HEARD_S)
        else:
            return
        self._wake.set()

    def _take_up(self, wanted: Continuation) -> None:
        subject = self._subjects.setdefault(wanted.subject, _Subject())
        subject.waiting[wanted.id] = wanted
        subject.look_at = 0.0
        if isinstance(wanted.condition, Milestone):
            subject.patterns[wanted.id] = Pattern(wanted.condition.pattern)
            subject.read.clear()
            for ear in subject.ears.values():
                ear.begin_again()

    def _forget(self, name: str, continuation_id: str) -> None:
        subject = self._subjects.get(name)
        if subject is None:
            return
        for known in (subject.waiting, subject.patterns, subject.found):
            known.pop(continuation_id, None)
        if not subject.patterns:
            subject.ears.clear()
            known_job = self._watched(name.partition(":")[2])
            if known_job is not None:
                known_job.ear = None
        if not subject.waiting:
            del self._subjects[name]

    async def _meet(self) -> None:
        """Take up what was registered since."""
        for continuation_id in tuple(self._registered):
            try:
                found = await self._ledger.do(self._ledger.store.continuations.known, continuation_id)
            except DiamondError as problem:  # a locked store: what is not met now is met later
                self._log.warning("%s", problem.message)
                return
            self._registered.discard(continuation_id)
            if found is not None and found.continuation.over is None:
                self._take_up(found.continuation)

    def _begin_looks(self) -> None:
        """Judge each task whose time has come, by itself: a site that hangs delays no other task's news."""
        now = time.time()
        for name, subject in self._subjects.items():
            if subject.looking is None and subject.look_at is not None and subject.look_at <= now:
                subject.look_at = None  # whatever happens from here on sets it again
                subject.looking = asyncio.create_task(self._look_safely(name, subject), name=f"diamond-look-{name}")

    def _pause(self) -> float | None:
        """Until the next look that only the clock brings; never long, as clocks are set."""
        looks = [each.look_at for each in self._subjects.values() if each.looking is None and each.look_at is not None]
        if self._registered:
            return _AGAIN_S / 10
        return min(max(0.0, min(looks) - time.time()), _LONGEST_PAUSE_S) if looks else None

    async def _look_safely(self, name: str, subject: _Subject) -> None:
        try:
            await self._look(name, subject)
        except DiamondError as problem:  # a locked store, a full disk: nothing was told, so nothing is lost
            self._log.warning("Waking who waits for %s: %s It is tried again.", name, problem.message)
            subject.look_at = time.time() + _AGAIN_S / 10
        except Exception:  # noqa: BLE001 - a defect of ours must not keep the others waiting
            self._log.exception("waking who waits for %s failed; it is tried again", name)
            subject.look_at = time.time() + _AGAIN_S
        finally:
            subject.looking = None
            self._wake.set()

    async def _look(self, name: str, subject: _Subject) -> None:
        """Judge all that waits for one task, or one group."""
        if name.startswith("group:"):
            await self._look_at_group(name, subject)
            return
        task = await self._ledger.do(self._ledger.store.task, name.partition(":")[2])
        whole = await self._listen(task, subject) if subject.patterns else True
        waiting = tuple(subject.waiting.values())
        events = await self._events(name, waiting)
        now = from_epoch(time.time())
        for each in waiting:
            fresh = (event for event in events if event.seq > each.since_event)
            found = subject.found.get(each.id) or match(each, task, fresh, now)
            if found is not None:
                await self._close(each, task, "fired", found)
            elif each.expires_at <= now:
                await self._close(each, task, "expired", _expiry(task, each.expires_at))
            elif task.state.terminal and (whole or each.id not in subject.patterns):
                await self._close(each, task, "ended", _end(task))
            else:
                moments = (each.expires_at, due(each, task))
                subject.look_at = _earliest(subject.look_at, *(moment.timestamp() for moment in moments if moment))
        if not whole:
            subject.look_at = _earliest(subject.look_at, time.time() + _AGAIN_S)

    async def _look_at_group(self, name: str, subject: _Subject) -> None:
        """Judge all that waits for one group."""
        groups, group_id = self._ledger.store.groups, name.partition(":")[2]
        group, members = await self._ledger.do(lambda: (groups.get(group_id), groups.tasks(group_id)))
        now = from_epoch(time.time())
        for each in tuple(subject.waiting.values()):
            found = match_group(each, group, members)
            if found is not None and isinstance(each.condition, AttemptFailed):
                failed = first_failed(members)
                assert failed is not None, "what was matched is there"
                task = await self._ledger.do(self._ledger.store.task, failed.id)
                news = waking(each, task, "fired", found).model_copy(update={"group": group_news(group)})
                await self._tell(each, "fired", found, news)
            elif found is not None:
                await self._tell(each, "fired", found, group_waking(each, group, "fired", found))
            elif each.expires_at <= now:
                expired = Match(0, "expired", each.expires_at)
                await self._tell(each, "expired", expired, group_waking(each, group, "expired", expired))
            elif group.ended_at is not None:
                ended = group_end(group)
                await self._tell(each, "ended", ended, group_waking(each, group, "ended", ended))
            else:
                subject.look_at = _earliest(subject.look_at, each.expires_at.timestamp())

    async def _events(self, name: str, waiting: Collection[Continuation]) -> tuple[Event, ...]:
        after = min((each.since_event for each in waiting if each.condition.kind in ("state", "trouble")), default=None)
        if after is None:
            return ()
        return await self._ledger.do(self._ledger.store.events, after, _MOST_EVENTS, name)

    async def _close(self, wanted: Continuation, task: Task, over: Over, found: Match) -> None:
        await self._tell(wanted, over, found, waking(wanted, task, over, found))

    async def _tell(self, wanted: Continuation, over: Over, found: Match, news: Waking) -> None:
        """Tell it, once, if this server still advances work."""
        if not await self._holds():
            subject = self._subjects.get(wanted.subject)
            if subject is not None:
                subject.look_at = time.time() + _AGAIN_S / 10
            return
        data = as_data(news)
        close = self._ledger.store.continuations.close
        await self._ledger.write(close, wanted.id, over, data, at=from_epoch(time.time()), dedup_key=found.key)
        self._forget(wanted.subject, wanted.id)

    # ---- logs

    async def _listen(self, task: Task, subject: _Subject) -> bool:
        """Search what was heard of the task's logs; False while the rest of an ended one could not be read."""
        whole = True
        since = min(each.since_attempt for each in subject.waiting.values() if each.id in subject.patterns)
        for attempt in task.attempts:
            if attempt.n < since or attempt.n in subject.read:
                continue
            ear = subject.ears.setdefault(attempt.n, LogEar(attempt.n, lambda: self._heard(subject)))
            await self._search(subject, attempt, ear.lines())
            if attempt.state.terminal:
                whole = await self._read_rest(subject, attempt, ear) and whole
            elif attempt is task.attempt and (known := self._watched(task.id)) is not None and known.ear is not ear:
                known.ear = ear
        return whole

    def _heard(self, subject: _Subject) -> None:
        subject.look_at = _earliest(subject.look_at, time.time() + _HEARD_S)
        self._wake.set()

    async def _search(self, subject: _Subject, attempt: Attempt, lines: list[str]) -> None:
        wanted = {key: pattern for key, pattern in subject.patterns.items() if key not in subject.found}
        if not lines or not wanted:
            return
        hits = await asyncio.to_thread(_hits, wanted, lines)
        for key, line in hits.items():
            wanted_by = subject.waiting.get(key)  # it may have been taken back meanwhile
            if wanted_by is not None and attempt.n >= wanted_by.since_attempt:
                subject.found[key] = Match(attempt.n, "milestone", from_epoch(time.time()), line)

    async def _read_rest(self, subject: _Subject, attempt: Attempt, ear: LogEar) -> bool:
        """What an ended attempt's log holds beyond what was heard; False when its site does not tell now."""
        if attempt.folder is None or attempt.site not in self._links:
            subject.read.add(attempt.n)
            return True
        link = self._links[attempt.site]
        while ear.offset < MOST_HEARD:
            try:
                async with link.lane:
                    piece = await link.transport.get(f"{attempt.folder}/{files.LOG}", offset=ear.offset, limit=_PIECE)
            except FileNotFoundError:
                break
            except (TransportError, OSError) as problem:
                self._log.info("%s: the log of %s: %s", link.name, attempt.folder, problem)
                return False
            ear.take(attempt.n, ear.offset, piece)
            await self._search(subject, attempt, ear.lines(last=len(piece) < _PIECE))
            if len(piece) < _PIECE:
                break
        subject.read.add(attempt.n)
        subject.ears.pop(attempt.n, None)
        return True


def group_of(subject: str) -> str:
    """The group that a member's events concern, too."""
    return f"group:{subject.partition(':')[2].partition('-')[0]}"


def _hits(wanted: dict[str, Pattern], lines: list[str]) -> dict[str, str]:
    """The first line that has each pattern. Takes a while for long logs: not on the loop."""
    first = {key: next((line for line in lines if pattern.search(line)), None) for key, pattern in wanted.items()}
    return {key: line for key, line in first.items() if line is not None}


def _end(task: Task) -> Match:
    attempt = task.attempt
    assert attempt is not None, "a task always has an attempt"
    return Match(attempt.n, f"ended:{attempt.state.value}", attempt.ended_at or attempt.state_since)


def _expiry(task: Task, at: datetime) -> Match:
    return Match(len(task.attempts) or 1, "expired", at)


def _earliest(known: float | None, *moments: float) -> float | None:
    return min([*moments, *([] if known is None else [known])], default=None)
