"""Many tasks of one source: arrays and sweeps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from jupyter_diamond.cell.from_source import request_of
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.group import INDEX, MOST_MEMBERS, GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.parsing.members import parse_array, parse_sweep

from .acts import needs_approval, through_guard
from .needs import Needs, as_parameters
from .parameters import Names, Options, Ref, Text
from .registry import tool
from .tasks import Intent, Source, TaskName, Times
from .views import group_view, line_view

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

Count = Annotated[int, Field(ge=1, le=MOST_MEMBERS)]


@tool("spends", "groups")
async def submit_group(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    name: TaskName,
    source: Source,
    needs: Needs,
    array: Text | None = None,
    sweep: Options | None = None,
    language: Literal["python", "bash"] = "python",
    outputs: Names = (),
    at_once: Count | None = None,
    first: Count | None = None,
    next_round: Literal["ok", "ended"] = "ok",
    intent: Intent = "",
    retries: Times = 3,
    moves: Times = 2,
    notebook: str | None = None,
    again: bool = False,
) -> dict[str, Any]:
    """Submit one source many times: once for each number of an array (its variable `index`), or each point of a sweep.

    Needs are those of one member. It is shared out over the sites by rules, and needs the user's approval as
    submit_task does. Afterwards register_continuation on the group (ended, quorum, attempt_failed), and end your turn.

    Args:
        name: letters, digits and _: the user sees it under this name
        source: what runs, Python or a shell script; it sees the names of array or sweep as variables
        array: numbers: 0-99, 1,3,7-9 or 0-9:2
        sweep: values by name: lr as 1e-3,1e-4 and seed as 0-4; of several names, all combinations
        language: python or bash
        outputs: Python variables to bring back from each
        at_once: at most so many run at the same time at one site
        first: send so many first, the rest when these have ended
        next_round: the rest is sent when the first have ended well (ok), or in any way (ended)
        intent: what it is for, shown to the user beside the plan
        retries: how many attempts may follow a failed one, of each member
        moves: how many times a member may go on at another site
        notebook: the notebook that it belongs to, as a path
        again: submit even though the same is still active
    """
    members, limit = _members(array, sweep or {})
    members = _in_rounds(members, first)
    request, bundle = request_of(
        name, source, language, needs.envelope(), outputs=outputs, notebook=notebook, again=again, members=members,
        healing=Healing(retries=retries, moves=moves), by=speaker.agent,
    )  # fmt: skip
    asked = GroupRequest(request=request, members=members, at_once=at_once or limit, next_round=next_round)
    proposal, done = await through_guard(desk, speaker, "submit_group", request=asked, bundle=bundle, intent=intent)
    if not done or proposal.task is None:
        return needs_approval(proposal)
    return {
        "submitted": True,
        "proposal": proposal.id,
        **group_view(await desk.service.groups.group(proposal.task)),
    }


def _members(array: str | None, sweep: dict[str, str]) -> tuple[tuple[Member, ...], int | None]:
    """The members, and how many may run at once where the array says so. Raises InvalidRequest."""
    if (array is None) == (not sweep):
        raise InvalidRequest("Give either `array` (array='0-99') or `sweep` (sweep={'lr': '1e-3,1e-4'}).")
    try:
        if array is not None:
            numbers, limit = parse_array(array)
            return tuple(Member(index=number, params={INDEX: number}) for number in numbers), limit
        points = parse_sweep([f"{name}={values}" for name, values in sweep.items()], {})
    except InvalidRequest as problem:
        raise InvalidRequest(as_parameters(problem.message)) from None
    return tuple(Member(index=index, params=point) for index, point in enumerate(points)), None


def _in_rounds(members: tuple[Member, ...], first: int | None) -> tuple[Member, ...]:
    if first is None:
        return members
    if first >= len(members):
        raise InvalidRequest(f"first={first} leaves none for later: there are {len(members)} members. Say fewer.")
    return tuple(each if place < first else each.model_copy(update={"round": 2}) for place, each in enumerate(members))


@tool("read", "groups", long=True)
async def get_group(desk: AgentDesk, _speaker: Speaker, *, group: Ref) -> dict[str, Any]:
    """One group: how many members are in which state, where, what is charged, and what the first that failed died of.

    Use it after you were woken for a group. list_tasks with its group gives every member.

    Args:
        group: id or name
    """
    found = await desk.service.groups.group(group)
    members = await desk.service.groups.tasks(found.id)
    bad = [each for each in members if each.outcome is not None and each.outcome.value not in ("OK", "CANCELLED")]
    failures = Counter(each.outcome.value for each in bad if each.outcome is not None)
    return group_view(found) | {"failures": dict(failures), "first_failed": [line_view(each) for each in bad[:5]]}


@tool("read", "groups", long=True)
async def list_groups(
    desk: AgentDesk,
    _speaker: Speaker,
    *,
    phase: Literal["active", "ended"] | None = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
) -> dict[str, Any]:
    """Groups, newest first: how many of each have ended, and where they are.

    Args:
        phase: active or ended; left out: both
        limit: at most so many
    """
    return {"groups": [group_view(each) for each in await desk.service.groups.groups(None, phase, None, limit)]}
