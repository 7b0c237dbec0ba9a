"""What the server can be asked about groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import TypeAdapter

from jupyter_diamond.model.group import (
    MOST_MEMBERS,
    Group,
    GroupRequest,
    GroupResults,
    GroupSubmitted,
    MemberSummary,
)
from jupyter_diamond.model.states import State
from jupyter_diamond.model.verdict import GroupVerdict
from jupyter_diamond.model.views import EventPage

from .calls import Calls, parsed, part

_GROUPS: TypeAdapter[tuple[Group, ...]] = TypeAdapter(tuple[Group, ...])
_MEMBERS: TypeAdapter[tuple[MemberSummary, ...]] = TypeAdapter(tuple[MemberSummary, ...])

GroupAct = Literal["cancel", "hold", "release", "replan"]


class GroupCalls(Calls):
    """The part of the client that is about groups; members are asked about as tasks are."""

    def submit_group(self, request: GroupRequest, bundle: bytes) -> GroupSubmitted:
        """Hand over a group. Safe to repeat: the same client_token always gives the same group."""
        answer = self._call(
            "POST",
            "groups",
            data={"request": request.model_dump_json()},
            files={"bundle": ("bundle.tar", bundle, "application/x-tar")},
        )
        return parsed(GroupSubmitted, answer)

    def groups(
        self, *, name: str | None = None, phase: str | None = None, notebook: str | None = None, limit: int = 100
    ) -> tuple[Group, ...]:
        """Newest first. ``phase`` is ``active`` or ``ended``."""
        return self._list(_GROUPS, "groups", {"name": name, "phase": phase, "notebook": notebook, "limit": limit})

    def group(self, ref: str) -> Group:
        """A group by id, or the newest of that name."""
        return self._get(Group, f"groups/{part(ref)}")

    def members(
        self, ref: str, *, states: Iterable[State] = (), after: int | None = None, limit: int = MOST_MEMBERS
    ) -> tuple[MemberSummary, ...]:
        """Its members that have begun, by number, those after one; only those in some states where these are given."""
        wanted = ",".join(state.value for state in states) or None
        asked: dict[str, Any] = {"state": wanted, "after": after, "limit": limit}
        return self._list(_MEMBERS, f"groups/{part(ref)}/tasks", asked)

    def on_group(self, ref: str, act: GroupAct, *, unpin: bool = False) -> Group:
        """Ask something of all of its members that it can be asked of."""
        return self._post(Group, f"groups/{part(ref)}/{act}", {"unpin": unpin} if act == "replan" else {})

    def group_verdict(self, ref: str) -> GroupVerdict:
        """How many of its members did what was asked, and the first that did not."""
        return self._get(GroupVerdict, f"groups/{part(ref)}/verdict")

    def group_events(self, ref: str, after: int = 0, limit: int = 500) -> EventPage:
        """What happened to a group, oldest first."""
        return self._get(EventPage, f"groups/{part(ref)}/events", {"after": after, "limit": limit})

    def group_results(self, ref: str, after: int | None = None) -> GroupResults:
        """The receipts and small values of its members that have ended; ``next`` says where to go on."""
        return self._get(GroupResults, f"groups/{part(ref)}/results", {} if after is None else {"after": after})
