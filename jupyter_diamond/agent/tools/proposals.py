"""What became of what was proposed. There is no tool that approves: only the user does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.model.proposal import Proposal, Speaker, Standing

from .acts import needs_approval
from .answers import at, foreign, without_empty
from .registry import tool

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk


@tool("read", "tasks", first=True)
async def get_proposal(
    desk: AgentDesk, _speaker: Speaker, *, proposal: Annotated[str, Field(pattern=r"^p[0-9a-f]{10}$")]
) -> dict[str, Any]:
    """What became of a proposal: waiting, approved, denied, done (with its task), void, expired.

    Use it when the user says that they have approved, or denied. Do not call it in a loop: you are told, or they say.

    Args:
        proposal: its id, p…
    """
    return proposal_view(await desk.guard.looked_at(proposal))


@tool("read", "tasks")
async def list_proposals(
    desk: AgentDesk, speaker: Speaker, *, waiting: bool = True, limit: Annotated[int, Field(ge=1, le=50)] = 10
) -> dict[str, Any]:
    """What you have proposed in this conversation, newest first. Use it when you have lost a proposal's id.

    Args:
        waiting: only those that still wait for the user's word
        limit: at most so many
    """
    standing: tuple[Standing, ...] = ("waiting",) if waiting else ()
    found = await desk.guard.proposals(standing, speaker.channel, limit)
    return {
        "proposals": [
            without_empty({
                "proposal": each.id, "standing": each.standing, "title": each.title, "task": each.task,
                "created_at": at(each.created_at),
            })
            for each in found
            if each.by.agent == speaker.agent
        ]
    }  # fmt: skip


def proposal_view(found: Proposal) -> dict[str, Any]:
    """One proposal; while it waits, with all that the user would say yes to."""
    facts = without_empty({
        "proposal": found.id,
        "standing": found.standing,
        "title": found.title,
        "reason": foreign(found.reason, "why, in the user's or a site's words", 400),
        "decided_by": found.decided_by,
        "by_budget": found.budget,
        "decided_at": at(found.decided_at),
        "expires_at": at(found.expires_at) if found.standing in ("waiting", "approved") else None,
        "task": found.task,
        "changed_since": [foreign(each, "what is different now", 300) for each in found.changed],
        "next_actions": _NEXT.get(found.standing),
    })  # fmt: skip
    return facts | (needs_approval(found) if found.standing == "waiting" else {})


_NEXT = {
    "approved": ["the same call again: it does what was approved"],
    "done": ["get_task on its task", "register_continuation on its task, and end your turn"],
    "denied": ["ask the user what they want instead; do not propose the same again"],
    "void": ["the same call again proposes what would happen now"],
    "expired": ["the same call again proposes it anew, if it is still wanted"],
}
