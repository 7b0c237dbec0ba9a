"""What a site's watcher does about ends: it has them stored with what follows, and takes back what shall not start."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.errors import DiamondError, StoreError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.states import State
from jupyter_diamond.settings import DiamondEngine

from .away import as_it_ended, read_end
from .causes import Ended, left_off
from .healer import Healer, for_good, was_taken_back
from .together import unit_of

AGAIN_S = 30.0
"""An end that could not be stored, or a step that could not be planned, is tried again after that; a cancel, too."""


_ENDED_WELL = "Its job ended well, so it is not run a second time."


class End(NamedTuple):
    """How an attempt ended. ``cancelled_by``: a user of the site, where one ended it."""

    known: Watched
    changes: dict[str, Any]
    cancelled_by: str | None = None


class Endings:
    """The ends of one site's attempts."""

    def __init__(
        self,
        link: SiteLink,
        ledger: Ledger,
        settings: DiamondEngine,
        log: logging.Logger,
        *,
        healer: Healer,
        wake: Callable[[], None],
        pass_on: Callable[[Watched], None],
    ) -> None:
        """``pass_on`` takes what goes on in another attempt; ``wake`` says that there is something to do."""
        self._link, self._ledger, self._settings, self._log = link, ledger, settings, log
        self._healer, self._wake, self._pass_on = healer, wake, pass_on

    def begin(self, ends: Sequence[End]) -> None:
        """Have attempts' ends stored, with what follows them: that may take a plan, for which no other job waits.

        Those that nothing follows are stored together: the members of an array end in hundreds.
        """
        plain: list[tuple[Watched, dict[str, Any], str]] = []
        back: list[End] = []
        for end in ends:
            known, changes = end.known, end.changes
            known.settle = None
            ended = Ended(
                changes["state"], changes.get("exit_code"), changes.get("signal"), changes.get("max_rss_bytes"),
                end.cancelled_by, known.end, known.manifest,
            )  # fmt: skip
            if self._brings(end, ended):
                self._begin_away(known, changes)
            elif (last := for_good(known.task, changes, ended)) is not None:
                plain.append((known, *last))
            elif was_taken_back(known.task, ended) and unit_of(known.task) is not None:
                back.append(end)
            else:
                work = self._end(known, changes, ended)
                known.healing = asyncio.create_task(work, name=f"diamond-end-{known.task.id}")
        if back:
            together = asyncio.create_task(self._take_back_all(back), name=f"diamond-anew-{self._link.name}")
            for end in back:
                end.known.healing = together
        if plain:
            together = asyncio.create_task(self._end_all(plain), name=f"diamond-ends-{self._link.name}")
            for known, _, _ in plain:
                known.healing = together

    def _brings(self, end: End, ended: Ended) -> bool:
        """Whether something it left is to be brought away before it is over; what is continued takes its work along."""
        away = self._healer.away
        if away is None or left_off(ended) or was_taken_back(end.known.task, ended):
            return False
        return end.known.job_over or away.wanted(end.known.task, end.changes)

    def resume(self, known: Iterable[Watched]) -> None:
        """Go on with what is brought away: a server may have died over it."""
        for each in known:
            if each.job_over and each.healing is None and self._healer.away is not None:
                self._begin_away(each, None)

    def _begin_away(self, known: Watched, changes: dict[str, Any] | None) -> None:
        work = self._away(known, changes)
        known.healing = asyncio.create_task(work, name=f"diamond-away-{known.task.id}")

    async def _away(self, known: Watched, changes: dict[str, Any] | None) -> None:
        """Bring away what a job left, and end its attempt; whatever stands in the way, its files are not forgotten."""
        try:
            while True:
                try:
                    return await self._bring(known, changes)
                except DiamondError as problem:
                    self._log.warning("%s: %s", known.task.name, problem.message)
                except Exception:  # noqa: BLE001 - said in the log; a defect of ours must not leave its end untold
                    self._log.exception("bringing away what %s left failed; it will be tried again", known.task.id)
                await asyncio.sleep(AGAIN_S)
        finally:
            known.healing = None
            self._wake()

    async def _bring(self, known: Watched, changes: dict[str, Any] | None) -> None:
        away, n = self._healer.away, newest(known.task).n
        assert away is not None, "only who can bring is asked to"
        if not known.job_over and changes is not None:
            known.task = await away.begin(known.task, changes)
        job = newest(known.task).job_state or State.COMPLETED
        last = await away.bring(known, self._link)
        if job is State.COMPLETED or last["state"] is State.CANCELLED:
            why = _ENDED_WELL if last["state"] is State.FAILED else ""
            (known.task,) = await self._healer.end_all([(known.task, last, why)])
            return
        await read_end(known, self._link)
        known.task = await self._healer.end(known.task, last, as_it_ended(known, job))
        if newest(known.task).n != n:
            self._pass_on(known)

    async def _end_all(self, ends: Sequence[tuple[Watched, dict[str, Any], str]]) -> None:
        try:
            tasks = await self._healer.end_all([(known.task, changes, why) for known, changes, why in ends])
        except DiamondError as problem:  # they are as they were, and accounting tells their ends again
            self._log.warning("%d tasks at %s: %s", len(ends), self._link.name, problem.message)
            for known, _, _ in ends:
                self._again(known)
        else:
            for (known, _, _), task in zip(ends, tasks, strict=True):
                known.task = task
        finally:
            for known, _, _ in ends:
                known.healing = None
            self._wake()

    async def _take_back_all(self, ends: Sequence[End]) -> None:
        """What was taken back goes on, the members of a group together."""
        try:
            tasks = await self._healer.taken_back_all([(end.known.task, end.changes) for end in ends])
        except Exception as problem:  # noqa: BLE001 - said in the log; none of them may be left unwatched
            self._log.warning("%d tasks at %s: %s", len(ends), self._link.name, problem, exc_info=problem)
            for end in ends:
                self._again(end.known)
        else:
            for end, task in zip(ends, tasks, strict=True):
                end.known.task = task
                self._pass_on(end.known)
        finally:
            for end in ends:
                end.known.healing = None
            self._wake()

    async def _end(self, known: Watched, changes: dict[str, Any], ended: Ended) -> None:
        n = newest(known.task).n
        try:
            task = await self._healer.end(known.task, changes, ended)
        except DiamondError as problem:  # the attempt is as it was, and accounting tells its end again
            self._log.warning("%s: %s", known.task.name, problem.message)
            self._again(known)
            with suppress(StoreError):  # a store that is locked or full has no room for this either
                await self.note_trouble(known, problem)
        except Exception:  # noqa: BLE001 - said in the log
            # a defect of ours must leave neither the job unwatched nor its end untold
            self._log.exception("what follows %s failed unexpectedly; it will be tried again", known.task.id)
            self._again(known)
        else:
            known.task = task
            if newest(task).n != n:
                self._pass_on(known)
        finally:
            known.healing = None
            self._wake()

    def _again(self, known: Watched) -> None:
        known.settle = None
        known.ask_accounting(time.monotonic(), self._link.poll_floor_s)
        known.settle_at = time.monotonic() + AGAIN_S

    async def take_back(self, jobs: Sequence[Watched], now: float) -> bool:
        """Cancel those that wait and are wanted back; one that has started is passed over. Whether any was."""
        due = [
            known
            for known in jobs
            if newest(known.task).withdrawal is not None
            and known.task.cancel_requested_by is None
            and known.healing is None
            and newest(known.task).started_at is None
            and now >= known.cancel_at
        ]
        natives = [known.native for known in due if known.native is not None]
        if not natives:
            return False
        for known in due:
            known.cancel_at = now + AGAIN_S
        script = self._link.scheduler.cancel_script(natives, waiting_only=True)
        done = await self._link.run(script, timeout_s=self._settings.command_timeout_s)
        for sentence in self._link.scheduler.parse_cancel(done):
            self._log.warning("%s: %s", self._link.name, sentence)
        for known in due:
            known.ask_accounting(now, self._link.poll_floor_s)
        return True

    async def stays(self, known: Watched) -> None:
        """A job that was wanted back has started first: it is left alone, and its user is told."""
        attempt = newest(known.task)
        runs = attempt.state in (State.RUNNING, State.SUSPENDED)  # what was taken back leaves the queue as "completing"
        if attempt.withdrawal is not None and (runs or attempt.started_at is not None):
            why = f"It had started at {self._link.name} before it could be taken back, so it stays there."
            stay, now = self._ledger.store.stay, from_epoch(time.time())
            known.task = await self._ledger.write(stay, known.task.id, why, now)

    async def note_trouble(self, known: Watched, problem: DiamondError) -> None:
        """Say on the attempt why nothing is heard of it, once."""
        async with known.lock:
            attempt = newest(known.task)
            if not known.over and attempt.trouble != problem.message and not attempt.state.terminal:
                known.task = await self._ledger.update(
                    known.task, "attempt.trouble", {"why": problem.message}, trouble=problem.message
                )
