"""A conversation that a provider takes: every call of a tool answered, nothing half said at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

NOT_DONE = "Not carried out: the turn was ended before."


def mended(messages: Sequence[ModelMessage], sentence: str) -> list[ModelMessage]:
    """What a turn that went wrong leaves: what was done stays, what came to nothing goes, and its end is told."""
    kept = list(messages)
    while kept and _came_to_nothing(kept):
        del kept[-1]
    if not kept:
        return []
    last = kept[-1]
    if isinstance(last, ModelResponse):
        calls = [part for part in last.parts if isinstance(part, ToolCallPart)]
        returns: list[ModelRequestPart] = [
            ToolReturnPart(tool_name=call.tool_name, content=NOT_DONE, tool_call_id=call.tool_call_id) for call in calls
        ]
        if not returns:
            return kept
        kept.append(ModelRequest(parts=returns))
    else:
        kept[-1] = _answered(last, kept[-2] if len(kept) > 1 else None)
    return [*kept, ModelResponse(parts=[TextPart(f"[no answer: {sentence}]")])]


def _came_to_nothing(messages: list[ModelMessage]) -> bool:
    """The last message is a complaint about an answer, or an answer that nothing came of."""
    last = messages[-1]
    if isinstance(last, ModelRequest):
        return bool(last.parts) and all(isinstance(part, RetryPromptPart) for part in last.parts)
    calls = [part for part in last.parts if isinstance(part, ToolCallPart)]
    texts = [part for part in last.parts if isinstance(part, TextPart) and part.content.strip()]
    broken = last.state in ("incomplete", "interrupted")
    return broken or not (calls or texts) or any(_unreadable(call) for call in calls)


def _unreadable(call: ToolCallPart) -> bool:
    try:
        call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return True
    return False


def _answered(request: ModelRequest, before: ModelMessage | None) -> ModelRequest:
    """The same with a return for whichever call before it has none: a turn may end between two tools."""
    if not isinstance(before, ModelResponse):
        return request
    told = {part.tool_call_id for part in request.parts if isinstance(part, ToolReturnPart | RetryPromptPart)}
    lacking: list[ModelRequestPart] = [
        ToolReturnPart(tool_name=call.tool_name, content=NOT_DONE, tool_call_id=call.tool_call_id)
        for call in before.parts
        if isinstance(call, ToolCallPart) and call.tool_call_id not in told
    ]
    return replace(request, parts=[*request.parts, *lacking]) if lacking else request
