"""Open tasks at Globus Compute, of all sites of the process: handed in once, asked after together.

The service allows 20 requests in 10 s, so one request asks after every open task, soon after a submission and then
ever more seldom. What is seen is kept at once: the service may drop an answer that was read, and does so in time.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import platform
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from jupyter_diamond.errors import GlobusProblem
from jupyter_diamond.globus.problems import again, problem_of
from jupyter_diamond.model.manifest import ForeignValue

from .globus_compute_wire import FUNCTION, FarAnswers, function_source

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus
    from jupyter_diamond.globus.clients import Clients

_log = logging.getLogger(__name__)

JSON_ONLY = "globus_compute_sdk.serialize.JSONData"
_JSON = "11\n"
"""What the SDK writes before JSON."""
_FIRST_S, _MOST_S, _GROWTH = 0.3, 4.0, 1.6
_SLOWEST_FIRST_S = 2.0
_THROTTLED_S = 10.0
_ASKED_AT_ONCE = 200


class TaskDoc(ForeignValue):
    """What the service says of a task. ``result`` is serialised; ``exception`` is a traceback's text."""

    status: str = "unknown"
    result: str | None = None
    exception: str | None = None
    reason: str | None = None

    @property
    def pending(self) -> bool:
        """Whether something may still come."""
        over = self.status.lower() in ("success", "failed")
        return not over and self.result is None and self.exception is None


class _Batch(ForeignValue):
    results: dict[str, TaskDoc]


class _Submitted(ForeignValue):
    tasks: dict[str, tuple[str, ...]]


@dataclass(eq=False)
class Open:
    """One task that was handed in. ``heard`` has its answers, or the GlobusProblem in their place."""

    id: str
    endpoint: str
    begun: float
    step: float
    due: float
    asked: int = 0
    status: str = "received"
    heard: asyncio.Future[FarAnswers] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ComputeTasks:
    """The open tasks of one login. Every request goes through ``Globus.call``."""

    def __init__(self, globus: Globus) -> None:
        self._globus = globus
        self._open: dict[str, Open] = {}
        self._first: dict[str, float] = {}
        self._function: str | None = None
        self._news = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self._quiet: tuple[float, GlobusProblem] | None = None
        """Until when the service, which was asked too often, is asked nothing."""

    async def submit(self, endpoint: str, order: Mapping[str, Any], *, doing: str) -> Open:
        """Hand one order in, with one request. Raises GlobusProblem, whose ``sent`` tells what became of it."""
        if self._quiet is not None and time.monotonic() < self._quiet[0]:
            raise again(self._quiet[1])
        submit = functools.partial(self._submit, endpoint, order, doing)
        try:
            task_id = await self._globus.call(submit, doing=doing, sent=True)
        except GlobusProblem as problem:
            self._keep_quiet(problem)
            raise
        first, now = self._first.get(endpoint, _FIRST_S), time.monotonic()
        task = self._open[task_id] = Open(id=task_id, endpoint=endpoint, begun=now, step=first, due=now + first)
        task.heard.add_done_callback(_looked_at)
        self._news.set()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_after_all(), name="diamond-globus-tasks")
        return task

    def forget(self, task: Open) -> None:
        """Nobody waits for it any more."""
        self._open.pop(task.id, None)
        task.heard.cancel()
        self._news.set()  # there may be nothing left to ask for

    def _submit(self, endpoint: str, order: Mapping[str, Any], doing: str, clients: Clients) -> str:
        """On the thread of the login."""
        from globus_sdk import GlobusAPIError

        known = self._function
        try:
            return _post(endpoint, known or self._register(clients, doing), order, doing, clients)
        except GlobusAPIError as error:
            if known is None or error.http_status != 404 or "FUNCTION" not in str(error.code):
                raise
        # the service has forgotten it, and so has taken nothing
        return _post(endpoint, self._register(clients, doing), order, doing, clients)

    def _register(self, clients: Clients, doing: str) -> str:
        from globus_compute_sdk.version import __version__ as sdk_version

        self._function = None
        try:
            answer = clients.compute3.register_function({
                "function_name": FUNCTION, "function_code": function_source(), "serialized": False,
                "meta": {"python_version": platform.python_version(), "sdk_version": sdk_version},
                "description": "Runs the scripts of jupyter_diamond.",
            })  # fmt: skip
        except Exception as error:  # whatever an SDK raises; no command was sent yet
            raise problem_of(error, doing, sent=False) from error
        try:
            self._function = str(answer.data["function_uuid"])
        except (KeyError, TypeError) as error:
            raise _nonsense(doing, sent=False) from error
        return self._function

    async def _ask_after_all(self) -> None:
        trouble = 0.0
        while self._open:
            self._news.clear()
            wait = max(min(task.due for task in self._open.values()) - time.monotonic(), trouble)
            try:
                # a new task may be due before the others; after trouble nothing is
                await asyncio.wait_for(self._news.wait(), wait)
                if trouble:
                    await asyncio.sleep(trouble)
                else:
                    continue
            except asyncio.TimeoutError:
                pass
            trouble = await self._ask_once(trouble)

    async def _ask_once(self, trouble: float) -> float:
        """Ask after all open tasks; how long to leave the service alone."""
        asked = list(self._open.values())[:_ASKED_AT_ONCE]
        try:
            ask = functools.partial(_ask, [task.id for task in asked])
            docs = await self._globus.call(ask, doing="asking after commands", sent=False)
        except GlobusProblem as problem:
            return self._troubled(problem, asked, trouble)
        for task in asked:
            found = docs.get(task.id)
            self._note(task, found if found is not None else TaskDoc())
        return 0.0

    def _keep_quiet(self, problem: GlobusProblem) -> None:
        if problem.outcome == "throttled":
            self._quiet = (time.monotonic() + (problem.retry_after_s or _THROTTLED_S), problem)

    def _troubled(self, problem: GlobusProblem, asked: Sequence[Open], trouble: float) -> float:
        """A question without an answer says nothing about any task, unless no question will get one."""
        if problem.outcome in ("throttled", "unreachable"):
            _log.info("%s", problem.message)
            self._keep_quiet(problem)
            least = _THROTTLED_S if problem.outcome == "throttled" else 1.0
            return problem.retry_after_s or min(max(2 * trouble, least), 30.0)
        for task in asked:
            self._end(task, problem)
        return 0.0

    def _note(self, task: Open, doc: TaskDoc | FarAnswers | GlobusProblem) -> None:
        now = time.monotonic()
        task.asked += 1
        if isinstance(doc, TaskDoc):
            task.status = doc.status.lower()
            task.step = min(task.step * _GROWTH, _MOST_S)
            task.due = now + task.step
            return
        # the first question shall come when the answer usually is there: earlier is for nothing, later is a delay
        first = self._first.get(task.endpoint, _FIRST_S)
        better = 0.85 * first if task.asked == 1 else 1.15 * first
        self._first[task.endpoint] = min(max(better, _FIRST_S), _SLOWEST_FIRST_S)
        self._end(task, doc)

    def _end(self, task: Open, found: FarAnswers | GlobusProblem) -> None:
        self._open.pop(task.id, None)
        if task.heard.done():
            return
        if isinstance(found, GlobusProblem):
            task.heard.set_exception(found)
        else:
            task.heard.set_result(found)


