"""The store's face: every method is one transaction; a writing one also appends its events in the same transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, select, true, update

from jupyter_diamond.errors import OverBudget
from jupyter_diamond.model.capabilities import Capabilities
from jupyter_diamond.model.charge import SpendingCap
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.draft import PastRun
from jupyter_diamond.model.event import Event, EventType
from jupyter_diamond.model.forecast import ForecastRecord
from jupyter_diamond.model.healing import Mismatch, Withdrawal
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.queue import OwnRun, PastJob
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.model.task import Attempt, Task, TaskRequest, TaskSummary

from . import attempt_rows, eventlog, follows, history, leases, lists, loading, outcomes
from .attempt_book import AttemptBook
from .audit import AuditBook
from .budgets import Budgets
from .channels import Channels
from .chargebook import ChargeBook
from .continuations import Continuations
from .database import Database
from .datasets import Datasets
from .environments import EnvironmentBook
from .groups import Groups
from .model_calls import ModelCalls
from .past_runs import past_runs
from .proposals import Proposals
from .rows import stored, summaries_of
from .schema import arrays, attempts, capabilities, tasks
from .switches import Switches
from .transfers import Transfers


class Store:
    """Tasks, attempts, events and the lease in one SQLite file that several servers of one user may share.

    Its folder is 0700, its file 0600. Raises StoreError when the file cannot be used. Meant for one worker thread:
    calls block, and calls from several threads take turns.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).expanduser().absolute()
        self._database = Database(self.path)
        self.charges = ChargeBook(self._database)
        self.attempts = AttemptBook(self._database)
        self.continuations = Continuations(self._database)
        self.channels = Channels(self._database)
        self.groups = Groups(self._database)
        self.proposals = Proposals(self._database)
        self.budgets = Budgets(self._database)
        self.audit = AuditBook(self._database)
        self.switches = Switches(self._database)
        self.datasets = Datasets(self._database)
        self.transfers = Transfers(self._database)
        self.model_calls = ModelCalls(self._database)
        self.environments = EnvironmentBook(self._database)
        self._tidied = -1

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    # ---- events

    def newest_event(self) -> int:
        """The number of the newest event; 0 when there is none."""
        with self._database.read() as connection:
            return eventlog.newest(connection)

    def events(self, after: int, limit: int, subject: str | None = None) -> tuple[Event, ...]:
        """Events with a number above ``after``, oldest first; of one subject if given."""
        with self._database.read() as connection:
            return eventlog.after(connection, after, limit, subject)

    def told(self, after: int) -> tuple[Event, ...]:
        """Events that were written here since this was asked last, if nothing else follows ``after`` before them."""
        return self._database.told(after)

    def append_event(
        self,
        type: EventType,  # noqa: A002 - the event's field name
        subject: str,
        data: dict[str, Any],
        at: datetime,
        dedup_key: str | None = None,
    ) -> Event | None:
        """Append one event. None when ``dedup_key`` was used for this subject before.

        Raises InvalidRequest when ``data`` is no JSON or more than 8 KiB of it.
        """
        with self._database.write(asked_again=True) as connection:
            return eventlog.append(connection, type, subject, data, at=at, dedup_key=dedup_key)

    def data_version(self) -> int:
        """A number that changes when another process has written to the file."""
        return self._database.data_version()

    # ---- tasks

    def create_task(
        self,
        request: TaskRequest,
        *,
        task_id: str,
        key: str,
        decision: Decision,
        attempt: Attempt,
        why_here: str,
        at: datetime,
        caps: Collection[SpendingCap] = (),
    ) -> tuple[Task, bool]:
        """Write a task with its first attempt. A known ``client_token`` gives its task and False; nothing is written.

        ``key`` is the attempt's HMAC key in hex. The attempt may already be ``submitting``: its intent is written too.
        Raises OverBudget where one of the ``caps`` leaves less than it may cost; nothing is written then.
        """
        with self._database.write() as connection:
            known = loading.find(connection, tasks.c.client_token == request.client_token)
            if known is not None:
                return known, False
            told = {"id": task_id, "why_here": why_here, "created_at": at.timestamp(), "attempts": attempt.n}
            connection.execute(insert(tasks).values(**told, **_asked(request), **attempt_rows.mirrored(attempt)))
            told = {"name": request.name}
            eventlog.append(connection, "task.created", f"task:{task_id}", told, at=at, dedup_key="created")
            attempt_rows.put(connection, task_id, attempt, key=key, decision=decision, at=at, caps=caps)
            return loading.get(connection, task_id), True

    def find_token(self, client_token: str) -> Task | None:
        """The task that a client's token made, if any."""
        with self._database.read() as connection:
            return loading.find(connection, tasks.c.client_token == client_token)

    def task(self, ref: str) -> Task:
        """A task by its id, or the newest one of that name. Raises NotFound."""
        with self._database.read() as connection:
            return loading.get(connection, ref)

    def tasks(
        self,
        name: str | None = None,
        phase: str | None = None,
        notebook: str | None = None,
        limit: int = 100,
        *,
        members: bool = False,
        before: str | None = None,
        newer: int | None = None,
    ) -> tuple[TaskSummary, ...]:
        """Task lines, newest first, without members of groups unless these are wanted, too.

        ``phase`` is ``active`` or ``ended``; anything else raises InvalidRequest. ``before``: only those made before
        this task. ``newer``: only those with an event after this one, by their newest event, the oldest first.
        """
        query = lists.asked(name, phase, notebook, members=members, before=before, newer=newer).limit(limit)
        with self._database.read() as connection:
            return summaries_of(connection.execute(query))

    def count_active(self) -> int:
        """How many tasks have not ended, members of groups included."""
        with self._database.read() as connection:
            return int(connection.execute(select(func.count()).select_from(tasks).where(~tasks.c.ended)).scalar_one())

    def active(self) -> tuple[Task, ...]:
        """All tasks that have not ended, oldest first."""
        return self._active(true())

    def active_same_name(self, name: str, notebook_path: str | None) -> tuple[Task, ...]:
        """The tasks of that name and notebook that have not ended, oldest first. A notebook of None means none."""
        return self._active((tasks.c.name == name) & tasks.c.notebook.is_not_distinct_from(notebook_path))

    def _active(self, where: ColumnElement[bool]) -> tuple[Task, ...]:
        with self._database.read() as connection:
            return loading.load(connection, where & ~tasks.c.ended)

    def update_attempt(
        self,
        task_id: str,
        n: int,
        *,
        at: datetime,
        type: EventType,  # noqa: A002 - the event's field name
        data: dict[str, Any],
        changes: dict[str, Any],
        dedup_key: str | None = None,
    ) -> Task:
        """Change fields of an attempt and append the event that says so. The task mirrors its newest attempt.

        The task comes back unchanged, and nothing is written, when the change would leave a terminal state or move
        backwards (see ``order.may_move``; ``data={"requeued": True}`` allows it), or when ``dedup_key`` was used.
        """
        with self._database.write(asked_again=True) as connection:
            attempt_rows.change(
                connection, task_id, n, at=at, kind=type, data=data, changes=changes, dedup_key=dedup_key
            )
            return loading.get(connection, task_id)

    def mark_seen(self, seen: Iterable[tuple[str, int]], at: datetime) -> None:
        """Note when a source last knew these (task id, attempt number). No event: it is an age, not a fact."""
        rows = [{"the_task": task_id, "the_n": n, "seen": at.timestamp()} for task_id, n in seen]
        if not rows:
            return
        same = (attempts.c.task_id == bindparam("the_task")) & (attempts.c.n == bindparam("the_n"))
        with self._database.write(asked_again=True) as connection:
            connection.execute(update(attempts).where(same).values(last_seen_at=bindparam("seen")), rows)

    def request_cancel(self, task_id: str, by: str, at: datetime) -> Task:
        """Note who asked for the task's end; the first one is kept. A task that has ended stays as it is."""
        with self._database.write() as connection:
            task = loading.get(connection, task_id)
            if task.state.terminal:
                return task
            if eventlog.append(
                connection, "task.cancel_requested", f"task:{task.id}", {"by": by}, at=at, dedup_key="cancel"
            ):
                connection.execute(update(tasks).where(tasks.c.id == task.id).values(cancel_requested_by=by))
            return loading.get(connection, task.id)

    def end_attempt(
        self,
        task_id: str,
        n: int,
        *,
        at: datetime,
        changes: Mapping[str, Any],
        why_not: str = "",
        following: follows.Following | None = None,
    ) -> Task:
        """End an attempt; with ``following`` the next one begins in the same transaction, unless the user cancelled.

        ``why_not`` says why nothing follows. An attempt that has ended already stays as it is.
        """
        if following is not None:
            try:
                with self._database.write() as connection:
                    follows.end_and_follow(connection, task_id, n, at=at, changes=changes, following=following)
                    return loading.get(connection, task_id)
            except OverBudget as refused:  # since it was planned, another task has taken what the caps had left
                why_not = f"It would have gone on, but {refused.message[:1].lower()}{refused.message[1:]}"
                changes = {**changes, "next": why_not}
        with self._database.write(asked_again=True) as connection:
            follows.end_for_good(connection, task_id, n, at=at, changes=changes, why=why_not)
            return loading.get(connection, task_id)

    def withdraw(self, task_id: str, wanted: Withdrawal, at: datetime) -> Task:
        """Have the task's waiting job taken back. Raises Conflict when it has started, or has ended."""
        with self._database.write() as connection:
            follows.withdraw(connection, task_id, loading.newest(connection, task_id), wanted, at=at)
            return loading.get(connection, task_id)

    def mismatch(self, task_id: str, told: Mismatch, wanted: Withdrawal | None, at: datetime) -> Task:
        """Note that its site is wrong for it, and have its waiting job taken back. Raises Conflict where it is late."""
        with self._database.write() as connection:
            follows.mismatch(connection, task_id, loading.newest(connection, task_id), told, wanted, at=at)
            return loading.get(connection, task_id)

    def hold(self, task_id: str, by: str, at: datetime) -> Task:
        """Let nothing of the task be submitted. Raises Conflict when it has started, or has ended."""
        with self._database.write() as connection:
            if loading.get(connection, task_id).held_by is None:
                follows.hold(connection, task_id, loading.newest(connection, task_id), by, at=at)
            return loading.get(connection, task_id)

    def release(self, task_id: str, by: str, at: datetime) -> Task:
        """Let a task that was held go on; any other stays as it is."""
        with self._database.write() as connection:
            if loading.get(connection, task_id).held_by is not None:
                follows.release(connection, task_id, by, at=at)
            return loading.get(connection, task_id)

    def stay(self, task_id: str, why: str, at: datetime) -> Task:
        """Its waiting job is not taken back after all: it has started, or waits at the best place."""
        with self._database.write() as connection:
            follows.stay(connection, task_id, loading.newest(connection, task_id), why, at=at)
            return loading.get(connection, task_id)

    def request(self, task_id: str) -> TaskRequest:
        """What the kernel asked for."""
        with self._database.read() as connection:
            return loading.request(connection, task_id)

    def key(self, task_id: str, n: int) -> str:
        """An attempt's HMAC key, hex."""
        with self._database.read() as connection:
            return loading.of_attempt(connection, attempts.c.key, arrays.c.key, task_id, n)

    def decision(self, task_id: str, n: int | None = None) -> Decision:
        """The stored decision of an attempt, of the newest one by default."""
        with self._database.read() as connection:
            return stored(Decision, loading.of_attempt(connection, attempts.c.decision, arrays.c.decision, task_id, n))

    # ---- sites

    def put_reading(self, reading: SiteReading) -> None:
        """Keep the numbers of a reading; now and then roll up and forget. Simulated ones have no past."""
        if reading.simulated or reading.read_at is None:
            return
        now = reading.read_at.timestamp()
        with self._database.write(asked_again=True) as connection:
            history.put(connection, reading)
            if self._tidied != now // history.TIDY_S:
                history.tidy(connection, now)
        self._tidied = int(now // history.TIDY_S)

    def history(self, site: str, since: datetime, now: datetime) -> SiteHistory:
        """A site's past; empty when none is kept."""
        with self._database.read() as connection:
            return history.read(connection, site, since, now)

    def put_capabilities(self, site: str, found: Capabilities) -> None:
        """Keep what a site's commands can do, in place of what was known."""
        row = {"site": site, "version": found.version, "body": found.model_dump_json()}
        with self._database.write(asked_again=True) as connection:
            connection.execute(insert(capabilities).prefix_with("OR REPLACE"), row)

    def capabilities(self, site: str) -> Capabilities | None:
        """What a site's commands can do; None when never tried, or written by another version of ours."""
        query = select(capabilities.c.body).where(capabilities.c.site == site)
        with self._database.read() as connection:
            text = connection.execute(query).scalar()
        try:
            return None if text is None else Capabilities.model_validate_json(text)
        except ValueError:
            return None

    def put_past_jobs(self, site: str, jobs: Iterable[PastJob]) -> None:
        """Keep jobs that have ended at a site, the newest last; the oldest are forgotten."""
        with self._database.write(asked_again=True) as connection:
            outcomes.put_past(connection, site, jobs)

    def past_jobs(self, site: str) -> tuple[PastJob, ...]:
        """The jobs that are kept of a site, in the order in which they ended."""
        with self._database.read() as connection:
            return outcomes.past(connection, site)

    def own_runs(self, known: Collection[outcomes.Key] = ()) -> dict[outcomes.Key, OwnRun]:
        """What the newest attempts that ended well took, oldest first, but for those of ``known`` attempts."""
        with self._database.read() as connection:
            return outcomes.own_runs(connection, known)

    def past_runs(self, digest: str | None, source: str) -> tuple[PastRun, ...]:
        """What the same code took before, newest first; only ended tasks, the very same code before the same cell."""
        with self._database.read() as connection:
            return past_runs(connection, digest, source)

    def outcomes(self, known: Collection[outcomes.Key] = ()) -> dict[outcomes.Key, ForecastRecord | None]:
        """Forecasts of the newest attempts that have started, oldest first, but for those of ``known`` attempts."""
        with self._database.read() as connection:
            return outcomes.outcomes(connection, known)

    # ---- lease

    def take_lease(self, holder: str, *, at: float, ttl_s: float) -> bool:
        """Take the lease, or renew it. False while another holder's lease runs. ``at`` is seconds since 1970."""
        with self._database.write(asked_again=True) as connection:
            return leases.take(connection, holder, at, ttl_s)

    def release_lease(self, holder: str) -> None:
        """Give the lease up, if ``holder`` has it."""
        with self._database.write(asked_again=True) as connection:
            leases.release(connection, holder)

    def lease(self) -> tuple[str, float] | None:
        """The holder of the lease and when it runs out, in seconds since 1970."""
        with self._database.read() as connection:
            return leases.holder(connection)


def _asked(request: TaskRequest) -> Mapping[str, Any]:
    return {
        "client_token": request.client_token,
        "name": request.name,
        "notebook": request.notebook.path,
        "version": 0,
        "request": request.model_dump_json(),
    }
