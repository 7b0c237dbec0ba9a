"""Keeps followed groups up to date for the watcher: an event of a member is an event of its group.

A thousand members make thousands of events: a group is asked for at most twice a second, whatever happens in it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Phase, State

from .client import DiamondClient
from .group_following import GroupFollowing

PACE_S = 0.5
_WRONG = tuple(state for state in State if state.terminal and state not in (State.COMPLETED, State.CANCELLED))


class GroupWatcher:
    """The groups that one kernel follows. Its methods are called by the watcher's thread, ``follow`` by any."""

    def __init__(self, client: DiamondClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._followed: dict[str, GroupFollowing] = {}
        self._late: set[str] = set()

    def follow(self, group: Group) -> GroupFollowing:
        """Follow a group until it has ended; the same one for the same group."""
        with self._lock:
            return self._followed.setdefault(group.id, GroupFollowing(group))

    def active(self) -> list[GroupFollowing]:
        """What has not ended."""
        with self._lock:
            return [each for each in self._followed.values() if not each.ended.is_set()]

    @property
    def late(self) -> bool:
        """True while something has happened that was not asked about yet."""
        return bool(self._late)

    def act(self, events: Iterable[Event]) -> None:
        """Ask for the groups in which something has happened, and were not asked for a moment ago."""
        with self._lock:
            self._late |= {group_of(event.subject) for event in events} & self._followed.keys()
            due = [self._followed[each] for each in self._late if self._followed[each].asked_at + PACE_S <= _now()]
        for following in due:
            self.bring_up_to_date(following)

    def refresh_all(self) -> None:
        """Ask for all of them."""
        for following in self.active():
            self.bring_up_to_date(following)

    def bring_up_to_date(self, following: GroupFollowing) -> None:
        """Ask for a group's newest word."""
        following.asked_at = _now()
        with self._lock:
            self._late.discard(following.group.id)
        try:
            group = self._client.group(following.group.id)
        except NotFound as gone:
            following.take_trouble(gone.message)
            return
        if following.wants_members(group):
            self._look_at_members(following, group)
        following.take_group(group)
        if group.phase is Phase.ENDED:
            with self._lock:
                self._followed.pop(group.id, None)

    def take_outage(self, outage: str) -> None:
        """The server does not answer (or does again: empty)."""
        for following in self.active():
            following.take_outage(outage)

    def _look_at_members(self, following: GroupFollowing, group: Group) -> None:
        with suppress(NotFound):
            wrong = self._client.members(group.id, states=_WRONG)
            mended = self._client.members(group.id, states=(State.COMPLETED,)) if group.phase is Phase.ENDED else ()
            following.take_members(group, (*wrong, *(each for each in mended if each.before)))


def group_of(subject: str) -> str:
    """The group that an event is about: itself, or that of the member. A task's id names its group before a dash."""
    kind, _, name = subject.partition(":")
    return name.partition("-")[0] if kind in ("task", "group") else ""


def _now() -> float:
    return time.monotonic()
