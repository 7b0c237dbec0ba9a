"""A real ipykernel in a process of its own, driven through jupyter_client as a front end does."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_core.paths import jupyter_runtime_dir

ROOT = Path(__file__).parents[2]


@dataclass
class Ran:
    """What one execution gave."""

    status: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    payload: list[dict[str, Any]] = field(default_factory=list)

    def text(self, name: str) -> str:
        return "".join(
            m["content"]["text"] for m in self.messages if m["msg_type"] == "stream" and m["content"]["name"] == name
        )

    @property
    def stdout(self) -> str:
        return self.text("stdout")

    @property
    def stderr(self) -> str:
        return self.text("stderr")

    @property
    def result(self) -> str:
        return "".join(m["content"]["data"]["text/plain"] for m in self.messages if m["msg_type"] == "execute_result")

    @property
    def error(self) -> str:
        return "\n".join("\n".join(m["content"]["traceback"]) for m in self.messages if m["msg_type"] == "error")

    @property
    def displays(self) -> list[dict[str, Any]]:
        return [m["content"] for m in self.messages if m["msg_type"] == "display_data"]

    @property
    def everything(self) -> str:
        return self.stdout + self.stderr + self.result + self.error


def sockets() -> dict[str, str]:
    """Settings of a kernel manager: Unix sockets, because ports are chosen before a kernel takes them.

    Another test's kernel may have them by then.
    """
    folder = Path(jupyter_runtime_dir())
    folder.mkdir(parents=True, exist_ok=True)
    return {"transport": "ipc", "ip": str(folder / secrets.token_hex(4))}


class LiveKernel:
    """Keeps every iopub message that ever arrived, so that late updates can be looked for."""

    def __init__(self, env: dict[str, str], cwd: Path) -> None:
        self._manager = KernelManager(kernel_name="python3", **sockets())
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("DIAMOND_", "JPY_", "JUPYTERHUB_"))}
        self._manager.start_kernel(
            env={**clean, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(cwd / ".ipython"), **env}, cwd=str(cwd)
        )
        self.client = self._manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.seen: list[dict[str, Any]] = []

    def send(self, code: str) -> str:
        return self.client.execute(code)

    def run(self, code: str, deadline_s: float = 30.0) -> Ran:
        """Execute and wait until the kernel is idle again."""
        return self.finish(self.send(code), deadline_s)

    def finish(self, message_id: str, deadline_s: float = 30.0) -> Ran:
        limit = time.monotonic() + deadline_s
        while time.monotonic() < limit:
            message = self._next(0.2)
            if (
                message
                and message["msg_type"] == "status"
                and message["content"]["execution_state"] == "idle"
                and message["parent_header"].get("msg_id") == message_id
            ):
                reply = self.client.get_shell_msg(timeout=10)
                while reply["parent_header"].get("msg_id") != message_id:
                    reply = self.client.get_shell_msg(timeout=10)
                mine = [m for m in self.seen if m["parent_header"].get("msg_id") == message_id]
                return Ran(reply["content"]["status"], mine, reply["content"].get("payload", []))
        raise AssertionError("the cell did not end in time")

    def ok(self, code: str, deadline_s: float = 30.0) -> Ran:
        ran = self.run(code, deadline_s)
        assert ran.status == "ok", ran.everything
        return ran

    def updates(self, display_id: str) -> list[dict[str, Any]]:
        """Every update of one display so far."""
        while self._next(0.02):
            pass
        return [
            m["content"]
            for m in self.seen
            if m["msg_type"] == "update_display_data" and m["content"]["transient"].get("display_id") == display_id
        ]

    def until(self, check: Any, deadline_s: float = 10.0, what: str = "it") -> Any:
        """Read messages until ``check()`` says something true."""
        limit = time.monotonic() + deadline_s
        while time.monotonic() < limit:
            found = check()
            if found:
                return found
            self._next(0.05)
        raise AssertionError(f"{what} did not happen in {deadline_s} s")

    def complete(self, code: str) -> list[str]:
        message_id = self.client.complete(code, len(code))
        while True:
            reply = self.client.get_shell_msg(timeout=20)
            if reply["parent_header"].get("msg_id") == message_id:
                return reply["content"]["matches"]

    def comm_messages(self) -> list[dict[str, Any]]:
        return [m for m in self.seen if m["msg_type"] == "comm_msg"]

    def _next(self, timeout: float) -> dict[str, Any] | None:
        try:
            message = self.client.get_iopub_msg(timeout=timeout)
        except Empty:
            return None
        self.seen.append(message)
        return message

    def stop(self) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)
