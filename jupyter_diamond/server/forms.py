"""What handlers read from a request and wrap around an answer, beyond the shared values."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.continuation import ConsumerName, Continuation
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.model.group import MOST_MEMBERS, Group, MemberSummary
from jupyter_diamond.model.login import LoginWay
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import TaskSummary


class RefreshForm(Value):
    """Which site to probe now; None for all."""

    site: str | None = None


class SitesQuery(Value):
    """Which snapshot: with ``after`` the first one that is not that one, after at most ``wait`` seconds."""

    after: int | None = None
    wait: float = Field(default=0.0, ge=0, le=30)


class HistoryQuery(Value):
    """Whose past, and how far back: at most the half year that is kept."""

    site: str
    hours: float = Field(default=24.0, gt=0, le=4320)


class ChargesQuery(Value):
    """How many days back, and whether attempt by attempt."""

    days: float = Field(default=7.0, gt=0, le=3660)
    tasks: bool = False


class IdleForm(Value):
    """What a job would need."""

    envelope: Envelope


class ExecForm(Value):
    """A command that only looks: one program with its words."""

    command: str = Field(min_length=1, max_length=1000)


class SmokeForm(Value):
    """The same token always gives the same job."""

    client_token: str = Field(pattern=r"^[0-9a-z-]{16,64}$")


class AttemptQuery(Value):
    """Which attempt of a task; the newest one by default."""

    attempt: int | None = Field(default=None, ge=1)


class PieceQuery(AttemptQuery):
    """Which part of a file; the whole of it where neither is given. A piece has at most 4 MiB."""

    offset: int | None = Field(default=None, ge=0)
    limit: int | None = Field(default=None, ge=1, le=4 << 20)


class PutQuery(Value):
    """Whether a file that is there already may be replaced."""

    replace: bool = False


class InterpreterForm(Value):
    """Which modules must be importable, and the kernel's own interpreter; ``packages``: whose versions to tell."""

    python: str | None = None
    modules: tuple[str, ...] = ()
    env: Environment | None = None
    packages: tuple[str, ...] = ()


class PlanForm(Value):
    """What a task would need, or each of so many ``members`` of a group's round, ``at_once`` of them at a time."""

    envelope: Envelope
    members: int = Field(default=1, ge=1, le=MOST_MEMBERS)
    at_once: int | None = Field(default=None, ge=1, le=MOST_MEMBERS)


class ReplanForm(Value):
    """Whether the new plan is bound to the place that the user had named."""

    unpin: bool = False


class LoginForm(Value):
    """How to log in: through the browser and back here, or by a code to paste."""

    way: LoginWay = "code"


class CodeForm(Value):
    """The code that Globus showed."""

    code: str


class TaskList(Value):
    """Task lines, newest first."""

    tasks: tuple[TaskSummary, ...]


class TasksQuery(Value):
    """Which tasks to list. Members of groups are listed with their ``group``, and where their name is asked for."""

    group: str | None = None
    name: str | None = None
    phase: Literal["active", "ended"] | None = None
    notebook: str | None = None
    before: str | None = None
    """A task's id: the page after it, of those made before it."""
    newer: int | None = Field(default=None, ge=0)
    """An event's number: those of which there is a later event, by that, the oldest first."""
    limit: int = Field(default=100, ge=1, le=10_000)


class GroupList(Value):
    """Groups, newest first."""

    groups: tuple[Group, ...]


class GroupsQuery(Value):
    """Which groups to list."""

    name: str | None = None
    phase: Literal["active", "ended"] | None = None
    notebook: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class MemberList(Value):
    """Members of a group that have begun, by their number."""

    tasks: tuple[MemberSummary, ...]


class MembersQuery(Value):
    """Which members of a group: in some states, with commas between them, and those after one of them."""

    state: str | None = None
    after: int | None = Field(default=None, ge=-1)
    limit: int = Field(default=1000, ge=1, le=10_000)

    @property
    def states(self) -> tuple[State, ...]:
        """The states; all where none is named. Raises InvalidRequest."""
        words = [word.strip() for word in (self.state or "").split(",") if word.strip()]
        known = {state.value: state for state in State}
        wrong = next((word for word in words if word not in known), None)
        if wrong is not None:
            raise InvalidRequest(f"There is no state {wrong[:40]!r}; the states are: {', '.join(known)}.")
        return tuple(known[word] for word in words)


class AfterQuery(Value):
    """Which members: those after one of them."""

    after: int | None = Field(default=None, ge=-1)


class ResultsQuery(AfterQuery):
    """Which members' results."""

    limit: int = Field(default=500, ge=1, le=500)


class TaskEventsQuery(Value):
    """Which events of a task, or of a group."""

    after: int = Field(default=0, ge=0)
    limit: int = Field(default=200, ge=1, le=1000)


class EventsQuery(Value):
    """Which events, and how many seconds to wait for the first. ``after`` -1 asks for the newest cursor only."""

    after: int = Field(default=-1, ge=-1)
    wait: float = Field(default=0.0, ge=0, le=30)
    limit: int = Field(default=500, ge=1, le=1000)


class ContinuationsQuery(Value):
    """What is waited for by whom."""

    consumer: ConsumerName | None = None
    task: str | None = None


class ContinuationList(Value):
    """What is waited for, oldest first."""

    continuations: tuple[Continuation, ...]


class NewsQuery(Value):
    """Whose news, after which number (by default what was acknowledged), and how many seconds to wait for the first."""

    consumer: ConsumerName
    after: int | None = Field(default=None, ge=0)
    wait: float = Field(default=0.0, ge=0, le=30)
    limit: int = Field(default=100, ge=1, le=500)


class LogsQuery(Value):
    """Which bytes of a log; ``tail`` asks for the last ones instead of those at ``offset``."""

    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=65_536, ge=1, le=4 << 20)
    tail: int | None = Field(default=None, ge=0, le=4 << 20)


class ToolsQuery(Value):
    """Which tools: those that every model sees and those of these groups, with commas between; all when left out."""

    groups: str | None = None

    @property
    def named(self) -> tuple[str, ...] | None:
        """The groups; None for all."""
        return None if self.groups is None else tuple(each.strip() for each in self.groups.split(",") if each.strip())
