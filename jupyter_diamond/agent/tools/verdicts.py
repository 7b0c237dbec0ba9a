"""Whether a task did what was asked, and what to say when its site is wrong for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.engine.heal.mismatch import REASON_LENGTH
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.verdict import Finding, TaskVerdict

from .answers import foreign, without_empty
from .parameters import Ref
from .registry import tool
from .tasks import act_on, task_or_group

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

Reason = Annotated[str, Field(min_length=1, max_length=REASON_LENGTH)]


@tool("read", "data", first=True, long=True)
async def get_verdict(desk: AgentDesk, _speaker: Speaker, *, task: Ref) -> dict[str, Any]:
    """Whether an ended task (or group) did what was asked: accepted, started, clean log, outputs, size as asked, end.

    Use it before you report success: a job that "completed" may have written of errors or lost an output. Each answer
    is yes, no or unknown with its evidence; unknown is no yes. attempts_left says how often healing may still try.

    Args:
        task: id or name; of a group: how many of its members did, and the first that did not
    """
    found = await task_or_group(desk, task)
    if not isinstance(found, Group):
        return _view(await desk.service.verdict(found.id), whole=True)
    judged = await desk.service.verdicts.group(found.id)
    return {
        "group": judged.group, "members": judged.members, "correct": judged.correct, "answers": dict(judged.answers),
        "first": [_view(each, whole=False) for each in judged.first],
    }  # fmt: skip


def _view(found: TaskVerdict, *, whole: bool) -> dict[str, Any]:
    """``whole``: all six answers; else those that are no yes."""
    told = [each for each in found.findings if whole or each.answer != "yes"]
    return {
        "task": found.task, "name": found.name, "state": found.state.value, "attempt": found.attempt,
        "correct": found.correct, "findings": [_finding(each) for each in told],
        "attempts_left": found.attempts_left, "moves_left": found.moves_left,
    }  # fmt: skip


def _finding(each: Finding) -> dict[str, Any]:
    """Its sentence may quote a cause, and its evidence is the job's own text: both are foreign, but for a plain yes."""
    lines = "\n".join(each.evidence)
    return without_empty({
        "question": each.question, "answer": each.answer, "signs": list(each.signs),
        "why": foreign(each.sentence, "a verdict", 400) if each.answer != "yes" else None,
        "evidence": foreign(lines, "the evidence of a verdict", 1200) if each.answer != "yes" else None,
    })  # fmt: skip


@tool("spends", "tasks")
async def report_mismatch(desk: AgentDesk, speaker: Speaker, *, task: Ref, reason: Reason) -> dict[str, Any]:
    """Say that a task's site is wrong for it: the site is left out for it from now on, and it is placed anew.

    What waits moves at once; what runs goes elsewhere if it fails, within its retries and moves. What has ended is not
    taken up again: submit it again with site or sites. It needs the user's approval, as every act does.

    Args:
        task: id or name; of a group: a member, as sweep[3]
        reason: what is wrong with that site for it, in a sentence: shown to the user
    """
    return await act_on(desk, speaker, "mismatch", task, intent=reason, arguments={"reason": reason})
