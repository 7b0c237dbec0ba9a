"""Sends display messages from any thread, also while a later cell runs."""

from __future__ import annotations

import threading
from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher


class Publisher:
    """The kernel's display channel. Without a kernel (a plain script, terminal IPython) it prints the text form."""

    def __init__(self, shell: Any | None) -> None:
        self._shell = shell
        self._own = None if shell is None else shell.display_pub
        self._lock = threading.Lock()
        self._cell_runs = True  # we are made by a cell: %load_ext, or the first use
        self._between: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        if shell is not None and hasattr(shell, "events"):
            shell.events.register("pre_run_cell", self._begin)
            shell.events.register("post_run_cell", self._end)

    @property
    def live(self) -> bool:
        """True when a front end can replace a display later: there is a kernel."""
        return self._shell is not None and getattr(self._shell, "kernel", None) is not None

    def show(self, data: dict[str, Any], *, display_id: str, metadata: dict[str, Any] | None = None) -> None:
        """A new display in the running cell."""
        if self.live and self._shell is not None:
            self._shell.display_pub.publish(data, metadata or {}, transient={"display_id": display_id})
        elif data.get("text/plain"):
            print(data["text/plain"])  # noqa: T201 - a terminal has nothing better

    def update(self, data: dict[str, Any], *, display_id: str, metadata: dict[str, Any] | None = None) -> None:
        """Replace a display wherever it stands."""
        with self._lock:
            if not self._cell_runs:
                self._between[display_id] = (data, metadata or {})
        self._send(data, metadata or {}, display_id)

    def _send(self, data: dict[str, Any], metadata: dict[str, Any], display_id: str) -> None:
        channel = self._channel()
        if channel is not None:
            channel.publish(data, metadata, transient={"display_id": display_id}, update=True)

    def _begin(self, *_: Any) -> None:
        """Repeat what came between two cells: a client that runs a notebook cell by cell (nbclient) dropped it."""
        with self._lock:
            self._cell_runs = True
            missed, self._between = self._between, {}
        for display_id, (data, metadata) in missed.items():
            self._send(data, metadata, display_id)

    def _end(self, *_: Any) -> None:
        with self._lock:
            self._cell_runs = False

    def _channel(self) -> Any | None:
        """The kernel's own publisher: under ``%%capture`` the shell's current one swallows updates."""
        if not self.live or self._shell is None:
            return None
        current = self._shell.display_pub
        return self._own if isinstance(current, CapturingDisplayPublisher) else current
