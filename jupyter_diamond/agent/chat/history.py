"""What a model is shown of a chat's past: bounded, whole turns only, and always such that a provider takes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

MOST_BYTES = 48_000
"""About 12,000 tokens."""
MOST_TURNS = 30
_WHOLE_TURNS = 2
"""So many of the newest turns keep what tools said as it was."""
_OLD_ANSWER = 600


def load(saved: str) -> list[ModelMessage]:
    """The messages; none where a newer version wrote them."""
    if not saved:
        return []
    try:
        return ModelMessagesTypeAdapter.validate_json(saved)
    except ValidationError:
        return []


def dump(messages: Sequence[ModelMessage]) -> str:
    """As JSON, no longer than it may be."""
    return as_json(compacted(messages))


def as_json(messages: Sequence[ModelMessage]) -> str:
    """As JSON."""
    return ModelMessagesTypeAdapter.dump_json(list(messages)).decode()


def compacted(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The newest turns whole, older ones with short answers of tools, the oldest left out."""
    turns = turns_of(messages)[-MOST_TURNS:]
    kept: list[list[ModelMessage]] = []
    size = 0
    for back, turn in enumerate(reversed(turns)):
        shown = turn if back < _WHOLE_TURNS else [_shortened(each) for each in turn]
        size += len(as_json(shown))
        if size > MOST_BYTES and kept:
            break
        kept.append(shown)
    return [message for turn in reversed(kept) for message in turn]


def turns_of(messages: Sequence[ModelMessage]) -> list[list[ModelMessage]]:
    """Each from a user's words, or a task's news, to the next. What stands before the first is left out."""
    turns: list[list[ModelMessage]] = []
    for message in messages:
        begins = isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)
        answers = isinstance(message, ModelRequest) and any(
            isinstance(part, ToolReturnPart | RetryPromptPart) for part in message.parts
        )
        if begins and not answers:
            turns.append([message])
        elif turns:
            turns[-1].append(message)
    return turns


def unanswered(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """Calls at the end that wait for the user's word."""
    last = messages[-1] if messages else None
    return [part for part in last.parts if isinstance(part, ToolCallPart)] if isinstance(last, ModelResponse) else []


def groups_asked(messages: Sequence[ModelMessage]) -> set[str]:
    """Groups of tools that the model has asked for."""
    found: set[str] = set()
    for message in messages:
        for part in message.parts if isinstance(message, ModelResponse) else ():
            if isinstance(part, ToolCallPart) and part.tool_name == "more_tools":
                found |= {str(value) for value in _arguments(part).values()}
    return found


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    try:
        return part.args_as_dict()
    except (ValueError, AssertionError):
        return {}


def noted(messages: Sequence[ModelMessage], said: str, answer: str) -> list[ModelMessage]:
    """The same with something that happened besides. A call that waits for a word is not come between."""
    if unanswered(messages):
        return list(messages)
    return [
        *messages,
        ModelRequest(parts=[UserPromptPart(content=said)]),
        ModelResponse(parts=[TextPart(content=answer or "(done)")]),
    ]


def last_words(messages: Sequence[ModelMessage]) -> str:
    """What the model said beside its last calls."""
    last = messages[-1] if messages else None
    if not isinstance(last, ModelResponse):
        return ""
    return "\n\n".join(part.content for part in last.parts if isinstance(part, TextPart)).strip()


def _shortened(message: ModelMessage) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    return replace(message, parts=[_short(part) for part in message.parts])


def _short(part: ModelRequestPart) -> ModelRequestPart:
    if type(part) is not ToolReturnPart or len(_text(part.content)) <= _OLD_ANSWER:
        return part
    short: ToolReturnPart = replace(part, content=f"{_text(part.content)[:_OLD_ANSWER]} […]")  # type: ignore[arg-type]
    return short


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, default=str, ensure_ascii=False)
