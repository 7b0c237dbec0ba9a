"""A group as this kernel follows it: its newest word, what went wrong and what was mended, its pace, its cards."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone

from jupyter_diamond.model.group import Group, MemberSummary
from jupyter_diamond.model.states import Phase, State

from .card import Card
from .group_view import GroupView, Seen, group_view
from .group_words import Failure, ended_count, failed_count, failures, healed_text

PACE_S = 900.0
"""The pace is that of the last so many seconds."""
WELL = (State.COMPLETED, State.CANCELLED)


class GroupFollowing:
    """Thread-safe. ``ended`` is set when nothing follows any more."""

    def __init__(self, group: Group) -> None:
        self._lock = threading.RLock()
        self._drawing = threading.RLock()
        self.group = group
        self.ended = threading.Event()
        self.asked_at = 0.0
        """When the server was last asked for it, on the monotonic clock."""
        self._failures: list[Failure] = []
        self._healed = ""
        self._known: tuple[int, int] | None = None
        self._samples: deque[tuple[float, int]] = deque()
        self._outage = ""
        self._trouble = ""
        self._cards: list[Card] = []
        self._waiting: list[Callable[[], None]] = []

    # -- what the watcher brings -------------------------------------------------------------------------------

    def take_group(self, group: Group) -> None:
        """A newer word about it; older ones are passed over."""
        with self._lock:
            if group.version < self.group.version:
                return
            self.group = group
            self._outage = self._trouble = ""  # the server has just answered
            self._sample(ended_count(group.states))
        self.redraw()
        if group.phase is Phase.ENDED:
            self.ended.set()
            self._call_waiting()

    def wants_members(self, group: Group) -> bool:
        """Whether its members have to be looked at to say what this word about it means."""
        with self._lock:
            news = (failed_count(group.states), ended_count(group.states))
            looked = self._known
            if looked is None:
                return news != (0, 0)
            return news[0] != looked[0] or (group.phase is Phase.ENDED and news != looked)

    def take_members(self, group: Group, members: tuple[MemberSummary, ...]) -> None:
        """Those of its members that did not go well at once: what went wrong, and what was mended."""
        with self._lock:
            self._known = (failed_count(group.states), ended_count(group.states))
            self._failures = failures(members)
            self._healed = healed_text(members)

    def take_outage(self, outage: str) -> None:
        """The server does not answer (or does again: empty)."""
        with self._lock:
            if outage == self._outage:
                return
            self._outage = outage
        self.redraw()

    def take_trouble(self, trouble: str) -> None:
        """Something that was asked for on a card did not work."""
        with self._lock:
            self._trouble = trouble
        self.redraw()

    def _sample(self, ended: int) -> None:
        now = datetime.now(timezone.utc).timestamp()
        if not self._samples or self._samples[-1][1] != ended:
            self._samples.append((now, ended))
        while len(self._samples) > 2 and now - self._samples[1][0] > PACE_S:
            self._samples.popleft()

    # -- who waits ---------------------------------------------------------------------------------------------

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call once, from any thread, when it has ended."""
        with self._lock:
            self._waiting.append(callback)

    def _call_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

    # -- cards -------------------------------------------------------------------------------------------------

    def add_card(self, card: Card) -> None:
        """Keep a card fresh from now on."""
        with self._lock:
            self._cards.append(card)

    def view(self) -> GroupView:
        """What a card shows now."""
        with self._lock:
            seen = Seen(
                failures=tuple(self._failures),
                samples=tuple(self._samples),
                healed=self._healed,
                trouble=self._outage or self._trouble,
            )
            return group_view(self.group, now=datetime.now(timezone.utc), seen=seen)

    def redraw(self) -> None:
        """Show the newest word on every card; fold them once the group has ended."""
        with self._drawing:  # else an older view could be drawn over a newer one
            view = self.view()
            with self._lock:
                cards = list(self._cards)
            for card in cards:
                if view["ended"]:
                    card.fold(view, None)
                else:
                    card.refresh(view)
