"""``%diamond wall``: one live widget a kernel, kept up to date by a thread that waits for the server's snapshots."""

from __future__ import annotations

import threading
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.snapshot import Snapshot

from .client import DiamondClient
from .publisher import Publisher
from .static_files import module, static
from .vocabulary import wall_clock
from .wall_text import static_bundle
from .wall_view import Wall, patch, wall

WIDGET = "application/vnd.jupyter.widget-view+json"
WAIT_S = 25.0
FASTEST_S = 0.5
PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two tries while the server is silent."""


class WallWidget(anywidget.AnyWidget):
    """``wall`` is the whole wall and travels only when a page asks for it; what changes travels as patches."""

    _esm = module("wall.js")
    _css = static("wall.css")
    wall: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)

    def __init__(self, first: Wall) -> None:
        self.newest = first
        super().__init__()

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> Any:
        """What a page gets that opens the wall, or is loaded anew: the newest."""
        state = super().get_state(key=key, drop_defaults=drop_defaults)
        if key is None or "wall" in state:
            state["wall"] = self.newest
        return state

    def renew(self, fresh: Wall) -> bool:
        """Send what changed. True when there was something."""
        told = patch(self.newest, fresh)
        self.newest = fresh
        if told is not None:
            self.send({"kind": "patch", **told})
        return told is not None


class LiveWall:
    """The wall of one kernel. It may stand below several cells; one thread keeps all of them up to date."""

    def __init__(self, client: DiamondClient, publisher: Publisher) -> None:
        self._client = client
        self._publisher = publisher
        self._lock = threading.Lock()
        self._widget: WallWidget | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def show(self) -> None:
        """Put the wall below the running cell."""
        snapshot = self._client.sites()
        now = datetime.now(timezone.utc)
        first = wall(snapshot, now)
        bundle = static_bundle(first, wall_clock(now, now))
        if self._publisher.live:
            with self._lock:
                if self._widget is None:
                    self._widget = WallWidget(first)
                    self._widget.on_msg(self._heard)
                else:
                    self._widget.renew(first)
                self._run(snapshot)
            bundle[WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        self._publisher.show(bundle, display_id=f"diamond-wall-{uuid4().hex[:12]}")

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopped.set()

    def _run(self, snapshot: Snapshot) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._follow, args=(snapshot,), name="diamond-wall", daemon=True)
            self._thread.start()

    def _follow(self, snapshot: Snapshot) -> None:
        """Never on the kernel's loop: a long cell holds nothing up, and a dead server holds no cell up."""
        failures, silent_since = 0, datetime.now(timezone.utc)
        while not self._stopped.is_set():
            trouble = ""
            try:
                snapshot = self._client.sites_after(snapshot.id, wait_s=0.0 if failures else WAIT_S)
                failures = 0
            except DiamondError as fault:
                now = datetime.now(timezone.utc)
                silent_since = silent_since if failures else now
                failures += 1
                trouble = (
                    f"The Jupyter server has not answered since {wall_clock(silent_since, now)}; these numbers are "
                    f"from before. {fault.message}"
                )
            self._tell(snapshot, trouble)
            # at most twice a second, however often sites are read
            self._stopped.wait(PAUSES_S[min(failures, len(PAUSES_S)) - 1] if failures else FASTEST_S)

    def _tell(self, snapshot: Snapshot, trouble: str) -> None:
        with self._lock:
            if self._widget is not None:
                self._widget.renew(wall(snapshot, datetime.now(timezone.utc), trouble))

    def _heard(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("kind") == "refresh":
            threading.Thread(target=self._refresh, name="diamond-wall-refresh", daemon=True).start()

    def _refresh(self) -> None:
        try:
            self._client.refresh()
        except DiamondError:  # the following thread says on the wall what is wrong
            return
