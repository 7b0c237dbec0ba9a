"""What a scripted model says, in the words of three providers: OpenAI's chat completions, Anthropic's, Gemini's."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_serial = itertools.count(1)


class ToolCall(NamedTuple):
    """One call. ``arguments`` as a text goes out as it is, so that it may be no JSON at all."""

    name: str
    arguments: Mapping[str, Any] | str

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Turn:
    """One answer of the model, or what goes wrong instead of one."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    usage: bool = True
    """Whether it says how many tokens it took."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    """Of an answer with another status."""
    drop_after: int | None = None
    """So many bytes of the answer are sent, then the connection is cut."""
    wait_s: float = 0.0
    """How long it thinks; the stub's end cuts it short."""


def say(text: str, *, usage: bool = True) -> Turn:
    """A plain answer."""
    return Turn(text=text, usage=usage)


def call(name: str, arguments: Mapping[str, Any] | str = "{}", text: str = "") -> Turn:
    """One call of a tool; of several: ``Turn(calls=(ToolCall(…), …))``."""
    return Turn(text=text, calls=(ToolCall(name, arguments),))


def fail(status: int, *, retry_after: float | None = None, said: str = "the stub was told to fail") -> Turn:
    """An error as OpenAI words it: ``fail(429, retry_after=1)``, ``fail(500)``."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    body = json.dumps({"error": {"message": said, "type": "stub_error", "code": None, "param": None}})
    return Turn(status=status, headers=headers, body=body)


def drop(text: str = "an answer that", after: int = 60) -> Turn:
    """An answer whose connection is cut in the middle."""
    return Turn(text=text, drop_after=after)


def late(seconds: float, text: str = "too late") -> Turn:
    """An answer that takes its time."""
    return Turn(text=text, wait_s=seconds)


def refuse(text: str = "I will not help with that.") -> Turn:
    """A refusal, in OpenAI's own field for it."""
    return Turn(refusal=text)


def noise(text: str = "<html>not JSON</html>") -> Turn:
    """An answer that is no answer: a proxy's page."""
    return Turn(body=text)


EMPTY = Turn()
HUGE = Turn(text="x" * (1 << 20))


def tokens(text: str) -> int:
    """About as many as a tokenizer would count; the same text is always the same number."""
    return max(1, len(text) // 4)


def openai_answer(turn: Turn, model: str, prompt: int) -> dict[str, Any]:
    """One chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    if turn.refusal:
        message["refusal"] = turn.refusal
    if turn.calls:
        message["tool_calls"] = [
            {"id": f"call_{next(_serial)}", "type": "function", "function": {"name": one.name, "arguments": one.text}}
            for one in turn.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if turn.calls else "stop"}
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{next(_serial)}", "object": "chat.completion", "created": 1_700_000_000, "model": model,
        "choices": [choice],
    }  # fmt: skip
    return answer | ({"usage": _openai_usage(turn, prompt)} if turn.usage else {})


def _openai_usage(turn: Turn, prompt: int) -> dict[str, int]:
    said = tokens(turn.text + turn.refusal + "".join(one.text for one in turn.calls))
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def openai_stream(turn: Turn, model: str, prompt: int, *, with_usage: bool) -> Iterator[bytes]:
    """The same as server-sent events: text in small pieces, a call's arguments in two."""
    whole = openai_answer(turn, model, prompt)
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": model}

    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _sse({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield event({"role": "assistant", "content": ""})
    for start in range(0, len(turn.text), 4096 if len(turn.text) > 4096 else 8):
        yield event({"content": turn.text[start : start + (4096 if len(turn.text) > 4096 else 8)]})
    if turn.refusal:
        yield event({"refusal": turn.refusal})
    for at, each in enumerate(whole["choices"][0]["message"].get("tool_calls", [])):
        text = each["function"]["arguments"]
        named = {"index": at, "id": each["id"], "type": "function"}
        named["function"] = {"name": each["function"]["name"], "arguments": text[: len(text) // 2]}
        yield event({"tool_calls": [named]})
        yield event({"tool_calls": [{"index": at, "function": {"arguments": text[len(text) // 2 :]}}]})
    yield event({}, whole["choices"][0]["finish_reason"])
    if with_usage and turn.usage:
        yield _sse({**head, "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def _sse(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def anthropic_answer(turn: Turn, model: str, prompt: int) -> dict[str, Any]:
    """One message of Anthropic's API."""
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{next(_serial)}", "name": one.name, "input": json.loads(one.text)}
        for one in turn.calls
    ]
    return {
        "id": f"msg_{next(_serial)}", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": "refusal" if turn.refusal else "tool_use" if turn.calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": prompt, "output_tokens": tokens(turn.text)},
    }  # fmt: skip


def anthropic_stream(turn: Turn, model: str, prompt: int) -> Iterator[bytes]:
    """The same as server-sent events."""
    whole = anthropic_answer(turn, model, prompt)

    def event(kind: str, **data: Any) -> bytes:
        return f"event: {kind}\n".encode() + _sse({"type": kind, **data})

    began = {**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": prompt, "output_tokens": 1}}
    yield event("message_start", message=began)
    for at, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=at, content_block=empty)
        yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": whole["usage"]["output_tokens"]})
    yield event("message_stop")


def gemini_stream(turn: Turn, model: str, prompt: int) -> Iterator[bytes]:
    """One answer in one piece, as ``streamGenerateContent`` sends it."""
    yield _sse(gemini_answer(turn, model, prompt))


def gemini_answer(turn: Turn, model: str, prompt: int) -> dict[str, Any]:
    """One answer of Gemini's generateContent."""
    parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text else []
    parts += [{"functionCall": {"name": one.name, "args": json.loads(one.text)}} for one in turn.calls]
    said = tokens(turn.text)
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt, "candidatesTokenCount": said, "totalTokenCount": prompt + said,
        },
        "modelVersion": model, "responseId": f"gen-{next(_serial)}",
    }  # fmt: skip
