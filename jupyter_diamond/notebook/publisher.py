"""Sends display messages from any thread, also while a later cell runs."""

from __future__ import annotations

from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher


class Publisher:
    """The kernel's display channel. Without a kernel (a plain script, terminal IPython) it prints the text form."""

    def __init__(self, shell: Any | None) -> None:
        self._shell = shell
        self._own = None if shell is None else shell.display_pub

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
        channel = self._channel()
        if channel is not None:
            channel.publish(data, metadata or {}, transient={"display_id": display_id}, update=True)

    def _channel(self) -> Any | None:
        """The kernel's own publisher: under ``%%capture`` the shell's current one swallows updates."""
        if not self.live or self._shell is None:
            return None
        current = self._shell.display_pub
        return self._own if isinstance(current, CapturingDisplayPublisher) else current