_ALL: weakref.WeakKeyDictionary[Globus, ComputeTasks] = weakref.WeakKeyDictionary()


def tasks_of(globus: Globus) -> ComputeTasks:
    """The open tasks of a login: the same for all sites, so that one request asks after all."""
    found = _ALL.get(globus)
    if found is None:
        found = _ALL[globus] = ComputeTasks(globus)
    return found


def _looked_at(heard: asyncio.Future[FarAnswers]) -> None:
    """An error that nobody waits for any more is no defect."""
    if not heard.cancelled():
        heard.exception()


def _nonsense(doing: str, *, sent: bool) -> GlobusProblem:
    return GlobusProblem(
        f"Globus Compute gave an answer without what belongs into it while {doing}.",
        outcome="unreachable", sent=sent, transient=True,
    )  # fmt: skip


@functools.cache
def _runtime() -> Any:
    from globus_compute_sdk.sdk.batch import create_user_runtime

    return create_user_runtime()


def _batch(function: str, order: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a submission of one task."""
    from globus_compute_sdk.sdk.batch import Batch
    from globus_compute_sdk.serialize import ComputeSerializer, JSONData

    batch = Batch(
        None, None, None,
        serializer=ComputeSerializer(strategy_data=JSONData), user_runtime=_runtime(), result_serializers=[JSON_ONLY],
    )  # fmt: skip
    batch.add(function, (dict(order),), {})
    body: dict[str, Any] = batch.prepare()
    return body


def _post(endpoint: str, function: str, order: Mapping[str, Any], doing: str, clients: Clients) -> str:
    """Hand one task in; its id."""
    answer = clients.compute3.submit(endpoint, _batch(function, order))
    try:
        (task_id,) = _Submitted.model_validate(answer.data).tasks[function]
    except (ValidationError, KeyError, ValueError) as error:
        raise _nonsense(doing, sent=True) from error
    return task_id


def _ask(ids: Sequence[str], clients: Clients) -> dict[str, TaskDoc | FarAnswers | GlobusProblem]:
    """On the thread of the login: what became of these tasks; those that are over are read."""
    answer = clients.compute2.get_task_batch(list(ids))
    try:
        docs = _Batch.model_validate(answer.data).results
    except ValidationError as error:
        raise _nonsense("asking after commands", sent=False) from error
    return {task_id: doc if doc.pending else _read(doc) for task_id, doc in docs.items()}


def _read(doc: TaskDoc) -> FarAnswers | GlobusProblem:
    """A task's answer. JSON and nothing else is read: a pickle from an endpoint would run code in this process."""
    from globus_compute_sdk.errors import DeserializationError, TaskExecutionFailed

    doing = "a command ran"
    if doc.exception is not None:
        return problem_of(TaskExecutionFailed(doc.exception, "0"), doing, sent=True)
    if doc.result is None:
        return GlobusProblem(
            "Globus Compute no longer has the answer of a command: it keeps one for 30 minutes.",
            outcome="expired", sent=True, evidence=(doc.reason or "no reason given",),
        )  # fmt: skip
    if not doc.result.startswith(_JSON):
        not_json = DeserializationError(repr(doc.result[:20]))  # type: ignore[no-untyped-call]  # the SDK's
        return problem_of(not_json, doing, sent=True)
    try:
        return FarAnswers.model_validate_json(doc.result[len(_JSON) :])
    except ValidationError:
        return GlobusProblem(
            "The endpoint gave back something that is not an answer of ours.", outcome="failed", sent=True
        )
