"""Where every question to a language model goes through: one configured model, bounded, watched, and noted.

Nothing is asked without a model that the user has named. The libraries are loaded at the first question, in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.secrets import Secrets
from jupyter_diamond.errors import DiamondError, ModelProblem
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.model_call import ModelCall
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.settings import DiamondAgent

from .names import Keyring, ModelName, key_of, read_name
from .problems import foreseen, problem_of
from .providers import build, not_installed

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

    from .watched import Took

NOT_CONFIGURED = (
    "No language model is set up: name one by c.DiamondAgent.model or JUPYTER_DIAMOND_MODEL, e.g. openai:gpt-5-mini, "
    "with its key in the environment. Everything else works without."
)
Events = Callable[[Any, AsyncIterable[Any]], Awaitable[None]]
"""As pydantic-ai's ``event_stream_handler``."""
Maker = Callable[[ModelName, "str | None"], "Model"]


class Warden(Protocol):
    """Who decides whether a model may be asked at all: the kill switch, and the user's budgets of tokens."""

    async def may_ask_model(self, speaker: Speaker) -> None:
        """Raises PolicyBlocked. What was taken so far stands in the ledger's rows of model calls."""


@dataclass(frozen=True)
class Answered:
    """What came of one turn."""

    output: Any
    history: list[ModelMessage]
    """The whole conversation, this turn included."""
    new: list[ModelMessage]
    """This turn alone."""
    model: str
    requests: int
    prompt_tokens: int | None
    answer_tokens: int | None
    """None where a provider left them out for a part of the turn."""
    seconds: float


class Models:
    """The model of one server, if there is any."""

    def __init__(
        self,
        settings: DiamondAgent,
        log: logging.Logger,
        ledger: Ledger | None = None,
        *,
        warden: Warden | None = None,
        secrets: Secrets | None = None,
        make: Maker = build,
        environ: Mapping[str, str] = os.environ,
        keyring: Keyring | None = None,
    ) -> None:
        self.settings, self._log, self._ledger = settings, log, ledger
        self.warden = warden
        """Set by whoever makes the guard."""
        self.secrets = secrets or Secrets(environ)
        """What is blotted out of every prompt."""
        self._make, self._environ, self._keyring = make, environ, keyring
        self._model: Model | None = None
        self._secret: str | None = None
        self._turn = asyncio.Lock()

    @property
    def configured(self) -> bool:
        """Whether the user has named a model. Whether it answers is known when it was asked."""
        return bool(self.settings.model.strip())

    @property
    def name(self) -> str:
        """``PROVIDER:NAME``; empty without one."""
        return str(self.settings.model).strip()

    def describe(self) -> str:
        """One sentence for people: which model is asked, and where; or what to do. It never names the key."""
        if not self.configured:
            return NOT_CONFIGURED
        try:
            wanted = read_name(self.name, self.settings.base_url)
            key = key_of(wanted, self._environ, self._keyring)
        except ModelProblem as problem:
            return problem.message
        at = f" at {wanted.base_url}" if wanted.base_url else ""
        return f"{wanted.text}{at} is asked{'' if key else ', without a key'}."

    async def model(self) -> Model:
        """The model, made at first use. Raises ModelProblem where none is named, or its key or library is missing."""
        async with self._turn:
            if self._model is None:
                if not self.configured:
                    raise ModelProblem(NOT_CONFIGURED, kind="not_configured")
                model = await asyncio.to_thread(self._made)
                await model.__aenter__()  # its connections stay open between questions, until ``close``
                self._model = model
            return self._model

    def _made(self) -> Model:
        wanted = read_name(self.name, self.settings.base_url)
        self._secret = key_of(wanted, self._environ, self._keyring)
        return self._make(wanted, self._secret)

    async def run(
        self,
        agent: Agent[Any, Any],
        prompt: Any,
        *,
        purpose: str,
        speaker: Speaker,
        history: Sequence[ModelMessage] = (),
        deps: Any = None,
        events: Events | None = None,
        seconds: float | None = None,
        requests: int | None = None,
        **more: Any,
    ) -> Answered:
        """One turn: the model answers, calling tools as it needs. Raises ModelProblem, with the valid ``history``.

        ``events`` makes it stream. ``seconds`` and ``requests`` are bounds below those of the settings. ``more`` goes
        to pydantic-ai's ``Agent.run``: ``output_type``, ``deferred_tool_results``, ``toolsets``, ``instructions``.
        """
        try:
            model = await self.model()
            turn = Turn(self, model, purpose, speaker, min(self.settings.turn_s, seconds or self.settings.turn_s))
            return await turn.run(
                agent, prompt, history=history, deps=deps, events=events, requests=requests, more=more
            )
        except ImportError as missing:
            raise not_installed(missing) from missing

    async def note(self, call: ModelCall) -> None:
        """One call into the ledger; a ledger that cannot be written never costs an answer."""
        if self._ledger is None:
            return
        try:
            await self._ledger.do(self._ledger.store.model_calls.add, call)
        except DiamondError as problem:
            self._log.warning("A call of %s was not noted: %s", call.model, problem.message)

    def problem(self, error: BaseException) -> DiamondError:
        """An error as a sentence, the key blotted out. Of one that nobody foresaw the place goes into the log."""
        if not foreseen(error):
            last = traceback.extract_tb(error.__traceback__)[-1:]
            place = f"{last[0].filename}:{last[0].lineno}" if last else "an unknown place"
            self._log.error("A turn of %s was ended by %s at %s.", self.name, type(error).__name__, place)
        return problem_of(error, self.name, secret=self._secret)

    async def close(self) -> None:
        """Let the model's connections go."""
        async with self._turn:
            model, self._model = self._model, None
            if model is not None:
                await model.__aexit__(None, None, None)


