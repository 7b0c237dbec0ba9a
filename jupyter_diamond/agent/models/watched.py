"""A model that is watched: every request asks whether it may, is timed, tried again within bounds, and noted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from jupyter_diamond.errors import DiamondError, ModelProblem

MOST_ANSWER = 200_000
"""Characters of one answer, its calls of tools included. Nothing that we ask for is longer."""
TRIES = 3
FIRST_REST_S = 0.5
"""Where the provider does not say how long to rest."""
LONGEST_REST_S = 30.0
"""A provider that wants a longer rest than this is not waited for: the user is told instead."""
_AGAIN = frozenset({"throttled", "failed", "dropped", "unreachable"})


class Took(NamedTuple):
    """What one request took. Tokens are None where the provider does not say."""

    prompt_tokens: int | None
    answer_tokens: int | None
    seconds: float
    outcome: str


class Watch(Protocol):
    """What a request is watched by."""

    async def may(self) -> None:
        """Raises where no request may be made now."""

    async def note(self, took: Took) -> None:
        """One request is over, however it ended."""

    def problem(self, error: BaseException) -> DiamondError:
        """An error as a sentence."""

    def left_s(self) -> float:
        """How long the turn may still take."""


class Watched(WrapperModel):
    """Another model, watched."""

    def __init__(self, wrapped: Model, watch: Watch, *, timeout_s: float, blot: Callable[[Any], Any]) -> None:
        """``blot`` takes secrets out of text, and out of JSON with texts in it."""
        super().__init__(wrapped)
        self._watch, self._timeout_s, self._blot = watch, timeout_s, blot

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """One answer."""

        async def ask() -> ModelResponse:
            asking = self.wrapped.request(blotted(messages, self._blot), model_settings, model_request_parameters)
            return await asyncio.wait_for(asking, self._patience())

        answer: ModelResponse = await self._tried(ask)
        return answer

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """One answer, piece by piece. Once it has begun it is not asked for again: its beginning was shown."""
        began = time.monotonic()
        opened: list[StreamedResponse] = []

        async def ask() -> Any:
            told = blotted(messages, self._blot)
            stream = self.wrapped.request_stream(told, model_settings, model_request_parameters, run_context)
            return stream, await stream.__aenter__()  # not in another task: what it opens is closed in this one

        outcome = "cancelled"
        try:
            stream, response = await self._tried(ask)
            opened.append(response)
            async with _exiting(stream):
                yield response
            check_length(response.get(), self.wrapped.model_name)
            outcome = "ok"
        except Exception as error:  # noqa: BLE001 - four clients have errors of their own, with keys and requests in them
            problem = self._watch.problem(error)
            outcome = outcome_of(problem)
            raise problem from None
        finally:
            if opened:  # else it is noted already
                await self._watch.note(took(opened[0].usage, time.monotonic() - began, outcome))

    async def _tried(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Ask, and again where that may help. Every try asks for leave and is noted; a stream that opens is not yet."""
        for at in range(TRIES):
            await self._watch.may()
            began, outcome, usage = time.monotonic(), "cancelled", None
            try:
                answer = await ask()
                if not isinstance(answer, ModelResponse):
                    outcome = "open"
                    return answer
                usage = answer.usage
                check_length(answer, self.wrapped.model_name)
                outcome = "ok"
                return answer
            except Exception as error:  # noqa: BLE001 - four clients have errors of their own, with keys and requests in them
                problem = self._watch.problem(error)
                outcome = outcome_of(problem)
                rest_s = self._rest(problem, at)
                if rest_s is None:
                    raise problem from None
            finally:
                if outcome != "open":
                    await self._watch.note(took(usage, time.monotonic() - began, outcome))
            await asyncio.sleep(rest_s)
        raise AssertionError("the last try returns or raises")

    def _patience(self) -> float:
        return max(0.0, min(self._timeout_s, self._watch.left_s()))

    def _rest(self, problem: DiamondError, at: int) -> float | None:
        """How long to rest before the next try; None: there is none."""
        if not isinstance(problem, ModelProblem) or problem.kind not in _AGAIN or at + 1 >= TRIES:
            return None
        rest_s = problem.retry_after_s if problem.retry_after_s is not None else FIRST_REST_S * 4**at
        return rest_s if rest_s <= min(LONGEST_REST_S, self._watch.left_s()) else None


def blotted(messages: list[ModelMessage], blot: Callable[[Any], Any]) -> list[ModelMessage]:
    """The same messages without secrets; what an agent had asked a tool for stays as it was."""
    told: list[Any] = [*messages]
    return [replace(each, parts=[_blotted(part, blot) for part in each.parts]) for each in told]


def _blotted(part: Any, blot: Callable[[Any], Any]) -> Any:
    content = getattr(part, "content", None)
    if isinstance(content, list | tuple):  # of a prompt with pictures: only its texts are ours to read
        told = [blot(each) if isinstance(each, str | dict) else each for each in content]
        return replace(part, content=told)
    return replace(part, content=blot(content)) if isinstance(content, str | dict) else part


@asynccontextmanager
async def _exiting(stream: Any) -> AsyncGenerator[None]:
    """What was entered by hand is left as ``async with`` would."""
    try:
        yield
    except BaseException as error:  # it is raised again, unless the stream itself takes it
        if not await stream.__aexit__(type(error), error, error.__traceback__):
            raise
    else:
        await stream.__aexit__(None, None, None)


def outcome_of(problem: DiamondError) -> str:
    """One word for the ledger."""
    return problem.kind if isinstance(problem, ModelProblem) else problem.code


def took(usage: RequestUsage | None, seconds: float, outcome: str) -> Took:
    """Tokens are unknown, not zero, where the provider left them out."""
    if usage is None or usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return Took(None, None, seconds, outcome)
    return Took(usage.input_tokens, usage.output_tokens, seconds, outcome)


def check_length(answer: ModelResponse, model: str) -> None:
    """Raises ModelProblem for an answer that is longer than anything that we ask for."""
    length = sum(len(part.content) for part in answer.parts if isinstance(part, TextPart))
    length += sum(len(part.args_as_json_str()) for part in answer.parts if isinstance(part, ToolCallPart))
    if length > MOST_ANSWER:
        raise too_long(model, length)


def too_long(model: str, length: int) -> ModelProblem:
    """What is said of such an answer."""
    return ModelProblem(
        f"{model} answered with {length:,} characters; more than {MOST_ANSWER:,} are not taken.", kind="too_long"
    )
