"""The live card: one anywidget while the task lives, a static line with the cell's own outputs once it has ended.

A group's card is another ``Look`` of the same: see ``group_card``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from .card_text import static_bundle, tail_lines
from .outputs import SLOTS, bundles
from .publisher import Publisher
from .static_files import module, static

CARD = "application/vnd.jupyter-diamond.card+json"
"""Our labextension draws it: as the widget while that lives, else as the server knows the task."""
WIDGET = "application/vnd.jupyter.widget-view+json"
LOG_LINES_LIVE = 200


class CardWidget(anywidget.AnyWidget):
    """``view`` is a CardView, ``log`` the log's tail, ``outputs`` what the cell showed, when a reopened card asks."""

    _esm = module("card.js")
    _css = static("card_static.css") + static("card.css")
    view = traitlets.Dict().tag(sync=True)
    log = traitlets.Unicode("").tag(sync=True)
    outputs: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)


@dataclass(frozen=True)
class Look:
    """How one kind of card is drawn: live, as it is stored in the notebook, and what it is about."""

    widget: type[CardWidget]
    stored: Callable[[Any, str], dict[str, Any]]
    about: Callable[[Any], dict[str, str]]


TASK = Look(CardWidget, static_bundle, lambda view: {"task": view["task_id"]})


class Card:
    """One card on one page. Every method may be called from any thread. ``acts`` are what its buttons ask for."""

    def __init__(
        self,
        publisher: Publisher,
        view: Mapping[str, Any],
        *,
        slots: bool,
        acts: Mapping[str, Callable[[], None]],
        look: Look = TASK,
    ) -> None:
        self._publisher = publisher
        self._look = look
        self._lock = threading.RLock()
        self._id = f"diamond-{uuid4().hex[:12]}"
        self._slots = slots
        self._filled = False
        self._outputs: tuple[dict[str, Any], ...] = ()
        self._acts = acts
        self._view = view
        self._log = ""
        self._widget: CardWidget | None = None

    @property
    def slots(self) -> bool:
        """True when the cell's outputs will stand below this card."""
        return self._slots

    @property
    def display_id(self) -> str:
        """The card's display id; its places are ``<id>-0``, ``<id>-1`` …"""
        return self._id

    def show(self, *, alive: bool = True) -> None:
        """Put the card, and the empty places for the cell's outputs, below the running cell."""
        with self._lock:
            if alive and self._publisher.live:
                self._widget = self._look.widget(view=dict(self._view))
                self._widget.on_msg(self._heard)
            self._publisher.show(self._bundle(), display_id=self._id)
            if self._slots and self._publisher.live:
                for place in range(SLOTS):
                    self._publisher.show({}, display_id=f"{self._id}-{place}")

    def refresh(self, view: Mapping[str, Any]) -> None:
        """State, times and sentences."""
        with self._lock:
            self._view = view
            if self._widget is not None:
                self._widget.view = dict(view)

    def add_log(self, log: str) -> None:
        """The log's newest lines; the caller throttles."""
        with self._lock:
            self._log = log
            if self._widget is not None:
                self._widget.log = tail_lines(log, LOG_LINES_LIVE)

    def fold(self, view: Mapping[str, Any], outputs: tuple[dict[str, Any], ...] | None) -> None:
        """Replace the live card by one static line, and fill the places below it once.

        The widget stays open behind it: a page that was loaded anew does not know the display ids any more, and there
        the widget itself shows the outputs when it asks for them.
        """
        with self._lock:
            if outputs is not None and not self._filled:
                self._filled = True
                self._outputs = outputs
                self._fill_places()
            self._view = view
            self._publisher.update(self._look.stored(view, self._log), display_id=self._id)
            if self._widget is not None:
                self._widget.view = dict(view)

    def _fill_places(self) -> None:
        for place, bundle in enumerate(bundles(self._outputs) if self._slots else ()):
            self._publisher.update(bundle.data, display_id=f"{self._id}-{place}", metadata=bundle.metadata)

    def _bundle(self) -> dict[str, Any]:
        bundle = self._look.stored(self._view, self._log)
        if self._widget is not None:
            bundle[CARD] = self._look.about(self._view)
            bundle[WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        return bundle

    def _heard(self, widget: CardWidget, content: Any, buffers: Any) -> None:  # noqa: ARG002 - ipywidgets' signature
        kind = content.get("kind") if isinstance(content, dict) else None
        act = self._acts.get(str(kind))
        if act is not None:
            # Off the kernel's thread: an outage must not hold up the user's next cell.
            threading.Thread(target=act, name=f"diamond-{kind}", daemon=True).start()
        elif kind == "outputs" and self._widget is not None:
            self._widget.outputs = list(self._outputs)
