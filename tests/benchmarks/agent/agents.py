"""Scripted agents: what one says and calls next is decided by what its last call gave, as a generator."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits

from jupyter_diamond.agent.desk import AgentDesk
from jupyter_diamond.agent.tools.toolset import DiamondTools
from jupyter_diamond.model.proposal import Speaker

Answer = dict[str, Any]
Turn = Generator[tuple[str, dict[str, Any]], Answer, str]
"""Yields a tool's name and arguments, is sent its answer, and returns what it says to the user."""
Turns = Callable[[str], Turn]
"""From what was said to it to what it does."""

STATUS = frozenset({"get_task", "get_group", "list_tasks", "wait_task", "recent_events"})
LOG = frozenset({"tail_log", "fetch_file"})
SUBMIT = frozenset({"submit_task", "submit_group"})
CHECK = frozenset({"plan_placement", "validate_envelope", "draft_envelope", "find_idle"})
TRACE = bool(os.environ.get("TRACE"))
TOKEN = 4
_MANY = UsageLimits(request_limit=200)
"""Characters, as is usual for a rough count; the same for all that are compared."""


@dataclass
class Used:
    """What a conversation took."""

    calls: Counter[str] = field(default_factory=Counter)
    asked_at: list[float] = field(default_factory=list)
    """When its model was asked."""
    idle_at: list[float] = field(default_factory=list)
    """Those of them that nobody needs: a turn that the user did not begin, or a further look at a state in one."""
    prompt_tokens: int = 0
    answer_tokens: int = 0

    @property
    def looked(self) -> bool:
        """At least one submission, one look at its state, one at its log, one check of what was asked."""
        return all(any(self.calls[name] for name in names) for names in (SUBMIT, STATUS, LOG, CHECK))

    def during(self, spans: Sequence[tuple[float, float]]) -> int:
        """How often the model was asked while one of its jobs ran, without a word of the user's."""
        return sum(any(begin < at < end for begin, end in spans) for at in self.idle_at)


class Conversation:
    """One chat with a scripted agent, over the real tools."""

    def __init__(self, desk: AgentDesk, number: int) -> None:
        self.desk, self.used = desk, Used()
        self.speaker = Speaker(user="ada", agent="Diamond", channel=f"chat:{number}")
        self.history: list[ModelMessage] = []
        self.open_groups: set[str] = {"tasks"}
        self._looks, self._news = 0, False

    async def say(self, text: str, turns: Turns) -> str:
        """One turn of the user's, or of news; what the agent says to it."""
        turn = turns(text)
        self._looks, self._news = 0, text.startswith("[news]")
        tools = DiamondTools(self.desk.tools, self.speaker, self.open_groups)
        agent = Agent(
            FunctionModel(lambda messages, info: self._answer(turn, messages, info)), toolsets=[tools], retries=5
        )
        done = await agent.run(text, message_history=self.history, usage_limits=_MANY)
        self.history = done.all_messages()
        return str(done.output)

    def _answer(self, turn: Turn, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.used.asked_at.append(time.time())
        if self._news or self._looks > 1:
            self.used.idle_at.append(time.time())
        schemas = sum(
            len(json.dumps(tool.parameters_json_schema)) + len(tool.description or "") for tool in info.function_tools
        )
        self.used.prompt_tokens += (sum(len(_text(each)) for each in messages) + schemas) // TOKEN
        if TRACE:
            print(_text(messages[-1])[:3000], file=sys.stderr)
        told = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        try:
            name, given = turn.send(dict(told[-1]) if told else None)  # type: ignore[arg-type]  # None begins it
        except StopIteration as over:
            self.used.answer_tokens += len(str(over.value)) // TOKEN
            return ModelResponse(parts=[TextPart(str(over.value))])
        self.used.calls[name] += 1
        self._looks += name in STATUS
        self.used.answer_tokens += len(json.dumps(given)) // TOKEN
        return ModelResponse(parts=[ToolCallPart(name, given)])


def _text(message: ModelMessage) -> str:
    return "".join(
        json.dumps(part.args if isinstance(part, ToolCallPart) else getattr(part, "content", ""), default=str)
        for part in message.parts
    )
