"""A kernel behind a Jupyter server, spoken to as the browser does: over the server's websocket."""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import websocket
from jupyter_server.services.kernels.connection.base import deserialize_binary_message

Output = dict[str, Any]
OnOutput = Callable[[Output], None]


class JupyterError(Exception):
    """A server or a kernel did not do what was asked; the message says what, and where its log is."""


class CellFailed(JupyterError):
    """A cell raised; ``outputs`` has all that it printed."""

    def __init__(self, message: str, outputs: list[Output]) -> None:
        super().__init__(message)
        self.outputs = outputs


@dataclass
class Kernel:
    """A kernel behind the server, spoken to as the browser does: over the server's websocket."""

    client: httpx.Client
    token: str
    id: str
    session_id: str
    log: Path
    messages: list[dict[str, Any]] = field(default_factory=list)
    _socket: websocket.WebSocket | None = None

    def execute(self, code: str, *, seconds: float = 120, on_output: OnOutput | None = None) -> list[Output]:
        """Run code and give its outputs as a notebook would keep them. CellFailed when it raises."""
        request = self._send(
            "execute_request", {"code": code, "silent": False, "store_history": True, "stop_on_error": True}
        )
        outputs = Outputs(on_output)
        reply: dict[str, Any] | None = None
        idle, deadline = False, time.monotonic() + seconds
        while not (idle and reply):
            message = self._receive(deadline)
            if message["parent_header"].get("msg_id") != request:
                continue
            kind = message["msg_type"]
            if kind == "execute_reply":
                reply = message["content"]
            elif kind == "status":
                idle = message["content"]["execution_state"] == "idle"
            else:
                outputs.take(message)
        if reply["status"] != "ok":
            raise CellFailed(f"{reply.get('ename', reply['status'])}: {reply.get('evalue', '')}", outputs.kept)
        return outputs.kept

    def evaluate(self, expression: str) -> str:
        """The text of an expression's value in the kernel."""
        outputs = self.execute(f"print({expression})")
        return "".join(output.get("text", "") for output in outputs).strip()

    def listen(self, until: Callable[[dict[str, Any]], bool], *, seconds: float = 60) -> dict[str, Any]:
        """Read on until a message comes for which ``until`` is true: updates of a card after its cell has ended."""
        deadline = time.monotonic() + seconds
        while True:
            message = self._receive(deadline)
            if until(message):
                return message

    def pid(self) -> int:
        """The kernel's process."""
        return int(self.evaluate("__import__('os').getpid()"))

    def kill(self) -> None:
        """Kill the kernel's process as an out-of-memory killer would; the server then restarts it."""
        os.kill(self.pid(), signal.SIGKILL)
        self.disconnect()

    def restart(self) -> None:
        """Restart it as the menu does: all variables are gone."""
        self.disconnect()
        self.client.post(f"api/kernels/{self.id}/restart").raise_for_status()

    def shutdown(self) -> None:
        """Shut it down."""
        self.disconnect()
        if not self.client.is_closed:
            self.client.delete(f"api/sessions/{self.session_id}")

    def disconnect(self) -> None:
        """Close the connection, as a closed browser tab does; the kernel goes on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> websocket.WebSocket:
        if self._socket is None:
            base = str(self.client.base_url).replace("http", "ws", 1)
            address = f"{base}api/kernels/{self.id}/channels?session_id={self.id}"
            header = [f"Authorization: token {self.token}"]
            self._socket = websocket.create_connection(address, timeout=60, header=header, http_no_proxy=["127.0.0.1"])
        return self._socket

    def _send(self, kind: str, content: dict[str, Any]) -> str:
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "username": "test",
            "session": self.id,
            "date": datetime.now(timezone.utc).isoformat(),
            "version": "5.3",
        }
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        self._open().send(json.dumps(message))
        return header["msg_id"]

    def _receive(self, deadline: float) -> dict[str, Any]:
        remaining = deadline - time.monotonic()
        try:
            connection = self._open()
            connection.settimeout(max(remaining, 0.01))
            frame = connection.recv()
        except websocket.WebSocketTimeoutException:
            raise JupyterError(f"The kernel said nothing more in time; see {self.log}.") from None
        except websocket.WebSocketException as error:
            raise JupyterError(f"The connection to the kernel broke ({error}); see {self.log}.") from error
        message: dict[str, Any] = json.loads(frame) if isinstance(frame, str) else deserialize_binary_message(frame)
        message.setdefault("msg_type", message["header"]["msg_type"])
        self.messages.append(message)
        return message


class Outputs:
    """A cell's outputs, put together from messages as JupyterLab does."""

    def __init__(self, on_output: OnOutput | None = None) -> None:
        self.kept: list[Output] = []
        self._on_output = on_output
        self._displays: dict[str, Output] = {}

    def take(self, message: dict[str, Any]) -> None:
        """Take one message of the cell."""
        kind, content = message["msg_type"], message["content"]
        display = content.get("transient", {}).get("display_id")
        if kind == "clear_output":
            self.kept.clear()
        elif kind == "update_display_data":
            if display in self._displays:
                self._displays[display].update(data=content["data"], metadata=content["metadata"])
        elif kind in ("stream", "display_data", "execute_result", "error"):
            self._keep(kind, content, display)

    def _keep(self, kind: str, content: dict[str, Any], display: str | None) -> None:
        output: Output = {key: value for key, value in content.items() if key != "transient"} | {"output_type": kind}
        last = self.kept[-1] if self.kept else {}
        if kind == "stream" and (last.get("output_type"), last.get("name")) == (kind, output["name"]):
            last["text"] += output["text"]
        else:
            self.kept.append(dict(output))
            if display:
                self._displays[display] = self.kept[-1]
        if self._on_output is not None:
            self._on_output(output)


def as_text(output: Output) -> str:
    """An output as plain text."""
    if output["output_type"] == "stream":
        return str(output["text"])
    if output["output_type"] == "error":
        return "\n".join(output["traceback"])
    data = output["data"]
    text = data.get("text/plain") or data.get("text/markdown") or ""
    pictures = [kind for kind in data if kind.startswith("image/")]
    return "".join(text) + (f"  [{', '.join(pictures)}]" if pictures else "")