class Turn:
    """One turn of one speaker. It is its own watch."""

    def __init__(self, models: Models, model: Model, purpose: str, speaker: Speaker, seconds: float) -> None:
        self._models, self._model, self._purpose, self._speaker = models, model, purpose, speaker
        self._began = time.monotonic()
        self._seconds = seconds
        self.taken: list[Took] = []

    async def run(
        self, agent: Any, prompt: Any, *, history: Sequence[Any], deps: Any, events: Events | None,
        requests: int | None, more: Mapping[str, Any],
    ) -> Answered:  # fmt: skip
        """Ask until there is an answer, or something is over."""
        from pydantic_ai import capture_run_messages
        from pydantic_ai.usage import UsageLimits

        from .turns import mended

        settings = self._models.settings
        most = min(settings.turn_requests, requests or settings.turn_requests)
        bounds = {"max_tokens": settings.answer_tokens, "timeout": settings.timeout_s, "max_retries": 0}
        with capture_run_messages() as said:
            try:
                running = agent.run(
                    prompt, model=self._watched(), deps=deps,
                    message_history=list(history) or None, model_settings=bounds,
                    usage_limits=UsageLimits(request_limit=most),
                    event_stream_handler=None if events is None else self._bounded(events), **more,
                )  # fmt: skip
                result = await asyncio.wait_for(running, self._seconds + 1.0)  # a request ends before its turn does
            except Exception as error:  # noqa: BLE001 - four clients have errors of their own, with keys and requests in them
                problem = self._models.problem(error)
                if isinstance(problem, ModelProblem):
                    problem.history = tuple(mended(said or list(history), problem.message))
                raise problem from None
        return self._answered(result)

    def _watched(self) -> Model:
        from .watched import Watched

        secrets, seconds = self._models.secrets, self._models.settings.timeout_s
        return Watched(self._model, self, timeout_s=seconds, blot=secrets.blot_all)

    def _answered(self, result: Any) -> Answered:
        measured = [each for each in self.taken if each.outcome == "ok"]
        prompts, answers = [each.prompt_tokens for each in measured], [each.answer_tokens for each in measured]
        return Answered(
            output=result.output, history=result.all_messages(), new=result.new_messages(), model=self._models.name,
            requests=len(self.taken), prompt_tokens=_sum(prompts), answer_tokens=_sum(answers),
            seconds=time.monotonic() - self._began,
        )  # fmt: skip

    def _bounded(self, events: Events) -> Events:
        """The same listener, to whom no more than a whole answer's length is told."""
        from pydantic_ai.messages import PartDeltaEvent, TextPartDelta

        from .watched import MOST_ANSWER, too_long

        async def cut(stream: AsyncIterable[Any]) -> AsyncIterator[Any]:
            length = 0
            async for event in stream:
                if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    length += len(event.delta.content_delta)
                    if length > MOST_ANSWER:
                        raise too_long(self._models.name, length)
                yield event

        return lambda context, stream: events(context, cut(stream))

    # -- what a request is watched by

    async def may(self) -> None:
        """Raises where no request may be made now."""
        known = sum((each.prompt_tokens or 0) + (each.answer_tokens or 0) for each in self.taken)
        if known >= self._models.settings.turn_tokens:
            raise ModelProblem(
                f"{self._models.name} took {known:,} tokens in this turn, which is all that one turn may take "
                "(c.DiamondAgent.turn_tokens), so it was stopped.",
                kind="too_long",
            )
        if self._models.warden is not None:
            await self._models.warden.may_ask_model(self._speaker)

    async def note(self, took: Took) -> None:
        """One request is over."""
        self.taken.append(took)
        now = from_epoch(time.time())
        call = ModelCall(
            at=now, channel=self._speaker.channel, purpose=self._purpose, model=self._models.name,
            prompt_tokens=took.prompt_tokens, answer_tokens=took.answer_tokens, seconds=took.seconds,
            outcome=took.outcome,
        )  # fmt: skip
        await self._models.note(call)

    def problem(self, error: BaseException) -> DiamondError:
        """An error as a sentence."""
        return self._models.problem(error)

    def left_s(self) -> float:
        """How long the turn may still take."""
        return max(0.0, self._began + self._seconds - time.monotonic())


def _sum(tokens: Sequence[int | None]) -> int | None:
    """None where one of them is unknown."""
    known = [each for each in tokens if each is not None]
    return sum(known) if len(known) == len(tokens) else None
