"""What all handlers share: read a request, answer with a value, tell errors as sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from http.client import responses
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_server.base.handlers import APIHandler
from pydantic import BaseModel, ValidationError
from tornado import web

from jupyter_diamond.errors import DiamondError, InvalidRequest, ServerUnavailable
from jupyter_diamond.model.views import ErrorView

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk
    from jupyter_diamond.service import DiamondService

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_NOT_OURS = frozenset({"token", "no_track_activity"})
"""Query parameters that Jupyter reads itself."""


class DiamondHandler(APIHandler):
    """Base of all handlers. Each verb of each class is decorated with ``authenticated`` and ``authorized`` itself:
    an inherited ``authorized`` method checks the resource of whichever class was asked first.
    """

    auth_resource = "diamond"

    @property
    def service(self) -> DiamondService:
        """The service, once it has started. Raises what kept it from starting."""
        problem: DiamondError | None = self.settings["diamond_problem"]
        if problem is not None:
            raise problem
        service: DiamondService = self.settings["diamond_service"]
        return service

    @property
    def agent(self) -> AgentDesk:
        """What serves agents, once the service has started. Raises what kept it from starting."""
        problem: DiamondError | None = self.settings["diamond_problem"]
        if problem is not None:
            raise problem
        desk: AgentDesk = self.settings["diamond_agent"]
        return desk

    def form(self, model: type[M]) -> M:
        """The request's JSON body as a value. Raises InvalidRequest."""
        return read_json(model, self.request.body or b"{}")

    def query(self, model: type[M]) -> M:
        """The URL's parameters as a value. Raises InvalidRequest, also for a parameter that does not exist."""
        given = {name: self.get_query_argument(name) for name in self.request.query_arguments}
        # JupyterLab appends a bare time stamp against caches
        asked = {name: text for name, text in given.items() if name not in _NOT_OURS and not name.isdigit()}
        try:
            return model.model_validate(asked)
        except ValidationError as error:
            raise _refusal(error) from error

    def submission(self, model: type[M]) -> tuple[M, bytes]:
        """The request and the bundle of a submission. Raises InvalidRequest."""
        requests = self.request.body_arguments.get("request", [])
        bundles = self.request.files.get("bundle", [])
        if len(requests) != 1 or len(bundles) != 1:
            raise InvalidRequest(
                "A submission is multipart/form-data with one field `request` and one file `bundle`; "
                f"this one has {len(requests)} and {len(bundles)}."
            )
        return read_json(model, requests[0]), bundles[0].body

    def answer(self, value: BaseModel, status: int = 200) -> None:
        """Finish with a value as JSON."""
        self.set_status(status)
        self.finish(value.model_dump_json())

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Every error is an ErrorView; its text is data, never a page."""
        error = kwargs["exc_info"][1] if "exc_info" in kwargs else None
        if isinstance(error, DiamondError):
            self.set_status(error.http_status)
            view = ErrorView(code=error.code, message=error.message, transient=error.transient, evidence=error.evidence)
        elif isinstance(error, web.HTTPError):
            words = error.log_message % error.args if error.log_message and error.args else error.log_message
            reason = responses.get(status_code, "the request was refused")
            view = ErrorView(code=f"http_{status_code}", message=str(words or reason), transient=status_code >= 502)
        else:
            view = ErrorView(
                code="internal",
                message="The Diamond server extension met an error of its own; the Jupyter server's log has the "
                f"details ({type(error).__name__}).",
            )
        self.finish(view.model_dump_json())

    def log_exception(
        self, typ: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        """An error that was raised on purpose is one line; the rest keep their traceback."""
        if isinstance(value, DiamondError):
            self.log.info("%s %s: %s", self.request.method, self.request.path, value.message)
        else:
            super().log_exception(typ, value, tb)


class PollHandler(DiamondHandler):
    """Asks that may wait: they end early when the client or the server goes away."""

    _track_activity = False
    """An open card or wall asks all the time; it must not keep an idle server from being culled."""
    _poll: asyncio.Task[Any] | None = None

    async def poll(self, asking: Coroutine[Any, Any, T]) -> T:
        """Wait for an answer of the service."""
        task = asyncio.create_task(asking, name="diamond: long poll")
        self._poll = task
        self.settings["diamond_polls"].add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self.settings["diamond_polls"].discard(task)
        if task.cancelled():
            raise starting()
        return task.result()

    def on_connection_close(self) -> None:
        """Stop waiting for nobody."""
        if self._poll is not None:
            self._poll.cancel()
        super().on_connection_close()


def read_json(model: type[M], body: bytes) -> M:
    """A value from JSON. Raises InvalidRequest with one sentence that names the first wrong field."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _refusal(error) from error


def starting() -> ServerUnavailable:
    """What requests are told before the service has started, and after it has stopped."""
    return ServerUnavailable("Diamond is starting or stopping on this Jupyter server; try again.", transient=True)


def _refusal(error: ValidationError) -> InvalidRequest:
    told = [_problem(dict(problem)) for problem in error.errors(include_url=False)]
    more = f" ({len(told) - 1} more problems)" if len(told) > 2 else " (1 more problem)" if len(told) == 2 else ""
    return InvalidRequest(f"The request is not valid: {told[0]}{more}.", evidence=tuple(told[:10]))


def _problem(problem: dict[str, Any]) -> str:
    field = ".".join(str(part) for part in problem["loc"])
    words = str(problem["msg"]).removeprefix("Value error, ")
    words = words[:1].lower() + words[1:]
    if not field:
        return words
    given = problem.get("input")
    shown = f", not {given!r}"[:60] if isinstance(given, str | int | float) else ""
    return f"{field}: {words}{shown}"
