"""A language model of this machine: scripted, over real HTTP on loopback, as OpenAI-compatible servers speak.

It also answers in Anthropic's and Gemini's forms. ``ModelStub([say("hello"), call("wall"), …])``
gives its turns one after another; ``ModelStub(function)`` asks a function of the request for each. It counts calls and
tokens, and keeps every prompt and every header, so that a test can look for what must not be there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from .model_wire import (
    EMPTY,
    HUGE,
    ToolCall,
    Turn,
    anthropic_answer,
    anthropic_stream,
    call,
    drop,
    fail,
    gemini_answer,
    gemini_stream,
    late,
    noise,
    openai_answer,
    openai_stream,
    refuse,
    say,
    tokens,
)

__all__ = [
    "EMPTY", "HUGE", "Asked", "ModelStub", "ToolCall", "Turn", "call", "drop", "fail", "late", "noise", "refuse", "say",
]  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One request to the model: what came, and what it was told."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(repr=False)
    turn: Turn = field(repr=False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body.get("messages") or self.body.get("contents") or []
        return found

    @property
    def tools(self) -> list[str]:
        """The names of the tools that it may call."""
        every = self.body.get("tools") or []
        return [each.get("function", each).get("name", "") for each in every]

    @property
    def text(self) -> str:
        """All that was sent, as one text."""
        return json.dumps(self.body, ensure_ascii=False)


Script = Sequence[Turn] | Callable[[list[dict[str, Any]]], Turn]


class ModelStub:
    """Up from the moment it is made. ``url`` is what ``base_url`` of a model is set to."""

    def __init__(self, script: Script = (), port: int = 0) -> None:
        self.asked: list[Asked] = []
        self.surplus = 0
        """How many requests came after the script's end."""
        self.prompt_tokens = self.answer_tokens = 0
        self._script, self._at = script, 0
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._server = _Server(("127.0.0.1", port), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="model-stub")
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """For OpenAI-compatible clients, which want the version in it."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """For Anthropic's and Gemini's clients."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def calls(self) -> int:
        return len(self.asked)

    @property
    def prompts(self) -> str:
        """Everything that was ever sent to it, headers left out: where a canary must not be."""
        with self._lock:
            return "\n".join(each.text for each in self.asked)

    def play(self, script: Script) -> None:
        """Another script; what was asked is kept."""
        with self._lock:
            self._script, self._at = script, 0

    def forget(self) -> None:
        """Nothing was asked."""
        with self._lock:
            self.asked.clear()
            self.surplus = self.prompt_tokens = self.answer_tokens = 0

    def next_turn(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Turn:
        """What comes next; a script that is over fails, and is counted."""
        script = self._script
        scripted = script(body.get("messages") or body.get("contents") or []) if callable(script) else None
        with self._lock:
            if scripted is not None:
                turn = scripted
            elif not callable(script) and self._at < len(script):
                turn = script[self._at]
                self._at += 1
            else:
                self.surplus += 1
                turn = fail(400, said="the stub's script is over")
            self.asked.append(Asked(path, body, headers, turn))
            return turn

    def count(self, turn: Turn, prompt: int) -> None:
        """Add what an answer took."""
        with self._lock:
            self.prompt_tokens += prompt
            self.answer_tokens += tokens(turn.text + turn.refusal + "".join(each.text for each in turn.calls))

    def rest(self, seconds: float) -> bool:
        """Think; True when the stub ends meanwhile."""
        return self._ended.wait(seconds)

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> ModelStub:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away in the middle are what tests are about."""


def _handler_of(stub: ModelStub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        its = stub

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    its: ModelStub

    def do_GET(self) -> None:
        """The list of models, which some clients look at first."""
        data = {"object": "list", "data": [{"id": "stub", "object": "model", "created": 0, "owned_by": "tests"}]}
        self._send(200, json.dumps(data).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        turn = self.its.next_turn(self.path, body, {name.lower(): value for name, value in self.headers.items()})
        if turn.wait_s and self.its.rest(turn.wait_s):
            self.close_connection = True
            return
        if turn.body or turn.status != 200:
            self._send(turn.status, turn.body.encode(), dict(turn.headers))
            return
        prompt = tokens(json.dumps(body))
        self.its.count(turn, prompt)
        try:
            self._answer(turn, body, prompt)
        except (BrokenPipeError, ConnectionResetError):  # the client did not wait
            self.close_connection = True

    def _answer(self, turn: Turn, body: dict[str, Any], prompt: int) -> None:
        model = str(body.get("model", "stub"))
        if self.path.partition("?")[0].endswith("/messages"):
            if body.get("stream"):
                self._stream(turn, b"".join(anthropic_stream(turn, model, prompt)))
            else:
                self._whole(turn, anthropic_answer(turn, model, prompt))
        elif "enerateContent" in self.path:
            named = self.path.rsplit("/", 1)[-1].partition(":")[0]
            if ":stream" in self.path:
                self._stream(turn, b"".join(gemini_stream(turn, named, prompt)))
            else:
                self._whole(turn, gemini_answer(turn, named, prompt))
        elif not self.path.endswith("/chat/completions"):
            self._send(404, b'{"error": {"message": "the stub has no such path"}}')
        elif body.get("stream"):
            with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
            self._stream(turn, b"".join(openai_stream(turn, model, prompt, with_usage=with_usage)))
        else:
            self._whole(turn, openai_answer(turn, model, prompt))

    def _whole(self, turn: Turn, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        if turn.drop_after is None:
            self._send(200, data)
            return
        self._head(200, {"Content-Length": str(len(data))})
        self.wfile.write(data[: turn.drop_after])
        self._cut()

    def _stream(self, turn: Turn, data: bytes) -> None:
        self._head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        part = data if turn.drop_after is None else data[: turn.drop_after].rpartition(b"\n\n")[0]
        for event in part.split(b"\n\n"):
            if event:
                piece = event + b"\n\n"
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
        if turn.drop_after is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._cut()

    def _cut(self) -> None:
        self.wfile.flush()
        self.close_connection = True

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(status, {"Content-Length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | headers).items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""
