"""Tasks that share a cell, an envelope and a policy, and differ in what each is given: arrays and sweeps."""

from __future__ import annotations

from itertools import groupby
from typing import Literal

from pydantic import Field, field_validator

from .base import Param, UtcTime, Value
from .charge import Charge
from .envelope import Envelope, Softenable
from .manifest import Manifest
from .states import Outcome, Phase, State
from .task import Language, NotebookCell, TaskRequest, TaskSummary

MOST_MEMBERS = 10_000
"""More is not one question any more, and no site takes so many jobs of one user at once."""

INDEX = "index"
"""The name by which a member of a plain array knows its number."""


class Member(Value):
    """One task of a group: its number, and the variables that only it is given.

    It begins in its ``round``; the next round waits for those of its members that are ``required``.
    """

    index: int = Field(ge=0, lt=10_000_000)
    params: dict[str, Param] = Field(default_factory=dict)
    round: int = Field(default=1, ge=1, le=1000)
    required: bool = True


Goes = Literal["ok", "ended"]


class GroupRequest(Value):
    """What a kernel asks for: one task's request, and its members. The bundle's spec holds their params, too.

    The request's ``client_token`` is the group's. ``at_once``: at most so many of it run at the same time at one site.
    A round begins when the required members of the one before have all ended (``ended``), or ended well (``ok``); where
    ``ok`` cannot come true any more, the rest is never submitted.
    """

    request: TaskRequest
    members: tuple[Member, ...] = Field(min_length=1, max_length=MOST_MEMBERS)
    at_once: int | None = Field(default=None, ge=1, le=MOST_MEMBERS)
    next_round: Goes = "ok"

    @field_validator("members")
    @classmethod
    def _distinct(cls, members: tuple[Member, ...]) -> tuple[Member, ...]:
        if len({member.index for member in members}) != len(members):
            raise ValueError("two members of a group have the same number")
        return tuple(sorted(members, key=lambda member: (member.round, member.index)))

    @property
    def rounds(self) -> tuple[tuple[Member, ...], ...]:
        """The members of each round, in order. Rounds are counted from 1, whatever numbers their members name."""
        return tuple(tuple(each) for _, each in groupby(self.members, key=lambda member: member.round))


class Relaxed(Value):
    """A soft condition that stood in the way of a round and was given up. Hard ones never are."""

    round: int
    condition: Softenable
    why: str


class GroupShare(Value):
    """How many of a group are at one place, and how far they are; ``wait_s`` is the forecast for its first.

    ``why``: the sentence of the decision that sent them there; empty where they came one by one.
    """

    site: str
    partition: str | None = None
    waiting: int = 0
    running: int = 0
    ended: int = 0
    wait_s: float | None = None
    why: str = ""


class Group(Value):
    """A group as its owner sees it. ``states`` counts the members of all rounds that have begun, by state."""

    id: str
    name: str
    language: Language = "python"
    phase: Phase
    outcome: Outcome | None = None
    """OK when all are; else how the first of them ended that did not end well. None while it has not ended."""
    members: int
    states: dict[State, int] = Field(default_factory=dict)
    round: int = 1
    rounds: int = 1
    next_round: Goes = "ok"
    at_once: int | None = None
    params: tuple[str, ...] = ()
    """The names that its members are given."""
    shares: tuple[GroupShare, ...] = ()
    charges: tuple[Charge, ...] = ()
    """What its attempts are charged, one a unit: units of two sites are never added up."""
    relaxed: tuple[Relaxed, ...] = ()
    cause: str = ""
    """What stopped it, or went wrong most often, in a sentence."""
    next: str = ""
    why_here: str = ""
    created_at: UtcTime
    ended_at: UtcTime | None = None
    cancel_requested_by: str | None = None
    held_by: str | None = None
    by: str | None = None
    source: str = ""
    digest: str = ""
    outputs: tuple[str, ...] = ()
    envelope: Envelope
    notebook: NotebookCell = NotebookCell()
    version: int = 0
    """The number of the newest event about this group or one of its members."""


class GroupSubmitted(Value):
    """The answer to a group's submission; as ``Submitted`` for a task."""

    group: Group
    attached: bool = False
    created: bool = True


class MemberResult(Value):
    """What one member brought back: its receipt, and its small values as base64 by file (``result/NAME``).

    ``left`` are the files of those values that are fetched one by one, of the sizes that the receipt names.
    ``key`` is that of its attempt: a kernel opens nothing that is not signed with it.
    """

    index: int
    task_id: str
    attempt: int
    manifest: Manifest
    key: str
    inline: dict[str, str] = Field(default_factory=dict)
    left: tuple[str, ...] = ()


class MissingResult(Value):
    """Why an ended member has nothing here."""

    index: int
    task_id: str
    why: str


class GroupResults(Value):
    """The results of the members that have ended, by index.

    ``next``: there are more, ask again with ``after`` this index; None: that is all. ``bytes`` of values are in this
    answer, which is bounded however many they are; what is larger than may travel inline is fetched file by file.
    """

    group: str
    members: tuple[MemberResult, ...] = ()
    missing: tuple[MissingResult, ...] = ()
    next: int | None = None
    bytes: int = 0


class MemberSummary(TaskSummary):
    """One row of a group's members."""

    params: dict[str, Param] = Field(default_factory=dict)
    charges: tuple[Charge, ...] = ()
    """What its attempts are charged together, one a unit."""
    before: tuple[State, ...] = ()
    """How its earlier attempts ended, oldest first."""
