"""What a job needs, drafted or checked, and where it would go. Nothing here starts anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.sites.gpus import check_gpus, gpus_of

from .answers import foreign, span_of, without_empty
from .needs import RARE, Needs, as_options, as_parameters
from .pool import now
from .registry import tool
from .views import decision_view

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk


@tool("read", "drafting", first=True, long=True)
async def draft_envelope(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    needs: Needs,
    description: Annotated[str, Field(max_length=20_000)] = "",
    code: Annotated[str, Field(max_length=500_000)] = "",
    language: Literal["python", "bash"] = "python",
    model: bool = True,
) -> dict[str, Any]:
    """Draft what a job needs from the user's words and the code, with reasons, confidence and what is not known.

    Use it before submit_task when the user has not said all that is needed. What you give of gpus, time, site … is kept
    as it is. The draft is a proposal: show it, and say what it does not know. Its arguments are those
    of plan_placement and submit_task.

    Args:
        description: the user's words
        code: what shall run
        language: python or bash
        model: ask the language model that the user has set up for drafting, if any
    """
    asked = DraftRequest(words=description, code=code, language=language, given=needs.said(), model=model)
    draft: Draft = await desk.drafter.draft(asked, speaker)
    return without_empty({
        "arguments": _arguments(draft),
        "source": draft.source,
        "confidence": draft.confidence,
        "rationale": foreign(draft.rationale, "the draft's rationale", 1000)
        if draft.source == "model"
        else draft.rationale,
        "reasons": [
            without_empty({
                "field": each.field, "value": each.value, "why": each.sentence, "source": each.source,
                "evidence": foreign(each.evidence, "a line of the code, or a word of the description", 200),
            })
            for each in draft.reasons
        ],
        "not_known": list(draft.unknown),
        "problems": [foreign(each, "what was wrong with a model's answer", 300) for each in draft.problems],
        "feasible": draft.feasible,
        "where": as_parameters(draft.where),
        "refusals": [as_parameters(each) for each in draft.refusals],
        "model": draft.model,
        "next_actions": ["plan_placement with these arguments", "submit_task with these arguments"],
    })  # fmt: skip


def _arguments(draft: Draft) -> dict[str, Any]:
    """The draft's options as arguments of the other tools."""
    said = {name.replace("-", "_"): value or "yes" for name, value in draft.options.items()}
    rare = {name: value for name, value in said.items() if name in RARE}
    return {name: value for name, value in said.items() if name not in RARE} | ({"options": rare} if rare else {})


@tool("read", "drafting")
async def validate_envelope(desk: AgentDesk, _speaker: Speaker, *, needs: Needs) -> dict[str, Any]:
    """Check what a job needs against the schema and every rule of every site, without placing it.

    Use it when an argument is in doubt: it says what is wrong, and what to write instead. It starts nothing.
    """
    envelope = needs.envelope()
    snapshot = await desk.service.sites()
    check_gpus(envelope, lambda: gpus_of(snapshot))
    names = {each.site for each in snapshot.sites}
    wrong = next((each for each in (envelope.site, *envelope.sites) if each and each not in names), None)
    if wrong is not None:
        raise InvalidRequest(f"There is no site {wrong!r}; there are: {', '.join(sorted(names))}.")
    decision = await desk.service.plan(envelope)
    seen = decision_view(decision, now(), candidates=0)
    return without_empty({
        "valid": True,
        "options": as_options(envelope),
        "feasible": seen["feasible"],
        "feasible_places": sum(1 for each in decision.candidates if each.feasible),
        "sentence": seen.get("sentence"),
        "refused": seen.get("refused"),
        "not_known": seen.get("not_known"),
        "warnings": seen.get("warnings"),
    })  # fmt: skip


@tool("read", "drafting", first=True, long=True)
async def plan_placement(
    desk: AgentDesk, _speaker: Speaker, *, needs: Needs, candidates: Annotated[int, Field(ge=0, le=30)] = 5
) -> dict[str, Any]:
    """Where such a job would go now and why: place, size, wait, charge, the next best, and who refuses it for what.

    Call it before submit_task, with the same arguments. Nothing is started or reserved: a submission plans anew, and
    what the user approves is bound to the place and size of that plan. An infeasible plan says what to change.

    Args:
        candidates: how many further places are listed
    """
    decision = await desk.service.plan(needs.envelope())
    found = decision_view(decision, now(), candidates=candidates)
    choice = decision.choice
    if choice is not None and choice.estimate is not None and choice.estimate.run_s is not None:
        found["runs_for"] = span_of(choice.estimate.run_s) + (" (assumed)" if choice.estimate.run_assumed else "")
    return found
