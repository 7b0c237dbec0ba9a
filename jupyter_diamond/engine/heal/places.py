"""Which of a decision's candidates takes the next attempt. Pure."""

from __future__ import annotations

from collections.abc import Callable

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.task import Task
from jupyter_diamond.placement import words

from .segments import bound
from .steps import Where, avoided


def choose(decision: Decision, task: Task, where: Where) -> tuple[Candidate, Decision] | str:
    """The best candidate among the places that are open to the step, with the decision; else why none is."""
    here = task.attempts[-1].site
    shunned = avoided(task) - ({here} if where in ("here", "here_first") else set())
    ranked = [at for at in ranking(decision) if decision.candidates[at].site not in shunned]

    def best(suits: Callable[[str], bool]) -> int | None:
        return next((at for at in ranked if suits(decision.candidates[at].site)), None)

    at = best(lambda site: site == here) if where in ("here", "here_first") else None
    if at is None and where != "here":
        at = best(lambda site: where != "elsewhere" or site != here)
    if at is None:
        return _nowhere(decision, task, where)
    return decision.candidates[at], _chosen(decision, at, here)


def out_of_reach(decision: Decision) -> bool:
    """Whether somewhere it is only the site's health, or the age of what is known of it, that stands against it."""
    for each in decision.candidates:
        against = [verdict for verdict in each.verdicts if verdict.answer != "pass" and not verdict.soft]
        if against and not each.simulated and all(verdict.heading == "health" for verdict in against):
            return True
    return False


def ranking(decision: Decision) -> list[int]:
    """The candidates that may be chosen, best first."""
    open_ = [
        (each.rank, at)
        for at, each in enumerate(decision.candidates)
        if each.rank is not None and each.size is not None and not each.simulated
    ]
    return [at for _, at in sorted(open_)]


def besides(decision: Decision, old: Candidate) -> Decision:
    """The decision, with the best place that is not the old one as its choice; as it is, where there is none."""
    at = next((at for at in ranking(decision) if not _same(decision.candidates[at], old)), None)
    return decision if at is None else _chosen(decision, at, old.site)


def _same(one: Candidate, other: Candidate) -> bool:
    return (one.site, one.partition) == (other.site, other.partition)


def moved_to(choice: Candidate, old: Candidate) -> str:
    """``Moved to vista:gh``, or ``Again at delta:cpu``."""
    place = words.place(choice.site, choice.partition)
    return f"Again at {place}" if _same(choice, old) else f"Moved to {place}"


def _chosen(decision: Decision, at: int, here: str) -> Decision:
    """The decision, with the choice that the step asks for; where that is not the planner's own, it is said."""
    if at == decision.chosen:
        return decision
    choice = decision.candidates[at]
    why = f"at {here} again" if choice.site == here else f"away from {here}"
    sentence = f"{words.place(choice.site, choice.partition)}, {why}; of all places: {decision.sentence}"
    others = tuple(other for other in ranking(decision) if other != at)[:3]
    return decision.model_copy(update={"chosen": at, "sentence": sentence, "alternatives": others})


def _nowhere(decision: Decision, task: Task, where: Where) -> str:
    here = task.attempts[-1].site
    if decision.choice is None:
        return words.clause(decision.sentence) + "."
    if where == "here":
        why_not = "its checkpoints are there" if bound(task) else "it may not move (--moves)"
        return f"{here} cannot take it now, and {why_not}."
    return f"no place besides {here} can take it."
