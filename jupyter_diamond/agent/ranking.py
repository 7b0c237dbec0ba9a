"""A model's order of the places that passed every rule; off unless the user turns it on.

It may reorder the feasible set and nothing else. An answer that is late, that cannot be read, that names another place,
leaves one out or puts one before another against a rule changes nothing: the rules' own order stands. The decision says
which of the two it was, and why. What is submitted is planned without a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from jupyter_diamond.agent.guard.foreign import line, plain
from jupyter_diamond.agent.models.access import Models
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.placement import sentences, words

MOST = 20
"""So many of the best are shown to the model; those behind them stay behind."""
_REQUESTS = 2
_BLIND = frozenset({"random", "shortest_queue", "best_feasible"})
"""Baselines are compared with: a model's order would make them something else."""
INSTRUCTIONS = """\
Several places passed every rule for one batch job. Order all of them, best first, for the stated objective. The
rules' own order is given. Depart from it only for a reason that stands in the lines. Places that meet fewer wishes come
last."""


class Order(BaseModel):
    """The form of the answer."""

    model_config = ConfigDict(extra="ignore")
    order: list[int] = Field(description="every number of a place, once, best first")
    reason: str = Field(description="one sentence")


class Ranker:
    """One of a server."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._agent: Any = None

    async def __call__(self, decision: Decision, speaker: Speaker) -> Decision:
        """The decision in the model's order, or as it was; ``ranking`` says which. Never raises for a model's sake."""
        places = _ranked(decision)
        if decision.mode != "rules" or decision.objective in _BLIND or len(places) < 2:
            return decision
        shown, name = places[:MOST], self._models.name
        try:
            said = await self._asked(decision, shown, speaker)
        except DiamondError as problem:
            return _as_it_was(decision, problem.message)
        order = [shown[number - 1] for number in said.order if 0 < number <= len(shown)]
        no = objection(decision, shown, order, said.order)
        if no:
            return _as_it_was(decision, f"{name} gave an order that breaks a rule: {no}.")
        return reordered(decision, [*order, *places[MOST:]], model=name, reason=plain(said.reason)[:300])

    async def _asked(self, decision: Decision, shown: Sequence[int], speaker: Speaker) -> Order:
        await self._models.model()  # loads the libraries, in a thread
        if self._agent is None:
            from pydantic_ai import Agent

            self._agent = Agent(output_type=Order, instructions=INSTRUCTIONS, name="ranking")
        answered = await self._models.run(
            self._agent, _prompt(decision, shown), purpose="ranking", speaker=speaker,
            seconds=self._models.settings.ranking_s, requests=_REQUESTS,
        )  # fmt: skip
        said: Order = answered.output
        return said


def objection(decision: Decision, shown: Sequence[int], order: Sequence[int], said: Sequence[int]) -> str | None:
    """Why an order does not count; None where it does."""
    if len(order) != len(said):
        return "it names a place that is not among them"
    if len(set(order)) != len(order):
        return "it names one place twice"
    if set(order) != set(shown):
        return f"it leaves out {len(set(shown) - set(order))} of {len(shown)} places"
    lacking = [_unmet(decision.candidates[at]) for at in order]
    if lacking != sorted(lacking):
        return "it puts a place that misses a wish before one that meets it"
    equals = [at for at in shown if at == decision.chosen or at in decision.ties]
    if [at for at in order if at in equals] != equals:
        return f"it turns around places that are equal by the objective, between which {_tie(decision)} decides"
    return None


def _tie(decision: Decision) -> str:
    return decision.tie_break.rstrip(".") or "our own order"


def reordered(decision: Decision, order: Sequence[int], *, model: str, reason: str) -> Decision:
    """The decision with its places in another order; verdicts and estimates stay as they are."""
    rank = {at: number for number, at in enumerate(order, start=1)}
    candidates = tuple(
        each.model_copy(update={"rank": rank[at]}) if at in rank else each
        for at, each in enumerate(decision.candidates)
    )
    first, before = order[0], decision.chosen
    if first == before or before is None:
        said = f"{model} ordered the places, and put the same one first: {reason}"
        sentence, warnings = decision.sentence, decision.warnings
    else:
        said = f"{model} put {_place(candidates[first])} before {_place(candidates[before])}: {reason}"
        sentence = f"{_place(candidates[first])} by the order of a model. By the rules: {decision.sentence}"
        warnings = sentences.warnings(decision.envelope, candidates[first])
    return decision.model_copy(update={
        "mode": "model", "candidates": candidates, "chosen": first, "alternatives": tuple(order[1:4]),
        "sentence": sentence, "warnings": warnings, "ranking": said,
    })  # fmt: skip


def _as_it_was(decision: Decision, problem: str) -> Decision:
    return decision.model_copy(update={"ranking": f"{problem} The rules' own order stands."})


def _ranked(decision: Decision) -> list[int]:
    """Those that may be chosen, best first by the rules."""
    known = [(each.rank, at) for at, each in enumerate(decision.candidates) if each.rank is not None and each.feasible]
    return [at for _, at in sorted(known)]


def _unmet(candidate: Candidate) -> int:
    return sum(1 for verdict in candidate.verdicts if verdict.soft and verdict.answer != "pass")


def _place(candidate: Candidate) -> str:
    return words.place(candidate.site, candidate.partition)


def _prompt(decision: Decision, shown: Sequence[int]) -> str:
    lines = [f"Objective: {decision.objective.replace('_', ' ')}.", "Places, in the rules' own order:"]
    lines += [f"{number}. {_line(decision.candidates[at])}" for number, at in enumerate(shown, start=1)]
    return "\n".join(lines)


def _line(candidate: Candidate) -> str:
    parts = [line(_place(candidate)), words.size(candidate.size) if candidate.size is not None else "size unknown"]
    estimate = candidate.estimate
    wait = estimate.forecast.wait_s if estimate is not None else None
    parts.append(f"starts in {words.duration(wait)}" if wait is not None else "start unknown")
    if estimate is not None:
        total = estimate.total_s
        parts.append(f"done in {words.duration(total)}" if total is not None else "end unknown")
        unit = estimate.charge_unit
        parts.append(f"costs {estimate.charge:g} {unit}" if estimate.charge is not None else "charge unknown")
    missed = [verdict.sentence for verdict in candidate.verdicts if verdict.soft and verdict.answer != "pass"]
    return ", ".join([*parts, *(line(each)[:200] for each in missed)])
