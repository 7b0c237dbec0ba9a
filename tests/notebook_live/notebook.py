"""A notebook as its user works with it: cells in, outputs and sentences out."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

from tests.live.jupyter import JupyterServer
from tests.live.kernel import CellFailed, Kernel, Output, as_text
from tests.notebook.live_kernel import LiveKernel

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Ran:
    """What one cell gave."""

    def __init__(self, outputs: list[Output], error: str = "") -> None:
        self.outputs, self.error = outputs, error

    @property
    def text(self) -> str:
        """All outputs as plain text."""
        return "\n".join(ANSI.sub("", as_text(output)).rstrip("\n") for output in self.outputs)

    @property
    def cards(self) -> list[str]:
        """The plain text of every display that is a card."""
        return [as_text(o) for o in self.outputs if "jd-card" in str(o.get("data", {}).get("text/html", ""))]

    @property
    def shown(self) -> list[Output]:
        """Displays that are not cards and hold something: the job's own outputs."""
        return [
            o for o in self.outputs
            if o["output_type"] == "display_data" and o["data"] and "jd-card" not in str(o["data"].get("text/html", ""))
        ]  # fmt: skip


class Notebook:
    """One notebook with its kernel, jupyter_diamond loaded."""

    def __init__(self, server: JupyterServer, path: str) -> None:
        self.server, self.path = server, path
        self.kernel: Kernel = server.start_kernel(path)
        self.run("%load_ext jupyter_diamond")

    def run(self, code: str, *, seconds: float = 60) -> Ran:
        """Run a cell that works."""
        try:
            return Ran(self.kernel.execute(code, seconds=seconds))
        except CellFailed as failed:
            raise AssertionError(f"{failed}\n{Ran(failed.outputs).text}") from None

    def fails(self, code: str, *, seconds: float = 60) -> Ran:
        """Run a cell that raises."""
        try:
            outputs = self.kernel.execute(code, seconds=seconds)
        except CellFailed as failed:
            return Ran(failed.outputs, str(failed))
        raise AssertionError(f"it worked: {Ran(outputs).text}")

    def submit(self, line: str, cell: str, *, seconds: float = 60) -> Ran:
        """Submit a cell, wait for its end."""
        return self.run(f"%%diamond_submit {line} --wait\n{cell}", seconds=seconds)

    def refused(self, line: str, cell: str = "print(1)") -> str:
        """The sentence with which a submission is refused; nothing else may be shown, and no task may be there."""
        before = self.newest_task()
        ran = self.fails(f"%%diamond_submit {line}\n{cell}")
        assert self.newest_task() == before, "a refusal left something behind"
        assert [output["output_type"] for output in ran.outputs] == ["stream"], ran.text
        assert ran.error.startswith("UsageError: "), ran.error
        return ran.error.removeprefix("UsageError: ")

    def newest_task(self) -> str | None:
        """The last task that the server took, of any notebook."""
        tasks = self.server.api("GET", "tasks", params={"limit": 1})["tasks"]
        return tasks[0]["id"] if tasks else None

    def value(self, expression: str) -> Any:
        """A value of the kernel, by JSON."""
        return json.loads(self.kernel.evaluate(f"__import__('json').dumps({expression})"))

    def interrupt(self) -> None:
        """The stop button."""
        self.server.client.post(f"api/kernels/{self.kernel.id}/interrupt").raise_for_status()

    def close(self) -> None:
        """Shut its kernel down."""
        self.kernel.shutdown()


def outliving_kernel(server: JupyterServer, folder: Path) -> LiveKernel:
    """A kernel of the server's user that the server did not start, so that it lives on when the server does not."""
    kept = {name: value for name, value in server.env.items() if name.startswith(("JUPYTER_", "IPYTHON", "PYTHON"))}
    address = {"DIAMOND_SERVER_URL": server.url, "DIAMOND_SERVER_TOKEN": server.token}
    kernel = LiveKernel({**kept, **address, "JPY_SESSION_NAME": str(folder / "outliving.ipynb")}, folder)
    kernel.ok("%load_ext jupyter_diamond")
    return kernel


def until(check: Any, seconds: float = 30, what: str = "it") -> Any:
    """Poll until ``check()`` gives something true."""
    deadline = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} did not happen in {seconds} s"
        time.sleep(0.05)
