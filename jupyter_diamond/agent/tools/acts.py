"""What changes something goes through the guard: proposed, allowed by a person or a budget, done exactly once.

The first call of an act answers with what needs approval; the same call again does it, once it was allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jupyter_diamond.errors import ApprovalVoid, NeedsApproval
from jupyter_diamond.model.group import GroupRequest
from jupyter_diamond.model.proposal import Act, Proposal, Speaker
from jupyter_diamond.model.task import TaskRequest

from .answers import at, span_of, without_empty, word
from .views import charge_view, size_words

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

WHERE = (
    "JupyterLab's Diamond sidebar, section Needs you; the card in the chat; or on the command line: "
    "jupyter diamond approve {id}. Only the user can approve: ask, and do not look for another way."
)


async def through_guard(
    desk: AgentDesk,
    speaker: Speaker,
    act: Act,
    *,
    request: TaskRequest | GroupRequest | None = None,
    bundle: bytes = b"",
    subject: str = "",
    arguments: Mapping[str, str] | None = None,
    intent: str = "",
    notes: Sequence[str] = (),
) -> tuple[Proposal, bool]:
    """Propose it, and do it where that is allowed: the proposal, and whether it was done. Raises PolicyBlocked, …."""
    why_void = ""
    for _ in range(2):  # what was approved may be void by now: then its successor is proposed
        proposal = await desk.guard.propose(
            act, speaker, request=request, bundle=bundle, subject=subject, arguments=dict(arguments or {}),
            intent=intent, notes=(*notes, *((why_void,) if why_void else ())),
        )  # fmt: skip
        try:
            return await desk.guard.perform(proposal.id, speaker), True
        except NeedsApproval:
            return proposal, False
        except ApprovalVoid as void:
            if proposal.standing == "denied":
                raise
            why_void = void.message
    raise ApprovalVoid(why_void, evidence=(proposal.id,))


def needs_approval(proposal: Proposal) -> dict[str, Any]:
    """What an agent is told while it may not."""
    terms = proposal.terms
    return {
        "needs_approval": without_empty({
            "proposal": proposal.id,
            "hash": proposal.hash,
            "title": proposal.title,
            "why": proposal.why,
            "place": f"{terms.site}:{word(terms.partition)}" if terms.site and terms.partition else terms.site,
            "size": size_words(terms.size) if terms.size else None,
            "charge": charge_view(terms.charge) if terms.site else None,
            "starts_in": span_of(proposal.starts_in_s) if proposal.starts_in_s is not None else None,
            "notes": list(proposal.notes),
            "expires_at": at(proposal.expires_at),
            "where_to_approve": WHERE.format(id=proposal.id),
        }),
        "done": False,
        "next_actions": [
            "tell the user what you propose and where to approve it, then end your turn",
            f"over MCP: wait_task(task='{proposal.id}', at_most='1h') waits for the word and for the task",
            f"get_proposal(proposal='{proposal.id}')",
            "the same call again, once it is approved",
        ],
    }  # fmt: skip
